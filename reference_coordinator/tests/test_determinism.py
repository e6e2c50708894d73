"""The same inputs give the same effects, to the last member id."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import join


def life(profile: str) -> Broker:
    broker = Broker(profile)
    ana, bob, _ = broker.stable_group(join(), join(instance="i"), join())
    broker.join(instance="i")
    broker.commit({0: 1, 1: 2}, member_id=ana, generation=1)
    broker.append_error = Errors.MESSAGE_TOO_LARGE
    broker.join(group="other")
    broker.append_error = Errors.NONE
    broker.leave(ana, (bob, "i"))
    broker.elapse(60_000)
    broker.restart()
    broker.elapse(700_000)
    return broker


@pytest.mark.parametrize("profile", ["2.4.1", "2.8.2", SCALA, "3.9-java", JAVA])
def test_two_lives_of_the_same_inputs_are_the_same(profile: str) -> None:
    first, second = life(profile), life(profile)

    assert first.effects == second.effects
    assert first.log == second.log
    assert len(first.effects) > 10


def test_another_seed_changes_the_ids_and_nothing_else() -> None:
    ids = []
    for seed in (0, 1):
        broker = Broker(SCALA, owned=False)
        broker.coordinator = broker.new_coordinator({}, seed=seed)
        broker.take_over()
        ids.append(broker.stable_group(join(), join()))

    assert set(ids[0]).isdisjoint(ids[1])


def test_the_clock_never_goes_back() -> None:
    broker = Broker(SCALA)
    broker.elapse(10)
    broker.now_ms = 9

    with pytest.raises(AssertionError, match="time went back"):
        broker.elapse(0)


def test_late_advances_happen_at_their_own_times() -> None:
    punctual, late = Broker(SCALA), Broker(SCALA)
    for broker in (punctual, late):
        broker.send(join(session_ms=6_000), version=3)
    for _ in range(300):
        punctual.elapse(100)
    late.elapse(30_000)

    assert punctual.effects == late.effects
    assert punctual.coordinator.next_deadline() == late.coordinator.next_deadline()
