"""The mock cluster of librdkafka as a target."""
