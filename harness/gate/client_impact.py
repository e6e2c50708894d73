"""What a client would notice of Kafka's named behaviours, a sentence for whoever is about to change releases.

Each says what a release does to clients that has the behaviour, so that it can be read in either direction.
What is not here is told by the change itself (`consequences`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_IMPACT: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Members and sessions.
        "new_member_heartbeat_counts": (
            "A first join that waits long is no longer given up after five minutes if the client sends "
            "heartbeats."
        ),
        "heartbeat_in_completing_rebalance_is_fine": (
            "With it, consumers do not join again only because a heartbeat met a rebalance that was about"
            " to end: fewer rebalances in a row."
        ),
        "pending_sync_expires": (
            "With it, a member that joins and then hangs is removed, so the others get its partitions; "
            "without, the group waits for its session."
        ),
        "sync_in_stable_refreshes_session": (
            "Hardly anything: a client that sends SyncGroup again and again, and no heartbeat, keeps its "
            "session only with it. Kafka's own clients send heartbeats."
        ),
        "only_first_generation_extends_initial_delay": (
            "A group that all have left and that is joined again: without it, newcomers prolong the wait "
            "of group.initial.rebalance.delay.ms again, so consumers that start together end up in one "
            "generation, a little later; with it there are more rebalances."
        ),
        "newness_survives_replacement": (
            "A static member that restarts while its group waits for the first generation: with it, its "
            "session does not run yet; without, it may have to join a second time."
        ),
        "rejoin_updates_timeouts": (
            "With it, a static consumer that restarts with other timeouts has them at once; without, the "
            "group kept the former ones."
        ),
        "group_size_limits_pending_members": (
            "group.max.size also applies to members that have an id but have not joined: with it, "
            "consumers beyond the limit are refused, not let in."
        ),
        "malformed_subscription_throws": (
            "Only clients that write subscriptions by themselves: with it, such a join is never answered,"
            " and the group lets nobody else in; without it, the group works on."
        ),
        # Static members.
        "static_replacement_persisted": (
            "With it, a static member that restarts is still known after the coordinator moves; without, "
            "it was fenced then."
        ),
        "static_replacement_in_completing_rebalances": (
            "With it, a static member that restarts during a rebalance starts another one; without, it "
            "might have got no assignment."
        ),
        "rejection_erases_static_mapping": (
            "With it, a static consumer that was refused for the group's size could not come back under "
            "its instance id."
        ),
        "unknown_instance_id_refused": (
            "With it, requests with an instance id that the group does not know are refused: a static "
            "member that was removed notices at once."
        ),
        # While the coordinator moves.
        "sync_while_loading_means_rejoin": (
            "A consumer that is between JoinGroup and SyncGroup when its coordinator moves: with it, it "
            "quietly joins again; without it, it is told COORDINATOR_LOAD_IN_PROGRESS, on which the Java "
            "consumer does not count there: its poll throws. Programs should survive that exception."
        ),
        "coordinator_errors_echo_member_id": (
            "Nothing in Kafka's own clients, which keep their member id in such a case. A client that "
            "takes its id from every answer to JoinGroup would lose it without this, and come as a new "
            "member."
        ),
        "session_timeout_checked_before_coordinator": (
            "A consumer whose session.timeout.ms is out of bounds fails at once with "
            "INVALID_SESSION_TIMEOUT, even while the coordinator is loading or elsewhere."
        ),
        "sync_tolerates_unselected_protocol": (
            "A consumer that is early with its SyncGroup is told to join again (REBALANCE_IN_PROGRESS); "
            "without it, it failed for good with INCONSISTENT_GROUP_PROTOCOL."
        ),
        # Offsets.
        "commit_v9_names_missing_group": (
            "A commit to a group that was deleted fails with GROUP_ID_NOT_FOUND instead of "
            "ILLEGAL_GENERATION: clients that know v9 can tell the two apart."
        ),
        "duplicate_partitions_answered_each": (
            "Programs that name a partition twice in a request, or a topic without partitions, get more "
            "rows back; who reads them by number notices nothing."
        ),
        "offsets_written_flexible": (
            "Only at the edge: a record is a few bytes larger or smaller, so a commit that just fitted "
            "message.max.bytes may not fit any more."
        ),
        "only_stable_groups_expire_offsets": (
            "With it, a group that rebalances does not lose old offsets meanwhile; without, a consumer "
            "could begin anew where auto.offset.reset says."
        ),
        "rejected_commit_stays_pending": (
            "With it, a commit that was refused for its metadata blocks consumers that read committed "
            "offsets only (UNSTABLE_OFFSET_COMMIT for ever)."
        ),
        "failed_fetch_means_not_coordinator": (
            "A consumer whose OffsetFetch takes too long looks for the coordinator again instead of only "
            "asking again."
        ),
        # Groups that end.
        "emptied_simple_group_stays": (
            "A group without members that loses its last offset is listed for a while longer, as "
            "Empty; without it, it is gone at once (GROUP_ID_NOT_FOUND)."
        ),
        "deletion_awaits_append": (
            "Who deletes a group or offsets is told only when that is in the log, and is told if it "
            "failed; without it, a deletion that failed looked done until the coordinator moved."
        ),
        "emptying_awaits_append": (
            "The last consumer that leaves is told when that is in the log; if it cannot be written, it "
            "is told UNKNOWN_SERVER_ERROR, and has left all the same."
        ),
        "group_creation_is_written": (
            "A group that a first, unfinished join made is in the log: it is there, Empty, after the "
            "coordinator moved, and it is not there if it could not be written."
        ),
        "tombstoned_group_loses_offsets": (
            "Offsets of a transaction that was open when its group was deleted do not come back when the "
            "coordinator moves."
        ),
        "groups_outlive_their_log": (
            "With it, a coordinator whose log was deleted goes on as if nothing had happened, and commits"
            " are lost."
        ),
        # What admin clients see.
        "describe_shows_assignment_in_rebalance": (
            "kafka-consumer-groups --describe shows who had which partition also while the group "
            "rebalances; lag exporters see no gap."
        ),
        "group_operations_include_configs": (
            "Who asks for the authorized operations of a group sees DESCRIBE_CONFIGS and ALTER_CONFIGS "
            "among them."
        ),
        "states_filter_trimmed": (
            "A states filter with blanks around a state finds the groups; without it, it found none, "
            "and no error."
        ),
        "states_filter_ignores_case": (
            "A states filter in small letters finds the groups; without it, it found none, and no error."
        ),
        "authorized_operations_omitted": (
            "Who did not ask for the authorized operations is told that there are none on record, instead"
            " of an empty set."
        ),
        "coordinator_type_validated": (
            "An unknown kind of coordinator is refused as the client's fault, not as the broker's."
        ),
        "share_coordinator_key_validated": "Only clients of share groups: a bad key is refused at once with "
        "INVALID_REQUEST; without it, they were told to try again.",
        "share_coordinator_missing": (
            "Only clients of share groups: they are refused where these are not enabled."
        ),
        "first_offsets_in_zookeeper": (
            "Only clients of Kafka 0.8.1 and before: their offsets are kept in ZooKeeper; without it, they "
            "are refused."
        ),
        # Transactions.
        "transactions_of_version_2": (
            "A transactional producer whose transaction another aborted (a timeout, say) may go on by "
            "InitProducerId; without it, it was fenced, and had to be closed and made anew."
        ),
        "verified_anew_for_other_epoch": (
            "Offsets that a producer of a wrong epoch sends within a transaction are refused "
            "(INVALID_PRODUCER_EPOCH); without it, an epoch too high was taken."
        ),
        "pending_txn_checked_first": (
            "A fenced producer that comes while a transaction ends is told to try again first, and only "
            "then that it is fenced."
        ),
        "txn_commit_verified": (
            "Offsets of a group that was not announced to the transaction (AddOffsetsToTxn) are refused "
            "with INVALID_TXN_STATE; without it they were taken, and could hang."
        ),
        "txn_commit_checks_member": (
            "Offsets of a transaction are refused from a consumer that has lost its membership: zombies "
            "are fenced."
        ),
        "pending_offsets_expire_underneath": (
            "Hardly anything: without it, a committed offset does not expire while a transaction is about"
            " to replace it, so a reader finds it a little longer."
        ),
        "pending_offsets_keep_group": (
            "A group with nothing but the offsets of an open transaction is not removed under it; "
            "without, the commit was lost."
        ),
        "no_producer_id_commits_at_once": (
            "Only broken producers: offsets without a producer id are committed at once."
        ),
        "txn_end_waits_for_load": (
            "While the coordinator loads another partition, a transaction takes longer to end."
        ),
        "fencing_bumps_epoch_twice": "Nothing: epochs are used up twice as fast.",
        # The log.
        "too_large_write_leaves_batch_open": (
            "With it, one commit too large for the log makes every client of that partition's groups "
            "wait, up to timeouts. Upgrade, or keep commits small."
        ),
        "too_large_write_keeps_new_group": (
            "With it, a group that could not be written is there until the coordinator moves."
        ),
        "unreadable_record_fails_partition": (
            "A record that cannot be read makes all groups of that partition unavailable, instead of "
            "forgetting their offsets."
        ),
        "flexible_records_read": (
            "A downgrade to a release without it loses groups whose log has newer records."
        ),
    }
)


def client_impact(behaviour: str) -> str | None:
    """Return what a client would notice of a named behaviour; None where the change itself tells it."""
    return _IMPACT.get(behaviour)


_SLIGHT: Final = frozenset(
    {
        "coordinator_errors_echo_member_id",
        "duplicate_partitions_answered_each",
        "fencing_bumps_epoch_twice",
        "first_offsets_in_zookeeper",
        "malformed_subscription_throws",
        "no_producer_id_commits_at_once",
        "offsets_written_flexible",
        "pending_offsets_expire_underneath",
        "share_coordinator_key_validated",
        "share_coordinator_missing",
        "sync_in_stable_refreshes_session",
    }
)
"""What no common client comes upon."""

_WAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "OffsetCommit: UNKNOWN_SERVER_ERROR instead of INVALID_COMMIT_OFFSET_SIZE": (
            "Of a write too large for the log Scala tells each kind of request in its own way, Java "
            "all in one."
        ),
        "JoinGroup: protocol_name": (
            "Where votes for assignors are equal, the order of a hash map decides, and the two have "
            "different maps."
        ),
        "DescribeGroups: group_state": (
            "Java writes a group as soon as there is one, Scala when it has assignments; after a move"
            " or a restart only the one still knows it."
        ),
        "Heartbeat: REBALANCE_IN_PROGRESS instead of ILLEGAL_GENERATION": (
            "Where the last one that a rebalance waited for is turned away, Scala ends the rebalance "
            "at once, Java at its deadline."
        ),
        "DescribeGroups: member_metadata": (
            "Where the restart of a static member could not be written, Scala leaves it the protocols of its "
            "successor, Java gives it back its own."
        ),
        "JoinGroup: UNKNOWN_SERVER_ERROR instead of NONE": (
            "Java writes a group before it lets the first member in; Scala lets it in and writes later."
        ),
        "OffsetFetch: committed_offset": (
            "Offsets of a transaction that is committed after its group was deleted count in Scala, "
            "and not in Java."
        ),
        "TxnOffsetCommit: INVALID_PRODUCER_ID_MAPPING instead of COORDINATOR_LOAD_IN_PROGRESS": (
            "Scala looks first whether it is loading, Java whether the transaction is in order."
        ),
        "TxnOffsetCommit: ILLEGAL_GENERATION instead of UNKNOWN_MEMBER_ID": (
            "Of a group that is not there Java refuses the generation, Scala the member."
        ),
    }
)
"""How the two coordinators go about what has no name of its own, by what differs from Scala to Java."""


def is_slight(cause: str) -> bool:
    """Tell whether no common client comes upon a cause."""
    return set(cause.split(", ")) <= _SLIGHT


def coordinators_way(deviation: str) -> str:
    """Return how the Scala and the Java coordinator go about something; nothing where that is not told."""
    return _WAYS.get(deviation, "")


def explained_behaviours() -> frozenset[str]:
    """Return the names of all behaviours of which it is told."""
    return frozenset(_IMPACT)
