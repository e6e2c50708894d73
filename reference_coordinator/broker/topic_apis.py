"""CreateTopics, CreatePartitions and DeleteTopics, as far as the reference supports topics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.config_apis import topic_results
from reference_coordinator.broker.topics import Topic, is_legal_topic_name
from reference_coordinator.broker_messages import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.profile.topic_configs import InvalidConfigError, throw_if_invalid
from reference_coordinator.topic_logs.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_AT_ONCE_MAX: Final = 10_000
"""The most partitions a request may create. Source: QuorumController#MAX_RECORDS_PER_USER_OP (4.3.1)."""
_DEFAULT_REPLICATION_FACTOR: Final = 1
_CONFIGS_REPORTED_SINCE: Final = 5
"""Source: KIP-525."""
_NAME_AND_ID_APART: Final = "The provided topic name maps to an ID that was already supplied."


def handle_create_topics(
    broker: Broker, request: CreateTopicsRequest, *, api_version: int = 0
) -> CreateTopicsResponse:
    """Create topics. Source: ReplicationControlManager#createTopics (4.3.1)."""
    reports_configs = api_version >= _CONFIGS_REPORTED_SINCE
    why = _why_too_many(request, broker.config.num_partitions)
    if why is not None:
        refused = (_refused(topic.name, Errors.POLICY_VIOLATION, why) for topic in request.topics)
        return CreateTopicsResponse(topics=tuple(refused))
    named = Counter(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=tuple(
            _refused(topic.name, Errors.INVALID_REQUEST, "the request names this topic twice")
            if named[topic.name] > 1
            else _create_topic(
                broker, topic, validate_only=request.validate_only, reports_configs=reports_configs
            )
            for topic in request.topics
        )
    )


def _why_too_many(request: CreateTopicsRequest, default_num_partitions: int) -> str | None:
    """Return the reason if a request creates too much at once. Releases with ZooKeeper have no such limit.

    Source: ReplicationControlManager#validateTotalNumberOfPartitions, BoundedList#add (3.9.2, 4.4.0).
    """
    partitions = sum(
        len(topic.assignments)
        or (default_num_partitions if topic.num_partitions == -1 else max(topic.num_partitions, 0))
        for topic in request.topics
    )
    if partitions > _AT_ONCE_MAX:
        return "Excessively large number of partitions per request."
    # A topic is a record in the controller's log, and so is each partition and each configuration.
    records = partitions + sum(1 + len(dict(topic.configs)) for topic in request.topics)
    if records > _AT_ONCE_MAX:
        return "Unable to perform excessively large batch operation."
    return None


def _create_topic(
    broker: Broker, topic: CreatableTopic, *, validate_only: bool, reports_configs: bool
) -> CreatableTopicResult:
    if not is_legal_topic_name(topic.name):
        return _refused(topic.name, Errors.INVALID_TOPIC_EXCEPTION, "not a legal topic name")
    if broker.topics.get(topic.name) is not None:
        return _refused(topic.name, Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    configs = dict(topic.configs)
    try:
        throw_if_invalid(broker.profile, configs)
    except InvalidConfigError as invalid:
        return _refused(topic.name, Errors.INVALID_CONFIG, str(invalid))
    error, why = _refusal_of_places(broker, topic)
    if error is not Errors.NONE:
        return _refused(topic.name, error, why)
    default = broker.config.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    num_partitions = len(topic.assignments) or default
    created = None if validate_only else broker.topics.create(topic.name, num_partitions)
    if created is not None and configs:
        broker.topics.configure(topic.name, {name: text or "" for name, text in configs.items()})
    return CreatableTopicResult(
        name=topic.name,
        error_code=Errors.NONE,
        topic_id=None if created is None else created.topic_id,
        num_partitions=num_partitions,
        replication_factor=_replication_factor(topic),
        configs=_reported_configs(broker, configs) if reports_configs else (),
    )


def _replication_factor(topic: CreatableTopic) -> int:
    if topic.assignments:
        return len(topic.assignments[0].broker_ids)
    return _DEFAULT_REPLICATION_FACTOR if topic.replication_factor == -1 else topic.replication_factor


def _reported_configs(broker: Broker, configs: Mapping[str, str | None]) -> tuple[CreatableTopicConfigs, ...]:
    return tuple(
        CreatableTopicConfigs(
            name=each.name,
            value=each.value,
            read_only=each.read_only,
            config_source=each.config_source,
            is_sensitive=each.is_sensitive,
        )
        for each in topic_results(broker, configs)
    )


def _refusal_of_places(broker: Broker, topic: CreatableTopic) -> tuple[Errors, str]:
    """Return the error of the requested numbers of partitions and replicas, and of their assignment.

    Source: ReplicationControlManager#createTopic (4.3.1).
    """
    if topic.assignments:
        return _refusal_of_assignments(broker, topic)
    num_brokers = len(broker.cluster.nodes)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        why = "Replication factor must be larger than 0, or -1 to use the default value."
        return Errors.INVALID_REPLICATION_FACTOR, why
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        return Errors.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
    if topic.replication_factor > num_brokers:
        wanted = topic.replication_factor
        why = (
            f"Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} "
            f"cannot be reached because only {num_brokers} broker(s) are registered."
        )
        return Errors.INVALID_REPLICATION_FACTOR, why
    return Errors.NONE, ""


def _refusal_of_assignments(broker: Broker, topic: CreatableTopic) -> tuple[Errors, str]:
    for name, number in (
        ("replication factor", topic.replication_factor),
        ("numPartitions", topic.num_partitions),
    ):
        if number != -1:
            reported = f"A manual partition assignment was specified, but {name} was not set to -1."
            return Errors.INVALID_REQUEST, reported
    indexes: set[int] = set()
    for each in topic.assignments:
        if each.partition_index in indexes:
            reported = f"Found multiple manual partition assignments for partition {each.partition_index}"
            return Errors.INVALID_REPLICA_ASSIGNMENT, reported
        indexes.add(each.partition_index)
        why = _why_not_assigned(broker, each.broker_ids, len(topic.assignments[0].broker_ids))
        if why is not None:
            return Errors.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {why}"
    if indexes != set(range(len(indexes))):
        why = "partitions should be a consecutive 0-based integer sequence"
        return Errors.INVALID_REPLICA_ASSIGNMENT, why
    return Errors.NONE, ""


def _why_not_assigned(broker: Broker, broker_ids: Sequence[int], factor: int) -> str | None:
    """Source: ReplicationControlManager#validateManualPartitionAssignment (4.3.1)."""
    if not broker_ids:
        return "an empty replica list."
    known = {node.node_id for node in broker.cluster.nodes}
    for at, broker_id in enumerate(sorted(broker_ids)):
        if broker_id not in known:
            return f"broker {broker_id}, but no such broker is registered."
        if broker_id in sorted(broker_ids)[:at]:
            return f"the broker {broker_id} more than once."
    if len(broker_ids) != factor:
        return (
            f"a partition with {len(broker_ids)} replica(s), but this is not consistent with previous "
            f"partitions, which have {factor} replica(s)."
        )
    return None


def _refused(name: str, error: Errors, why: str) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error, error_message=why)


def handle_create_partitions(broker: Broker, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Add partitions to topics. Source: ReplicationControlManager#createPartitions (4.3.1)."""
    asked = {topic.name: topic for topic in request.topics}
    if sum(_added(broker, topic) for topic in request.topics) > _AT_ONCE_MAX:
        why = "Excessively large number of additional partitions per request."
        refused = (
            CreatePartitionsTopicResult(name=name, error_code=Errors.POLICY_VIOLATION, error_message=why)
            for name in asked
        )
        return CreatePartitionsResponse(results=tuple(refused))
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


def _added(broker: Broker, asked: CreatePartitionsTopic) -> int:
    topic = broker.topics.get(asked.name)
    return 0 if topic is None else max(asked.count - topic.num_partitions, 0)


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
    added = asked.count - topic.num_partitions
    assignments = asked.assignments
    if assignments is not None and len(assignments) != added:
        why = f"Attempted to add {added} additional partition(s), but only {len(assignments)} assignment(s)"
        return Errors.INVALID_REPLICA_ASSIGNMENT, f"{why} were specified."
    for broker_ids in assignments or ():
        # Every broker counts as a replica, so a topic has no replication factor to compare with.
        reported = _why_not_assigned(broker, broker_ids, len((assignments or ())[0]))
        if reported is not None:
            return Errors.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {reported}"
    if topic.is_internal:
        return Errors.POLICY_VIOLATION, "a coordinator's log keeps its partitions"
    return Errors.NONE, None


def handle_delete_topics(broker: Broker, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics; a topic that is named twice is not deleted, and gets one error.

    Source: ControllerApis#deleteTopics, ReplicationControlManager#deleteTopics (4.3.1). Kafka shuffles
    the results; here they are in the order of the request.
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
            # An id whose topic is also named is refused only under that name.
            if times > 1 or name is not None or topic_id not in named_anew
        )
    )


def _delete_topic(
    broker: Broker, asked: DeleteTopicState, *, is_twice: bool, by_id: AbstractSet[TopicId]
) -> DeletableTopicResult:
    topic = _named(broker, asked)
    refusal = _why_not_deleted(asked, topic, is_twice=is_twice, by_id=by_id)
    if refusal is not None:
        given_id = asked.topic_id if topic is None or is_twice else topic.topic_id
        return DeletableTopicResult(
            name=asked.name,
            topic_id=given_id,
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
    broker.cluster.share_states.topic_deleted(topic.topic_id)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=Errors.NONE)


def _why_not_deleted(
    asked: DeleteTopicState, topic: Topic | None, *, is_twice: bool, by_id: AbstractSet[TopicId]
) -> str | None:
    """Return the error message if a topic is not identified correctly; `by_id` are the ids of the request."""
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
