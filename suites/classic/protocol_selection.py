"""Which protocol a generation uses, and which member leads it."""

from harness.scenario import ORDERS, Conversation, ask, expect, in_any_order, one_of, scenario, subscription

PAYMENTS = subscription("payments")


@scenario(
    "classic/protocol/majority-of-votes",
    source="ClassicGroup#selectProtocol",
    clauses=("PV-02", "PV-03"),
)
def the_majority_of_votes_decides(conversation: Conversation) -> None:
    """The protocol that most members list first is selected, and the leader gets their metadata for it."""
    range_first = (("range", ORDERS), ("roundrobin", PAYMENTS))
    robin_first = (("roundrobin", PAYMENTS), ("range", ORDERS))
    (ana,) = conversation.stable_group("ana", protocols=range_first)
    bob, carol = conversation.actors("bob", "carol")
    for newcomer in (bob, carol):
        newcomer.obtains_member_id(protocols=robin_first)
        newcomer.sends(ask.join_group(protocols=robin_first))

    ana.sends(ask.join_group(protocols=range_first))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            protocol_name="roundrobin",
            members=in_any_order(
                {"member_id": ana.member_id, "metadata": PAYMENTS},
                {"member_id": bob.member_id, "metadata": PAYMENTS},
                {"member_id": carol.member_id, "metadata": PAYMENTS},
            ),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", protocol_name="roundrobin"))
    carol.receives(expect.join_group(error_code="NONE", protocol_name="roundrobin"))


@scenario(
    "classic/protocol/only-common-ones-are-voted-on",
    source="ClassicGroup#candidateProtocols",
    clauses=("PV-01", "PV-03"),
)
def only_common_protocols_are_voted_on(conversation: Conversation) -> None:
    """Only protocols that all members support are voted on, even if each member prefers another."""
    sticky_or_range = (("sticky", PAYMENTS), ("range", ORDERS))
    robin_or_range = (("roundrobin", PAYMENTS), ("range", ORDERS))
    (ana,) = conversation.stable_group("ana", protocols=sticky_or_range)
    bob = conversation.actor("bob")
    bob.obtains_member_id(protocols=robin_or_range)
    bob.sends(ask.join_group(protocols=robin_or_range))

    ana.sends(ask.join_group(protocols=sticky_or_range))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            protocol_name="range",
            members=in_any_order(
                {"member_id": ana.member_id, "metadata": ORDERS},
                {"member_id": bob.member_id, "metadata": ORDERS},
            ),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", protocol_name="range"))


@scenario(
    "classic/protocol/a-duplicate-disqualifies-itself",
    source="ClassicGroup#candidateProtocols",
    clauses=("PV-07",),
)
def a_duplicate_disqualifies_itself(conversation: Conversation) -> None:
    """A protocol that one member lists twice is counted twice, and so is never selected."""
    ana = conversation.actor("ana")
    twice = (("range", ORDERS), ("range", ORDERS), ("roundrobin", PAYMENTS))

    ana.sends(ask.join_group(version=3, protocols=twice))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            protocol_name="roundrobin",
            members=({"member_id": ana.member_id, "metadata": PAYMENTS},),
        )
    )


@scenario("classic/protocol/empty-name", source="ClassicGroup#selectProtocol", clauses=("PV-07",))
def an_empty_protocol_name_is_selected(conversation: Conversation) -> None:
    """A protocol with an empty name is selected; JoinGroup v7 answers it until 3.6, and null since 3.7."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.asks(
        ask.join_group(version=7, protocols=(("", ORDERS),)),
        expect.join_group(
            error_code="NONE",
            protocol_name=one_of("", None),
            members=({"member_id": ana.member_id, "metadata": ORDERS},),
        ),
    )
    ana.asks(ask.sync_group(version=4), expect.sync_group(error_code="NONE"))


@scenario(
    "classic/protocol/type-outlives-the-members",
    source="ClassicGroup#initNextGeneration",
    clauses=("PV-08", "LV-02"),
)
def the_protocol_type_outlives_the_members(conversation: Conversation) -> None:
    """A group that all members have left keeps its protocol type and loses its protocol."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.leave_group(), error_code="NONE")

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            group_state="Empty", protocol_type="consumer", protocol_data="", members=()
        ),
    )


@scenario(
    "classic/leader/first-added-member",
    source="ClassicGroup#add",
    clauses=("LD-01", "LD-04", "CX-03"),
    broker_config={"group.initial.rebalance.delay.ms": "2000"},
)
def the_first_added_member_leads(conversation: Conversation) -> None:
    """The member that is added first leads the first generation, whoever got its member id first."""
    ana, bob = conversation.actors("ana", "bob")
    bob.obtains_member_id()
    ana.obtains_member_id()
    ana.sends(ask.join_group())

    bob.sends(ask.join_group())

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id, members=()))


@scenario(
    "classic/leader/leaves",
    source="ClassicGroup#remove",
    clauses=("LD-03", "LV-01"),
)
def a_leaving_leader_is_replaced(conversation: Conversation) -> None:
    """When the leader leaves, the other member gets REBALANCE_IN_PROGRESS and leads the next generation."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.asks(ask.leave_group(), error_code="NONE")

    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    bob.sends(ask.join_group())
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=bob.member_id,
            members=({"member_id": bob.member_id},),
        )
    )
    bob.syncs_as_leader((bob,))


@scenario(
    "classic/leader/leaves-two-behind",
    source="ClassicGroup#remove",
    clauses=("LD-03", "CX-03"),
)
def either_of_two_may_replace_the_leader(conversation: Conversation) -> None:
    """When the leader leaves two members behind, either may lead, and both are given the same leader.

    Kafka takes the first in the order of its hash map.
    """
    ana, bob, carol = conversation.stable_group("ana", "bob", "carol")

    ana.asks(ask.leave_group(), error_code="NONE")
    bob.sends(ask.join_group())
    carol.sends(ask.join_group())

    elected = bob.receives(
        expect.join_group(error_code="NONE", generation_id=3, leader=one_of(bob.member_id, carol.member_id))
    )
    carol.receives(expect.join_group(error_code="NONE", generation_id=3, leader=elected["leader"]))


@scenario(
    "classic/leader/absent-at-the-deadline",
    source="ClassicGroup#maybeElectNewJoinedLeader",
    clauses=("LD-03", "RB-12"),
)
def an_absent_leader_is_replaced(conversation: Conversation) -> None:
    """If the leader has not rejoined by the deadline, a member that has leads the next generation."""
    _, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2000)

    bob.sends(ask.join_group(rebalance_timeout_ms=2000, protocols=(("range", PAYMENTS),)))
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=3,
            leader=bob.member_id,
            members=({"member_id": bob.member_id, "metadata": PAYMENTS},),
        ),
        due_ms=2000,
    )


@scenario(
    "classic/leader/skips-no-assignment",
    source="KIP-814",
    clauses=("LD-05", "VF-08"),
)
def a_dynamic_leader_skips_no_assignment(conversation: Conversation) -> None:
    """JoinGroup v9 returns skip_assignment false to a dynamic leader and to a follower."""
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana)
    bob.obtains_member_id()

    bob.sends(ask.join_group(version=9))
    ana.sends(ask.join_group(version=9))

    ana.receives(
        expect.join_group(
            error_code="NONE", protocol_type="consumer", leader=ana.member_id, skip_assignment=False
        )
    )
    bob.receives(expect.join_group(error_code="NONE", leader=ana.member_id, skip_assignment=False))
    ana.syncs_as_leader((ana, bob))
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
