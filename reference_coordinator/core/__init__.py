"""What all parts are made of: ids, errors, effects, records, timers, and what Kafka leaves to chance."""
