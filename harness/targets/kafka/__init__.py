"""Kafka in local JVMs, from released jars or from a directory."""
