"""What a coordinator has after it has loaded its log again, and what it never wrote."""

from harness.scenario import (
    ANY,
    OWN,
    SHORT_SESSIONS,
    Actor,
    Capability,
    Conversation,
    Pattern,
    Value,
    ask,
    expect,
    in_any_order,
    scenario,
)

RESTARTS = (Capability.RESTART,)
LOADS = "GroupMetadataManager#replay"
UNLOADS = "GroupMetadataManager#onLoaded"


def _restart(conversation: Conversation, witness: Actor) -> None:
    """Restart the coordinator and wait until it serves again."""
    conversation.restarts_coordinator()
    witness.repeats(ask.offset_fetch(), until=expect.offset_fetch({}), within_ms=15_000)


@scenario("loading/restart/stable", source=LOADS, clauses=("PR-01", "LO-21"), needs=RESTARTS)
def a_stable_group_survives(conversation: Conversation) -> None:
    """After a restart a Stable group has its generation, members, leader, protocol and assignments."""
    ana, bob = conversation.stable_group("ana", "bob")
    _restart(conversation, ana)

    ana.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.sends(ask.join_group())
    bob.receives(
        expect.join_group(
            error_code="NONE", generation_id=2, protocol_name="range", leader=ana.member_id, members=()
        )
    )
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            group_state="Stable",
            protocol_data="range",
            members=in_any_order(
                {"member_id": ana.member_id, "client_id": "ana", "member_assignment": ana.part},
                {"member_id": bob.member_id, "client_id": "bob", "member_assignment": bob.part},
            ),
        ),
    )


@scenario("loading/restart/preparing-rebalance", source=LOADS, clauses=("PR-02", "PE-05"), needs=RESTARTS)
def a_rebalance_that_was_prepared_is_forgotten(conversation: Conversation) -> None:
    """After a restart a group that prepared a rebalance is Stable in the generation before."""
    ana, bob = conversation.stable_group("ana", "bob")
    bob.asks(ask.heartbeat(), error_code="NONE")
    ana.sends(ask.join_group())
    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.disconnects()

    _restart(conversation, bob)
    bob.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("loading/restart/completing-rebalance", source=LOADS, clauses=("PR-02", "PE-05"), needs=RESTARTS)
def a_generation_that_was_never_assigned_is_forgotten(conversation: Conversation) -> None:
    """After a restart a generation without assignments is gone, and the one before it is back."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    _restart(conversation, ana)

    ana.asks(ask.heartbeat(generation_id=3), error_code="ILLEGAL_GENERATION")
    ana.asks(ask.heartbeat(generation_id=2), error_code="NONE")
    bob.asks(ask.sync_group(generation_id=2), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("loading/restart/first-generation", source=LOADS, clauses=("PR-03",), needs=RESTARTS)
def a_first_generation_that_was_never_assigned_is_forgotten(conversation: Conversation) -> None:
    """A group that never had assignments has no members after a restart, and starts at generation 1."""
    ana = conversation.actor("ana")
    ana.joins()
    _restart(conversation, ana)

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state=ANY, members=()))
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=1))


@scenario("loading/restart/pending-member", source=LOADS, clauses=("PR-04", "PE-08"), needs=RESTARTS)
def a_pending_member_is_forgotten(conversation: Conversation) -> None:
    """After a restart a pending member id gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    _restart(conversation, ana)

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario("loading/restart/empty", source=LOADS, clauses=("PR-05", "PE-04"), needs=RESTARTS)
def an_empty_group_keeps_counting_generations(conversation: Conversation) -> None:
    """After a restart an Empty group keeps its protocol type and continues to count generations."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    _restart(conversation, ana)

    ana.repeats(
        ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type="consumer")
    )
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "loading/restart/offsets",
    source="OffsetMetadataManager#replay",
    clauses=("PE-11", "OF-05"),
    needs=RESTARTS,
)
def offsets_survive(conversation: Conversation) -> None:
    """After a restart offsets are as last committed, for simple groups and for those with members."""
    (ana,) = conversation.stable_group("ana")
    simple = conversation.group("simple")
    ana.sends(ask.offset_commit(topics={"orders": {0: 1, 1: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    ana.asks(ask.offset_commit(topics={"orders": {0: 3}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"payments": {0: 4}}))
    ana.receives(expect.offset_commit({"payments": {0: "NONE"}}))
    conversation.restarts_coordinator()

    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 3, 1: 2}}), within_ms=15_000)
    ana.asks(ask.offset_fetch(group_id=simple), expect.offset_fetch({"payments": {0: 4}}))
    ana.repeats(
        ask.describe_groups(groups=(simple,)),
        until=expect.describe_groups(error_code="NONE", group_state="Empty", protocol_type=""),
    )


@scenario(
    "loading/restart/static-replacement",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-11", "PR-06", "PE-09"),
    needs=RESTARTS,
)
def a_static_replacement_is_remembered(conversation: Conversation) -> None:
    """A static member's new id survives a restart since 2.6.1; before, the former one was valid again."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=bob.generation_id))
    _restart(conversation, ana)

    bob.asks(ask.heartbeat(), error_code=ANY)
    bob_again.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "loading/restart/sessions-begin-anew",
    source=UNLOADS,
    clauses=("PR-01", "HB-12"),
    needs=RESTARTS,
    broker_config=SHORT_SESSIONS,
)
def sessions_begin_anew_with_the_load(conversation: Conversation) -> None:
    """After a restart a member's session starts anew, and times out if it stays silent."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(ask.join_group(session_timeout_ms=2_000), error_code="NONE")
    ana.syncs_as_leader((ana,))
    conversation.elapses(1_200)
    _restart(conversation, ana)

    conversation.elapses(1_100)
    ana.asks(ask.heartbeat(), error_code="NONE")
    conversation.elapses(2_600)
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario("loading/restart/leader-epochs", source=LOADS, clauses=("PE-23",), needs=RESTARTS)
def leader_epochs_survive(conversation: Conversation) -> None:
    """Offsets have their leader epochs and metadata after a restart as before; 0 is an epoch too."""
    ana = conversation.actor("ana")
    given = {0: (0, "of 0"), 1: (5, "of 1")}
    partitions: Value = tuple(
        {
            "partition_index": partition,
            "committed_offset": 7,
            "committed_leader_epoch": epoch,
            "committed_metadata": metadata,
        }
        for partition, (epoch, metadata) in given.items()
    )
    orders: Value = {"name": "orders", "partitions": partitions}
    commit = ask.request(
        "OffsetCommit", 6, group_id=OWN, generation_id_or_member_epoch=-1, member_id="", topics=(orders,)
    )
    ana.asks(commit, expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    conversation.elapses(500)
    conversation.restarts_coordinator()

    for partition, (epoch, metadata) in given.items():
        kept: Pattern = {"committed_offset": 7, "committed_leader_epoch": epoch, "metadata": metadata}
        ana.repeats(
            ask.offset_fetch(topics={"orders": (partition,)}),
            until=expect.response("OffsetFetch", error_code="NONE", topics=({"partitions": (kept,)},)),
            within_ms=15_000,
        )
