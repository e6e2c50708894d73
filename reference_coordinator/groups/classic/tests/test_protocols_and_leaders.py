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
    ("profile", "winner"),
    [("2.4.1", "roundrobin"), (SCALA, "roundrobin"), ("3.9-java", "range"), (JAVA, "range")],
)
def test_a_tie_goes_by_the_map_of_the_coordinator(broker: Broker, winner: str) -> None:
    votes = (("range", "roundrobin"), ("roundrobin", "range"))

    assert selected(broker, *votes) == winner


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
