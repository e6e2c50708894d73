"""Static members of consumer groups: they come back, or are replaced."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers


@pytest.fixture(name="consumers")
def consumers_of_two_partitions(release: str) -> Consumers:
    return Consumers.on(release, t=2)


def test_who_takes_the_place_of_a_static_member_gets_its_partitions(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",), instance="i").member_epoch

    left = consumers.beat("ana", -2, instance="i")
    assert (left.member_id, left.member_epoch) == ("ana", -2)
    assert consumers.epochs()[1] == epoch
    assert consumers.describe().members[0].member_epoch == -2
    assert consumers.error("ana", epoch, instance="i") is Errors.FENCED_MEMBER_EPOCH

    joined = consumers.epoch_and_owned("bob", 0, names=("t",), instance="i")
    assert joined == (epoch, {"t": (0, 1)})
    assert [each.member_id for each in consumers.describe().members] == ["bob"]
    assert consumers.error("ana", -1, instance="i") is Errors.FENCED_INSTANCE_ID


def test_what_a_static_member_was_to_give_up_is_free_when_it_leaves(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",), instance="i").member_epoch
    consumers.beat("bob", 0, names=("t",))
    consumers.beat("ana", epoch)

    consumers.beat("ana", -2, instance="i")

    assert consumers.epoch_and_owned("bob", epoch + 1) == (epoch + 1, {"t": (1,)})


def test_a_former_instance_id_is_free_from_4_4_on(consumers: Consumers, release: str) -> None:
    consumers.beat("ana", 0, names=("t",), instance="i")
    consumers.beat("ana", 0, names=("t",), instance="j")
    assert consumers.describe().members[0].instance_id == "j"

    error = consumers.error("bob", 0, names=("t",), instance="i")

    assert error is (Errors.NONE if release == "4.4" else Errors.UNRELEASED_INSTANCE_ID)
