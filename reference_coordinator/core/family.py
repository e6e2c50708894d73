"""Kafka's two implementations of the group coordinator."""

from enum import Enum, unique


@unique
class CoordinatorFamily(Enum):
    """One of Kafka's two implementations of the group coordinator."""

    SCALA = "scala"
    """kafka.coordinator.group, the default until 3.9."""
    JAVA = "java"
    """org.apache.kafka.coordinator.group, optional from 3.7 on, and the only one in 4.x."""
