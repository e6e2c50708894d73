"""What differs between Kafka's releases in streams groups (KIP-1071)."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, Span, since

OF_STREAMS_GROUPS: Final = (
    Row(
        behaviour=Behaviour.STREAMS_GROUPS,
        spans=since(4, 2, 0),
        meaning="There are streams groups: StreamsGroupHeartbeat and StreamsGroupDescribe are served, and "
        "the groups' records are loaded. The preview of 4.1 and what is new in 4.4 are not modelled.",
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
        "that counts as warm. Up to 4.3 both are 0.",
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
)
