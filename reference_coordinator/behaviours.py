"""What differs between Kafka's releases: named behaviours, each with its releases and its source.

A behaviour holds from the release that brought it until (exclusive) the one that took it away. A
patch release may bring what the next minor release's first patch lacks: hence several spans.
"""

from dataclasses import dataclass
from enum import Enum, auto, unique
from typing import Final

OLDEST: Final = (2, 4, 0)
"""The first release that has a profile."""

Version = tuple[int, int, int]


@unique
class CoordinatorFamily(Enum):
    """Which of Kafka's two implementations of the group coordinator serves."""

    SCALA = "scala"
    """kafka.coordinator.group, the default until 3.9."""
    JAVA = "java"
    """org.apache.kafka.coordinator.group, by choice from 3.7, the only one of 4.x."""


@unique
class Behaviour(Enum):
    """A named difference between releases; `TABLE` says what it means and when it holds."""

    NEW_MEMBER_HEARTBEAT_COUNTS = auto()
    STATIC_REPLACEMENT_IN_COMPLETING_REBALANCES = auto()
    JOIN_V6_INTERNAL_ERROR_UNANSWERED = auto()
    AUTHORIZED_OPERATIONS_OMITTED = auto()
    GROUP_SIZE_LIMITS_PENDING_MEMBERS = auto()
    HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE = auto()
    STATIC_REPLACEMENT_PERSISTED = auto()
    MALFORMED_SUBSCRIPTION_THROWS = auto()
    REJECTION_ERASES_STATIC_MAPPING = auto()
    PENDING_SYNC_EXPIRES = auto()
    ONLY_STABLE_GROUPS_EXPIRE_OFFSETS = auto()
    UNKNOWN_INSTANCE_ID_REFUSED = auto()
    LEAVING_PENDING_MEMBER_MAY_NAME_INSTANCE = auto()
    REMOVAL_FORGETS_PENDING_MEMBER = auto()
    SIMPLE_COMMIT_CHECKS_IDS = auto()
    NULL_CLIENT_ID_IS_EMPTY = auto()
    REJOIN_UPDATES_TIMEOUTS = auto()
    STATES_FILTER_IGNORES_CASE = auto()
    REJECTED_COMMIT_STAYS_PENDING = auto()
    SESSION_TIMEOUT_CHECKED_BEFORE_COORDINATOR = auto()
    GROUP_OPERATIONS_INCLUDE_CONFIGS = auto()

    SYNC_IN_STABLE_REFRESHES_SESSION = auto()
    ONLY_FIRST_GENERATION_EXTENDS_INITIAL_DELAY = auto()
    NEWNESS_SURVIVES_REPLACEMENT = auto()
    UNKNOWN_TAGS_MAKE_PROTOCOLS_DIFFER = auto()
    SYNC_WHILE_LOADING_MEANS_REJOIN = auto()
    COORDINATOR_ERRORS_ECHO_MEMBER_ID = auto()
    SYNC_TOLERATES_UNSELECTED_PROTOCOL = auto()
    DESCRIBE_SHOWS_ASSIGNMENT_IN_REBALANCE = auto()
    GROUP_CREATION_IS_WRITTEN = auto()
    EMPTYING_AWAITS_APPEND = auto()
    DELETION_AWAITS_APPEND = auto()
    DUPLICATE_PARTITIONS_ANSWERED_EACH = auto()
    COMMIT_V9_NAMES_MISSING_GROUP = auto()
    STATES_FILTER_TRIMMED = auto()
    TOMBSTONED_GROUP_LOSES_OFFSETS = auto()
    EMPTIED_SIMPLE_GROUP_STAYS = auto()

    COORDINATOR_TYPE_VALIDATED = auto()
    SHARE_COORDINATOR_KEY_VALIDATED = auto()
    FETCH_V1_DROPS_GROUP_ERROR = auto()
    FETCH_COLLAPSES_DUPLICATE_GROUPS = auto()
    OFFSET_DELETE_REPEATS_TOPICS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The releases in which something holds: from `since` until `until`, of one family or both."""

    since: Version = OLDEST
    until: Version | None = None
    family: CoordinatorFamily | None = None

    def holds(self, version: Version, family: CoordinatorFamily) -> bool:
        """Whether a release of that family is within."""
        return (
            self.since <= version
            and (self.until is None or version < self.until)
            and self.family in {None, family}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One behaviour: when it holds, what it is, and where Kafka decides it."""

    behaviour: Behaviour
    spans: tuple[Span, ...]
    meaning: str
    source: str


_SCALA: Final = (Span(family=CoordinatorFamily.SCALA),)
_JAVA: Final = (Span(family=CoordinatorFamily.JAVA),)


def _since(*version: int) -> tuple[Span, ...]:
    major, minor, patch = version
    return (Span(since=(major, minor, patch)),)


def _until(*version: int) -> tuple[Span, ...]:
    major, minor, patch = version
    return (Span(until=(major, minor, patch)),)


_BY_RELEASE: Final = (
    Row(
        behaviour=Behaviour.NEW_MEMBER_HEARTBEAT_COUNTS,
        spans=_since(2, 5, 0),
        meaning="A member that has joined for the first time is timed from its join response, and "
        "a heartbeat while it is parked replaces the five minutes that it may be parked.",
        source="MemberMetadata#hasSatisfiedHeartbeat (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.STATIC_REPLACEMENT_IN_COMPLETING_REBALANCES,
        spans=_since(2, 5, 0),
        meaning="A static member that restarts in CompletingRebalance starts a rebalance.",
        source="GroupCoordinator#updateStaticMemberAndRebalance (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.JOIN_V6_INTERNAL_ERROR_UNANSWERED,
        spans=_until(2, 5, 0),
        meaning="A JoinGroup v6 that fails inside the coordinator is never answered.",
        source="JoinGroupRequest#getErrorResponse (2.4.1)",
    ),
    Row(
        behaviour=Behaviour.AUTHORIZED_OPERATIONS_OMITTED,
        spans=_since(2, 5, 0),
        meaning="Operations that were not asked for are -2147483648 instead of 0.",
        source="KafkaApis#handleDescribeGroupRequest (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_SIZE_LIMITS_PENDING_MEMBERS,
        spans=_since(2, 6, 0),
        meaning="group.max.size counts who awaits the join in PreparingRebalance, and a member that "
        "comes with its id is counted too.",
        source="GroupCoordinator#acceptJoiningMember (2.6.0)",
    ),
    Row(
        behaviour=Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE,
        spans=_since(2, 6, 1),
        meaning="A heartbeat in CompletingRebalance is answered NONE and restarts the session.",
        source="GroupCoordinator#handleHeartbeat (2.6.1)",
    ),
    Row(
        behaviour=Behaviour.STATIC_REPLACEMENT_PERSISTED,
        spans=_since(2, 6, 1),
        meaning="A static member that restarts in Stable is written before it is answered, or "
        "starts a rebalance where it changes the selected protocol.",
        source="GroupCoordinator#updateStaticMemberAndRebalance (2.6.1)",
    ),
    Row(
        behaviour=Behaviour.MALFORMED_SUBSCRIPTION_THROWS,
        spans=(Span(since=(2, 7, 0), until=(4, 4, 0)),),
        meaning="A subscription with a length beyond its bytes breaks the completion of the join.",
        source="ConsumerProtocol#deserializeSubscription (2.7.0)",
    ),
    Row(
        behaviour=Behaviour.REJECTION_ERASES_STATIC_MAPPING,
        spans=_until(2, 8, 0),
        meaning="A static member refused for the group's size loses the mapping of its instance id.",
        source="GroupCoordinator#handleJoinGroup (2.7.0)",
    ),
    Row(
        behaviour=Behaviour.PENDING_SYNC_EXPIRES,
        spans=_since(2, 8, 1),
        meaning="A member that does not sync within the rebalance timeout is removed.",
        source="GroupCoordinator#onExpirePendingSync (2.8.1)",
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
        spans=_since(3, 0, 0),
        meaning="A known member that names an instance id which the group does not know is refused "
        "by SyncGroup, Heartbeat, LeaveGroup and OffsetCommit, as it always was by JoinGroup.",
        source="GroupCoordinator#validateCurrentMember (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.LEAVING_PENDING_MEMBER_MAY_NAME_INSTANCE,
        spans=_since(3, 0, 0),
        meaning="A pending member that leaves may name an instance id; before, the batch failed.",
        source="GroupCoordinator#handleLeaveGroup (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.REMOVAL_FORGETS_PENDING_MEMBER,
        spans=_since(3, 0, 0),
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
        spans=_since(3, 1, 0),
        meaning="A null client id gives member ids that begin with a dash; before, with `null-`.",
        source="RequestHeader#parse (3.1.0)",
    ),
    Row(
        behaviour=Behaviour.REJOIN_UPDATES_TIMEOUTS,
        spans=_since(3, 3, 2),
        meaning="A member that rejoins takes the timeouts that it brings.",
        source="GroupMetadata#updateMember (3.3.2)",
    ),
    Row(
        behaviour=Behaviour.REJECTED_COMMIT_STAYS_PENDING,
        spans=(Span(since=(2, 5, 0), until=(3, 7, 1), family=CoordinatorFamily.SCALA),),
        meaning="An offset refused for its metadata stays pending for readers that want it stable.",
        source="KAFKA-16371",
    ),
    Row(
        behaviour=Behaviour.STATES_FILTER_IGNORES_CASE,
        spans=_since(3, 8, 0),
        meaning="The states filter of ListGroups ignores case.",
        source="GroupCoordinator#handleListGroups (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.SESSION_TIMEOUT_CHECKED_BEFORE_COORDINATOR,
        spans=(Span(since=(3, 8, 0), family=CoordinatorFamily.JAVA),),
        meaning="A bad session timeout is refused even by a broker that is not the coordinator.",
        source="GroupCoordinatorService#joinGroup (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.GROUP_OPERATIONS_INCLUDE_CONFIGS,
        spans=_since(4, 0, 0),
        meaning="DESCRIBE_CONFIGS and ALTER_CONFIGS are among the operations on a group.",
        source="AclEntry#supportedOperations (4.0.0)",
    ),
)

_BY_FAMILY: Final = (
    Row(
        behaviour=Behaviour.SYNC_IN_STABLE_REFRESHES_SESSION,
        spans=_SCALA,
        meaning="A SyncGroup in Stable counts as a heartbeat.",
        source="GroupCoordinator#doSyncGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.ONLY_FIRST_GENERATION_EXTENDS_INITIAL_DELAY,
        spans=_SCALA,
        meaning="Newcomers extend the initial delay only of a group that never had a generation.",
        source="GroupCoordinator#addMemberAndRebalance (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.NEWNESS_SURVIVES_REPLACEMENT,
        spans=_SCALA,
        meaning="The successor of a static member that was new counts as new itself.",
        source="GroupMetadata#replaceStaticMember (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.UNKNOWN_TAGS_MAKE_PROTOCOLS_DIFFER,
        spans=_JAVA,
        meaning="Protocols that differ in tagged fields nobody knows are different protocols.",
        source="ClassicGroupMember#matches (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.SYNC_WHILE_LOADING_MEANS_REJOIN,
        spans=_SCALA,
        meaning="A SyncGroup to a loading coordinator is answered REBALANCE_IN_PROGRESS.",
        source="GroupCoordinator#handleSyncGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.COORDINATOR_ERRORS_ECHO_MEMBER_ID,
        spans=_SCALA,
        meaning="A JoinGroup to a wrong or loading coordinator gets its member id back.",
        source="GroupCoordinator#handleJoinGroup (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.SYNC_TOLERATES_UNSELECTED_PROTOCOL,
        spans=_JAVA,
        meaning="Before a protocol is selected, any protocol name of a SyncGroup will do.",
        source="GroupMetadataManager#validateSyncGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DESCRIBE_SHOWS_ASSIGNMENT_IN_REBALANCE,
        spans=_JAVA,
        meaning="DescribeGroups shows assignments in every state.",
        source="ClassicGroupMember#describeNoMetadata (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.GROUP_CREATION_IS_WRITTEN,
        spans=_JAVA,
        meaning="A JoinGroup that creates a group writes it, and undoes it if the write fails.",
        source="GroupMetadataManager#classicGroupJoinToClassicGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.EMPTYING_AWAITS_APPEND,
        spans=_JAVA,
        meaning="The LeaveGroup that empties a group is answered when that is written.",
        source="GroupMetadataManager#classicGroupLeaveToClassicGroup (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DELETION_AWAITS_APPEND,
        spans=_JAVA,
        meaning="DeleteGroups and OffsetDelete are answered, and take effect, when they are written.",
        source="GroupCoordinatorShard#deleteGroups (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH,
        spans=_JAVA,
        meaning="A partition that a request names twice is answered twice.",
        source="OffsetMetadataManager#commitOffset (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.COMMIT_V9_NAMES_MISSING_GROUP,
        spans=_JAVA,
        meaning="OffsetCommit v9 with a generation to a missing group gets GROUP_ID_NOT_FOUND.",
        source="OffsetMetadataManager#validateOffsetCommit (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.STATES_FILTER_TRIMMED,
        spans=_JAVA,
        meaning="The states filter of ListGroups ignores blanks around a state.",
        source="GroupMetadataManager#listGroups (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.TOMBSTONED_GROUP_LOSES_OFFSETS,
        spans=_JAVA,
        meaning="Offsets left behind by a group tombstone stay invisible when the log is loaded.",
        source="GroupMetadataManager#replay (4.3.1)",
    ),
    Row(
        behaviour=Behaviour.EMPTIED_SIMPLE_GROUP_STAYS,
        spans=_JAVA,
        meaning="A group that lost its last offset stays Empty until the next expiry pass.",
        source="OffsetMetadataManager#deleteOffsets (4.3.1)",
    ),
)

_OF_KAFKA_APIS: Final = (
    Row(
        behaviour=Behaviour.OFFSET_DELETE_REPEATS_TOPICS,
        spans=_until(2, 6, 0),
        meaning="OffsetDelete answers a topic once for each of its partitions, whole each time.",
        source="KafkaApis#handleOffsetDeleteRequest (2.4.1)",
    ),
    Row(
        behaviour=Behaviour.COORDINATOR_TYPE_VALIDATED,
        spans=_since(2, 8, 0),
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
        behaviour=Behaviour.FETCH_V1_DROPS_GROUP_ERROR,
        spans=(Span(since=(3, 5, 0), until=(3, 9, 2)), Span(since=(4, 0, 0), until=(4, 0, 2))),
        meaning="OffsetFetch v1 answers a group's error with no topics, and so with no error at all.",
        source="OffsetFetchResponse#<init> (3.9.1), #groupError (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.SHARE_COORDINATOR_KEY_VALIDATED,
        spans=_since(4, 0, 0),
        meaning="FindCoordinator refuses a share group's key that is not group:topic-id:partition.",
        source="KafkaApis#getCoordinator (4.3.1)",
    ),
)

TABLE: Final = _BY_RELEASE + _BY_FAMILY + _OF_KAFKA_APIS
"""Every behaviour once."""
