"""The states of a share group."""

from enum import Enum, unique


@unique
class ShareGroupState(Enum):
    """Whether a group has members, as Kafka prints it. Source: ShareGroup.ShareGroupState (4.3.1)."""

    EMPTY = "Empty"
    STABLE = "Stable"
