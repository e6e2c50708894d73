"""Partition leaders' requests to the share coordinator, accepted from any client."""

from collections.abc import Callable

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.topics import SHARE_STATE_TOPIC
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.shares import messages as shares
from reference_coordinator.shares.state import ShareGroupOffset

_NEGATIVE = "The partition id cannot be a negative number."
_Result = ShareGroupOffset | Errors


def handle_share_state(broker: Broker, request: shares.StateRequest) -> shares.ShareGroupStateResponse:
    """Answer each partition independently; a request without a group or partitions gets an empty answer.

    Source: ShareCoordinatorService#initializeState, #readState, #writeState, #deleteState,
    #readStateSummary (4.3.1).
    """
    is_whole = request.group_id and request.topics and all(topic.partitions for topic in request.topics)
    if not is_whole:
        return shares.ShareGroupStateResponse()
    ask = _asking(broker, request)
    is_coordinator = broker.topics.get(SHARE_STATE_TOPIC) is not None
    return shares.ShareGroupStateResponse(
        results=tuple(
            shares.StateTopicResult(
                topic_id=topic.topic_id,
                partitions=tuple(
                    _result(each, ask(topic.topic_id, each) if is_coordinator else Errors.NOT_COORDINATOR)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _asking(
    broker: Broker, request: shares.StateRequest
) -> Callable[[TopicId | None, shares.StatePartition], _Result]:
    """Return the function that handles the request for one partition."""
    states, group = broker.cluster.share_states, GroupId(request.group_id)
    match request:
        case shares.InitializeShareGroupStateRequest():
            return lambda topic, each: states.initialize(
                group, topic, each.partition, each.state_epoch, each.start_offset
            )
        case shares.ReadShareGroupStateRequest():
            return lambda topic, each: states.read(group, topic, each.partition, each.leader_epoch)
        case shares.WriteShareGroupStateRequest():
            return lambda topic, each: states.write(group, topic, each.partition, _written(each))
        case shares.DeleteShareGroupStateRequest():
            return lambda topic, each: states.delete(group, topic, each.partition)
        case shares.ReadShareGroupStateSummaryRequest():
            return lambda topic, each: states.summary(group, topic, each.partition)


def _written(each: shares.StatePartition) -> ShareGroupOffset:
    return ShareGroupOffset(
        state_epoch=each.state_epoch,
        leader_epoch=each.leader_epoch,
        start_offset=each.start_offset,
        delivery_complete_count=each.delivery_complete_count,
        state_batches=each.state_batches,
    )


def _result(asked: shares.StatePartition, result: _Result) -> shares.StatePartitionResult:
    if isinstance(result, Errors):
        message = _NEGATIVE if asked.partition < 0 else None
        return shares.StatePartitionResult(
            partition=asked.partition, error_code=result, error_message=message
        )
    return shares.StatePartitionResult(
        partition=asked.partition,
        state_epoch=result.state_epoch,
        leader_epoch=result.leader_epoch,
        start_offset=result.start_offset,
        delivery_complete_count=result.delivery_complete_count,
        state_batches=result.state_batches,
    )
