"""The table of answers to each request by a group of each type, and a scenario for each of its cells."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.scenario import (
    Conversation,
    GroupRef,
    Pattern,
    ask,
    containing,
    expect,
    one_of,
    scenario,
)
from harness.scenario.messages import Request, Response, pinned
from suites.type_conflicts.groups import GROUPS, SAID, Makes

NONE, UNKNOWN, NOT_FOUND = "NONE", "UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"
INCONSISTENT, REQUIRED, NOT_EMPTY = (
    "INCONSISTENT_GROUP_PROTOCOL",
    "MEMBER_ID_REQUIRED",
    "NON_EMPTY_GROUP",
)
GENERATION, SUBSCRIBED, WAITS = "ILLEGAL_GENERATION", "GROUP_SUBSCRIBED_TO_TOPIC", "waits"
OR = " or "
"""The separator of error codes that depend on the release; the reference determines which."""
DEAD = "Dead"
CLASSIC_STATES = (DEAD, "Empty", "Stable", "Stable", "Empty", DEAD, DEAD)
"""The state that DescribeGroups returns for each group, in the order of `GROUPS`."""
COMMITTED = ("-1", "5", "-1", "-1", "-1", "-1", "-1")
"""The committed offset of each group."""
STRANGER = "stranger"
WAITS_MS = 300
Answers = Callable[[str], Response]
"""A function that makes the expected answer of a table's cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A row of the table."""

    id: str
    says: str
    """The request in words, within a title."""
    source: str
    clause: str
    asks: Request
    answers: Answers
    cells: tuple[str, ...]
    """The answers by the type of the group, in the order of `GROUPS`."""
    by_member: bool = False
    """Whether the group's maker sends the request, and not a stranger."""


def _heartbeat(epoch: int) -> Request:
    joins = epoch == 0
    return ask.consumer_group_heartbeat(
        member_id="member-zoe",
        member_epoch=epoch,
        instance_id=None,
        rebalance_timeout_ms=30_000 if joins else -1,
        subscribed_topic_names=("orders",) if joins else None,
        topic_partitions={} if joins else None,
    )


def _error(api: str) -> Answers:
    return lambda error: pinned(api, error_code=error)


def _committed(cell: str) -> Response:
    return expect.offset_commit({"orders": {0: one_of(*cell.split(OR))}})


def _commits(version: int, epoch: int) -> Request:
    member_id = "" if epoch == -1 else STRANGER
    return ask.offset_commit(
        version=version, generation_id=epoch, member_id=member_id, topics={"orders": {0: 7}}
    )


def _fetches(version: int, member_id: str | None = None) -> Request:
    wanted = {"orders": (0,)}
    if member_id is None:
        return ask.offset_fetch(version=version, topics=wanted)
    return ask.offset_fetch(version=version, member_id=member_id, member_epoch=1, topics=wanted)


def _fetched(cell: str) -> Response:
    if cell == UNKNOWN:
        return expect.offset_fetch({}, version=9, error_code=UNKNOWN)
    return expect.offset_fetch({"orders": {0: int(cell)}}, version=9)


def _left(error: str) -> Response:
    return expect.leave_group(error_code=NONE, members=({"member_id": STRANGER, "error_code": error},))


def _deleted(cell: str) -> Response:
    if cell == SUBSCRIBED:
        return expect.offset_delete(error_code=NONE, errors={"orders": {0: SUBSCRIBED}})
    return expect.offset_delete(error_code=cell)


def _described(expected: Callable[..., Response]) -> Answers:
    def answers(cell: str) -> Response:
        error, _, state = cell.partition(":")
        return expected(error_code=error, group_state=state)

    return answers


def _listed(cell: str) -> Response:
    if not cell:
        return expect.list_groups(error_code=NONE, groups=())
    protocol_type, state, group_type = cell.split("/")
    group: Pattern = {
        "group_id": GroupRef("main"),
        "protocol_type": protocol_type,
        "group_state": state,
        "group_type": group_type,
    }
    return expect.list_groups(error_code=NONE, groups=containing(group))


def _joins(member_id: str, instance_id: str | None = None) -> Request:
    return ask.join_group(version=9, member_id=member_id, group_instance_id=instance_id)


CALLS = (
    Call(
        id="consumer-heartbeat-joins",
        says="ConsumerGroupHeartbeat of a joining member",
        source="GroupMetadataManager#getOrMaybeCreateConsumerGroup",
        clause="TY-01",
        asks=_heartbeat(0),
        answers=_error("ConsumerGroupHeartbeat"),
        cells=(NONE, NONE, NONE, NOT_FOUND, NONE, NONE, NONE),
    ),
    Call(
        id="consumer-heartbeat",
        says="ConsumerGroupHeartbeat of an unknown member",
        source="GroupMetadataManager#consumerGroup",
        clause="TY-02",
        asks=_heartbeat(1),
        answers=_error("ConsumerGroupHeartbeat"),
        cells=(NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="consumer-heartbeat-leaves",
        says="ConsumerGroupHeartbeat of a leaving unknown member",
        source="GroupMetadataManager#consumerGroupLeave",
        clause="TY-03",
        asks=_heartbeat(-1),
        answers=_error("ConsumerGroupHeartbeat"),
        cells=(NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="join",
        says="JoinGroup v9 without a member id",
        source="GroupMetadataManager#classicGroupJoin",
        clause="TY-04",
        asks=_joins(""),
        answers=_error("JoinGroup"),
        cells=(REQUIRED, REQUIRED, REQUIRED, INCONSISTENT, REQUIRED, REQUIRED, REQUIRED),
    ),
    Call(
        id="join-made-up",
        says="JoinGroup v9 with an unknown member id",
        source="GroupMetadataManager#classicGroupJoin",
        clause="TY-05",
        asks=_joins(STRANGER),
        answers=_error("JoinGroup"),
        cells=(UNKNOWN, UNKNOWN, UNKNOWN, INCONSISTENT, UNKNOWN, NONE, UNKNOWN),
    ),
    Call(
        id="join-static",
        says="JoinGroup v9 of a new static member",
        source="GroupMetadataManager#classicGroupJoin",
        clause="TY-06",
        asks=_joins("", "two"),
        answers=_error("JoinGroup"),
        cells=(NONE, NONE, WAITS, INCONSISTENT, NONE, NONE, NONE),
    ),
    Call(
        id="sync",
        says="SyncGroup of the group's member",
        source="GroupMetadataManager#classicGroupSync",
        clause="TY-07",
        asks=ask.sync_group(version=5, generation_id=1),
        answers=_error("SyncGroup"),
        cells=(UNKNOWN, UNKNOWN, NONE, INCONSISTENT, UNKNOWN, UNKNOWN, UNKNOWN),
        by_member=True,
    ),
    Call(
        id="heartbeat",
        says="Heartbeat of the group's member",
        source="GroupMetadataManager#classicGroupHeartbeat",
        clause="TY-08",
        asks=ask.heartbeat(generation_id=1),
        answers=_error("Heartbeat"),
        cells=(UNKNOWN, UNKNOWN, NONE, NONE, UNKNOWN, UNKNOWN, UNKNOWN),
        by_member=True,
    ),
    Call(
        id="leave",
        says="LeaveGroup of an unknown member",
        source="GroupMetadataManager#classicGroupLeave",
        clause="TY-09",
        asks=ask.leave_group(version=5, members=((STRANGER, None),)),
        answers=_left,
        cells=(UNKNOWN,) * 7,
    ),
    Call(
        id="commit-of-nobody",
        says="OffsetCommit v9 without a member id",
        source="OffsetMetadataManager#validateOffsetCommit",
        clause="TY-10",
        asks=_commits(9, -1),
        answers=_committed,
        cells=(NONE, NONE, UNKNOWN, UNKNOWN, NONE, UNKNOWN, NONE),
    ),
    Call(
        id="commit-v9",
        says="OffsetCommit v9 of an unknown member",
        source="OffsetMetadataManager#validateOffsetCommit",
        clause="TY-11",
        asks=_commits(9, 1),
        answers=_committed,
        cells=(f"{NOT_FOUND}{OR}{GENERATION}", *(UNKNOWN,) * 6),
    ),
    Call(
        id="commit-v8",
        says="OffsetCommit v8 of an unknown member",
        source="OffsetMetadataManager#validateOffsetCommit",
        clause="TY-12",
        asks=_commits(8, 1),
        answers=_committed,
        cells=(GENERATION, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    Call(
        id="fetch-of-nobody",
        says="OffsetFetch v9 without a member id",
        source="OffsetMetadataManager#fetchOffsets",
        clause="TY-13",
        asks=_fetches(9),
        answers=_fetched,
        cells=COMMITTED,
    ),
    Call(
        id="fetch-v9",
        says="OffsetFetch v9 of an unknown member",
        source="OffsetMetadataManager#fetchOffsets",
        clause="TY-14",
        asks=_fetches(9, STRANGER),
        answers=_fetched,
        cells=(*COMMITTED[:5], UNKNOWN, UNKNOWN),
    ),
    Call(
        id="fetch-v8",
        says="OffsetFetch v8",
        source="OffsetMetadataManager#fetchOffsets",
        clause="TY-15",
        asks=_fetches(8),
        answers=_fetched,
        cells=COMMITTED,
    ),
    Call(
        id="delete-offsets",
        says="OffsetDelete",
        source="OffsetMetadataManager#deleteOffsets",
        clause="TY-16",
        asks=ask.offset_delete(topics={"orders": (0,)}),
        answers=_deleted,
        cells=(NOT_FOUND, NONE, SUBSCRIBED, NOT_EMPTY, NONE, SUBSCRIBED, NONE),
    ),
    Call(
        id="describe-v6",
        says="DescribeGroups v6",
        source="GroupMetadataManager#describeGroups",
        clause="TY-17",
        asks=ask.describe_groups(version=6),
        answers=_described(expect.describe_groups),
        cells=tuple(f"{NOT_FOUND if each == DEAD else NONE}:{each}" for each in CLASSIC_STATES),
    ),
    Call(
        id="describe-v5",
        says="DescribeGroups v5",
        source="GroupMetadataManager#describeGroups",
        clause="TY-18",
        asks=ask.describe_groups(version=5),
        answers=_described(expect.describe_groups),
        cells=tuple(f"{NONE}:{each}" for each in CLASSIC_STATES),
    ),
    Call(
        id="consumer-describe",
        says="ConsumerGroupDescribe",
        source="GroupMetadataManager#consumerGroupDescribe",
        clause="TY-19",
        asks=ask.consumer_group_describe(),
        answers=_described(expect.consumer_group_describe),
        cells=(*(f"{NOT_FOUND}:",) * 5, "NONE:Stable", "NONE:Empty"),
    ),
    Call(
        id="list",
        says="ListGroups v5",
        source="GroupMetadataManager#listGroups",
        clause="TY-20",
        asks=ask.list_groups(version=5),
        answers=_listed,
        cells=(
            "",
            "/Empty/classic",
            "consumer/Stable/classic",
            "connect/Stable/classic",
            "consumer/Empty/classic",
            "consumer/Stable/consumer",
            "consumer/Empty/consumer",
        ),
    ),
    Call(
        id="delete",
        says="DeleteGroups",
        source="GroupMetadataManager#validateDeleteGroup",
        clause="TY-21",
        asks=ask.delete_groups(),
        answers=expect.delete_groups,
        cells=(NOT_FOUND, NONE, NOT_EMPTY, NOT_EMPTY, NONE, NOT_EMPTY, NONE),
    ),
)


def _words(cell: str) -> str:
    """Return the meaning of a cell, as the end of a title."""
    if cell == WAITS:
        return "waits for the rebalance that it starts"
    if cell.lstrip("-").isdecimal():
        return f"returns offset {cell}"
    if not cell or "/" in cell:
        return f"lists it as {' and '.join(cell.split('/')[1:])}" if cell else "does not list it"
    error, _, state = cell.partition(":")
    outcome = "succeeds" if error == NONE else f"is {error}"
    return f"{outcome}, with the state {state}" if state else outcome


def scenario_of(
    call: Call, group: str, cell: str, makes: Makes, said: str, rows: Iterable[str]
) -> Callable[[Conversation], None]:
    """Return the scenario of one cell, with these rows of the catalogue beside the request's own."""

    def cell_of_table(conversation: Conversation) -> None:
        ana = makes(conversation)
        caller = ana if call.by_member else conversation.actor("zoe")
        if cell == WAITS:
            caller.sends(call.asks)
            caller.stays_parked(for_ms=WAITS_MS)
        else:
            caller.asks(call.asks, call.answers(cell))

    cell_of_table.__doc__ = f"For {said}, {call.says} {_words(cell)}."
    return scenario(f"type_conflicts/{call.id}/{group}", source=call.source, clauses=(call.clause, *rows))(
        cell_of_table
    )


def cells_of(groups: Iterable[str], *calls: str) -> Collection[str]:
    """Return the names of the cells of some requests to some groups."""
    return frozenset(f"{call}/{group}" for group in groups for call in calls)


def scenarios_of(
    calls: Iterable[Call],
    groups: Mapping[str, Makes],
    said: Mapping[str, str],
    cells: Mapping[str, tuple[str, ...]] | None = None,
    rows: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Mapping[str, Callable[[Conversation], None]]:
    """Return the scenarios of some cells, by name.

    Args:
        calls: The table's rows.
        groups: The table's columns.
        said: The columns in words.
        cells: The cells of these columns, by request; those of the calls themselves by default.
        rows: Rows of the catalogue beside the requests' own, each with the names of the cells that cover it.
    """
    scenarios: dict[str, Callable[[Conversation], None]] = {}
    for call in calls:
        for group, cell in zip(groups, call.cells if cells is None else cells[call.id], strict=True):
            name = f"{call.id}/{group}"
            shown = [row for row, names in rows.items() if name in names]
            scenarios[name] = scenario_of(call, group, cell, groups[group], said[group], shown)
    return scenarios


globals().update(scenarios_of(CALLS, GROUPS, SAID))
