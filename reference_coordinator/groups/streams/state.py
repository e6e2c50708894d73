"""The states of a streams group."""

from enum import Enum, unique


@unique
class StreamsGroupState(Enum):
    """The state of a group. The value is the name that Kafka prints.

    Source: StreamsGroup.StreamsGroupState (4.3.1).
    """

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """A topic of the topology is missing, or its partition count does not match the others."""
    ASSIGNING = "Assigning"
    """There is no target assignment for the group's epoch yet."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target assignment."""
    STABLE = "Stable"

    @property
    def filter_name(self) -> str:
        """The name of the state in a filter of states.

        Decided in: StreamsGroup.StreamsGroupState#toLowerCaseString (4.3.1).
        """
        return "not_ready" if self is StreamsGroupState.NOT_READY else self.value.lower()
