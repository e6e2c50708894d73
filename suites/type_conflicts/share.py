"""The table's columns for share groups, and its rows for share group requests."""

from types import MappingProxyType

from harness.scenario import Conversation, ShareMember, ask, expect, one_of
from harness.scenario.messages import Request, Response
from suites.type_conflicts.groups import ALL, GROUPS, SAID
from suites.type_conflicts.table import (
    CALLS,
    INCONSISTENT,
    NONE,
    NOT_EMPTY,
    NOT_FOUND,
    OR,
    UNKNOWN,
    Call,
    cells_of,
    scenarios_of,
)


def share(conversation: Conversation) -> ShareMember:
    """Make a share group of one member."""
    ana = conversation.share_member("ana")
    ana.enters(assigned={})
    ana.awaits(ALL)
    return ana


def share_empty(conversation: Conversation) -> ShareMember:
    """Make a share group that its only member has left."""
    ana = share(conversation)
    ana.leaves()
    return ana


SHARES = MappingProxyType({"share": share, "share-empty": share_empty})
SAID_OF_SHARES = MappingProxyType({"share": "a share group", "share-empty": "an empty share group"})
CELLS = MappingProxyType(
    {
        "consumer-heartbeat-joins": (NOT_FOUND,) * 2,
        "consumer-heartbeat": (NOT_FOUND,) * 2,
        "consumer-heartbeat-leaves": (NOT_FOUND,) * 2,
        "join": (INCONSISTENT,) * 2,
        "join-made-up": (INCONSISTENT,) * 2,
        "join-static": (INCONSISTENT,) * 2,
        "sync": (UNKNOWN,) * 2,
        "heartbeat": (UNKNOWN,) * 2,
        "leave": (UNKNOWN,) * 2,
        "commit-of-nobody": (NOT_FOUND,) * 2,
        "commit-v9": (NOT_FOUND,) * 2,
        "commit-v8": (NOT_FOUND,) * 2,
        "fetch-of-nobody": ("-1",) * 2,
        "fetch-v9": ("-1",) * 2,
        "fetch-v8": ("-1",) * 2,
        "delete-offsets": (NOT_FOUND,) * 2,
        "describe-v6": (f"{NOT_FOUND}:Dead",) * 2,
        "describe-v5": (f"{NONE}:Dead",) * 2,
        "consumer-describe": (f"{NOT_FOUND}:",) * 2,
        "list": ("share/Stable/share", "share/Empty/share"),
        "delete": (NOT_EMPTY, NONE),
    }
)
"""The answers of a share group, and of an empty one, to each request of the table."""
CLASSIC_MEMBERS = ("join", "join-made-up", "join-static", "sync", "heartbeat", "leave")
"""The requests of classic members."""
ROWS = MappingProxyType(
    {
        "DG-11": cells_of(SHARES, "describe-v6", "describe-v5"),
        "OC-45": cells_of(SHARES, "commit-of-nobody", "commit-v9", "commit-v8"),
        "OD-19": cells_of(SHARES, "delete-offsets"),
        "OF-30": cells_of(SHARES, "fetch-of-nobody", "fetch-v9", "fetch-v8"),
        "XT-09": cells_of(SHARES, *CLASSIC_MEMBERS),
    }
)
"""The rows of the catalogue about share groups, and the cells that cover them."""


def _heartbeat(epoch: int) -> Request:
    # A second member's partitions of `orders` depend on the topic's id, which brokers choose at random.
    names = ("unheard-of",) if epoch == 0 else None
    return ask.share_group_heartbeat(member_id="member-zoe", member_epoch=epoch, subscribed_topic_names=names)


def _heard(error: str) -> Response:
    return expect.share_group_heartbeat(error_code=error)


def _described(cell: str) -> Response:
    error, _, state = cell.partition(":")
    return expect.share_group_describe(error_code=error, group_state=state)


def _offset(cell: str) -> Response:
    return expect.share_offsets({"orders": {0: int(cell)}})


def _altered(cell: str) -> Response:
    return expect.altered_share_offsets(error_code=one_of(*cell.split(OR)))


def _deleted(error: str) -> Response:
    return expect.deleted_share_offsets(error_code=error)


_ALTERED_OR_LOST = f"{NOT_FOUND}{OR}{NONE}"
SHARE_CALLS = (
    Call(
        id="share-heartbeat-joins",
        says="ShareGroupHeartbeat of a joining member",
        source="GroupMetadataManager#getOrMaybeCreateShareGroup",
        clause="TY-22",
        asks=_heartbeat(0),
        answers=_heard,
        cells=(NONE, *(NOT_FOUND,) * 6, NONE, NONE),
    ),
    Call(
        id="share-heartbeat",
        says="ShareGroupHeartbeat of an unknown member",
        source="GroupMetadataManager#getOrMaybeCreateShareGroup",
        clause="TY-23",
        asks=_heartbeat(1),
        answers=_heard,
        cells=(*(NOT_FOUND,) * 7, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="share-heartbeat-leaves",
        says="ShareGroupHeartbeat of a leaving unknown member",
        source="GroupMetadataManager#shareGroupLeave",
        clause="TY-24",
        asks=_heartbeat(-1),
        answers=_heard,
        cells=(*(NOT_FOUND,) * 7, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="share-describe",
        says="ShareGroupDescribe",
        source="GroupMetadataManager#shareGroupDescribe",
        clause="TY-25",
        asks=ask.share_group_describe(),
        answers=_described,
        cells=(*(f"{NOT_FOUND}:",) * 7, "NONE:Stable", "NONE:Empty"),
    ),
    Call(
        id="share-describe-offsets",
        says="DescribeShareGroupOffsets",
        source="GroupCoordinatorService#describeShareGroupOffsets",
        clause="TY-32",
        asks=ask.describe_share_group_offsets(topics={"orders": (0,)}),
        answers=_offset,
        cells=("-1",) * 9,
    ),
    Call(
        id="share-alter-offsets",
        says="AlterShareGroupOffsets",
        source="GroupMetadataManager#alterShareGroupOffsets",
        clause="TY-26",
        asks=ask.alter_share_group_offsets(topics={"orders": {0: 3}}),
        answers=_altered,
        cells=(NONE, *(_ALTERED_OR_LOST,) * 6, f"{NOT_EMPTY}{OR}{NONE}", NONE),
    ),
    Call(
        id="share-delete-offsets",
        says="DeleteShareGroupOffsets",
        source="GroupMetadataManager#sharePartitionsEligibleForOffsetDeletion",
        clause="TY-27",
        asks=ask.delete_share_group_offsets(topics=("orders",)),
        answers=_deleted,
        cells=(*(NOT_FOUND,) * 7, NOT_EMPTY, NONE),
    ),
)
globals().update(scenarios_of(CALLS, SHARES, SAID_OF_SHARES, CELLS, ROWS))
globals().update(scenarios_of(SHARE_CALLS, {**GROUPS, **SHARES}, {**SAID, **SAID_OF_SHARES}))
