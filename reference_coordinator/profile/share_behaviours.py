"""Differences between Kafka's releases in share groups (KIP-932)."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, since

OF_SHARE_GROUPS: Final = (
    Row(
        behaviour=Behaviour.SHARE_GROUPS,
        spans=since(4, 0, 0),
        meaning="There are share groups, where they are enabled.",
        source="KIP-932, KafkaApis#isShareGroupProtocolEnabled (4.0.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_GROUPS_BY_DEFAULT,
        spans=since(4, 2, 0),
        meaning="A new cluster has share groups. In 4.1 group.share.enable or the feature share.version "
        "brings them; in 4.0 they are a preview, whose APIs are hidden.",
        source="ShareVersion#LATEST_PRODUCTION (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_GROUPS_BY_FEATURE_ALONE,
        spans=since(4, 3, 0),
        meaning="A cluster whose feature share.version is 0 has no share groups. In 4.1 and 4.2 a broker "
        "with group.share.enable has them all the same.",
        source="KafkaApis#isShareGroupProtocolEnabled (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_STATE_INITIALIZED,
        spans=since(4, 1, 0),
        meaning="A share group has a partition only when the share coordinator has state of it. In the "
        "preview it has every partition at once, hears nothing of heartbeats that repeat the subscription, "
        "and a heartbeat to a group that there is not is answered UNKNOWN_SERVER_ERROR.",
        source="GroupMetadataManager#maybeCreateInitializeShareGroupStateRequest (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_GROUPS_STAY,
        spans=since(4, 1, 0),
        meaning="An empty share group does not expire.",
        source="ShareGroup#shouldExpire (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_MEMBER_ID_LIMITED,
        spans=since(4, 2, 0),
        meaning="A ShareGroupHeartbeat with a member id of more than 36 characters is refused.",
        source="KafkaApis#isMemberIdValid (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_ASSIGNOR_BALANCES,
        spans=since(4, 2, 0),
        meaning="The assignor simple gives every member of a share group as many partitions, and every "
        "partition as many members. In 4.1 it begins with a hash of the id; in 4.0 all get all.",
        source="SimpleHomogeneousAssignmentBuilder#build (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_PENDING_LOOKS_AT_SUBSCRIPTION,
        spans=since(4, 2, 0),
        meaning="Partitions with share state that nobody has raise the group's epoch only if somebody "
        "subscribes to their topic.",
        source="GroupMetadataManager#initializedAssignmentPending (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_INITIALIZE_RETRY_CONFIGURED,
        spans=since(4, 2, 0),
        meaning="State that the share coordinator did not give is asked for again after "
        "group.share.initialize.retry.interval.ms; before, after twice offsets.commit.timeout.ms.",
        source="GroupCoordinatorConfig#shareGroupInitializeRetryIntervalMs (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_OFFSETS_ALTERABLE,
        spans=since(4, 2, 0),
        meaning="AlterShareGroupOffsets sets offsets. In 4.1 it loses the topics that it is to change, and "
        "answers nothing of them.",
        source="KafkaApis#handleAlterShareGroupOffsetsRequest (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_OFFSETS_DELETED_BY_GROUP,
        spans=since(4, 2, 0),
        meaning="DeleteShareGroupOffsets of no topics, or of none that may be read, is refused where the "
        "group is missing or has members. In 4.1 nobody asks what the group is.",
        source="KafkaApis#handleDeleteShareGroupOffsetsRequest (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.NEW_PARTITIONS_SHARED_FROM_START,
        spans=since(4, 4, 0),
        meaning="A partition that gets share state later than others of its topic is read from offset 0. "
        "Before, share.auto.offset.reset decides, by default for its end.",
        source="KAFKA-20742, GroupMetadataManager#maybeCreateInitializeShareGroupStateRequest (4.4.0)",
    ),
)
