"""What a member or an administrator learns beside an error."""

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers, heartbeat_of
from reference_coordinator.messages import ConsumerGroupHeartbeatRequest
from reference_coordinator.runtime.error_responses import refusal_response
from reference_coordinator.tests.kit import Broker

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
