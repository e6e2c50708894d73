"""Named behaviours: their names, the releases in which they apply, and where Kafka decides them."""

from enum import Enum, auto, unique
from typing import Final

from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.core.values import value

OLDEST: Final = (2, 4, 0)
"""The first release that has a profile."""

Version = tuple[int, int, int]


@unique
class Behaviour(Enum):
    """A named difference between releases. `TABLE` contains its meaning and its releases."""

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
    PENDING_SYNC_OF_REPLACED_MEMBER_THROWS = auto()
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
    MIN_INSYNC_REPLICAS_CAPPED = auto()

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
    STATES_FILTER_DESCRIBES_GROUPS = auto()
    TOMBSTONED_GROUP_LOSES_OFFSETS = auto()
    EMPTIED_SIMPLE_GROUP_STAYS = auto()
    TOO_LARGE_WRITE_LEAVES_BATCH_OPEN = auto()
    TOO_LARGE_WRITE_KEEPS_NEW_GROUP = auto()
    EMPTY_BATCH_DELAYS_ANSWERS = auto()
    DELETION_AWAITS_OPEN_BATCH = auto()
    LEAVE_TELLS_ERROR_OF_LOG = auto()
    FAILED_FETCH_MEANS_NOT_COORDINATOR = auto()

    PARTITION_EPOCHS_TRACKED = auto()
    OUT_OF_SYNC_LOG_RELOADED = auto()
    SHUTDOWN_RESIGNS_FIRST = auto()
    LOADED_MEMBERS_COUNT_AS_STATIC = auto()
    LOADED_GROUP_LOSES_TIMESTAMP = auto()

    SYNC_V4_INTERNAL_ERROR_UNANSWERED = auto()
    EMPTY_UNKNOWN_TOPIC_ANSWERED = auto()
    UNKNOWN_PARTITIONS_ANSWERED_EACH = auto()
    COORDINATOR_TYPE_VALIDATED = auto()
    SHARE_COORDINATOR_KEY_VALIDATED = auto()
    SHARE_KEY_MAY_HAVE_COLONS = auto()
    SHARE_COORDINATOR_MISSING = auto()
    SHARE_COORDINATOR_UNAVAILABLE = auto()
    FETCH_V1_DROPS_GROUP_ERROR = auto()
    EMPTY_PROTOCOL_NAME_IS_NULL = auto()
    FETCH_COLLAPSES_DUPLICATE_GROUPS = auto()
    EMPTY_FETCH_UNANSWERED = auto()
    OFFSET_DELETE_REPEATS_TOPICS = auto()
    JOIN_BEFORE_V5_NAMES_NO_INSTANCE = auto()
    DESCRIBE_BEFORE_V4_NAMES_NO_INSTANCE = auto()
    LEAVE_BEFORE_V3_NEEDS_MEMBER = auto()
    GROUPS_OUTLIVE_THEIR_LOG = auto()
    TXN_COMMIT_HIDES_LOADING = auto()
    FIRST_OFFSETS_IN_ZOOKEEPER = auto()
    CONSUMER_GROUPS = auto()
    GROUP_CONFIGS_HAVE_SYNONYMS = auto()
    GROUP_CONFIGS_KEPT_WITHIN_BOUNDS = auto()
    GROUP_CONFIG_BOUNDS_NAMED = auto()
    UNCONFIGURED_GROUP_STAYS_LISTED = auto()

    TXN_COMMIT_CHECKS_MEMBER = auto()
    TXN_COMMIT_CHECKED_AS_COMMIT = auto()
    TXN_COMMIT_VERIFIED = auto()
    VERIFIED_ANEW_FOR_OTHER_EPOCH = auto()
    FORMER_EPOCH_REFUSED_FIRST = auto()
    PENDING_OFFSETS_KEEP_GROUP = auto()
    PENDING_OFFSETS_EXPIRE_UNDERNEATH = auto()
    NO_PRODUCER_ID_COMMITS_AT_ONCE = auto()
    FENCING_BUMPS_EPOCH_TWICE = auto()
    TRANSACTIONS_OF_VERSION_2 = auto()
    VERIFICATIONS_SHARE_A_BATCH = auto()
    END_TXN_TAKES_FUTURE_EPOCH = auto()
    TXN_END_WAITS_FOR_LOAD = auto()
    PENDING_TXN_CHECKED_FIRST = auto()

    FLEXIBLE_RECORDS_READ = auto()
    UNKNOWN_VERSIONS_READ_AS_NEAREST = auto()
    TYPE_0_HAS_VERSION_0 = auto()
    OFFSETS_WRITTEN_FLEXIBLE = auto()
    UNREADABLE_RECORD_FAILS_PARTITION = auto()

    CONSUMER_HEARTBEAT_VALIDATED_FIRST = auto()
    GROUP_EPOCH_STARTS_AT_ONE = auto()
    REJOINING_MEMBER_KEEPS_EPOCH = auto()
    REVOCATION_RAISES_MEMBER_EPOCH = auto()
    UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE = auto()
    SHRINKING_UPDATES_PREVIOUS_EPOCH = auto()
    OWN_REVOKED_PARTITIONS_ARE_FREE = auto()
    PARTITION_EPOCHS_TOLERATE_COMPACTION = auto()
    CLEARED_REGEX_CHANGES_SUBSCRIPTION = auto()
    REGEX_REFRESHED_REGULARLY = auto()
    REGEX_TOPICS_AUTHORIZED = auto()
    SUBSCRIPTION_METADATA_IS_HASHED = auto()
    CONVERTED_GROUP_HAS_METADATA = auto()
    ASSIGNMENT_INTERVAL_KEPT = auto()
    EMPTIED_GROUP_COUNTS_AS_ASSIGNED = auto()
    PARTITIONS_HAVE_ASSIGNMENT_EPOCHS = auto()
    DESCRIBE_SHOWS_PENDING_REVOCATIONS = auto()
    EMPTY_GROUP_ID_FAILS_DESCRIBE = auto()
    EVERY_PARTITION_DESCRIBES_ALL_GROUPS = auto()
    PREFERRED_ASSIGNOR_BUMPS_EPOCH = auto()
    STATIC_REPLACEMENT_FITS_FULL_GROUP = auto()
    CHANGED_INSTANCE_ID_IS_FREE = auto()
    DISABLED_MIGRATION_REFUSES_CLASSIC_MEMBERS = auto()
    CLASSIC_MEMBER_FOLLOWS_ASSIGNMENT_EPOCH = auto()
    STATIC_DOWNGRADE_REBALANCES = auto()
    STATIC_DOWNGRADE_FOLLOWS_ASSIGNMENT = auto()
    CLASSIC_MEMBER_CLEARS_REGEX = auto()
    MALFORMED_CLASSIC_SUBSCRIPTION_INCONSISTENT = auto()
    UNIFORM_LEAVES_EXTRA_PARTITIONS = auto()
    REPLACED_MEMBER_TAKES_NO_ROOM = auto()
    REGEX_GROUPS_NAMED_WITHOUT_P = auto()
    SHARE_FETCH_AWAITS_WRITES = auto()
    SHARE_RECORD_LOCKS_LIMIT_ACQUISITION = auto()
    SHARE_DELIVERY_THROTTLED = auto()
    SHARE_OFFSETS_ACCUMULATED = auto()
    SHARE_GAP_ENDS_ACQUISITION = auto()
    SHARE_CLOSE_KEEPS_DELIVERY_COUNT = auto()
    SHARE_MEMBER_ID_IS_ANY_TEXT = auto()
    SHARE_FETCH_FAILS_WITH_UNKNOWN_TOPIC = auto()
    SHARE_STATE_MAY_BE_ARCHIVING = auto()
    SHARE_DEAD_LETTERS = auto()

    SHARE_GROUPS = auto()
    SHARE_GROUPS_BY_DEFAULT = auto()
    SHARE_GROUPS_BY_FEATURE_ALONE = auto()
    SHARE_STATE_INITIALIZED = auto()
    SHARE_GROUPS_STAY = auto()
    SHARE_MEMBER_ID_LIMITED = auto()
    SHARE_ASSIGNOR_BALANCES = auto()
    SHARE_PENDING_LOOKS_AT_SUBSCRIPTION = auto()
    SHARE_INITIALIZE_RETRY_CONFIGURED = auto()
    SHARE_OFFSETS_ALTERABLE = auto()
    SHARE_OFFSETS_DELETED_BY_GROUP = auto()
    NEW_PARTITIONS_SHARED_FROM_START = auto()
    STREAMS_GROUPS = auto()
    STREAMS_GROUP_REPLACES_SIMPLE_GROUP = auto()
    STREAMS_REJOIN_FITS_FULL_GROUP = auto()
    STREAMS_FIRST_EPOCH_SKIPPED = auto()
    STREAMS_GROUP_CONFIGS_IGNORE_BROKERS = auto()
    STREAMS_TASK_OFFSETS_ASKED_FOR = auto()
    STREAMS_FIELDS_CHECKED_BEFORE_FEATURES = auto()
    STREAMS_TASKS_CHANGE_ROLES = auto()
    STREAMS_STATIC_MEMBERS = auto()
    STREAMS_ASSIGNED_BY_CURRENT_TASKS = auto()
    STREAMS_ENDPOINTS_FOLLOW_CHANGES = auto()
    STREAMS_CLIENT_TAGS_REQUIRED = auto()
    STREAMS_TARGET_KEPT_FOR_EPOCH = auto()


@value
class Span:
    """A range of releases: from `since` until `until` (exclusive), of one family or both."""

    since: Version = OLDEST
    until: Version | None = None
    family: CoordinatorFamily | None = None

    def contains(self, version: Version, family: CoordinatorFamily) -> bool:
        """Return whether the range contains a release of a family."""
        return (
            self.since <= version
            and (self.until is None or version < self.until)
            and self.family in {None, family}
        )


@value
class Row:
    """One behaviour: its releases, its meaning, and where Kafka decides it."""

    behaviour: Behaviour
    spans: tuple[Span, ...]
    meaning: str
    source: str


SCALA: Final = (Span(family=CoordinatorFamily.SCALA),)
JAVA: Final = (Span(family=CoordinatorFamily.JAVA),)
REFUSING_TOO_LARGE_WRITES: Final = (
    Span(since=(3, 8, 0), until=(4, 0, 2), family=CoordinatorFamily.JAVA),
    Span(since=(4, 1, 0), until=(4, 1, 1), family=CoordinatorFamily.JAVA),
)
"""The releases whose Java coordinator refuses too large writes itself, before the log does (KAFKA-16770)."""


def since(*version: int) -> tuple[Span, ...]:
    """Return the range of all releases from one on."""
    major, minor, patch = version
    return (Span(since=(major, minor, patch)),)


def until(*version: int) -> tuple[Span, ...]:
    """Return the range of all releases before one."""
    major, minor, patch = version
    return (Span(until=(major, minor, patch)),)
