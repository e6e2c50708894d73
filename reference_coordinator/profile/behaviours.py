"""The differences between Kafka's releases: named behaviours, each with its releases and its source.

A behaviour applies from the release that introduced it until (exclusive) the one that removed it. A patch
release may contain a change that the first patch of the next minor release lacks. Hence there may be
several spans.
"""

from typing import Final

from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.api_behaviours import OF_KAFKA_APIS
from reference_coordinator.profile.behaviour import (
    JAVA,
    OLDEST,
    REFUSING_TOO_LARGE_WRITES,
    SCALA,
    Behaviour,
    Row,
    Span,
    Version,
    since,
    until,
)
from reference_coordinator.profile.consumer_behaviours import OF_ASSIGNORS, OF_CONSUMER_GROUPS
from reference_coordinator.profile.log_behaviours import OF_LOADING, OF_THE_LOG
from reference_coordinator.profile.share_behaviours import OF_SHARE_GROUPS
from reference_coordinator.profile.share_fetch_behaviours import OF_SHARES
from reference_coordinator.profile.streams_behaviours import OF_STREAMS_GROUPS
from reference_coordinator.profile.transaction_behaviours import OF_TRANSACTIONS

__all__ = ["OLDEST", "TABLE", "Behaviour", "CoordinatorFamily", "Row", "Span", "Version"]

_BY_RELEASE: Final = (
    Row(
        behaviour=Behaviour.NEW_MEMBER_HEARTBEAT_COUNTS,
        spans=since(2, 5, 0),
        meaning="A member that has joined for the first time is timed from its join response, and "
        "a heartbeat while it is parked replaces the five minutes that it may be parked.",
        source="MemberMetadata#hasSatisfiedHeartbeat (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.STATIC_REPLACEMENT_IN_COMPLETING_REBALANCES,
        spans=since(2, 5, 0),
        meaning="A static member that restarts in CompletingRebalance starts a rebalance.",
        source="GroupCoordinator#updateStaticMemberAndRebalance (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.JOIN_V6_INTERNAL_ERROR_UNANSWERED,
        spans=until(2, 5, 0),
        meaning="A JoinGroup v6 that fails inside the coordinator is never answered.",
        source="JoinGroupRequest#getErrorResponse (2.4.1)",
    ),
    Row(
        behaviour=Behaviour.AUTHORIZED_OPERATIONS_OMITTED,
        spans=since(2, 5, 0),
        meaning="Operations that were not asked for are -2147483648 instead of 0.",
        source="KafkaApis#handleDescribeGroupRequest (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_SIZE_LIMITS_PENDING_MEMBERS,
        spans=since(2, 6, 0),
        meaning="group.max.size counts who awaits the join in PreparingRebalance, and a member that "
        "comes with its id is counted too.",
        source="KAFKA-9885, GroupCoordinator#acceptJoiningMember (2.6.0)",
    ),
    Row(
        behaviour=Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE,
        spans=since(2, 6, 1),
        meaning="A heartbeat in CompletingRebalance is answered NONE and restarts the session.",
        source="GroupCoordinator#handleHeartbeat (2.6.1)",
    ),
    Row(
        behaviour=Behaviour.STATIC_REPLACEMENT_PERSISTED,
        spans=since(2, 6, 1),
        meaning="A static member that restarts in Stable is written before it is answered, or "
        "starts a rebalance where it changes the selected protocol.",
        source="KAFKA-10284, GroupCoordinator#updateStaticMemberAndRebalance (2.6.1)",
    ),
    Row(
        behaviour=Behaviour.MALFORMED_SUBSCRIPTION_THROWS,
        spans=(Span(since=(2, 7, 0), until=(4, 4, 0)),),
        meaning="A subscription or assignment with a length beyond its bytes fails as nothing else that is "
        "malformed: it breaks the completion of the join, and the conversion to a consumer group.",
        source="ConsumerProtocol#deserializeSubscription (2.7.0), "
        "ConsumerProtocol#deserializeConsumerProtocolAssignment (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.REJECTION_ERASES_STATIC_MAPPING,
        spans=until(2, 8, 0),
        meaning="A static member refused for the group's size loses the mapping of its instance id.",
        source="GroupCoordinator#handleJoinGroup (2.7.0)",
    ),
    Row(
        behaviour=Behaviour.PENDING_SYNC_EXPIRES,
        spans=since(2, 8, 1),
        meaning="A member that does not sync within the rebalance timeout is removed.",
        source="KAFKA-12890, GroupCoordinator#onExpirePendingSync (2.8.1)",
    ),
    Row(
        behaviour=Behaviour.PENDING_SYNC_OF_REPLACED_MEMBER_THROWS,
        spans=(Span(since=(2, 8, 1), until=(3, 0, 0)),),
        meaning="The deadline for syncing has no effect if a member that had not synced was replaced.",
        source="GroupCoordinator#onExpirePendingSync (2.8.2), which looks the member up; 3.0.0 does not",
    ),
    Row(
        behaviour=Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS,
        spans=(
            Span(since=(2, 8, 2), until=(3, 0, 0)),
            Span(since=(3, 0, 1), until=(3, 1, 0)),
            Span(since=(3, 1, 1)),
        ),
        meaning="A consumer group with members loses old offsets in Stable only.",
        source="KAFKA-13636",
    ),
    Row(
        behaviour=Behaviour.UNKNOWN_INSTANCE_ID_REFUSED,
        spans=since(3, 0, 0),
        meaning="A known member that names an instance id which the group does not know is refused "
        "by SyncGroup, Heartbeat, LeaveGroup and OffsetCommit, as it always was by JoinGroup.",
        source="GroupCoordinator#validateCurrentMember (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.LEAVING_PENDING_MEMBER_MAY_NAME_INSTANCE,
        spans=since(3, 0, 0),
        meaning="A pending member that leaves may name an instance id; before, the batch failed.",
        source="pull request 9958, GroupCoordinator#handleLeaveGroup (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.REMOVAL_FORGETS_PENDING_MEMBER,
        spans=since(3, 0, 0),
        meaning="A pending member refused for the group's size is pending no more.",
        source="GroupMetadata#remove (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.SIMPLE_COMMIT_CHECKS_IDS,
        spans=(Span(since=(3, 0, 0), until=(3, 3, 0)),),
        meaning="A commit without a generation to an Empty group is refused if it names a member.",
        source="KAFKA-14201",
    ),
    Row(
        behaviour=Behaviour.NULL_CLIENT_ID_IS_EMPTY,
        spans=since(3, 1, 0),
        meaning="A null client id gives member ids that begin with a dash; before, with `null-`, and it "
        "stays null, which neither DescribeGroups nor the log can tell: UNKNOWN_SERVER_ERROR.",
        source="RequestHeader#parse (3.1.0)",
    ),
    Row(
        behaviour=Behaviour.REJOIN_UPDATES_TIMEOUTS,
        spans=since(3, 3, 2),
        meaning="A member that rejoins takes the timeouts that it brings.",
        source="GroupMetadata#updateMember (3.3.2)",
    ),
    Row(
        behaviour=Behaviour.REJECTED_COMMIT_STAYS_PENDING,
        spans=(Span(until=(3, 7, 1), family=CoordinatorFamily.SCALA),),
        meaning="An offset refused for its metadata stays pending: readers that want it stable wait for "
        "ever, and the transaction that brought it breaks when it commits.",
        source="KAFKA-16371",
    ),
    Row(
        behaviour=Behaviour.MIN_INSYNC_REPLICAS_CAPPED,
        spans=since(3, 7, 0),
        meaning="min.insync.replicas above the number of replicas asks for no more than these.",
        source="Partition#effectiveMinIsr (3.7.0)",
    ),
    Row(
        behaviour=Behaviour.STATES_FILTER_IGNORES_CASE,
        spans=since(3, 8, 0),
        meaning="The states filter of ListGroups ignores case.",
        source="GroupCoordinator#handleListGroups (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.STATES_FILTER_DESCRIBES_GROUPS,
        spans=(Span(until=(3, 8, 0), family=CoordinatorFamily.SCALA),),
        meaning="ListGroups with a states filter describes every group, and fails as a whole if one of them "
        "cannot be described.",
        source="GroupCoordinator#handleListGroups (2.6.0, 3.8.0)",
    ),
    Row(
        behaviour=Behaviour.SESSION_TIMEOUT_CHECKED_BEFORE_COORDINATOR,
        spans=(Span(since=(3, 8, 0), family=CoordinatorFamily.JAVA),),
        meaning="A bad session timeout is refused even by a broker that is not the coordinator.",
        source="GroupCoordinatorService#joinGroup (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_OPERATIONS_INCLUDE_CONFIGS,
        spans=since(4, 0, 0),
        meaning="DESCRIBE_CONFIGS and ALTER_CONFIGS are among the operations on a group.",
        source="AclEntry#supportedOperations (4.0.0)",
    ),
)

_BY_FAMILY: Final = (
    Row(
        behaviour=Behaviour.SYNC_IN_STABLE_REFRESHES_SESSION,
        spans=SCALA,
        meaning="A SyncGroup in Stable counts as a heartbeat.",
        source="GroupCoordinator#doSyncGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.ONLY_FIRST_GENERATION_EXTENDS_INITIAL_DELAY,
        spans=SCALA,
        meaning="Newcomers extend the initial delay only of a group that never had a generation.",
        source="GroupCoordinator#addMemberAndRebalance (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.NEWNESS_SURVIVES_REPLACEMENT,
        spans=SCALA,
        meaning="The successor of a static member that was new counts as new itself.",
        source="GroupMetadata#replaceStaticMember (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.UNKNOWN_TAGS_MAKE_PROTOCOLS_DIFFER,
        spans=JAVA,
        meaning="Protocols that differ in tagged fields nobody knows are different protocols.",
        source="ClassicGroupMember#matches (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.SYNC_WHILE_LOADING_MEANS_REJOIN,
        spans=SCALA,
        meaning="A SyncGroup to a loading coordinator is answered REBALANCE_IN_PROGRESS.",
        source="GroupCoordinator#handleSyncGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.COORDINATOR_ERRORS_ECHO_MEMBER_ID,
        spans=SCALA,
        meaning="A JoinGroup to a wrong or loading coordinator gets its member id back.",
        source="GroupCoordinator#handleJoinGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.SYNC_TOLERATES_UNSELECTED_PROTOCOL,
        spans=JAVA,
        meaning="Before a protocol is selected, any protocol name of a SyncGroup will do.",
        source="GroupMetadataManager#validateSyncGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DESCRIBE_SHOWS_ASSIGNMENT_IN_REBALANCE,
        spans=JAVA,
        meaning="DescribeGroups shows assignments in every state.",
        source="ClassicGroupMember#describeNoMetadata (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.GROUP_CREATION_IS_WRITTEN,
        spans=JAVA,
        meaning="A JoinGroup that creates a group writes it, and undoes it if the write fails.",
        source="GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.EMPTYING_AWAITS_APPEND,
        spans=JAVA,
        meaning="The LeaveGroup that empties a group is answered when that is written.",
        source="GroupMetadataManager#classicGroupLeaveToClassicGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DELETION_AWAITS_APPEND,
        spans=JAVA,
        meaning="DeleteGroups and OffsetDelete are answered, and take effect, when they are written.",
        source="GroupCoordinatorShard#deleteGroups (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH,
        spans=JAVA,
        meaning="A partition that a request names twice is answered twice, and a topic that an OffsetFetch "
        "names without a partition is answered, too.",
        source="OffsetMetadataManager#commitOffset (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.COMMIT_V9_NAMES_MISSING_GROUP,
        spans=JAVA,
        meaning="OffsetCommit v9 with a generation to a missing group gets GROUP_ID_NOT_FOUND.",
        source="OffsetMetadataManager#validateOffsetCommit (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.STATES_FILTER_TRIMMED,
        spans=JAVA,
        meaning="The states filter of ListGroups ignores blanks around a state.",
        source="GroupMetadataManager#listGroups (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.TOMBSTONED_GROUP_LOSES_OFFSETS,
        spans=JAVA,
        meaning="Offsets left behind by a group tombstone stay invisible when the log is loaded.",
        source="GroupMetadataManager#replay (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.EMPTIED_SIMPLE_GROUP_STAYS,
        spans=JAVA,
        meaning="A group that lost its last offset stays Empty until the next expiry pass.",
        source="OffsetMetadataManager#deleteOffsets (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.TOO_LARGE_WRITE_LEAVES_BATCH_OPEN,
        spans=REFUSING_TOO_LARGE_WRITES,
        meaning="A write too large for the log leaves a batch open, in which all that the partition's "
        "groups write from then on waits until the batch is full, or for too long.",
        source="KAFKA-19760, CoordinatorRuntime#append (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.TOO_LARGE_WRITE_KEEPS_NEW_GROUP,
        spans=REFUSING_TOO_LARGE_WRITES,
        meaning="A group whose creation is too large for the log is there all the same, unwritten.",
        source="KAFKA-19760, CoordinatorRuntime#append (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.EMPTY_BATCH_DELAYS_ANSWERS,
        spans=(Span(since=(3, 8, 0), until=(4, 0, 0), family=CoordinatorFamily.JAVA),),
        meaning="Answers to requests that write nothing wait for an open batch even if it is empty.",
        source="KAFKA-18200, CoordinatorRuntime#append (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.DELETION_AWAITS_OPEN_BATCH,
        spans=since(4, 1, 0),
        meaning="DeleteGroups first looks for share groups, and so awaits the open batch before it looks at "
        "other groups.",
        source="GroupCoordinatorService#deleteGroups (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.LEAVE_TELLS_ERROR_OF_LOG,
        spans=(Span(until=(3, 8, 0), family=CoordinatorFamily.JAVA),),
        meaning="A LeaveGroup that cannot be written is told the log's own error, as MESSAGE_TOO_LARGE.",
        source="GroupCoordinatorService#leaveGroup (3.7.2)",
    ),
    Row(
        behaviour=Behaviour.FAILED_FETCH_MEANS_NOT_COORDINATOR,
        spans=(Span(since=(4, 0, 0), family=CoordinatorFamily.JAVA),),
        meaning="An OffsetFetch that waits too long for stable offsets is told NOT_COORDINATOR instead of "
        "REQUEST_TIMED_OUT.",
        source="GroupCoordinatorService#handleOffsetFetchException (4.3.1)",
    ),
)

TABLE: Final = (
    _BY_RELEASE
    + _BY_FAMILY
    + OF_LOADING
    + OF_KAFKA_APIS
    + OF_TRANSACTIONS
    + OF_THE_LOG
    + OF_CONSUMER_GROUPS
    + OF_STREAMS_GROUPS
    + OF_ASSIGNORS
    + OF_SHARES
    + OF_SHARE_GROUPS
)
"""All behaviours."""
