"""The states of a share group."""

from enum import Enum, unique


@unique
class ShareGroupState(Enum):
    """The state of a group: whether it has members. Source: ShareGroup.ShareGroupState (4.3.1)."""

    EMPTY = "Empty"
    STABLE = "Stable"
