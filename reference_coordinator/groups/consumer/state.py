"""The states of a consumer group."""

from enum import Enum, unique


@unique
class ConsumerGroupState(Enum):
    """How far a group is with its assignment, as Kafka prints it.

    Source: ConsumerGroup.ConsumerGroupState (4.3.1).
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The group has an epoch for which there is no target assignment yet."""
    RECONCILING = "Reconciling"
    """Some member does not have what it is to have."""
    STABLE = "Stable"
