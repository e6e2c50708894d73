"""Faults that Kafka had and that the reference knows as named behaviours: each one is switched.

The profile is one of a release without the fault, or for what both coordinators did, of the last release that
had the coordinator concerned.
"""

from typing import Final

from faults.corpus import of_release
from reference_coordinator.profile.behaviour import Behaviour

_SCALA: Final = ("3.9",)

of_release(
    "sync-timeout-missing",
    Behaviour.PENDING_SYNC_EXPIRES,
    source="KAFKA-12890",
    saw="a group stays in CompletingRebalance for ever, because a member heartbeats and never syncs",
    releases="2.6.1-2.8.0",
)
of_release(
    "rebalance-in-completing-heartbeat",
    Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE,
    source="KAFKA-9801, pull request 8834",
    saw="a heartbeat between join and sync sends a healthy member into another rebalance",
    releases="until 2.6.0",
)
of_release(
    "static-drops-selected-protocol",
    Behaviour.STATIC_REPLACEMENT_PERSISTED,
    source="KAFKA-10284",
    saw="a static member comes back without the selected protocol, and nobody rebalances",
    releases="2.4.0-2.6.0",
)
of_release(
    "static-restart-in-completing-rebalance",
    Behaviour.STATIC_REPLACEMENT_IN_COMPLETING_REBALANCES,
    source="KAFKA-9801",
    saw="a static member that restarts during a rebalance gets an empty assignment",
    releases="until 2.4.1",
)
of_release(
    "leader-below-v5-of-a-static-member",
    Behaviour.JOIN_BEFORE_V5_NAMES_NO_INSTANCE,
    source="KAFKA-14422",
    saw="a leader with an old client gets UNSUPPORTED_VERSION once a member is static",
    releases="2.5.0-3.3.1",
    profiles=_SCALA,
)
of_release(
    "static-member-undescribed-below-v4",
    Behaviour.DESCRIBE_BEFORE_V4_NAMES_NO_INSTANCE,
    source="KAFKA-10239",
    saw="an old tool cannot describe a group with a static member",
    releases="2.5.0",
    profiles=_SCALA,
)
of_release(
    "refused-leave-below-v3",
    Behaviour.LEAVE_BEFORE_V3_NEEDS_MEMBER,
    source="KAFKA-15755",
    saw="LeaveGroup of an old client gets UNSUPPORTED_VERSION where it should be refused",
    releases="3.4.0-3.5.1, 3.6.0",
    profiles=_SCALA,
)
of_release(
    "offset-delete-repeats-topics",
    Behaviour.OFFSET_DELETE_REPEATS_TOPICS,
    source="apache/kafka#8485",
    saw="OffsetDelete names a topic once for each of its partitions, with all of them",
    releases="2.4.0-2.5.1",
)
of_release(
    "group-beyond-its-maximum-size",
    Behaviour.GROUP_SIZE_LIMITS_PENDING_MEMBERS,
    source="KAFKA-9885",
    saw="a group grows beyond group.max.size by members that took their ids before",
    releases="2.4.0-2.5.1",
)
of_release(
    "pending-member-leaves-with-an-instance-id",
    Behaviour.LEAVING_PENDING_MEMBER_MAY_NAME_INSTANCE,
    source="apache/kafka#9958",
    saw="LeaveGroup of a pending member with an instance id fails with UNKNOWN_SERVER_ERROR",
    releases="until 2.8.2",
)
of_release(
    "transaction-commit-half-checked",
    Behaviour.TXN_COMMIT_CHECKED_AS_COMMIT,
    source="apache/kafka#9958",
    saw="TxnOffsetCommit of a member is taken with no generation, or with an instance id of nobody",
    releases="2.5.0-2.8.2",
)
of_release(
    "offsets-expire-in-a-rebalance",
    Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS,
    source="KAFKA-13636",
    saw="a group that rebalances for long loses the offsets of topics that it reads",
    releases="until 2.8.1, 3.0.0, 3.1.0",
)
of_release(
    "simple-commit-names-a-member",
    Behaviour.SIMPLE_COMMIT_CHECKS_IDS,
    source="KAFKA-14201",
    saw="a commit without a generation to an Empty group is refused because it names a member",
    releases="3.0.0-3.2.3",
    profiles=_SCALA,
)
of_release(
    "refused-metadata-stays-pending",
    Behaviour.REJECTED_COMMIT_STAYS_PENDING,
    source="KAFKA-16371",
    saw="after a commit was refused for its metadata, readers of stable offsets wait for ever",
    releases="until 3.7.0",
    profiles=_SCALA,
)
of_release(
    "stale-leadership-loads",
    Behaviour.PARTITION_EPOCHS_TRACKED,
    source="KAFKA-10614",
    saw="a broker that leads a partition answers NOT_COORDINATOR after leadership went to and fro",
    releases="until 2.8.0",
    profiles=_SCALA,
)
of_release(
    "expiry-clock-lost-in-a-restart",
    Behaviour.LOADED_GROUP_LOSES_TIMESTAMP,
    source="KAFKA-10401",
    saw="after a restart an Empty group's offsets expire by their commit, before their time",
    releases="until 2.6.0",
    profiles=_SCALA,
)
of_release(
    "group-of-pending-offsets-expires",
    Behaviour.PENDING_OFFSETS_KEEP_GROUP,
    source="KAFKA-19163",
    saw="a transaction's first offsets of a group are gone after its commit",
    releases="4.0.0",
)
of_release(
    "groups-outlive-their-log",
    Behaviour.GROUPS_OUTLIVE_THEIR_LOG,
    source="KAFKA-19274",
    saw="after __consumer_offsets was deleted, its groups go on as if nothing had happened",
    releases="4.0.0",
)
of_release(
    "empty-id-fails-the-describe",
    Behaviour.EMPTY_GROUP_ID_FAILS_DESCRIBE,
    source="apache/kafka#20030",
    saw="ConsumerGroupDescribe fails for all groups if one id is empty",
    releases="4.0.0",
)
of_release(
    "regex-shows-forbidden-topics",
    Behaviour.REGEX_TOPICS_AUTHORIZED,
    source="KAFKA-19147",
    saw="a regular expression matches topics that the client may not describe",
    releases="4.0.0",
)
of_release(
    "successor-of-a-classic-member-rebalances",
    Behaviour.CONVERTED_GROUP_HAS_METADATA,
    source="KAFKA-18687",
    saw="a consumer that replaces a static classic member with the same topics causes a rebalance",
    releases="4.0.0",
    profiles=("4.0.2",),
)
of_release(
    "downgrade-without-rebalance",
    Behaviour.STATIC_DOWNGRADE_REBALANCES,
    source="KAFKA-19546",
    saw="a classic member that replaces the last consumer, and names other topics, keeps the old partitions",
    releases="4.0.0-4.0.1, 4.1.0",
)
of_release(
    "classic-successor-keeps-the-regex",
    Behaviour.CLASSIC_MEMBER_CLEARS_REGEX,
    source="KAFKA-19720",
    saw="a classic member is assigned what its predecessor's regular expression matched",
    releases="4.0.0-4.1.1",
)
of_release(
    "cleared-regex-keeps-partitions",
    Behaviour.CLEARED_REGEX_CHANGES_SUBSCRIPTION,
    source="KAFKA-19899",
    saw="a member that gives its regular expression up keeps what that matched",
    releases="4.0.0-4.1.1",
)
of_release(
    "compacted-owners-cost-the-partition",
    Behaviour.PARTITION_EPOCHS_TOLERATE_COMPACTION,
    source="KAFKA-19862",
    saw="after compaction and a restart no group of the partition has a coordinator",
    releases="4.0.0-4.1.1",
)
of_release(
    "own-revoked-partition-comes-late",
    Behaviour.OWN_REVOKED_PARTITIONS_ARE_FREE,
    source="KAFKA-19449",
    saw="a partition that a member gave up, and is to have again, comes an answer later",
    releases="4.0.0-4.1.1",
)
of_release(
    "unsubscribed-partitions-stay",
    Behaviour.UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE,
    source="KAFKA-19431",
    saw="a member keeps what its former subscription matched until the next assignment",
    releases="until 4.1.2",
)
of_release(
    "fenced-member-cannot-rejoin",
    Behaviour.REJOINING_MEMBER_KEEPS_EPOCH,
    source="KAFKA-19233",
    saw="a known member that joins again with epoch 0 is fenced, again and again",
    releases="until 4.1.2",
)
of_release(
    "earlier-epoch-cannot-commit",
    Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS,
    source="KAFKA-20066",
    saw="a commit fails with STALE_MEMBER_EPOCH although the member has the partition",
    releases="until 4.2.1",
)
of_release(
    "described-without-pending-revocations",
    Behaviour.DESCRIBE_SHOWS_PENDING_REVOCATIONS,
    source="KAFKA-20431",
    saw="ConsumerGroupDescribe leaves out partitions that a member still reads",
    releases="until 4.2.1",
)
of_release(
    "disabled-migration-admits-classic-members",
    Behaviour.DISABLED_MIGRATION_REFUSES_CLASSIC_MEMBERS,
    source="KAFKA-20640",
    saw="a classic member joins a consumer group although migration is disabled",
    releases="4.0.0-4.3.0",
)
of_release(
    "new-assignor-is-not-used",
    Behaviour.PREFERRED_ASSIGNOR_BUMPS_EPOCH,
    source="KAFKA-20434",
    saw="a static member comes back with another assignor and keeps the old assignment",
    releases="4.0.0-4.3.1",
)
of_release(
    "emptied-group-is-not-assigned",
    Behaviour.EMPTIED_GROUP_COUNTS_AS_ASSIGNED,
    source="KAFKA-20442",
    saw="an Empty consumer group is described with an assignment epoch below its own",
    releases="4.0.0-4.3.1",
)
of_release(
    "static-member-locked-out-of-a-full-group",
    Behaviour.STATIC_REPLACEMENT_FITS_FULL_GROUP,
    source="KAFKA-20601",
    saw="a static member cannot come back to a full group: GROUP_MAX_SIZE_REACHED",
    releases="until 4.3.1",
)
of_release(
    "malformed-subscription-is-a-server-error",
    Behaviour.MALFORMED_CLASSIC_SUBSCRIPTION_INCONSISTENT,
    source="KAFKA-20662",
    saw="JoinGroup with a malformed subscription gets UNKNOWN_SERVER_ERROR from a consumer group",
    releases="until 4.3.1",
)
of_release(
    "former-instance-id-stays-reserved",
    Behaviour.CHANGED_INSTANCE_ID_IS_FREE,
    source="KAFKA-20747",
    saw="nobody can use the instance id that a member has given up: UNRELEASED_INSTANCE_ID",
    releases="until 4.3.1",
)
of_release(
    "new-partitions-shared-from-their-end",
    Behaviour.NEW_PARTITIONS_SHARED_FROM_START,
    source="KAFKA-20742",
    saw="records that were written to a new partition at once are never delivered to a share group",
    releases="until 4.3.1",
)
of_release(
    "uniform-moves-too-many",
    Behaviour.UNIFORM_LEAVES_EXTRA_PARTITIONS,
    source="KAFKA-18688",
    saw="a member loses a partition in a rebalance in which it could have kept it",
    releases="4.0.0",
)
of_release(
    "classic-member-follows-the-group-epoch",
    Behaviour.CLASSIC_MEMBER_FOLLOWS_ASSIGNMENT_EPOCH,
    source="KAFKA-20272",
    saw="a classic member of a consumer group rejoins again and again while there is no new assignment",
    releases="until 4.2.1",
)
of_release(
    "revocation-raises-the-epoch",
    Behaviour.REVOCATION_RAISES_MEMBER_EPOCH,
    source="KAFKA-19974",
    saw="a member that has more to give up gets an epoch that no assignment has",
    releases="until 4.1.2",
)
of_release(
    "unsupported-record-versions-cost-the-partition",
    Behaviour.FLEXIBLE_RECORDS_READ,
    source="KAFKA-14869",
    saw="after a downgrade no group of the partition can be used",
    releases="until 3.4.0",
    profiles=_SCALA,
)
of_release(
    "too-large-write-blocks-the-partition",
    Behaviour.TOO_LARGE_WRITE_LEAVES_BATCH_OPEN,
    source="KAFKA-19760",
    saw="after one write that is too large, commits of other groups of the partition time out",
    releases="4.0.0-4.0.1, 4.1.0",
)
of_release(
    "streams-group-behind-an-offset-costs-the-partition",
    Behaviour.STREAMS_GROUP_REPLACES_SIMPLE_GROUP,
    source="KAFKA-20254",
    saw="after a compaction no group of the partition has a coordinator",
    releases="4.2.0",
)
