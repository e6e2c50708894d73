"""Requests of administrators' tools as they were read, to version-free messages."""

from reference_coordinator.broker_messages.inspection import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    QuorumTopic,
)
from reference_coordinator.broker_messages.tools import (
    AlterableConfig,
    AlterConfigsResource,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    Cursor,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeTopicPartitionsRequest,
    DescribeTransactionsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListTransactionsRequest,
)
from reference_coordinator.wire.reading import ReadEntity


def consumer_group_heartbeat(_: ReadEntity, __: int) -> ConsumerGroupHeartbeatRequest:
    """Return the message of a ConsumerGroupHeartbeat."""
    return ConsumerGroupHeartbeatRequest()


def consumer_group_describe(body: ReadEntity, _: int) -> ConsumerGroupDescribeRequest:
    """Return the message of a ConsumerGroupDescribe."""
    return ConsumerGroupDescribeRequest(group_ids=body["group_ids"])


def describe_configs(body: ReadEntity, _: int) -> DescribeConfigsRequest:
    """Return the message of a DescribeConfigs."""
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=each["resource_type"],
                resource_name=each["resource_name"],
                configuration_keys=each["configuration_keys"],
            )
            for each in body["resources"]
        ),
        include_synonyms=body.get("include_synonyms", False),
    )


def incremental_alter_configs(body: ReadEntity, _: int) -> IncrementalAlterConfigsRequest:
    """Return the message of an IncrementalAlterConfigs."""
    return IncrementalAlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=each["resource_type"],
                resource_name=each["resource_name"],
                configs=tuple(
                    AlterableConfig(
                        name=config["name"],
                        config_operation=config["config_operation"],
                        value=config["value"],
                    )
                    for config in each["configs"]
                ),
            )
            for each in body["resources"]
        ),
        validate_only=body["validate_only"],
    )


def list_config_resources(body: ReadEntity, _: int) -> ListConfigResourcesRequest:
    """Return the message of a ListConfigResources."""
    return ListConfigResourcesRequest(resource_types=body.get("resource_types", ()))


def describe_topic_partitions(body: ReadEntity, _: int) -> DescribeTopicPartitionsRequest:
    """Return the message of a DescribeTopicPartitions."""
    cursor = body["cursor"]
    return DescribeTopicPartitionsRequest(
        topics=tuple(each["name"] for each in body["topics"]),
        response_partition_limit=body["response_partition_limit"],
        cursor=None
        if cursor is None
        else Cursor(topic_name=cursor["topic_name"], partition_index=cursor["partition_index"]),
    )


def list_transactions(body: ReadEntity, _: int) -> ListTransactionsRequest:
    """Return the message of a ListTransactions."""
    return ListTransactionsRequest(
        state_filters=body["state_filters"],
        producer_id_filters=body["producer_id_filters"],
        duration_filter=body.get("duration_filter", -1),
        transactional_id_pattern=body.get("transactional_id_pattern", None),
    )


def describe_transactions(body: ReadEntity, _: int) -> DescribeTransactionsRequest:
    """Return the message of a DescribeTransactions."""
    return DescribeTransactionsRequest(transactional_ids=body["transactional_ids"])


def describe_log_dirs(body: ReadEntity, _: int) -> DescribeLogDirsRequest:
    """Return the message of a DescribeLogDirs."""
    topics = body["topics"]
    return DescribeLogDirsRequest(
        topics=None
        if topics is None
        else tuple(
            DescribableLogDirTopic(topic=each["topic"], partitions=each["partitions"]) for each in topics
        )
    )


def describe_quorum(body: ReadEntity, _: int) -> DescribeQuorumRequest:
    """Return the message of a DescribeQuorum."""
    return DescribeQuorumRequest(
        topics=tuple(
            QuorumTopic(
                topic_name=topic["topic_name"],
                partitions=tuple(each["partition_index"] for each in topic["partitions"]),
            )
            for topic in body["topics"]
        )
    )
