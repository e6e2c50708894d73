"""What a client would notice of Kafka's named behaviours, for people who plan to change releases.

Each text says how a release with the behaviour affects clients. "It" is the behaviour. A change without a
text here is described by its changed answer (`harness.results.answer_impact.consequence`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.gate.consumer_impact import OF_CONSUMER_GROUPS
from harness.gate.share_impact import OF_SHARE_GROUPS
from harness.gate.streams_impact import OF_STREAMS_GROUPS

_IMPACT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **OF_CONSUMER_GROUPS,
        **OF_SHARE_GROUPS,
        **OF_STREAMS_GROUPS,
        # Members and sessions.
        "new_member_heartbeat_counts": (
            "A slow first join is no longer removed after five minutes, if the client sends heartbeats."
        ),
        "heartbeat_in_completing_rebalance_is_fine": (
            "With it, a heartbeat near the end of a rebalance does not make a consumer join again. There are"
            " fewer rebalances in a row."
        ),
        "pending_sync_expires": (
            "With it, a member that joins and then hangs is removed, and the others get its partitions. "
            "Without it, the group waits for the member's session."
        ),
        "sync_in_stable_refreshes_session": (
            "Hardly anything. With it, a client that repeats SyncGroup and sends no heartbeat keeps its "
            "session. Kafka's own clients send heartbeats."
        ),
        "only_first_generation_extends_initial_delay": (
            "This concerns a group that all members have left, and that is joined again. Without it, each "
            "newcomer prolongs the wait of group.initial.rebalance.delay.ms again, so consumers that start "
            "together share one generation, a little later. With it, there are more rebalances."
        ),
        "newness_survives_replacement": (
            "This concerns a static member that restarts while its group waits for the first generation. "
            "With it, the member's session does not run yet. Without it, the member may have to join a "
            "second time."
        ),
        "rejoin_updates_timeouts": (
            "With it, a static consumer that restarts with other timeouts has them at once. Without it, the "
            "group keeps the former ones."
        ),
        "group_size_limits_pending_members": (
            "group.max.size also applies to members that have an id but have not joined. With it, consumers "
            "beyond the limit are refused."
        ),
        "malformed_subscription_throws": (
            "This concerns only clients that write their own subscriptions. With it, a join with a malformed"
            " one is never answered, and nobody else can join the group. Without it, the group works on."
        ),
        # Static members.
        "static_replacement_persisted": (
            "With it, a static member that restarts is still known after the coordinator moves. Without it, "
            "the member is fenced then."
        ),
        "static_replacement_in_completing_rebalances": (
            "With it, a static member that restarts during a rebalance starts another one. Without it, the "
            "member may get no assignment."
        ),
        "rejection_erases_static_mapping": (
            "With it, a static consumer that was refused because the group was full cannot come back under "
            "its instance id."
        ),
        "unknown_instance_id_refused": (
            "With it, requests with an unknown instance id are refused, so a removed static member notices "
            "at once."
        ),
        # While the coordinator moves.
        "sync_while_loading_means_rejoin": (
            "This concerns a consumer between JoinGroup and SyncGroup while its coordinator moves. With it, "
            "the consumer quietly joins again. Without it, the consumer gets COORDINATOR_LOAD_IN_PROGRESS, "
            "which the Java consumer does not expect there: its poll throws. Programs should survive that "
            "exception."
        ),
        "coordinator_errors_echo_member_id": (
            "Nothing in Kafka's own clients, which keep their member id. Without it, a client that takes its"
            " id from every answer to JoinGroup would lose the id, and come as a new member."
        ),
        "session_timeout_checked_before_coordinator": (
            "A consumer whose session.timeout.ms is out of bounds fails at once with "
            "INVALID_SESSION_TIMEOUT, even while the coordinator is loading or elsewhere."
        ),
        "sync_tolerates_unselected_protocol": (
            "With it, a consumer that sends SyncGroup too early has to join again (REBALANCE_IN_PROGRESS). "
            "Without it, the consumer fails for good with INCONSISTENT_GROUP_PROTOCOL."
        ),
        # Offsets.
        "commit_v9_names_missing_group": (
            "A commit to a deleted group fails with GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION. "
            "Clients that know v9 can distinguish the two."
        ),
        "duplicate_partitions_answered_each": (
            "Programs that name a partition twice in a request, or a topic without partitions, get more rows"
            " back. Programs that look rows up by partition notice nothing."
        ),
        "offsets_written_flexible": (
            "Only a borderline case: a record is a few bytes larger or smaller. A commit that just fitted "
            "into message.max.bytes may not fit any more."
        ),
        "only_stable_groups_expire_offsets": (
            "With it, a group does not lose old offsets while it rebalances. Without it, a consumer could "
            "start again from where auto.offset.reset says."
        ),
        "rejected_commit_stays_pending": (
            "With it, a commit that was refused for its metadata blocks consumers that read only committed "
            "offsets (UNSTABLE_OFFSET_COMMIT for ever)."
        ),
        "failed_fetch_means_not_coordinator": (
            "A consumer whose OffsetFetch takes too long looks for the coordinator again. Without it, the "
            "consumer only repeats the request."
        ),
        # Groups that end.
        "emptied_simple_group_stays": (
            "A group without members that loses its last offset is listed as Empty for a while. Without it, "
            "the group is gone at once (GROUP_ID_NOT_FOUND)."
        ),
        "deletion_awaits_append": (
            "The answer to a deletion of a group or of offsets comes when the deletion is in the log, and "
            "says if it failed. Without it, a failed deletion looks done until the coordinator moves."
        ),
        "emptying_awaits_append": (
            "The last consumer that leaves gets its answer when the change is in the log. If it cannot be "
            "written, the answer is UNKNOWN_SERVER_ERROR, but the consumer has left."
        ),
        "group_creation_is_written": (
            "A group made by a first, unfinished join is in the log. After the coordinator moves, the group "
            "exists and is Empty. If it could not be written, it does not exist."
        ),
        "tombstoned_group_loses_offsets": (
            "If a group is deleted during a transaction, the transaction's offsets do not come back when the"
            " coordinator moves."
        ),
        "groups_outlive_their_log": (
            "With it, a coordinator whose log was deleted goes on as if nothing had happened, and commits "
            "are lost."
        ),
        # What admin clients see.
        "describe_shows_assignment_in_rebalance": (
            "kafka-consumer-groups --describe shows each member's partitions during a rebalance too. Lag "
            "exporters see no gap."
        ),
        "group_operations_include_configs": (
            "A request for the authorized operations of a group returns DESCRIBE_CONFIGS and ALTER_CONFIGS "
            "too."
        ),
        "states_filter_trimmed": (
            "A states filter with blanks around a state finds the groups. Without it, the filter finds none "
            "and gives no error."
        ),
        "states_filter_ignores_case": (
            "A states filter in lower case finds the groups. Without it, the filter finds none and gives no "
            "error."
        ),
        "authorized_operations_omitted": (
            "If a request does not ask for the authorized operations, the answer says that none are "
            "recorded, instead of an empty set."
        ),
        "coordinator_type_validated": (
            "An unknown coordinator type is refused as the client's fault, not as the broker's."
        ),
        "share_coordinator_key_validated": (
            "This concerns only clients of share groups. With it, a bad key is refused at once with "
            "INVALID_REQUEST. Without it, the client is asked to try again."
        ),
        "share_coordinator_missing": (
            "This concerns only clients of share groups. They are refused where share groups are not enabled."
        ),
        "share_fetch_awaits_writes": (
            "Without it, a member that waits for records is answered at once, and with none, when another "
            "one releases some."
        ),
        "share_record_locks_limit_acquisition": (
            "With it, members of a share group have no more records of a partition than the broker allows. "
            "Without it, one fetch may exceed that."
        ),
        "share_delivery_throttled": (
            "With it, records that were delivered often come in few, and in the end one by one: so a record "
            "that cannot be processed spoils no others."
        ),
        "share_offsets_accumulated": (
            "Records that follow each other come as one range. Clients handle either way alike."
        ),
        "share_gap_ends_acquisition": (
            "Without it, after the leader of a partition has changed, a member may get records that are not "
            "available, and another gets them again."
        ),
        "share_close_keeps_delivery_count": (
            "With it, records of a consumer that closes count as delivered. Without it, they do not."
        ),
        "share_fetch_fails_with_unknown_topic": (
            "With it, a member that fetches from a topic that was deleted gets nothing of others either."
        ),
        "share_state_may_be_archiving": (
            "This concerns brokers that are downgraded from 4.4. Without it, share consumers get no records "
            "of a partition with dead letters on their way."
        ),
        "share_dead_letters": (
            "With it, records that share consumers reject or fail to process may be kept in a topic. Without "
            "it, nobody learns of them."
        ),
        "share_member_id_is_any_text": (
            "Kafka's own clients have ids that are UUIDs. Others are refused without it."
        ),
        "first_offsets_in_zookeeper": (
            "This concerns only clients of Kafka 0.8.1 and before. With it, their offsets are kept in "
            "ZooKeeper. Without it, they are refused."
        ),
        # Transactions.
        "transactions_of_version_2": (
            "If somebody else aborted a producer's transaction (e.g. a timeout), the producer may go on with"
            " InitProducerId. Without it, the producer is fenced, and has to be closed and created again."
        ),
        "verified_anew_for_other_epoch": (
            "Offsets that a producer sends with a wrong epoch within a transaction are refused "
            "(INVALID_PRODUCER_EPOCH). Without it, an epoch that is too high is accepted."
        ),
        "former_epoch_refused_first": (
            "A producer that was fenced, and that names another transactional id, is told of its epoch "
            "(INVALID_PRODUCER_EPOCH). Without it, it is told of the id. Either way it has to be closed."
        ),
        "pending_txn_checked_first": (
            "While a transaction ends, a fenced producer first has to try again, and only then learns that "
            "it is fenced."
        ),
        "txn_commit_verified": (
            "Offsets of a group that was not added to the transaction (AddOffsetsToTxn) are refused with "
            "INVALID_TXN_STATE. Without it, they are accepted and may stay pending."
        ),
        "txn_commit_checks_member": (
            "A consumer that has lost its membership cannot commit offsets in a transaction: zombies are "
            "fenced."
        ),
        "pending_offsets_expire_underneath": (
            "Hardly anything. Without it, a committed offset does not expire while a transaction is about to"
            " replace it, so a reader finds it a little longer."
        ),
        "pending_offsets_keep_group": (
            "A group with nothing but the offsets of an open transaction is not removed. Without it, the "
            "commit is lost."
        ),
        "no_producer_id_commits_at_once": (
            "This concerns only broken producers: offsets without a producer id are committed at once."
        ),
        "txn_end_waits_for_load": (
            "While the coordinator loads another partition, a transaction takes longer to end."
        ),
        "fencing_bumps_epoch_twice": "Nothing. Epochs are used up twice as fast.",
        # The log.
        "too_large_write_leaves_batch_open": (
            "With it, one commit that is too large for the log makes every client of that partition's groups"
            " wait, up to timeouts. Upgrade, or keep commits small."
        ),
        "too_large_write_keeps_new_group": (
            "With it, a group that could not be written exists until the coordinator moves."
        ),
        "deletion_awaits_open_batch": (
            "With it, a group that gets a member while a deletion waits is not deleted."
        ),
        "unreadable_record_fails_partition": (
            "An unreadable record makes all groups of its partition unavailable. Without it, their offsets "
            "are forgotten."
        ),
        "flexible_records_read": (
            "A downgrade to a release without it loses groups whose log has newer records."
        ),
    }
)


def client_impact(behaviour: str) -> str | None:
    """Return what a client would notice of a named behaviour; None if it has no text."""
    return _IMPACT.get(behaviour)


_SLIGHT: Final = frozenset(
    {
        "consumer_heartbeat_validated_first",
        "coordinator_errors_echo_member_id",
        "duplicate_partitions_answered_each",
        "fencing_bumps_epoch_twice",
        "first_offsets_in_zookeeper",
        "group_epoch_starts_at_one",
        "malformed_classic_subscription_inconsistent",
        "malformed_subscription_throws",
        "no_producer_id_commits_at_once",
        "offsets_written_flexible",
        "pending_offsets_expire_underneath",
        "regex_groups_named_without_p",
        "regex_refreshed_regularly",
        "replaced_member_takes_no_room",
        "share_coordinator_key_validated",
        "share_coordinator_missing",
        "share_offsets_accumulated",
        "share_initialize_retry_configured",
        "share_member_id_limited",
        "shrinking_updates_previous_epoch",
        "subscription_metadata_is_hashed",
        "sync_in_stable_refreshes_session",
    }
)
"""Behaviours that do not affect common clients."""

_WAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "OffsetCommit: UNKNOWN_SERVER_ERROR instead of INVALID_COMMIT_OFFSET_SIZE": (
            "If a write is too large for the log, Scala has a different error for each kind of request. "
            "Java has one for all."
        ),
        "JoinGroup: protocol_name": (
            "If votes for assignors are equal, the order of a hash map decides, and the two have "
            "different maps."
        ),
        "DescribeGroups: group_state": (
            "Java writes a group as soon as it exists, Scala when it has assignments. After a move or "
            "a restart, only Java still knows it."
        ),
        "Heartbeat: REBALANCE_IN_PROGRESS instead of ILLEGAL_GENERATION": (
            "If the last member that a rebalance waited for is refused, Scala ends the rebalance "
            "at once, and Java at its deadline."
        ),
        "DescribeGroups: member_metadata": (
            "If the restart of a static member could not be written, the member has its successor's "
            "protocols in Scala, and its own in Java."
        ),
        "JoinGroup: UNKNOWN_SERVER_ERROR instead of NONE": (
            "Java writes a group before it accepts the first member. Scala accepts it and writes later."
        ),
        "OffsetFetch: committed_offset": (
            "If a transaction is committed after its group was deleted, its offsets count in Scala, "
            "and not in Java."
        ),
        "TxnOffsetCommit: INVALID_PRODUCER_ID_MAPPING instead of COORDINATOR_LOAD_IN_PROGRESS": (
            "Scala checks first whether it is loading, Java whether the transaction is in order."
        ),
        "TxnOffsetCommit: ILLEGAL_GENERATION instead of UNKNOWN_MEMBER_ID": (
            "If a group does not exist, Java refuses the generation, and Scala the member."
        ),
    }
)
"""How the two coordinators differ apart from named behaviours, by the deviation from Scala to Java."""


def is_slight(cause: str) -> bool:
    """Return whether a cause does not affect common clients."""
    return set(cause.split(", ")) <= _SLIGHT


def coordinators_way(deviation: str) -> str:
    """Return how the Scala and the Java coordinator differ in a deviation; empty if it is not listed."""
    return _WAYS.get(deviation, "")


def explained_behaviours() -> frozenset[str]:
    """Return the names of all behaviours in the table."""
    return frozenset(_IMPACT)
