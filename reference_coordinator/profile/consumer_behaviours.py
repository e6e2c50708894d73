"""Differences between Kafka's releases in consumer groups (KIP-848)."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, Span, since, until

_BACKPORTED: Final = (Span(since=(4, 0, 2), until=(4, 1, 0)), Span(since=(4, 1, 2)))
_SINCE_4_1_2: Final = since(4, 1, 2)

_OF_MEMBERS: Final = (
    Row(
        behaviour=Behaviour.CONSUMER_HEARTBEAT_VALIDATED_FIRST,
        spans=since(4, 1, 0),
        meaning="The fields of a ConsumerGroupHeartbeat are checked before it is asked whose group it is.",
        source="GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_EPOCH_STARTS_AT_ONE,
        spans=since(4, 3, 0),
        meaning="A new consumer group is in epoch 1 with an empty assignment of epoch 1; the first member "
        "that names topics raises it to 2. Before, both began at 0 and any member raised a group's epoch 0, "
        "which a classic group without a generation still has when it is upgraded.",
        source="KAFKA-20268, ModernGroup#<init>, TargetAssignmentMetadata.INITIAL (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.REJOINING_MEMBER_KEEPS_EPOCH,
        spans=since(4, 2, 0),
        meaning="A member that is known may always rejoin with epoch 0; before, with 0 as its previous "
        "epoch only.",
        source="KAFKA-19233, GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.STATIC_REPLACEMENT_FITS_FULL_GROUP,
        spans=since(4, 4, 0),
        meaning="A static member that takes another's place is let into a full group.",
        source="KAFKA-20601, GroupMetadataManager#throwIfConsumerGroupIsFull (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.CHANGED_INSTANCE_ID_IS_FREE,
        spans=since(4, 4, 0),
        meaning="A member that changes its instance id gives the former one up.",
        source="KAFKA-20747, ConsumerGroup#updateStaticMember (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.PREFERRED_ASSIGNOR_BUMPS_EPOCH,
        spans=since(4, 4, 0),
        meaning="A vote that changes the group's assignor raises the group's epoch.",
        source="KAFKA-20434, GroupMetadataManager#hasPreferredServerAssignorChanged (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.CLEARED_REGEX_CHANGES_SUBSCRIPTION,
        spans=_SINCE_4_1_2,
        meaning="A member that gives up its regular expression raises the group's epoch.",
        source="KAFKA-19899, GroupMetadataManager#maybeUpdateRegularExpressions (4.1.2)",
    ),
    Row(
        behaviour=Behaviour.REGEX_REFRESHED_REGULARLY,
        spans=since(4, 1, 0),
        meaning="Regular expressions are resolved anew every group.consumer.regex.refresh.interval.ms.",
        source="GroupMetadataManager#maybeUpdateRegularExpressions (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.REGEX_TOPICS_AUTHORIZED,
        spans=since(4, 0, 1),
        meaning="A regular expression matches only topics that the client may describe; before, the "
        "coordinator was made without the authorizer.",
        source="KAFKA-19147, GroupMetadataManager#filterTopicDescribeAuthorizedTopics (4.0.1)",
    ),
)

_OF_ASSIGNMENTS: Final = (
    Row(
        behaviour=Behaviour.REVOCATION_RAISES_MEMBER_EPOCH,
        spans=until(4, 2, 0),
        meaning="A member that has given up its partitions, and has to give up more, is in the next epoch.",
        source="KAFKA-19974, CurrentAssignmentBuilder#build (4.1.2)",
    ),
    Row(
        behaviour=Behaviour.UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE,
        spans=since(4, 2, 0),
        meaning="A member loses the partitions of topics that it does not subscribe to any more without a "
        "new target assignment, and never gets such by an old one.",
        source="KAFKA-19431, CurrentAssignmentBuilder#updateCurrentAssignment (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHRINKING_UPDATES_PREVIOUS_EPOCH,
        spans=since(4, 3, 0),
        meaning="A member that loses unsubscribed topics has its own epoch as the previous one too.",
        source="pull request 21325, CurrentAssignmentBuilder#updateCurrentAssignment (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.OWN_REVOKED_PARTITIONS_ARE_FREE,
        spans=_BACKPORTED,
        meaning="A partition that a member is to give up may be assigned to the same member again.",
        source="KAFKA-19449, CurrentAssignmentBuilder#computeNextAssignment (4.0.2)",
    ),
    Row(
        behaviour=Behaviour.PARTITION_EPOCHS_TOLERATE_COMPACTION,
        spans=_BACKPORTED,
        meaning="A partition's owner may be replaced by one of a later epoch before its own record goes, as "
        "a compacted log has it; before, such a log failed to load.",
        source="KAFKA-19862, ConsumerGroup#removePartitionEpochs, ConsumerGroup#addPartitionEpochs (4.0.2)",
    ),
    Row(
        behaviour=Behaviour.ASSIGNMENT_INTERVAL_KEPT,
        spans=since(4, 3, 0),
        meaning="Target assignments are computed at most once in group.consumer.assignment.interval.ms; a "
        "member gets what the last one has for it.",
        source="GroupMetadataManager#canComputeNextTargetAssignment (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.EMPTIED_GROUP_COUNTS_AS_ASSIGNED,
        spans=since(4, 4, 0),
        meaning="When the last member has left, the assignment has the group's epoch, and the next member's "
        "assignment is computed at once.",
        source="KAFKA-20442, GroupMetadataManager#consumerGroupFenceMembers (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS,
        spans=since(4, 3, 0),
        meaning="A commit of an older member epoch is taken if the member has had the partitions since then.",
        source="KAFKA-20066 (KIP-1251), ConsumerGroup#validateOffsetCommit (4.3.0)",
    ),
)

_OF_READERS: Final = (
    Row(
        behaviour=Behaviour.SUBSCRIPTION_METADATA_IS_HASHED,
        spans=since(4, 1, 0),
        meaning="A hash of the subscribed topics stands in the group's record; before, a record of its own "
        "named them.",
        source="ModernGroup#computeMetadataHash (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.DESCRIBE_SHOWS_PENDING_REVOCATIONS,
        spans=since(4, 3, 0),
        meaning="A described member's assignment includes what it is to give up.",
        source="KAFKA-20431, ConsumerGroupMember#asConsumerGroupDescribeMember (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.EMPTY_GROUP_ID_FAILS_DESCRIBE,
        spans=until(4, 0, 1),
        meaning="An empty group id in a ConsumerGroupDescribe fails the whole request.",
        source="pull request 20030, GroupCoordinatorService#consumerGroupDescribe (4.0.0)",
    ),
    Row(
        behaviour=Behaviour.EVERY_PARTITION_DESCRIBES_ALL_GROUPS,
        spans=until(4, 0, 1),
        meaning="A ConsumerGroupDescribe asks each partition for all groups, so that it names groups of "
        "several partitions several times, mostly as missing.",
        source="GroupCoordinatorService#consumerGroupDescribe (4.0.0)",
    ),
)

_OF_MIGRATION: Final = (
    Row(
        behaviour=Behaviour.CONVERTED_GROUP_HAS_METADATA,
        spans=since(4, 0, 1),
        meaning="A classic group that becomes a consumer group brings the metadata of its topics along.",
        source="KAFKA-18687, ConsumerGroup#fromClassicGroup (4.0.1)",
    ),
    Row(
        behaviour=Behaviour.DISABLED_MIGRATION_REFUSES_CLASSIC_MEMBERS,
        spans=since(4, 3, 1),
        meaning="Where migration is disabled, a classic member may not join a consumer group with members.",
        source="KAFKA-20640, GroupMetadataManager#throwIfClassicMemberCannotJoinConsumerGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.CLASSIC_MEMBER_FOLLOWS_ASSIGNMENT_EPOCH,
        spans=since(4, 3, 0),
        meaning="A classic member has to rejoin when there is a newer assignment; before, when the group's "
        "epoch was newer.",
        source="KAFKA-20272, GroupMetadataManager#classicGroupHeartbeatToConsumerGroup (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.STATIC_DOWNGRADE_REBALANCES,
        spans=(Span(since=(4, 0, 2), until=(4, 1, 0)), Span(since=(4, 1, 1))),
        meaning="A classic static member that replaces the last consumer, and subscribes to other topics, "
        "starts a rebalance of the group that is classic then.",
        source="KAFKA-19546, GroupMetadataManager#classicGroupJoinToConsumerGroup (4.1.1)",
    ),
    Row(
        behaviour=Behaviour.STATIC_DOWNGRADE_FOLLOWS_ASSIGNMENT,
        spans=since(4, 3, 0),
        meaning="Such a replacement starts a rebalance where the assignment is older than the group.",
        source="KAFKA-20273, GroupMetadataManager#classicGroupJoinToConsumerGroup (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.CLASSIC_MEMBER_CLEARS_REGEX,
        spans=_BACKPORTED,
        meaning="A classic static member that replaces one with a regular expression has none.",
        source="KAFKA-19720, GroupMetadataManager#classicGroupJoinToConsumerGroup (4.0.2)",
    ),
    Row(
        behaviour=Behaviour.MALFORMED_CLASSIC_SUBSCRIPTION_INCONSISTENT,
        spans=since(4, 4, 0),
        meaning="A JoinGroup to a consumer group with a malformed subscription is answered "
        "INCONSISTENT_GROUP_PROTOCOL instead of UNKNOWN_SERVER_ERROR.",
        source="KAFKA-20662, GroupMetadataManager#deserializeSubscription (4.4.0)",
    ),
)

OF_CONSUMER_GROUPS: Final = _OF_MEMBERS + _OF_ASSIGNMENTS + _OF_READERS + _OF_MIGRATION


OF_ASSIGNORS: Final = (
    Row(
        behaviour=Behaviour.UNIFORM_LEAVES_EXTRA_PARTITIONS,
        spans=since(4, 0, 1),
        meaning="Where partitions do not divide evenly among members of the same subscription, a member that "
        "has no extra one leaves it to another that has; before, the first members got them.",
        source="KAFKA-18688, UniformHomogeneousAssignmentBuilder#maybeRevokePartitions (4.0.1)",
    ),
    Row(
        behaviour=Behaviour.REPLACED_MEMBER_TAKES_NO_ROOM,
        spans=since(4, 4, 0),
        meaning="A static member that is replaced is not put into the map of members for the assignor. "
        "Before, it was taken out again, of a map whose order is another once it had thirteen members.",
        source="TargetAssignmentBuilder#build (4.3.1), UpdatedMembersAndTargetAssignmentView (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.REGEX_GROUPS_NAMED_WITHOUT_P,
        spans=since(4, 1, 0),
        meaning="A regular expression may name a group as (?<name>…) and not only as (?P<name>…).",
        source="com.google.re2j.Parser#parsePerlFlags (RE2/J 1.8, which 4.1.0 brings)",
    ),
)
