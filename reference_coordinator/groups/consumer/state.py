"""The states of a consumer group."""

from enum import Enum, unique


@unique
class ConsumerGroupState(Enum):
    """The state of a group. The value is the name that Kafka prints.

    Source: ConsumerGroup.ConsumerGroupState (4.3.1).
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """There is no target assignment for the group's epoch yet."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target assignment."""
    STABLE = "Stable"
