"""Kafka has two group coordinators."""

from enum import Enum, unique


@unique
class CoordinatorFamily(Enum):
    """Which of Kafka's two implementations of the group coordinator serves."""

    SCALA = "scala"
    """kafka.coordinator.group, the default until 3.9."""
    JAVA = "java"
    """org.apache.kafka.coordinator.group, by choice from 3.7, the only one of 4.x."""
