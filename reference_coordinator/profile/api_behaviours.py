"""Differences between Kafka's releases around the coordinator: checks and error responses."""

from typing import Final

from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.behaviour import Behaviour, Row, Span, since, until

OF_KAFKA_APIS: Final = (
    Row(
        behaviour=Behaviour.OFFSET_DELETE_REPEATS_TOPICS,
        spans=until(2, 6, 0),
        meaning="OffsetDelete answers a topic once for each of its partitions, whole each time.",
        source="pull request 8485, KafkaApis#handleOffsetDeleteRequest (2.4.1)",
    ),
    Row(
        behaviour=Behaviour.JOIN_BEFORE_V5_NAMES_NO_INSTANCE,
        spans=(Span(since=(2, 5, 0), until=(3, 3, 2)),),
        meaning="A leader that joins below v5 is told UNSUPPORTED_VERSION if any member is static.",
        source="KAFKA-14422",
    ),
    Row(
        behaviour=Behaviour.DESCRIBE_BEFORE_V4_NAMES_NO_INSTANCE,
        spans=(Span(since=(2, 5, 0), until=(2, 5, 1)),),
        meaning="DescribeGroups below v4 is answered UNSUPPORTED_VERSION if any member is static.",
        source="KAFKA-10239",
    ),
    Row(
        behaviour=Behaviour.LEAVE_BEFORE_V3_NEEDS_MEMBER,
        spans=(Span(since=(3, 4, 0), until=(3, 5, 2)), Span(since=(3, 6, 0), until=(3, 6, 1))),
        meaning="A LeaveGroup below v3 that is refused as a whole is answered UNSUPPORTED_VERSION.",
        source="KAFKA-15755",
    ),
    Row(
        behaviour=Behaviour.GROUPS_OUTLIVE_THEIR_LOG,
        spans=(Span(until=(4, 0, 1), family=CoordinatorFamily.JAVA),),
        meaning="When `__consumer_offsets` is deleted, the broker goes on coordinating its groups.",
        source="KAFKA-19274",
    ),
    Row(
        behaviour=Behaviour.COORDINATOR_TYPE_VALIDATED,
        spans=since(2, 8, 0),
        meaning="FindCoordinator refuses a type that it does not know with INVALID_REQUEST instead of "
        "UNKNOWN_SERVER_ERROR.",
        source="FindCoordinatorRequest.CoordinatorType#forId (2.8.0)",
    ),
    Row(
        behaviour=Behaviour.FETCH_COLLAPSES_DUPLICATE_GROUPS,
        spans=(Span(since=(3, 0, 0), until=(3, 5, 0)),),
        meaning="A group that an OffsetFetch names twice is answered once.",
        source="KafkaApis#handleOffsetFetchRequestFromCoordinator (3.4.0)",
    ),
    Row(
        behaviour=Behaviour.EMPTY_FETCH_UNANSWERED,
        spans=(Span(since=(3, 0, 0), until=(4, 1, 0)),),
        meaning="An OffsetFetch from v8 on that names no groups is never answered: the broker fails when it "
        "counts the errors in the answer.",
        source="OffsetFetchResponse#errorCounts (4.0.2)",
    ),
    Row(
        behaviour=Behaviour.FETCH_V1_DROPS_GROUP_ERROR,
        spans=(Span(since=(3, 5, 0), until=(3, 9, 2)), Span(since=(4, 0, 0), until=(4, 0, 2))),
        meaning="OffsetFetch v1 answers a group's error with no topics, and so with no error at all.",
        source="OffsetFetchResponse#<init> (3.9.1), #groupError (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.EMPTY_PROTOCOL_NAME_IS_NULL,
        spans=since(3, 7, 0),
        meaning="JoinGroup from v7 on answers null for a protocol whose name is empty.",
        source="JoinGroupResponse#<init> (3.7.0)",
    ),
    Row(
        behaviour=Behaviour.FIRST_OFFSETS_IN_ZOOKEEPER,
        spans=until(3, 3, 0),
        meaning="OffsetCommit v0 and OffsetFetch v0 keep offsets in ZooKeeper, apart from the group; "
        "a broker without ZooKeeper answers UNSUPPORTED_VERSION.",
        source="KafkaApis#commitOffsetsToZookeeper, #handleOffsetFetchRequestFromZookeeper (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.TXN_COMMIT_HIDES_LOADING,
        spans=since(2, 6, 0),
        meaning="TxnOffsetCommit v0 and v1 are told COORDINATOR_NOT_AVAILABLE while the group is loading.",
        source="KafkaApis#handleTxnOffsetCommitRequest (2.6.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_COORDINATOR_KEY_VALIDATED,
        spans=since(4, 0, 0),
        meaning="FindCoordinator refuses a share group's key that is not group:topic-id:partition.",
        source="KafkaApis#getCoordinator (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.SHARE_KEY_MAY_HAVE_COLONS,
        spans=since(4, 2, 1),
        meaning="The group's id in such a key may have colons.",
        source="SharePartitionKey#getInstance (4.2.1)",
    ),
    Row(
        behaviour=Behaviour.SHARE_COORDINATOR_MISSING,
        spans=(Span(since=(4, 0, 0), until=(4, 1, 0)),),
        meaning="Without share groups, FindCoordinator refuses every key of one with INVALID_REQUEST.",
        source="KafkaApis#getCoordinator (4.0.2)",
    ),
    Row(
        behaviour=Behaviour.SHARE_COORDINATOR_UNAVAILABLE,
        spans=(Span(since=(3, 9, 0), until=(4, 0, 0)),),
        meaning="FindCoordinator v6 answers every key of a share group COORDINATOR_NOT_AVAILABLE: there is "
        "no share coordinator yet.",
        source="KafkaApis#getCoordinator (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.SYNC_V4_INTERNAL_ERROR_UNANSWERED,
        spans=until(2, 5, 0),
        meaning="A SyncGroup v4 that fails inside the coordinator is never answered.",
        source="SyncGroupRequest#getErrorResponse (2.4.1)",
    ),
    Row(
        behaviour=Behaviour.EMPTY_UNKNOWN_TOPIC_ANSWERED,
        spans=since(3, 5, 0),
        meaning="OffsetCommit, TxnOffsetCommit and OffsetDelete answer a topic that does not exist even if "
        "they name no partition of it.",
        source="KafkaApis#handleOffsetCommitRequest (3.5.0)",
    ),
    Row(
        behaviour=Behaviour.UNKNOWN_PARTITIONS_ANSWERED_EACH,
        spans=since(3, 5, 0),
        meaning="A partition that does not exist is answered as often as OffsetCommit, TxnOffsetCommit or "
        "OffsetDelete name it, instead of once.",
        source="KafkaApis#handleOffsetCommitRequest (3.5.0)",
    ),
    Row(
        behaviour=Behaviour.CONSUMER_GROUPS,
        spans=since(4, 0, 0),
        meaning="There are groups of the consumer protocol: ConsumerGroupHeartbeat and ConsumerGroupDescribe "
        "are served, and the groups' records are loaded. Before, both are answered UNSUPPORTED_VERSION, and "
        "the records are skipped; the previews of 3.7 to 3.9 are not modelled.",
        source="KAFKA-17593, KafkaApis#isConsumerGroupProtocolEnabled (4.0.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_CONFIGS_HAVE_SYNONYMS,
        spans=since(4, 3, 0),
        meaning="DescribeConfigs names the broker's properties that apply to a group, as the source of its "
        "values and as their synonyms; before, such a value is told as a default of the group itself.",
        source="ConfigHelper#createGroupConfigEntry (4.2.1, 4.3.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_CONFIGS_KEPT_WITHIN_BOUNDS,
        spans=since(4, 3, 0),
        meaning="What was configured for a group before the broker had narrower bounds moves to the bound.",
        source="GroupConfig#evaluate (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_CONFIG_BOUNDS_NAMED,
        spans=since(4, 4, 0),
        meaning="A group's configuration that is out of bounds is refused with the bounds' values, and "
        "nothing else is looked at; before, with the property's name, and what is not configured is "
        "checked with Kafka's defaults, be it that the broker has others.",
        source="GroupConfig#validateValues (4.3.1, 4.4.0)",
    ),
    Row(
        behaviour=Behaviour.UNCONFIGURED_GROUP_STAYS_LISTED,
        spans=until(4, 3, 0),
        meaning="ListConfigResources names a group whose configurations were all deleted, until the broker "
        "restarts.",
        source="GroupConfigManager#updateGroupConfig (4.2.1)",
    ),
)
"""All behaviours of this kind."""
