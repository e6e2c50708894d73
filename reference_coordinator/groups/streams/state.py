"""The states of a streams group."""

from enum import Enum, unique


@unique
class StreamsGroupState(Enum):
    """How far a group is with its assignment, as Kafka prints it.

    Source: StreamsGroup.StreamsGroupState (4.3.1).
    """

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """Some topic of the topology is missing, or does not fit the others."""
    ASSIGNING = "Assigning"
    """The group has an epoch for which there is no target assignment yet."""
    RECONCILING = "Reconciling"
    """Some member does not have what it is to have."""
    STABLE = "Stable"

    @property
    def filter_name(self) -> str:
        """What a filter of states calls it.

        Decided in: StreamsGroup.StreamsGroupState#toLowerCaseString (4.3.1).
        """
        return "not_ready" if self is StreamsGroupState.NOT_READY else self.value.lower()
