"""TxnOffsetCommit to groups with members: what it is checked against, and that it extends no session."""

from harness.scenario import SHORT_SESSIONS, Conversation, ask, expect, scenario
from suites.transactions.producers import ONE_ANSWER, ORDER_0, TAKEN, announced, ends, pending, sees

VALIDATES = "ClassicGroup#validateOffsetCommit"


@scenario("transactions/member/stable", source=VALIDATES, clauses=("TC-12",))
def a_member_commits_in_a_transaction(conversation: Conversation) -> None:
    """A member of a Stable group commits in a transaction with its id and generation."""
    ana, bob = conversation.stable_group("ana", "bob")
    producer = announced(ana)

    for member in (ana, bob):
        ana.sends(
            producer.commits(
                ORDER_0, version=3, generation_id=member.generation_id, member_id=member.member_id
            )
        )
        ana.receives(TAKEN)
    ends(producer, committed=True)
    sees(bob, {"orders": {0: 42}})


@scenario("transactions/member/anonymous", source=VALIDATES, clauses=("TC-14",))
def an_anonymous_commit_is_checked_against_nobody(conversation: Conversation) -> None:
    """TxnOffsetCommit without a member is accepted by a group with members, in v2 and in v3."""
    (ana,) = conversation.stable_group("ana")
    producer = announced(ana)

    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.asks(producer.commits({"orders": {0: 43}}, version=3), TAKEN)
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 43}})


@scenario("transactions/member/ladder", source=VALIDATES, clauses=("TC-12",))
def instance_member_and_generation_are_checked_in_turn(conversation: Conversation) -> None:
    """TxnOffsetCommit checks the instance id, then the member id, then the generation."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    former, past = bob.member_id, bob.generation_id - 1
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    producer = announced(bob_again)
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=bob.generation_id))

    bob_again.climbs(
        [
            (
                producer.commits(
                    ORDER_0,
                    version=3,
                    member_id=member_id,
                    group_instance_id=instance,
                    generation_id=generation_id,
                ),
                expect.txn_offset_commit({"orders": {0: error}}),
            )
            for member_id, instance, generation_id, error in (
                (former, "seat-b", past, "FENCED_INSTANCE_ID"),
                ("nobody", "seat-b", past, "FENCED_INSTANCE_ID"),
                ("nobody", None, past, "UNKNOWN_MEMBER_ID"),
                (former, None, past, "UNKNOWN_MEMBER_ID"),
                (bob_again.member_id, "seat-b", past, "ILLEGAL_GENERATION"),
                (bob_again.member_id, "seat-b", bob_again.generation_id, "NONE"),
            )
        ]
    )


@scenario("transactions/member/generation-zero", source=VALIDATES, clauses=("TC-12",))
def generation_0_is_a_generation(conversation: Conversation) -> None:
    """TxnOffsetCommit with generation 0, which is not the group's, gets ILLEGAL_GENERATION."""
    (ana,) = conversation.stable_group("ana")
    producer = announced(ana)

    ana.sends(producer.commits(ORDER_0, version=3, member_id=ana.member_id, generation_id=0))
    ana.receives(expect.txn_offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))


@scenario(
    "transactions/member/half-named",
    source="GroupCoordinator#validateOffsetCommit",
    clauses=("TC-12", "TC-14"),
)
def who_is_named_by_half_may_not_count(conversation: Conversation) -> None:
    """Until 2.8, TxnOffsetCommit accepts a member or a generation alone, and an unknown instance id."""
    (ana,) = conversation.stable_group("ana")
    producer = announced(ana)

    for member_id, instance, generation_id in (
        (ana.member_id, None, -1),
        ("", None, ana.generation_id),
        (ana.member_id, "seat-x", ana.generation_id),
        ("", None, ana.generation_id + 1),
    ):
        ana.sends(
            producer.commits(
                ORDER_0,
                version=3,
                member_id=member_id,
                group_instance_id=instance,
                generation_id=generation_id,
            )
        )
        ana.receives(ONE_ANSWER)


@scenario("transactions/member/completing-rebalance", source=VALIDATES, clauses=("TC-15",))
def a_commit_before_the_assignments_is_taken(conversation: Conversation) -> None:
    """While assignments are awaited, TxnOffsetCommit is accepted, unlike OffsetCommit."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.joins()

    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.sends(
        producer.commits(
            {"orders": {0: 43}}, version=3, generation_id=ana.generation_id, member_id=ana.member_id
        )
    )
    ana.receives(TAKEN)
    ends(producer, committed=True)
    ana.syncs_as_leader((ana,))
    sees(ana, {"orders": {0: 43}})


@scenario(
    "transactions/member/preparing-rebalance",
    source="OffsetMetadataManager#replayEndTransactionMarker",
    clauses=("TC-15",),
)
def a_transaction_may_end_while_a_group_rebalances(conversation: Conversation) -> None:
    """A transaction that ends while its group awaits members is committed, and is visible at once."""
    producer = pending(conversation, "zoe")
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana)
    bob.obtains_member_id()
    bob.sends(ask.join_group())
    bob.stays_parked(for_ms=300)

    ends(producer, committed=True)
    sees(producer.actor, {"orders": {0: 42}})
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))
    sees(producer.actor, {"orders": {0: 42}})


@scenario(
    "transactions/member/no-sign-of-life",
    source="OffsetMetadataManager#commitTransactionalOffset",
    clauses=("TC-16",),
    broker_config=SHORT_SESSIONS,
)
def a_transactional_commit_is_no_heartbeat(conversation: Conversation) -> None:
    """TxnOffsetCommit does not extend a session: a member that sends nothing else is removed."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.obtains_member_id()
    ana.asks(ask.join_group(session_timeout_ms=3_000), error_code="NONE")
    ana.syncs_as_leader((ana,))

    conversation.elapses(1_700)
    ana.asks(producer.commits(ORDER_0), TAKEN)
    conversation.elapses(1_900)
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
