"""Every API against a group that is Dead but not yet removed: DeleteGroups is paused between the two."""

from harness.scenario import (
    ANY,
    Actor,
    Breakpoint,
    Capability,
    Conversation,
    ask,
    containing,
    expect,
    scenario,
    sweep,
)
from harness.scenario.messages import Request, Response
from suites.transactions.producers import ONE_ANSWER, ORDER_0, announced

PAUSES = (Capability.PAUSE_AT_DEAD,)
GONE = "COORDINATOR_NOT_AVAILABLE"
DELETES = "GroupCoordinator#handleDeleteGroups"


def _dies(conversation: Conversation, ana: Actor) -> Actor:
    """Return the actor that is deleting a group with an offset, whose only member has left."""
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(ask.leave_group(), error_code="NONE")
    eve = conversation.actor("eve")
    conversation.pauses_at(Breakpoint.DEAD)
    eve.sends(ask.delete_groups())
    eve.stays_parked(for_ms=300)
    return eve


def _asks_the_dead(conversation: Conversation, *asked: tuple[Request, Response]) -> None:
    """Send requests to a group while it is Dead; then let it be removed, so that DeleteGroups succeeds."""
    (ana,) = conversation.stable_group("ana")
    eve = _dies(conversation, ana)
    for said, answer in asked:
        ana.asks(said, answer)
    conversation.resumes_from(Breakpoint.DEAD)
    eve.receives(expect.delete_groups("NONE"))
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "admin/dead-held/join",
    source="GroupCoordinator#doNewMemberJoinGroup",
    clauses=("CO-23",),
    needs=PAUSES,
    sweep=sweep("JoinGroup", 0, 9),
)
def nobody_joins_the_dead(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} to a Dead group gets COORDINATOR_NOT_AVAILABLE, with or without a member id."""
    refused = expect.join_group(error_code=GONE)
    _asks_the_dead(
        conversation,
        (ask.join_group(version=version), refused),
        (ask.join_group(version=version, member_id=""), refused),
    )


@scenario(
    "admin/dead-held/join-without-protocols",
    source="GroupCoordinator#doNewMemberJoinGroup",
    clauses=("CO-23",),
    needs=PAUSES,
)
def the_dead_hear_of_before_protocols(conversation: Conversation) -> None:
    """A JoinGroup without protocols to a Dead group gets COORDINATOR_NOT_AVAILABLE: state comes first."""
    refused = expect.join_group(error_code=GONE)
    _asks_the_dead(
        conversation,
        (ask.join_group(protocols=()), refused),
        (ask.join_group(protocols=(), member_id=""), refused),
    )


@scenario(
    "admin/dead-held/join-static",
    source="GroupCoordinator#doNewMemberJoinGroup",
    clauses=("CO-23",),
    needs=PAUSES,
    sweep=sweep("JoinGroup", 5, 9),
)
def no_static_member_joins_the_dead(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} of a static member to a Dead group gets COORDINATOR_NOT_AVAILABLE."""
    asked = ask.join_group(version=version, member_id="", group_instance_id="seat-a")
    _asks_the_dead(conversation, (asked, expect.join_group(error_code=GONE)))


@scenario(
    "admin/dead-held/sync",
    source="GroupCoordinator#validateSyncGroup",
    clauses=("CO-23",),
    needs=PAUSES,
    sweep=sweep("SyncGroup", 0, 5),
)
def the_dead_assign_nothing(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} to a Dead group gets COORDINATOR_NOT_AVAILABLE, without an assignment."""
    _asks_the_dead(
        conversation, (ask.sync_group(version=version), expect.sync_group(error_code=GONE, assignment=b""))
    )


@scenario(
    "admin/dead-held/heartbeat",
    source="GroupCoordinator#validateHeartbeat",
    clauses=("CO-23",),
    needs=PAUSES,
    sweep=sweep("Heartbeat", 0, 4),
)
def nobody_lives_among_the_dead(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} to a Dead group gets COORDINATOR_NOT_AVAILABLE, from a member or anyone else."""
    refused = expect.heartbeat(error_code=GONE)
    _asks_the_dead(
        conversation,
        (ask.heartbeat(version=version), refused),
        (ask.heartbeat(version=version, member_id="nobody"), refused),
    )


@scenario(
    "admin/dead-held/leave",
    source="GroupCoordinator#handleLeaveGroup",
    clauses=("CO-24",),
    needs=PAUSES,
    sweep=sweep("LeaveGroup", 0, 5),
)
def nobody_leaves_the_dead(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} from a Dead group gets COORDINATOR_NOT_AVAILABLE, if the version can carry it."""
    _asks_the_dead(
        conversation,
        (ask.leave_group(version=version), expect.leave_group(error_code=GONE if version >= 3 else ANY)),
    )


@scenario(
    "admin/dead-held/commit",
    source="GroupCoordinator#validateOffsetCommit",
    clauses=("OC-19",),
    needs=PAUSES,
    sweep=sweep("OffsetCommit", 2, 9),
)
def the_dead_take_no_commits(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} to a Dead group gets COORDINATOR_NOT_AVAILABLE, member or simple client."""
    refused = expect.offset_commit({"orders": {0: GONE}})
    simple = ask.offset_commit(version=version, generation_id=-1, member_id="", topics={"orders": {0: 8}})
    _asks_the_dead(
        conversation,
        (ask.offset_commit(version=version, topics={"orders": {0: 8}}), refused),
        (simple, refused),
    )


@scenario(
    "admin/dead-held/fetch",
    source="GroupMetadataManager#getOffsets",
    clauses=("OF-15",),
    needs=PAUSES,
    sweep=sweep("OffsetFetch", 1, 9),
)
def the_dead_have_no_offsets(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} of a Dead group returns -1 for a named partition, no topics in a full fetch."""
    one = (
        ask.offset_fetch(version=version, topics={"orders": (0,)}),
        expect.offset_fetch({"orders": {0: -1}}, version=version),
    )
    everything = (ask.offset_fetch(version=version), expect.offset_fetch({}, version=version))
    _asks_the_dead(conversation, one, *((everything,) if version >= 2 else ()))


@scenario(
    "admin/dead-held/offset-delete",
    source="GroupCoordinator#handleDeleteOffsets",
    clauses=("OD-13",),
    needs=PAUSES,
    sweep=sweep("OffsetDelete", 0, 0),
)
def the_dead_lose_nothing_more(conversation: Conversation, version: int) -> None:
    """OffsetDelete v{version} of a Dead group gets GROUP_ID_NOT_FOUND."""
    del version
    _asks_the_dead(
        conversation,
        (ask.offset_delete(topics={"orders": (0,)}), expect.offset_delete(error_code="GROUP_ID_NOT_FOUND")),
    )


@scenario(
    "admin/dead-held/describe",
    source="GroupCoordinator#handleDescribeGroup",
    needs=PAUSES,
    sweep=sweep("DescribeGroups", 0, 6),
)
def the_dead_are_described(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} returns state Dead for a Dead group, without an error."""
    _asks_the_dead(
        conversation,
        (
            ask.describe_groups(version=version),
            expect.describe_groups(error_code="NONE", group_state="Dead", members=()),
        ),
    )


@scenario(
    "admin/dead-held/list",
    source="GroupCoordinator#handleListGroups",
    needs=PAUSES,
    sweep=sweep("ListGroups", 0, 5),
)
def the_dead_are_listed(conversation: Conversation, version: int) -> None:
    """ListGroups v{version} lists a Dead group like any other."""
    listed = expect.list_groups(
        error_code="NONE",
        groups=containing({"group_id": conversation.group("main"), "protocol_type": "consumer"}),
    )
    dead = (
        (ask.list_groups(version=version, states_filter=("Dead",)), listed)
        if version >= 4
        else (ask.list_groups(version=version), listed)
    )
    _asks_the_dead(conversation, (ask.list_groups(version=version), listed), dead)


@scenario("admin/dead-held/delete", source=DELETES, needs=PAUSES, sweep=sweep("DeleteGroups", 0, 2))
def the_dead_die_once(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} of a Dead group gets GROUP_ID_NOT_FOUND."""
    _asks_the_dead(
        conversation, (ask.delete_groups(version=version), expect.delete_groups("GROUP_ID_NOT_FOUND"))
    )


@scenario(
    "admin/dead-held/txn-commit",
    source="GroupCoordinator#validateOffsetCommit",
    needs=PAUSES,
    sweep=sweep("TxnOffsetCommit", 0, 3),
)
def the_dead_take_no_transactions(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} to a Dead group gets COORDINATOR_NOT_AVAILABLE."""
    (ana,) = conversation.stable_group("ana")
    producer = announced(conversation.actor("pat"))
    eve = _dies(conversation, ana)
    producer.actor.asks(producer.commits(ORDER_0, version=version), ONE_ANSWER)
    conversation.resumes_from(Breakpoint.DEAD)
    eve.receives(expect.delete_groups("NONE"))


@scenario("admin/dead-held/next-of-its-name", source=DELETES, needs=PAUSES)
def after_the_dead_comes_another(conversation: Conversation) -> None:
    """A group can be created again once its Dead predecessor is removed, and starts at generation 1."""
    (ana,) = conversation.stable_group("ana")
    eve = _dies(conversation, ana)
    bob = conversation.actor("bob")
    bob.asks(ask.join_group(member_id=""), error_code=GONE)
    conversation.resumes_from(Breakpoint.DEAD)
    eve.receives(expect.delete_groups("NONE"))

    bob.repeats(ask.join_group(member_id=""), until=expect.join_group(error_code="MEMBER_ID_REQUIRED"))
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=1))
    bob.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))
