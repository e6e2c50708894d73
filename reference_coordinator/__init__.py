"""A group coordinator as an executable specification: deterministic, sans-IO, Kafka's method by method."""
