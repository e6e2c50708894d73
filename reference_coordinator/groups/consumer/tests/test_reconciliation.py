"""How partitions go from one member to another, and when a new assignment is computed."""

import pytest

from reference_coordinator.groups.consumer.tests.consumer_kit import EVERY_RELEASE, Consumers, described

but_4_0_0 = pytest.mark.parametrize("release", [each for each in EVERY_RELEASE if each != "4.0.0"])
"""The assignor of 4.0.0 gives the odd partition to another member."""


@but_4_0_0
def test_a_partition_changes_hands_when_its_owner_has_given_it_up(consumers: Consumers, release: str) -> None:
    first = consumers.beat("ana", 0, names=("t",)).member_epoch

    assert consumers.epoch_and_owned("bob", 0, names=("t",)) == (first + 1, {})
    assert consumers.epochs() == ("Reconciling", first + 1, first + 1)
    assert consumers.epoch_and_owned("ana", first) == (first, {"t": (0, 1)})
    assert consumers.epoch_and_owned("bob", first + 1) == (first + 1, None)
    (shown,) = (
        described(each.assignment) for each in consumers.describe().members if each.member_id == "ana"
    )
    assert shown == {"t": (0, 1, 2) if release >= "4.3" else (0, 1)}

    assert consumers.epoch_and_owned("ana", first, owned={"t": (0, 1)}) == (first + 1, None)
    assert consumers.epoch_and_owned("bob", first + 1) == (first + 1, {"t": (2,)})
    assert consumers.epochs()[0] == "Stable"


@but_4_0_0
def test_a_second_revocation_raises_the_epoch_until_4_1(consumers: Consumers, release: str) -> None:
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.beat("bob", 0, names=("t",))
    consumers.beat("ana", first)
    consumers.beat("cy", 0, names=("t",))

    answered = consumers.epoch_and_owned("ana", first, owned={"t": (0, 1)})

    raised = first + 1 if release < "4.2" else first
    assert answered == (raised, {"t": (0,)})
    assert consumers.epoch_and_owned("ana", raised, owned={"t": (0,)}) == (first + 2, None)


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_assignments_stand_for_a_second_from_4_3_on(release: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.assignment.interval.ms": "1000"}, t=2)
    consumers.broker.elapse(1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch

    joined = consumers.epoch_and_owned("bob", 0, names=("t",))

    if release == "4.2":
        assert joined == (first + 1, {})
        return
    assert joined == (first, {})
    assert consumers.epochs() == ("Assigning", first + 1, first)
    assert consumers.epoch_and_owned("ana", first) == (first, None)
    consumers.broker.elapse(1_000)
    assert consumers.epoch_and_owned("ana", first) == (first, {"t": (0,)})


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_a_group_that_all_have_left_is_assigned_at_once_from_4_4_on(release: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.assignment.interval.ms": "1000"}, t=2)
    consumers.broker.elapse(1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.beat("ana", -1)

    rejoined = consumers.epoch_and_owned("ana", 0, names=("t",))

    assert rejoined == ((first + 2, {"t": (0, 1)}) if release == "4.4" else (first, {}))


def test_a_vote_for_an_assignor_counts_at_the_next_assignment(consumers: Consumers, release: str) -> None:
    first = consumers.beat("ana", 0, names=("t",)).member_epoch

    consumers.beat("ana", first, assignor="range")

    assert consumers.describe().assignor_name == "range"
    assert consumers.epochs()[1] == (first + 1 if release == "4.4" else first)
