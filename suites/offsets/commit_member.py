"""OffsetCommit by members: in which states it is accepted, and the order of the checks."""

from harness.scenario import SHORT_SESSIONS, Conversation, ask, expect, scenario, subscription

VALIDATES = "ClassicGroup#validateOffsetCommit"
ORDER_0 = {"orders": {0: 42}}


@scenario("offsets/member/stable", source=VALIDATES, clauses=("OC-09", "OF-01"))
def a_member_commits_in_stable(conversation: Conversation) -> None:
    """A member of a Stable group commits with its id and generation, and any client may fetch it."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.offset_commit(topics={"orders": {0: (42, "half way")}, "payments": {1: 43}}))
    bob.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {1: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1), "payments": (1,)}),
        until=expect.offset_fetch({"orders": {0: 42, 1: -1}, "payments": {1: 43}}),
    )


@scenario("offsets/member/low-version", source=VALIDATES, clauses=("OC-09", "OC-15"))
def a_member_commits_in_version_2(conversation: Conversation) -> None:
    """OffsetCommit v2 checks generation and member as later versions do."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.offset_commit(version=2, generation_id=ana.generation_id + 1, topics=ORDER_0))
    ana.receives(expect.offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))
    ana.asks(ask.offset_commit(version=2, topics=ORDER_0), expect.offset_commit({"orders": {0: "NONE"}}))


@scenario(
    "offsets/member/keeps-the-session",
    source="ClassicGroup#validateOffsetCommit",
    clauses=("OC-09", "HB-13"),
    broker_config=SHORT_SESSIONS,
)
def a_commit_counts_as_a_heartbeat(conversation: Conversation) -> None:
    """A member that commits in time keeps its session without sending heartbeats."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(ask.join_group(session_timeout_ms=3_000), error_code="NONE")
    ana.syncs_as_leader((ana,))

    conversation.elapses(1_700)
    ana.asks(ask.offset_commit(topics=ORDER_0), expect.offset_commit({"orders": {0: "NONE"}}))
    conversation.elapses(1_700)

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario("offsets/member/preparing-rebalance", source=VALIDATES, clauses=("OC-10",))
def members_commit_while_a_rebalance_is_prepared(conversation: Conversation) -> None:
    """While a rebalance is prepared, members commit whether they have rejoined or not."""
    ana, bob = conversation.stable_group("ana", "bob")
    bob.sends(ask.join_group(protocols=(("range", subscription("payments")),)))

    ana.asks(ask.offset_commit(topics=ORDER_0), expect.offset_commit({"orders": {0: "NONE"}}))
    bob.aside.sends(ask.offset_commit(topics={"orders": {1: 7}}))
    bob.aside.receives(expect.offset_commit({"orders": {1: "NONE"}}))

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario("offsets/member/completing-ladder", source=VALIDATES, clauses=("OC-11", "OC-12", "OC-13", "OC-14"))
def a_commit_before_the_assignments_comes_too_early(conversation: Conversation) -> None:
    """While assignments are awaited, a valid commit gets REBALANCE_IN_PROGRESS, after the other checks."""
    ana = conversation.actor("ana")
    ana.joins()
    past = ana.generation_id - 1

    ana.climbs(
        [
            (
                ask.offset_commit(member_id=member_id, generation_id=generation_id, topics=ORDER_0),
                expect.offset_commit({"orders": {0: error}}),
            )
            for member_id, generation_id, error in (
                ("", -1, "UNKNOWN_MEMBER_ID"),
                ("nobody", past, "UNKNOWN_MEMBER_ID"),
                (ana.member_id, past, "ILLEGAL_GENERATION"),
                (ana.member_id, -1, "ILLEGAL_GENERATION"),
                (ana.member_id, ana.generation_id, "REBALANCE_IN_PROGRESS"),
            )
        ]
    )

    ana.syncs_as_leader((ana,))
    ana.asks(ask.offset_commit(topics=ORDER_0), expect.offset_commit({"orders": {0: "NONE"}}))


@scenario(
    "offsets/member/stable-ladder",
    source=VALIDATES,
    clauses=("OC-14", "OC-15", "OC-16", "OC-18", "OC-21", "ST-07", "ST-08"),
)
def a_commit_is_checked_from_the_topic_to_the_generation(conversation: Conversation) -> None:
    """OffsetCommit checks the topic first, then the instance id, the member id, and the generation."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    former, past = bob.member_id, bob.generation_id - 1
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=bob.generation_id))

    bob_again.climbs(
        [
            (
                ask.offset_commit(member_id=former, generation_id=past, topics={"no-such-topic": {0: 1}}),
                expect.offset_commit({"no-such-topic": {0: "UNKNOWN_TOPIC_OR_PARTITION"}}),
            ),
            *(
                (
                    ask.offset_commit(
                        member_id=member_id, group_instance_id=instance, generation_id=past, topics=ORDER_0
                    ),
                    expect.offset_commit({"orders": {0: error}}),
                )
                for member_id, instance, error in (
                    ("", "seat-b", "FENCED_INSTANCE_ID"),
                    ("nobody", "seat-b", "FENCED_INSTANCE_ID"),
                    (former, "seat-b", "FENCED_INSTANCE_ID"),
                    (former, None, "UNKNOWN_MEMBER_ID"),
                    ("nobody", None, "UNKNOWN_MEMBER_ID"),
                    (bob_again.member_id, "seat-b", "ILLEGAL_GENERATION"),
                )
            ),
            (
                ask.offset_commit(member_id="", group_instance_id=None, generation_id=-1, topics=ORDER_0),
                expect.offset_commit({"orders": {0: "UNKNOWN_MEMBER_ID"}}),
            ),
            (ask.offset_commit(topics=ORDER_0), expect.offset_commit({"orders": {0: "NONE"}})),
        ]
    )


@scenario("offsets/member/unmapped-instance", source=VALIDATES, clauses=("OC-17",))
def a_commit_with_an_unmapped_instance_may_not_count(conversation: Conversation) -> None:
    """An OffsetCommit with an unused instance id gets UNKNOWN_MEMBER_ID since 3.0, and succeeds before."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.offset_commit(group_instance_id="seat-x", topics=ORDER_0))
    ana.receives(
        expect.response("OffsetCommit", topics=({"name": "orders", "partitions": ({"partition_index": 0},)},))
    )
    ana.asks(ask.offset_commit(topics={"orders": {0: 43}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 43}}))
