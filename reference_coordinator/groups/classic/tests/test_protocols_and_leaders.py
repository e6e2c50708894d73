"""What is selected and who leads: catalogue rows PV-*, LD-*, JG-60 to JG-63."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, join, subscription

MALFORMED = b"\0\0\xff\xff\xff\xff"


def selected(broker: Broker, *names: tuple[str, ...]) -> str | None:
    calls = broker.parked_members(*(join(names=each) for each in names))
    broker.elapse(2 * INITIAL_DELAY_MS)
    assert len({call.join.protocol_name for call in calls}) == 1
    return calls[0].join.protocol_name


@pytest.mark.parametrize(
    ("votes", "winner"),
    [
        ([("rr", "range"), ("sticky", "range")], "range"),
        ([("a", "b"), ("b", "a"), ("b", "a")], "b"),
        ([("range", "range", "rr")], "rr"),
    ],
    ids=[
        "only what all support",
        "the majority of first choices",
        "what is listed twice disqualifies itself",
    ],
)
def test_protocols_are_voted_on(broker: Broker, votes: list[tuple[str, ...]], winner: str) -> None:
    assert selected(broker, *votes) == winner


@pytest.mark.parametrize(
    ("profile", "winner"),
    [("2.4.1", "roundrobin"), (SCALA, "roundrobin"), ("3.9-java", "range"), (JAVA, "range")],
)
def test_a_tie_goes_by_the_map_of_the_coordinator(broker: Broker, winner: str) -> None:
    votes = (("range", "roundrobin"), ("roundrobin", "range"))

    assert selected(broker, *votes) == winner


def test_a_group_with_nothing_but_a_protocol_listed_twice_is_stuck(broker: Broker) -> None:
    (call,) = broker.parked_members(join(names=("range", "range")))

    broker.elapse(REBALANCE_MS)

    assert call.is_parked
    assert broker.state() == "PreparingRebalance"
    assert broker.delete("g") == {"g": Errors.NON_EMPTY_GROUP}


def test_the_leader_learns_what_each_gave_for_the_selected_protocol(broker: Broker) -> None:
    calls = broker.parked_members(join(metadata=b"A"), join(metadata=b"B"))
    broker.elapse(2 * INITIAL_DELAY_MS)

    assert [each.metadata for each in calls[0].join.members] == [b"A", b"B"]
    assert calls[1].join.members == ()


def test_the_first_member_leads_and_keeps_the_lead(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    first = broker.join(bob, metadata=b"x")
    broker.join(ana)

    assert first.join.leader == ana
    assert first.permitted == {}


def test_after_the_leader_left_anybody_may_lead(broker: Broker) -> None:
    ana, bob, eve = broker.stable_group(join(), join(), join())
    broker.leave(ana)
    calls = [broker.join(each) for each in (bob, eve)]

    for call in calls:
        assert call.join.leader in {bob, eve}
        assert set(call.permitted["leader"]) == {bob, eve}
        assert call.permitted["members"] == ((), calls[0].join.members or calls[1].join.members)


def test_with_one_member_left_there_is_no_choice_of_leader(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    broker.leave(ana)

    rejoined = broker.join(bob)

    assert rejoined.join.leader == bob
    assert rejoined.permitted == {}


def test_a_missing_leader_is_replaced_by_anybody_who_joined(broker: Broker) -> None:
    _, bob, eve = broker.stable_group(join(instance="i", session_ms=60_000), join(), join())
    calls = [broker.join(each, metadata=b"x") for each in (bob, eve)]

    broker.elapse(REBALANCE_MS)

    assert all(set(call.permitted["leader"]) == {bob, eve} for call in calls)


def test_the_protocol_type_outlives_the_members(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)

    described = broker.describe()
    assert (described.protocol_type, described.protocol_data) == ("consumer", "")


@pytest.mark.parametrize(
    ("profile", "stuck"),
    [("2.4.1", False), ("2.7", True), (SCALA, True), ("4.3", True), (JAVA, False)],
)
def test_a_malformed_subscription_wedges_the_group_from_2_7_to_4_3(
    broker: Broker, profile: str, *, stuck: bool
) -> None:
    (call,) = broker.parked_members(join(metadata=MALFORMED))

    broker.elapse(INITIAL_DELAY_MS)

    assert call.is_parked is stuck
    member_id = broker.describe().members[0].member_id
    reported = [broker.heartbeat(member_id, generation).error for generation in (0, 1)]
    in_first = Errors.REBALANCE_IN_PROGRESS if stuck or profile == "2.4.1" else Errors.NONE
    assert reported == [Errors.ILLEGAL_GENERATION, in_first]


@pytest.mark.parametrize("profile", ["2.7", SCALA, "4.3"])
def test_a_wedged_group_never_answers_anybody_again(broker: Broker) -> None:
    (bad,) = broker.parked_members(join(metadata=b"roundrobin"))
    broker.elapse(INITIAL_DELAY_MS)
    bad_id = broker.describe().members[0].member_id
    (good,) = broker.parked_members(join(metadata=subscription("t")))

    broker.leave(bad_id)
    broker.elapse(REBALANCE_MS)

    assert bad.error is Errors.UNKNOWN_MEMBER_ID
    assert good.is_parked


@pytest.mark.parametrize("profile", [SCALA, "4.3"])
def test_a_join_that_completes_a_wedged_generation_is_the_one_that_fails(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    sibling = broker.join(ana, metadata=subscription("t"))

    failing = broker.join(bob, metadata=MALFORMED)

    assert (failing.join.error_code, failing.join.member_id) == (Errors.UNKNOWN_SERVER_ERROR, "")
    assert sibling.is_parked
    broker.leave(bob)
    broker.elapse(60_000)
    assert failing.error is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\0\0\0", b"\xff\xff\0\0\0\0\0\0\0\0"])
def test_too_few_bytes_are_harmless_everywhere(broker: Broker, metadata: bytes) -> None:
    assert broker.joined_members(join(metadata=metadata))


def test_other_protocol_types_are_not_parsed(broker: Broker) -> None:
    (ana,) = broker.joined_members(join(metadata=MALFORMED, kind="connect"))

    assert broker.sync(ana).error is Errors.NONE
