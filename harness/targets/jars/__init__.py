"""Kafka's jars, their locks, and the Java that runs them."""
