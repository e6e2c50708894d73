"""Every API against a group that is Dead and not removed yet: DeleteGroups is held between the two."""

from harness.scenario import (
    ANY,
    Actor,
    Breakpoint,
    Capability,
    Conversation,
    containing,
    delete_groups,
    delete_groups_response,
    describe_groups,
    describe_groups_response,
    heartbeat,
    heartbeat_response,
    join_group,
    join_group_response,
    leave_group,
    leave_group_response,
    list_groups,
    list_groups_response,
    offset_commit,
    offset_commit_response,
    offset_delete,
    offset_delete_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
    sweep,
    sync_group,
    sync_group_response,
)
from harness.scenario.messages import Request, Response
from suites.transactions.producers import ONE_ANSWER, ORDER_0, announced

HOLDS = (Capability.HOLD_DEAD,)
GONE = "COORDINATOR_NOT_AVAILABLE"
DELETES = "GroupCoordinator#handleDeleteGroups"


def _dies(conversation: Conversation, ana: Actor) -> Actor:
    """Return who is deleting a group that has an offset, and that its only member has left."""
    ana.asks(offset_commit(topics={"orders": {0: 7}}), offset_commit_response({"orders": {0: "NONE"}}))
    ana.asks(leave_group(), error_code="NONE")
    eve = conversation.actor("eve")
    conversation.holds(Breakpoint.DEAD)
    eve.sends(delete_groups())
    eve.stays_parked(for_ms=300)
    return eve


def _asks_the_dead(conversation: Conversation, *asked: tuple[Request, Response]) -> None:
    """Ask a group while it is Dead; then it is removed, and who deletes it is told so."""
    (ana,) = conversation.stable_group("ana")
    eve = _dies(conversation, ana)
    for said, answer in asked:
        ana.asks(said, answer)
    conversation.releases(Breakpoint.DEAD)
    eve.receives(delete_groups_response("NONE"))
    ana.asks(heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "admin/dead-held/join",
    source="GroupCoordinator#doUnknownJoinGroup",
    clauses=("CO-23",),
    needs=HOLDS,
    sweep=sweep("JoinGroup", 0, 9),
)
def nobody_joins_the_dead(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} to a Dead group is COORDINATOR_NOT_AVAILABLE, with a member id or without."""
    refused = join_group_response(error_code=GONE)
    _asks_the_dead(
        conversation,
        (join_group(version=version), refused),
        (join_group(version=version, member_id=""), refused),
    )


@scenario(
    "admin/dead-held/join-without-protocols",
    source="GroupCoordinator#doUnknownJoinGroup",
    clauses=("CO-23",),
    needs=HOLDS,
)
def the_dead_hear_of_before_protocols(conversation: Conversation) -> None:
    """A JoinGroup without a protocol is refused by a Dead group because it is Dead."""
    refused = join_group_response(error_code=GONE)
    _asks_the_dead(
        conversation, (join_group(protocols=()), refused), (join_group(protocols=(), member_id=""), refused)
    )


@scenario(
    "admin/dead-held/join-static",
    source="GroupCoordinator#doUnknownJoinGroup",
    clauses=("CO-23",),
    needs=HOLDS,
    sweep=sweep("JoinGroup", 5, 9),
)
def no_static_member_joins_the_dead(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} of a static member to a Dead group is COORDINATOR_NOT_AVAILABLE."""
    asked = join_group(version=version, member_id="", group_instance_id="seat-a")
    _asks_the_dead(conversation, (asked, join_group_response(error_code=GONE)))


@scenario(
    "admin/dead-held/sync",
    source="GroupCoordinator#validateSyncGroup",
    clauses=("CO-23",),
    needs=HOLDS,
    sweep=sweep("SyncGroup", 0, 5),
)
def the_dead_assign_nothing(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} to a Dead group is COORDINATOR_NOT_AVAILABLE, without an assignment."""
    _asks_the_dead(
        conversation, (sync_group(version=version), sync_group_response(error_code=GONE, assignment=b""))
    )


@scenario(
    "admin/dead-held/heartbeat",
    source="GroupCoordinator#validateHeartbeat",
    clauses=("CO-23",),
    needs=HOLDS,
    sweep=sweep("Heartbeat", 0, 4),
)
def nobody_lives_among_the_dead(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} to a Dead group is COORDINATOR_NOT_AVAILABLE, of whomever."""
    refused = heartbeat_response(error_code=GONE)
    _asks_the_dead(
        conversation,
        (heartbeat(version=version), refused),
        (heartbeat(version=version, member_id="nobody"), refused),
    )


@scenario(
    "admin/dead-held/leave",
    source="GroupCoordinator#handleLeaveGroup",
    clauses=("CO-24",),
    needs=HOLDS,
    sweep=sweep("LeaveGroup", 0, 5),
)
def nobody_leaves_the_dead(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} from a Dead group is COORDINATOR_NOT_AVAILABLE, if there are words for it."""
    _asks_the_dead(
        conversation,
        (leave_group(version=version), leave_group_response(error_code=GONE if version >= 3 else ANY)),
    )


@scenario(
    "admin/dead-held/commit",
    source="GroupCoordinator#validateOffsetCommit",
    clauses=("OC-19",),
    needs=HOLDS,
    sweep=sweep("OffsetCommit", 2, 9),
)
def the_dead_take_no_commits(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} to a Dead group is COORDINATOR_NOT_AVAILABLE, of a member or of nobody."""
    refused = offset_commit_response({"orders": {0: GONE}})
    simple = offset_commit(version=version, generation_id=-1, member_id="", topics={"orders": {0: 8}})
    _asks_the_dead(
        conversation, (offset_commit(version=version, topics={"orders": {0: 8}}), refused), (simple, refused)
    )


@scenario(
    "admin/dead-held/fetch",
    source="GroupMetadataManager#getOffsets",
    clauses=("OF-15",),
    needs=HOLDS,
    sweep=sweep("OffsetFetch", 1, 9),
)
def the_dead_have_no_offsets(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} of a Dead group brings -1, and nothing where all is asked for."""
    one = (
        offset_fetch(version=version, topics={"orders": (0,)}),
        offset_fetch_response({"orders": {0: -1}}, version=version),
    )
    everything = (offset_fetch(version=version), offset_fetch_response({}, version=version))
    _asks_the_dead(conversation, one, *((everything,) if version >= 2 else ()))


@scenario(
    "admin/dead-held/offset-delete",
    source="GroupCoordinator#handleDeleteOffsets",
    clauses=("OD-13",),
    needs=HOLDS,
    sweep=sweep("OffsetDelete", 0, 0),
)
def the_dead_lose_nothing_more(conversation: Conversation, version: int) -> None:
    """OffsetDelete v{version} of a Dead group is GROUP_ID_NOT_FOUND."""
    del version
    _asks_the_dead(
        conversation,
        (offset_delete(topics={"orders": (0,)}), offset_delete_response(error_code="GROUP_ID_NOT_FOUND")),
    )


@scenario(
    "admin/dead-held/describe",
    source="GroupCoordinator#handleDescribeGroup",
    needs=HOLDS,
    sweep=sweep("DescribeGroups", 0, 6),
)
def the_dead_are_described(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} says of a Dead group that it is Dead, without an error."""
    _asks_the_dead(
        conversation,
        (
            describe_groups(version=version),
            describe_groups_response(error_code="NONE", group_state="Dead", members=()),
        ),
    )


@scenario(
    "admin/dead-held/list",
    source="GroupCoordinator#handleListGroups",
    needs=HOLDS,
    sweep=sweep("ListGroups", 0, 5),
)
def the_dead_are_listed(conversation: Conversation, version: int) -> None:
    """ListGroups v{version} lists a Dead group as any other."""
    listed = list_groups_response(
        error_code="NONE",
        groups=containing({"group_id": conversation.group("main"), "protocol_type": "consumer"}),
    )
    dead = (
        (list_groups(version=version, states_filter=("Dead",)), listed)
        if version >= 4
        else (list_groups(version=version), listed)
    )
    _asks_the_dead(conversation, (list_groups(version=version), listed), dead)


@scenario("admin/dead-held/delete", source=DELETES, needs=HOLDS, sweep=sweep("DeleteGroups", 0, 2))
def the_dead_die_once(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} of a Dead group is GROUP_ID_NOT_FOUND."""
    _asks_the_dead(
        conversation, (delete_groups(version=version), delete_groups_response("GROUP_ID_NOT_FOUND"))
    )


@scenario(
    "admin/dead-held/txn-commit",
    source="GroupCoordinator#validateOffsetCommit",
    needs=HOLDS,
    sweep=sweep("TxnOffsetCommit", 0, 3),
)
def the_dead_take_no_transactions(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} to a Dead group is COORDINATOR_NOT_AVAILABLE."""
    (ana,) = conversation.stable_group("ana")
    producer = announced(conversation.actor("pat"))
    eve = _dies(conversation, ana)
    producer.actor.asks(producer.commits(ORDER_0, version=version), ONE_ANSWER)
    conversation.releases(Breakpoint.DEAD)
    eve.receives(delete_groups_response("NONE"))


@scenario("admin/dead-held/next-of-its-name", source=DELETES, needs=HOLDS)
def after_the_dead_comes_another(conversation: Conversation) -> None:
    """A group of the same name may be made as soon as the Dead one is removed, and counts from 1."""
    (ana,) = conversation.stable_group("ana")
    eve = _dies(conversation, ana)
    bob = conversation.actor("bob")
    bob.asks(join_group(member_id=""), error_code=GONE)
    conversation.releases(Breakpoint.DEAD)
    eve.receives(delete_groups_response("NONE"))

    bob.repeats(join_group(member_id=""), until=join_group_response(error_code="MEMBER_ID_REQUIRED"))
    bob.asks(join_group(), join_group_response(error_code="NONE", generation_id=1))
    bob.asks(offset_fetch(topics={"orders": (0,)}), offset_fetch_response({"orders": {0: -1}}))
