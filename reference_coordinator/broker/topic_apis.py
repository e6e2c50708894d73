"""CreateTopics, CreatePartitions and DeleteTopics, as far as the reference has topics."""

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Final

from reference_coordinator.broker.broker_apis import DEFAULT_NUM_PARTITIONS, Broker
from reference_coordinator.broker.messages import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from reference_coordinator.broker.topics import Topic, is_legal_topic_name
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.topic_logs.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_NAME_AND_ID_APART: Final = "The provided topic name maps to an ID that was already supplied."


def handle_create_topics(broker: Broker, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create topics. Source: ReplicationControlManager#createTopics (4.3.1)."""
    names = [topic.name for topic in request.topics]
    return CreateTopicsResponse(
        topics=tuple(
            _refused(topic.name, Errors.INVALID_REQUEST, "the request names this topic twice")
            if names.count(topic.name) > 1
            else _create_topic(broker, topic, validate_only=request.validate_only)
            for topic in request.topics
        )
    )


def _create_topic(broker: Broker, topic: CreatableTopic, *, validate_only: bool) -> CreatableTopicResult:
    num_partitions = DEFAULT_NUM_PARTITIONS if topic.num_partitions == -1 else topic.num_partitions
    if not is_legal_topic_name(topic.name):
        return _refused(topic.name, Errors.INVALID_TOPIC_EXCEPTION, "not a legal topic name")
    if broker.topics.get(topic.name) is not None:
        return _refused(topic.name, Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    if topic.has_assignments:
        return _refused(topic.name, Errors.INVALID_REPLICA_ASSIGNMENT, "leave the assignment to the broker")
    if topic.replication_factor not in {-1, 1}:
        return _refused(topic.name, Errors.INVALID_REPLICATION_FACTOR, "there is one broker")
    if num_partitions < 1:
        return _refused(topic.name, Errors.INVALID_PARTITIONS, "a topic has at least one partition")
    created = None if validate_only else broker.topics.create(topic.name, num_partitions)
    return CreatableTopicResult(
        name=topic.name,
        error_code=Errors.NONE,
        topic_id=None if created is None else created.topic_id,
        num_partitions=num_partitions,
        replication_factor=1,
    )


def _refused(name: str, error: Errors, why: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error, error_message=why)


def handle_create_partitions(broker: Broker, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Add partitions to topics. Source: ReplicationControlManager#createPartitions (4.3.1)."""
    asked = {topic.name: topic for topic in request.topics}
    named = Counter(topic.name for topic in request.topics)
    return CreatePartitionsResponse(
        results=tuple(
            CreatePartitionsTopicResult(
                name=name,
                error_code=Errors.INVALID_REQUEST,
                error_message="Duplicate topic name.",
            )
            if named[name] > 1
            else _create_partitions(broker, topic, validate_only=request.validate_only)
            for name, topic in asked.items()
        )
    )


def _create_partitions(
    broker: Broker, asked: CreatePartitionsTopic, *, validate_only: bool
) -> CreatePartitionsTopicResult:
    error, why = _refusal_of_partitions(broker, asked)
    if error is Errors.NONE and not validate_only:
        broker.topics.add_partitions(asked.name, asked.count)
    return CreatePartitionsTopicResult(name=asked.name, error_code=error, error_message=why)


def _refusal_of_partitions(broker: Broker, asked: CreatePartitionsTopic) -> tuple[Errors, str | None]:
    topic = broker.topics.get(asked.name)
    if topic is None:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION, None
    if asked.count == topic.num_partitions:
        return Errors.INVALID_PARTITIONS, f"Topic already has {topic.num_partitions} partition(s)."
    if asked.count < topic.num_partitions:
        had = f"The topic {topic.name} currently has {topic.num_partitions} partition(s)"
        return Errors.INVALID_PARTITIONS, f"{had}; {asked.count} would not be an increase."
    if asked.has_assignments:
        return Errors.INVALID_REPLICA_ASSIGNMENT, "leave the assignment to the broker"
    if topic.is_internal:
        return Errors.POLICY_VIOLATION, "a coordinator's log keeps its partitions"
    return Errors.NONE, None


def handle_delete_topics(broker: Broker, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics; one that is named twice stays, and is refused once.

    Source: ControllerApis#deleteTopics, ReplicationControlManager#deleteTopics (4.3.1). Kafka shuffles
    what it answers; here it is in the order of the request.
    """
    count = Counter((each.name, each.topic_id) for each in request.topics)
    ids = {topic_id for _, topic_id in count if topic_id is not None}
    by_name = [broker.topics.get(name) for name, topic_id in count if name is not None and topic_id is None]
    named_anew = {topic.topic_id for topic in by_name if topic is not None} & ids
    return DeleteTopicsResponse(
        responses=tuple(
            _delete_topic(
                broker, DeleteTopicState(name=name, topic_id=topic_id), is_twice=times > 1, by_id=ids
            )
            for (name, topic_id), times in count.items()
            # Whose name is told as well is refused by that name alone.
            if times > 1 or name is not None or topic_id not in named_anew
        )
    )


def _delete_topic(
    broker: Broker, asked: DeleteTopicState, *, is_twice: bool, by_id: AbstractSet[TopicId]
) -> DeletableTopicResult:
    topic = _named(broker, asked)
    refusal = _why_not_deleted(asked, topic, is_twice=is_twice, by_id=by_id)
    if refusal is not None:
        told_id = asked.topic_id if topic is None or is_twice else topic.topic_id
        return DeletableTopicResult(
            name=asked.name,
            topic_id=told_id,
            error_code=Errors.INVALID_REQUEST,
            error_message=refusal,
        )
    if topic is None:
        is_by_id = asked.topic_id is not None
        return DeletableTopicResult(
            name=asked.name,
            topic_id=asked.topic_id,
            error_code=Errors.UNKNOWN_TOPIC_ID if is_by_id else Errors.UNKNOWN_TOPIC_OR_PARTITION,
            error_message="This server does not host this topic" + (" ID." if is_by_id else "-partition."),
        )
    broker.topics.delete(topic.name)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=Errors.NONE)


def _why_not_deleted(
    asked: DeleteTopicState, topic: Topic | None, *, is_twice: bool, by_id: AbstractSet[TopicId]
) -> str | None:
    """Say what is wrong with how a topic is named, if anything is; `by_id` are those named by their id."""
    match asked.name, asked.topic_id:
        case None, None:
            return "Neither topic name nor id were specified."
        case str(), None:
            if is_twice:
                return "Duplicate topic name."
            is_known_by_id = topic is not None and topic.topic_id in by_id
            return _NAME_AND_ID_APART if is_known_by_id else None
        case None, _:
            return "Duplicate topic id." if is_twice else None
        case _:
            return "You may not specify both topic name and topic id."


def _named(broker: Broker, asked: DeleteTopicState) -> Topic | None:
    if asked.topic_id is not None:
        return broker.topics.get_by_id(asked.topic_id)
    return broker.topics.get(asked.name or "")
