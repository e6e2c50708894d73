"""ConsumerGroupHeartbeat: who is let in, and with which epoch."""

from typing import Any, Final

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.groups.consumer.tests.consumer_kit import (
    Consumers,
    Owned,
    described,
    heartbeat_of,
    topic_id,
)
from reference_coordinator.profile.group_config import GroupConfig
from reference_coordinator.tests.kit import Broker


def test_the_first_member_gets_all_partitions(consumers: Consumers) -> None:
    response = consumers.beat("ana", 0, names=("t",))

    assert response.heartbeat_interval_ms == 5_000
    assert response.member_epoch == consumers.first_epoch
    assert consumers.epochs() == ("Stable", consumers.first_epoch, consumers.first_epoch)


ALL_THREE: Final = {"t": (0, 1, 2)}


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ({}, None),
        ({"names": ("t",), "timeout_ms": 5_000, "owned": ALL_THREE}, ALL_THREE),
        ({"names": ("t",), "owned": {}}, None),
    ],
    ids=["nothing", "all", "two of three things"],
)
def test_who_says_all_is_answered_with_all_of_the_assignment(
    consumers: Consumers, said: dict[str, Any], answered: Owned | None
) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch

    assert consumers.epoch_and_owned("ana", epoch, **said) == (epoch, answered)


def test_whose_group_it_is_is_asked_behind_the_fields_from_4_1_on(release: str) -> None:
    broker = Broker(profile=release, owned=False)
    call = broker.send(heartbeat_of("", 0, names=("t",)), version=1)

    first = Errors.NOT_COORDINATOR if release.startswith("4.0") else Errors.INVALID_REQUEST
    assert call.error is first


def test_version_0_gives_a_member_its_id(consumers: Consumers) -> None:
    response = consumers.answer(heartbeat_of("", 0, names=("t",)), version=0)

    assert response.member_id is not None
    assert len(response.member_id) == 22


def test_epochs_are_fenced_but_the_previous_one_with_nothing_else(release: str) -> None:
    consumers = Consumers.on(release, t=3, u=1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    now = consumers.beat("ana", first, names=("t", "u")).member_epoch
    assert now == first + 1

    assert consumers.error("ana", now + 1) is Errors.FENCED_MEMBER_EPOCH
    assert consumers.error("ana", first) is Errors.FENCED_MEMBER_EPOCH
    assert consumers.error("ana", first, owned={"v": (0,)}) is Errors.FENCED_MEMBER_EPOCH
    assert consumers.beat("ana", first, owned={"t": (0, 2)}).member_epoch == now


def test_a_member_whose_epoch_has_risen_rejoins_from_4_2_on(release: str) -> None:
    consumers = Consumers.on(release, t=3, u=1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    now = consumers.beat("ana", first, names=("t", "u")).member_epoch

    response = consumers.beat("ana", 0, names=("t", "u"))

    is_refused = release.startswith(("4.0", "4.1"))
    assert response.error_code is (Errors.FENCED_MEMBER_EPOCH if is_refused else Errors.NONE)
    assert response.member_epoch == (0 if is_refused else now)


def test_a_full_group_takes_no_more_members(release: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.max.size": "1"}, t=1)
    consumers.beat("ana", 0, names=("t",), instance="i")

    assert consumers.error("bob", 0, names=("t",)) is Errors.GROUP_MAX_SIZE_REACHED

    consumers.beat("ana", -2, instance="i")
    replaces = consumers.error("bob", 0, names=("t",), instance="i")
    assert replaces is (Errors.NONE if release == "4.4" else Errors.GROUP_MAX_SIZE_REACHED)


def test_a_silent_member_is_dropped(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.broker.elapse(44_999)
    assert consumers.error("ana", epoch) is Errors.NONE

    consumers.broker.elapse(45_000)

    assert consumers.epochs()[:2] == ("Empty", epoch + 1)
    assert consumers.error("ana", epoch) is Errors.UNKNOWN_MEMBER_ID


def test_a_session_is_timed_again_when_it_could_not_be_ended(consumers: Consumers) -> None:
    consumers.beat("ana", 0, names=("t",))
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    consumers.broker.elapse(45_000)
    assert consumers.epochs()[0] == "Stable"

    consumers.broker.append_error = Errors.NONE
    consumers.broker.elapse(500)

    assert consumers.epochs()[0] == "Empty"


def test_a_group_is_configured_apart_from_the_broker(consumers: Consumers) -> None:
    configs = GroupConfig(consumer_heartbeat_interval_ms=900, consumer_session_timeout_ms=50_000)
    consumers.broker.settle(
        consumers.broker.coordinator.on_group_configs(GroupId("g"), configs, now_ms=Millis(0))
    )

    assert consumers.beat("ana", 0, names=("t",)).heartbeat_interval_ms == 900
    consumers.broker.elapse(49_999)
    assert consumers.epochs()[0] == "Stable"
    consumers.broker.elapse(1)
    assert consumers.epochs()[0] == "Empty"


def test_the_last_member_leaves_a_group_that_counts_as_assigned_from_4_4_on(
    consumers: Consumers, release: str
) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch

    response = consumers.beat("ana", -1)

    assert (response.member_epoch, response.heartbeat_interval_ms) == (-1, 0)
    assert consumers.epochs() == ("Empty", epoch + 1, epoch + 1 if release == "4.4" else epoch)


def test_a_write_that_fails_leaves_no_group_behind(consumers: Consumers) -> None:
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS

    assert consumers.error("ana", 0, names=("t",)) is Errors.COORDINATOR_NOT_AVAILABLE

    consumers.broker.append_error = Errors.NONE
    assert consumers.describe().error_code is Errors.GROUP_ID_NOT_FOUND
    assert consumers.error("ana", 2) is Errors.GROUP_ID_NOT_FOUND


def test_readers_see_what_is_committed_and_writers_what_is_written(consumers: Consumers) -> None:
    consumers.beat("ana", 0, names=("t",))
    consumers.broker.delays_appends = True

    first = consumers.call("bob", 0, names=("t",))
    second = consumers.call("cy", 0, names=("t",))
    assert [each.member_id for each in consumers.describe().members] == ["ana"]

    consumers.broker.release()
    assert (first.error, second.error) == (Errors.NONE, Errors.NONE)
    assert consumers.epochs()[1] == consumers.first_epoch + 2


def test_a_write_that_fails_takes_what_it_did_and_nothing_else(consumers: Consumers) -> None:
    consumers.beat("ana", 0, names=("t",))
    consumers.broker.delays_appends = True
    failing = consumers.call("bob", 0, names=("t",))
    other = consumers.call("cy", 0, names=("t",), group="h")
    delayed, consumers.broker.delayed = consumers.broker.delayed, []
    consumers.broker.delays_appends = False

    for append, error in zip(delayed, (Errors.NOT_ENOUGH_REPLICAS, Errors.NONE), strict=True):
        consumers.broker.append_error = error
        consumers.broker.delayed = [append]
        consumers.broker.release(error)

    assert (failing.error, other.error) == (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NONE)
    assert [each.member_id for each in consumers.describe().members] == ["ana"]
    assert [each.member_id for each in consumers.describe("h").members] == ["cy"]


def test_a_null_client_id_is_empty(consumers: Consumers) -> None:
    consumers.broker.send(heartbeat_of("ana", 0, names=("t",)), version=1, client_id=None)

    assert consumers.describe().members[0].client_id == ""


@pytest.mark.parametrize(
    ("first", "second", "owned"),
    [("uniform", "range", (0, 1, 2)), ("range", "uniform", (3, 4))],
    ids=("range last", "uniform last"),
)
def test_of_equal_votes_the_last_assigns_and_uniform_is_described(
    first: str, second: str, owned: tuple[int, ...]
) -> None:
    consumers = Consumers.on("4.3", orders=5)
    consumers.beat("b", 0, names=("orders",), assignor=first)

    consumers.beat("a", 0, names=("orders",), assignor=second)

    group = consumers.describe()
    target = {each.member_id: described(each.target_assignment) for each in group.members}
    assert group.assignor_name == "uniform"
    assert target[MemberId("a")] == {"orders": owned}


def test_topics_of_assignments_are_in_the_order_of_a_hash_map() -> None:
    consumers = Consumers.on("4.4", t3=1, t4=1, t6=1)

    joined = consumers.beat("ana", 0, names=("t3", "t4", "t6"))

    assert joined.assignment is not None
    by_id = [topic_id(name) for name in ("t3", "t4", "t6")]
    assert [each.topic_id for each in joined.assignment.topic_partitions] == by_id
    (ana,) = consumers.describe().members
    for assignment in (ana.assignment, ana.target_assignment):
        assert [each.topic_id for each in assignment.topic_partitions] == by_id
