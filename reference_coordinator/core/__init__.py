"""The basic types of all parts: ids, errors, effects, records, timers, and Kafka's random choices."""
