"""Internal topics of streams groups: created, refused by an authorizer, or not to be created."""

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.internal_topics import create_streams_internal_topics, permitted_statuses
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.streams_records import KeyValue, TopicInfo
from reference_coordinator.messages import RequestContext, StreamsGroupHeartbeatResponse
from reference_coordinator.messages.streams_groups import StreamsGroupHeartbeatResponseStatus
from reference_coordinator.tests.wire_broker import WireBroker

ANA = RequestContext(api_version=0, client_id="ana", client_host="/127.0.0.1", principal="User:ana")
INTERVAL_MS = 5_000
UNKNOWN = "Unknown topic config name: no.such.config"


def broker_of(**properties: str) -> Broker:
    return WireBroker("4.4", **properties).listener.apis.broker


def answered(broker: Broker, *topics: TopicInfo) -> StreamsGroupHeartbeatResponse:
    """What a member with a stale topology is told while topics are missing."""
    response = StreamsGroupHeartbeatResponse(
        error_code=Errors.NONE,
        heartbeat_interval_ms=Millis(INTERVAL_MS),
        status=tuple(
            StreamsGroupHeartbeatResponseStatus(status_code=code, status_detail="as it is") for code in (0, 3)
        ),
        creatable_topics=topics,
    )
    return create_streams_internal_topics(broker, response, ANA)


def details(broker: Broker, *topics: TopicInfo) -> list[str]:
    """What a member is told in words."""
    return [each.status_detail for each in answered(broker, *topics).status]


def not_to_be_created(name: str) -> TopicInfo:
    configs = (KeyValue(key="no.such.config", value="1"),)
    return TopicInfo(name=name, partitions=1, topic_configs=configs)


def test_an_answer_that_comes_late_may_tell_of_its_own_error() -> None:
    broker, bad = broker_of(), not_to_be_created("bad")

    (permitted,) = permitted_statuses(answered(broker, bad))
    details_of = [[each.status_detail for each in status] for status in permitted.any_of]  # type: ignore[attr-defined] # of statuses
    assert permitted.field == "status"
    assert details_of == [["as it is"] * 2, ["as it is", f"as it is; Creation failed: bad ({UNKNOWN})."]]
    assert not permitted_statuses(answered(broker, bad))
