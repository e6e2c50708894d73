"""Differences between Kafka's releases in streams groups (KIP-1071)."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, Span, since

OF_STREAMS_GROUPS: Final = (
    Row(
        behaviour=Behaviour.STREAMS_GROUPS,
        spans=since(4, 2, 0),
        meaning="There are streams groups: StreamsGroupHeartbeat and StreamsGroupDescribe are served, and "
        "the groups' records are loaded. The preview of 4.1 is not modelled.",
        source="KIP-1071, KafkaApis#isStreamsGroupProtocolEnabled (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_FIRST_EPOCH_SKIPPED,
        spans=(Span(since=(4, 2, 0), until=(4, 3, 0)),),
        meaning="The first member raises the group's epoch from 0 to 2. From 4.3 on a new group is in "
        "epoch 1.",
        source="GroupMetadataManager#streamsGroupHeartbeat (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_GROUP_REPLACES_SIMPLE_GROUP,
        spans=since(4, 2, 1),
        meaning="A partition is loaded in which records of a streams group come after an offset of its id, "
        "as compaction may leave them; before, they cost the partition.",
        source="KAFKA-20254, GroupMetadataManager#getOrMaybeCreatePersistedStreamsGroup (4.2.1)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_REJOIN_FITS_FULL_GROUP,
        spans=since(4, 4, 0),
        meaning="A member that is known may rejoin a full group.",
        source="GroupMetadataManager#throwIfStreamsGroupIsFull (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_GROUP_CONFIGS_IGNORE_BROKERS,
        spans=(Span(since=(4, 2, 0), until=(4, 3, 0)),),
        meaning="A group for which anything is configured has Kafka's default for each other streams "
        "configuration. From 4.3 on it has the broker's.",
        source="GroupCoordinatorConfig#extractGroupConfigMap (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_TASK_OFFSETS_ASKED_FOR,
        spans=since(4, 4, 0),
        meaning="A heartbeat is answered with how often to send task offsets, and with the lag of a task "
        "that counts as warm. Offsets and warm-up tasks that a member names are taken, and a description "
        "shows the offsets. Up to 4.3 both numbers are 0, and offsets and warm-up tasks are INVALID_REQUEST.",
        source="GroupMetadataManager#streamsGroupHeartbeat (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_FIELDS_CHECKED_BEFORE_FEATURES,
        spans=since(4, 4, 0),
        meaning="An empty instance id, or a join with warm-up tasks, is refused for that. Up to 4.3 every "
        "instance id and every warm-up task is unsupported.",
        source="GroupCoordinatorService#throwIfStreamsGroupHeartbeatRequestIsInvalid (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_TASKS_CHANGE_ROLES,
        spans=since(4, 4, 0),
        meaning="A member that is to keep a task in another role changes the role in one step. Up to 4.3 it "
        "gives the task up first, and gets it anew.",
        source="CurrentAssignmentBuilder#computeNextAssignment (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_STATIC_MEMBERS,
        spans=since(4, 4, 0),
        meaning="A member may be static. It leaves for a while with epoch -2, and its successor gets its "
        "tasks in the same epoch. What it tells anew raises the group's epoch only if it is its topology, "
        "rack, tags or process. Up to 4.3 an instance id is INVALID_REQUEST.",
        source="GroupMetadataManager#getOrMaybeCreateStaticStreamsGroupMember (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_ASSIGNED_BY_CURRENT_TASKS,
        spans=since(4, 4, 0),
        meaning="The assignor gives tasks back to the members that have them, and prefers those that said "
        "how far they have restored one. Up to 4.3 it goes by what members were to have.",
        source="streams.TargetAssignmentBuilder#createMemberMetadataAndState, "
        "StickyTaskAssignor#rankStandbyCandidates (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_ENDPOINTS_FOLLOW_CHANGES,
        spans=since(4, 4, 0),
        meaning="Members hear of endpoints when one has changed, and a join without an endpoint clears the "
        "member's. Partitions that a topic lacks are left out. Up to 4.3 each join with an endpoint is a "
        "change, and a new endpoint alone is none.",
        source="GroupMetadataManager#hasUserEndpointChanged, "
        "EndpointToPartitionsManager#topicPartitionListForTask (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_CLIENT_TAGS_REQUIRED,
        spans=since(4, 4, 0),
        meaning="A group may be configured with tags that its members are to have, which raises its epoch. "
        "From version 1 on, a member that lacks one is told so.",
        source="GroupMetadataManager#streamsGroupHeartbeat (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.STREAMS_TARGET_KEPT_FOR_EPOCH,
        spans=since(4, 4, 0),
        meaning="What members are to have is remembered for the assignment's epoch. A member that comes back "
        "before tasks are assigned anew gets its former tasks.",
        source="GroupMetadataManager#refinedAssignmentForEpoch (4.4.0)",
    ),
)
