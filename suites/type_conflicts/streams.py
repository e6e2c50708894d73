"""The table's columns for streams groups, and its rows for streams group requests."""

from types import MappingProxyType

from harness.scenario import Conversation, StreamsMember, topology
from harness.scenario.messages import Request, Response
from harness.scenario.streams import ask_describe, ask_heartbeat, expect_describe, expect_heartbeat
from suites.type_conflicts.groups import GROUPS, SAID
from suites.type_conflicts.share import CLASSIC_MEMBERS, SAID_OF_SHARES, SHARE_CALLS, SHARES
from suites.type_conflicts.table import (
    CALLS,
    INCONSISTENT,
    NONE,
    NOT_EMPTY,
    NOT_FOUND,
    REQUIRED,
    SUBSCRIBED,
    UNKNOWN,
    Call,
    cells_of,
    scenarios_of,
)


def streams(conversation: Conversation) -> StreamsMember:
    """Make a streams group of one member, which runs all tasks of `orders`."""
    ana = conversation.streams_member("ana")
    ana.enters(assigned={"0": (0, 1, 2)}, statuses=())
    return ana


def streams_empty(conversation: Conversation) -> StreamsMember:
    """Make a streams group that its only member has left."""
    ana = streams(conversation)
    ana.leaves()
    return ana


STREAMS = MappingProxyType({"streams": streams, "streams-empty": streams_empty})
SAID_OF_STREAMS = MappingProxyType({"streams": "a streams group", "streams-empty": "an empty streams group"})
CELLS = MappingProxyType(
    {
        "consumer-heartbeat-joins": (NOT_FOUND,) * 2,
        "consumer-heartbeat": (NOT_FOUND,) * 2,
        "consumer-heartbeat-leaves": (NOT_FOUND,) * 2,
        "join": (INCONSISTENT, REQUIRED),
        "join-made-up": (INCONSISTENT, UNKNOWN),
        "join-static": (INCONSISTENT, NONE),
        "sync": (UNKNOWN,) * 2,
        "heartbeat": (UNKNOWN,) * 2,
        "leave": (UNKNOWN,) * 2,
        "commit-of-nobody": (UNKNOWN, NONE),
        "commit-v9": (UNKNOWN,) * 2,
        "commit-v8": (UNKNOWN,) * 2,
        "fetch-of-nobody": ("-1",) * 2,
        "fetch-v9": (UNKNOWN,) * 2,
        "fetch-v8": ("-1",) * 2,
        "delete-offsets": (SUBSCRIBED, NONE),
        "describe-v6": (f"{NOT_FOUND}:Dead",) * 2,
        "describe-v5": (f"{NONE}:Dead",) * 2,
        "consumer-describe": (f"{NOT_FOUND}:",) * 2,
        "list": ("streams/Stable/streams", "streams/Empty/streams"),
        "delete": (NOT_EMPTY, NONE),
        "share-heartbeat-joins": (NOT_FOUND,) * 2,
        "share-heartbeat": (NOT_FOUND,) * 2,
        "share-heartbeat-leaves": (NOT_FOUND,) * 2,
        "share-describe": (f"{NOT_FOUND}:",) * 2,
        "share-describe-offsets": ("-1",) * 2,
        "share-alter-offsets": (NOT_FOUND,) * 2,
        "share-delete-offsets": (NOT_FOUND,) * 2,
    }
)
"""The answers of a streams group, and of an empty one, to each request of the table."""
ROWS = MappingProxyType(
    {
        "DG-11": cells_of(STREAMS, "describe-v6", "describe-v5"),
        "XT-09": cells_of(("streams",), *CLASSIC_MEMBERS),
    }
)
"""The rows of the catalogue about streams groups, and the cells that cover them."""


def _heartbeat(epoch: int) -> Request:
    joins = epoch == 0
    return ask_heartbeat(
        member_id="member-zoe",
        member_epoch=epoch,
        instance_id=None,
        process_id="process-zoe" if joins else None,
        rebalance_timeout_ms=30_000 if joins else -1,
        topology=topology() if joins else None,
        active_tasks=() if joins else None,
        standby_tasks=() if joins else None,
        warmup_tasks=() if joins else None,
    )


def _heard(error: str) -> Response:
    return expect_heartbeat(error_code=error)


def _described(cell: str) -> Response:
    error, _, state = cell.partition(":")
    return expect_describe(error_code=error, group_state=state)


STREAMS_CALLS = (
    Call(
        id="streams-heartbeat-joins",
        says="StreamsGroupHeartbeat of a joining member",
        source="GroupMetadataManager#getOrCreateStreamsGroup",
        clause="TY-28",
        asks=_heartbeat(0),
        answers=_heard,
        cells=(NONE, NONE, NOT_FOUND, NOT_FOUND, NONE, *(NOT_FOUND,) * 4, NONE, NONE),
    ),
    Call(
        id="streams-heartbeat",
        says="StreamsGroupHeartbeat of an unknown member",
        source="GroupMetadataManager#getStreamsGroupOrThrow",
        clause="TY-29",
        asks=_heartbeat(1),
        answers=_heard,
        cells=(*(NOT_FOUND,) * 9, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="streams-heartbeat-leaves",
        says="StreamsGroupHeartbeat of a leaving unknown member",
        source="GroupMetadataManager#streamsGroupLeave",
        clause="TY-30",
        asks=_heartbeat(-1),
        answers=_heard,
        cells=(*(NOT_FOUND,) * 9, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="streams-describe",
        says="StreamsGroupDescribe",
        source="GroupMetadataManager#streamsGroupDescribe",
        clause="TY-31",
        asks=ask_describe(),
        answers=_described,
        cells=(*(f"{NOT_FOUND}:",) * 9, "NONE:Stable", "NONE:Empty"),
    ),
)
globals().update(scenarios_of((*CALLS, *SHARE_CALLS), STREAMS, SAID_OF_STREAMS, CELLS, ROWS))
globals().update(
    scenarios_of(
        STREAMS_CALLS, {**GROUPS, **SHARES, **STREAMS}, {**SAID, **SAID_OF_SHARES, **SAID_OF_STREAMS}
    )
)
