"""librdkafka's mock cluster as a target."""
