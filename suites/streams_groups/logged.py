"""Streams groups that a coordinator loads from a log that another release may have written."""

from collections.abc import Sequence

from harness.scenario import (
    Capability,
    Conversation,
    Pattern,
    StreamsMember,
    ask,
    ask_describe,
    expect,
    expect_describe,
    one_of,
    record_of_type,
    scenario,
)
from harness.scenario.log_records import YEAR_2100_MS, LogRecord
from suites.consumer_groups.loading import compact_string, int32, named
from suites.consumer_groups.membership import topic_made
from suites.streams_groups.membership import ALL

GROUP_TYPE, MEMBER_TYPE, TARGET_EPOCH_TYPE = 17, 19, 20
TARGET_TYPE, ASSIGNMENT_TYPE, TOPOLOGY_TYPE = 21, 22, 23
"""Types of records of streams groups. Source: CoordinatorRecordType (4.3.1)."""
WRITES = (Capability.RESTART, Capability.WRITE_LOG)
BUILDS = "streams.CurrentAssignmentBuilder#build"
COMPUTES = "GroupMetadataManager#canComputeNextTargetAssignment"
REPLAYS = "GroupMetadataManager#replay"
READS = "TasksTupleWithEpochs#fromCurrentAssignmentRecord"
EPOCH = 5
"""The epoch of the group and of its member."""
STABLE, OF_A_RELEASE_TO_COME = 1, 99
"""States of members. Source: streams.MemberState (4.3.1)."""
WITHIN_MS = 20_000
NOTHING, NO_TAGS = b"\x01", b"\x00"
STOPPED = "UNKNOWN_SERVER_ERROR"


def _tasks(*partitions: int) -> bytes:
    """Return tasks of the subtopology `0`, without the epochs in which they were assigned."""
    numbers = bytes([len(partitions) + 1]) + b"".join(map(int32, partitions))
    return b"\x02" + compact_string("0") + numbers + NO_TAGS


def logged(
    group_id: str,
    *,
    state: int = STABLE,
    active: Sequence[int] = (0, 1, 2),
    warmup: Sequence[int] = (),
    tagged: bytes = NO_TAGS,
) -> tuple[LogRecord, ...]:
    """Return the records of a group with one member, which runs tasks of `orders`.

    Args:
        group_id: The group's id.
        state: The state of the member.
        active: The active tasks that the member has, and should have.
        warmup: Its warm-up tasks.
        tagged: The tagged fields of the target assignment's epoch.

    Source: StreamsGroupMetadataValue.json, StreamsGroupMemberMetadataValue.json,
    StreamsGroupTopologyValue.json, StreamsGroupTargetAssignmentMetadataValue.json,
    StreamsGroupTargetAssignmentMemberValue.json and StreamsGroupCurrentMemberAssignmentValue.json (4.3.1).
    """
    of_group = named(group_id)
    of_member = of_group + named("member-ana")
    epoch = b"\x00\x00" + int32(EPOCH)
    validated = b"\x01\x00\x04" + int32(0)
    client = b"\x00\x00" + compact_string("ana") + compact_string("/127.0.0.1") + int32(5_000)
    member = b"\x00\x00" + client + int32(0) + compact_string("process-ana") + b"\xff" + NOTHING + NO_TAGS
    part = compact_string("0") + b"\x02" + compact_string("orders") + NOTHING * 5 + NO_TAGS
    kinds = (_tasks(*active) if active else NOTHING) + NOTHING + (_tasks(*warmup) if warmup else NOTHING)
    assigned = epoch + int32(EPOCH - 1) + bytes([state]) + kinds + NOTHING * 3 + NO_TAGS
    topology = b"\x00\x00" + int32(0) + b"\x02" + part + NO_TAGS
    return (
        record_of_type(MEMBER_TYPE, key=of_member, value=member),
        record_of_type(GROUP_TYPE, key=of_group, value=epoch + bytes(8) + validated),
        record_of_type(TOPOLOGY_TYPE, key=of_group, value=topology),
        record_of_type(TARGET_TYPE, key=of_member, value=b"\x00\x00" + kinds + NO_TAGS),
        record_of_type(TARGET_EPOCH_TYPE, key=of_group, value=epoch + tagged),
        record_of_type(ASSIGNMENT_TYPE, key=of_member, value=assigned),
    )


def loaded(conversation: Conversation, group_id: str, *records: LogRecord) -> StreamsMember:
    """Let a coordinator load a group, whose name no other scenario uses, and return its member."""
    ana = conversation.streams_member("ana")
    for each in records:
        conversation.appends(each)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.offset_fetch(version=8, group_id=group_id, topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: -1}}, version=8),
        within_ms=WITHIN_MS,
    )
    # A restarted coordinator may load its groups before it has the metadata of any topic.
    ana.awaits_metadata()
    return ana


@scenario("streams_groups/logged/no-epochs", source=READS, clauses=("KS-43", "KS-56"), needs=WRITES)
def tasks_without_epochs_have_the_members(conversation: Conversation) -> None:
    """A task that the log has without an epoch counts as assigned in the member's logged epoch."""
    group_id = "no-epochs"
    ana = loaded(conversation, group_id, *logged(group_id))
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned=ALL, member_epoch=EPOCH + 1, assigned=None)

    for epoch, error in ((EPOCH - 1, "STALE_MEMBER_EPOCH"), (EPOCH, "NONE")):
        ana.asks(
            ask.offset_commit(version=9, group_id=group_id, generation_id=epoch, topics={"orders": {0: 7}}),
            expect.offset_commit({"orders": {0: error}}),
        )


@scenario("streams_groups/logged/state-to-come", source=BUILDS, clauses=("KS-56",), needs=WRITES)
def a_state_that_nobody_knows_is_fenced(conversation: Conversation) -> None:
    """A member in an unknown logged state gets FENCED_MEMBER_EPOCH, unless it reports no task."""
    group_id, fenced = "streams-to-come", "FENCED_MEMBER_EPOCH"
    ana = loaded(conversation, group_id, *logged(group_id, state=OF_A_RELEASE_TO_COME))

    ana.heartbeats(group_id=group_id, epoch=EPOCH, error_code=fenced)
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned={"0": (0,)}, error_code=fenced)
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned={}, standby={"0": (0,)}, error_code=fenced)
    # Up to 4.3 no member may have warm-up tasks.
    ana.heartbeats(
        group_id=group_id,
        epoch=EPOCH,
        owned={},
        warmup={"0": (0,)},
        error_code=one_of(fenced, "INVALID_REQUEST"),
    )
    ana.asks(ask_describe(group_ids=(group_id,)), expect_describe(group_state="Reconciling"))
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned={}, member_epoch=EPOCH + 1)


@scenario("streams_groups/logged/nobody-gone", source=REPLAYS, clauses=("KS-56",), needs=WRITES)
def tombstones_of_no_member_are_left_out(conversation: Conversation) -> None:
    """A load skips tombstones of a member that its streams group does not have."""
    group_id = "streams-nobody-gone"
    of_nobody = named(group_id) + named("nobody")
    gone = (record_of_type(each, key=of_nobody, value=None) for each in (ASSIGNMENT_TYPE, MEMBER_TYPE))
    ana = loaded(conversation, group_id, *logged(group_id), *gone)

    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned=ALL, member_epoch=EPOCH + 1, assigned=None)


@scenario("streams_groups/logged/no-topology", source=REPLAYS, clauses=("KS-17", "KS-56"), needs=WRITES)
def a_group_without_a_topology_stops(conversation: Conversation) -> None:
    """In a group whose topology the log has removed, a heartbeat gets UNKNOWN_SERVER_ERROR."""
    group_id = "no-topology"
    gone = record_of_type(TOPOLOGY_TYPE, key=named(group_id), value=None)
    ana = loaded(conversation, group_id, *logged(group_id), gone)
    topic_made(conversation, ana)

    ana.asks(ask_describe(group_ids=(group_id,)), expect_describe(error_code=STOPPED))
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned=ALL, error_code=STOPPED)
    ana.asks(
        ask.offset_commit(version=9, group_id=group_id, generation_id=EPOCH - 1, topics={"orders": {0: 7}}),
        expect.offset_commit({"orders": {0: "STALE_MEMBER_EPOCH"}}),
    )


@scenario("streams_groups/logged/warm-ups", source=BUILDS, clauses=("KS-17", "KS-52"), needs=WRITES)
def logged_warm_ups_are_described(conversation: Conversation) -> None:
    """Warm-up tasks that another release has assigned are described."""
    group_id = "warm-ups"
    ana = loaded(conversation, group_id, *logged(group_id, active=(0, 1), warmup=(2,)))

    tasks: dict[str, Pattern] = {
        "active_tasks": ({"subtopology_id": "0", "partitions": (0, 1)},),
        "standby_tasks": (),
        "warmup_tasks": ({"subtopology_id": "0", "partitions": (2,)},),
    }
    member: dict[str, Pattern] = {"member_id": ana.member_id, "assignment": tasks, "target_assignment": tasks}
    ana.asks(
        ask_describe(group_ids=(group_id,)),
        expect_describe(error_code="NONE", group_state="Stable", members=(member,)),
    )


@scenario("streams_groups/logged/later-clock", source=COMPUTES, clauses=("KS-56",), needs=WRITES)
def without_an_interval_no_clock_matters(conversation: Conversation) -> None:
    """Without an assignment interval, tasks are assigned though the last assignment is of a time to come."""
    group_id = "streams-later-clock"
    timestamp = b"\x01\x00\x08" + YEAR_2100_MS.to_bytes(8, "big")
    ana = loaded(conversation, group_id, *logged(group_id, active=(0,), tagged=timestamp))

    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned={"0": (0,)}, member_epoch=EPOCH + 1, assigned=ALL)
