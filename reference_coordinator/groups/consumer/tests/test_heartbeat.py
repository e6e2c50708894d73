"""ConsumerGroupHeartbeat: who is let in, with which epoch, and what is said beside an error."""

import pytest

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.consumer.tests.consumer_kit import (
    Consumers,
    described,
    heartbeat_of,
    topic_id,
)
from reference_coordinator.messages import ConsumerGroupHeartbeatRequest
from reference_coordinator.runtime.error_responses import refusal_response
from reference_coordinator.tests.kit import Broker


def test_whose_group_it_is_is_asked_behind_the_fields_from_4_1_on(release: str) -> None:
    broker = Broker(profile=release, owned=False)
    call = broker.send(heartbeat_of("", 0, names=("t",)), version=1)

    first = Errors.NOT_COORDINATOR if release.startswith("4.0") else Errors.INVALID_REQUEST
    assert call.error is first


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


def test_the_last_member_leaves_a_group_that_counts_as_assigned_from_4_4_on(
    consumers: Consumers, release: str
) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch

    response = consumers.beat("ana", -1)

    assert (response.member_epoch, response.heartbeat_interval_ms) == (-1, 0)
    assert consumers.epochs() == ("Empty", epoch + 1, epoch + 1 if release == "4.4" else epoch)


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


@pytest.fixture(name="consumers")
def consumers_of_two_partitions(release: str) -> Consumers:
    return Consumers.on(release, t=2)


def test_a_former_instance_id_is_free_from_4_4_on(consumers: Consumers, release: str) -> None:
    consumers.beat("ana", 0, names=("t",), instance="i")
    consumers.beat("ana", 0, names=("t",), instance="j")
    assert consumers.describe().members[0].instance_id == "j"

    error = consumers.error("bob", 0, names=("t",), instance="i")

    assert error is (Errors.NONE if release == "4.4" else Errors.UNRELEASED_INSTANCE_ID)


_JOINS = heartbeat_of("ana", 0, names=("t",))


def refusal(
    consumers: Consumers, request: ConsumerGroupHeartbeatRequest, *, version: int = 1
) -> tuple[Errors, str | None]:
    """The error and the message with which a heartbeat is answered."""
    response = consumers.answer(request, version=version)
    return response.error_code, response.error_message


def test_errors_of_the_runtime_have_no_message(consumers: Consumers, release: str) -> None:
    epoch = consumers.answer(_JOINS).member_epoch
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    request = heartbeat_of("ana", epoch, names=("u",))
    assert refusal(consumers, request) == (Errors.COORDINATOR_NOT_AVAILABLE, None)
    consumers.broker.append_error = Errors.NONE

    broker = Broker(profile=release, owned=False)
    stranger = Consumers(broker)
    assert refusal(stranger, request) == (Errors.NOT_COORDINATOR, None)
    assert stranger.describe().error_message is None
    broker.begin_loading()
    assert refusal(stranger, request) == (Errors.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert stranger.describe().error_message is None


def test_a_client_does_not_get_to_know_why_the_coordinator_failed() -> None:
    shard = Broker(profile="4.3").coordinator.shard
    secret = CoordinatorError(Errors.UNKNOWN_SERVER_ERROR, "Failed to compute a new target assignment")

    assert refusal_response(shard, _JOINS, secret) == refusal_response(
        shard, _JOINS, CoordinatorError(Errors.UNKNOWN_SERVER_ERROR)
    )
