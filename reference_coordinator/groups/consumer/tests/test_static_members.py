"""Static members of consumer groups: they come back, or are replaced."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers, heartbeat_of


@pytest.fixture(name="consumers")
def consumers_of_two_partitions(release: str) -> Consumers:
    return Consumers.on(release, t=2)


def test_who_takes_the_place_of_a_static_member_gets_its_partitions(consumers: Consumers) -> None:
    epoch = consumers.beat(heartbeat_of("ana", 0, names=("t",), instance="i")).member_epoch

    left = consumers.beat(heartbeat_of("ana", -2, instance="i"))
    assert (left.member_id, left.member_epoch) == ("ana", -2)
    assert consumers.epochs()[1] == epoch
    assert consumers.describe().members[0].member_epoch == -2
    assert consumers.error(heartbeat_of("ana", epoch, instance="i")) is Errors.FENCED_MEMBER_EPOCH

    joined = consumers.epoch_and_owned(heartbeat_of("bob", 0, names=("t",), instance="i"))
    assert joined == (epoch, {"t": (0, 1)})
    assert [each.member_id for each in consumers.describe().members] == ["bob"]
    assert consumers.error(heartbeat_of("ana", -1, instance="i")) is Errors.FENCED_INSTANCE_ID


def test_what_a_static_member_was_to_give_up_is_free_when_it_leaves(consumers: Consumers) -> None:
    epoch = consumers.beat(heartbeat_of("ana", 0, names=("t",), instance="i")).member_epoch
    consumers.beat(heartbeat_of("bob", 0, names=("t",)))
    consumers.beat(heartbeat_of("ana", epoch))

    consumers.beat(heartbeat_of("ana", -2, instance="i"))

    assert consumers.epoch_and_owned(heartbeat_of("bob", epoch + 1)) == (epoch + 1, {"t": (1,)})


def test_a_former_instance_id_is_free_from_4_4_on(consumers: Consumers, release: str) -> None:
    consumers.beat(heartbeat_of("ana", 0, names=("t",), instance="i"))
    consumers.beat(heartbeat_of("ana", 0, names=("t",), instance="j"))
    assert consumers.describe().members[0].instance_id == "j"

    error = consumers.error(heartbeat_of("bob", 0, names=("t",), instance="i"))

    assert error is (Errors.NONE if release == "4.4" else Errors.UNRELEASED_INSTANCE_ID)
