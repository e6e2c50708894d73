"""What a client would notice of the behaviours of consumer groups (KIP-848), for `client_impact`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OF_CONSUMER_GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "consumer_groups": (
            "With it, consumers may use group.protocol=consumer. Without it, they fail with "
            "UNSUPPORTED_VERSION."
        ),
        # Members and epochs.
        "consumer_heartbeat_validated_first": (
            "This concerns only faulty heartbeats. With it, they fail with INVALID_REQUEST or "
            "UNSUPPORTED_ASSIGNOR even while the coordinator is loading or elsewhere."
        ),
        "group_epoch_starts_at_one": (
            "Epochs are counted otherwise by one. Clients send back what they got, so only tests that know "
            "the number notice."
        ),
        "rejoining_member_keeps_epoch": (
            "This concerns a consumer that joins again under its own id, e.g. after a lost answer. With it, "
            "the consumer goes on. Without it, the consumer is fenced and cannot come back until its session "
            "ends."
        ),
        "static_replacement_fits_full_group": (
            "With it, a static consumer can restart in a group that is full. Without it, the consumer is "
            "refused with GROUP_MAX_SIZE_REACHED until its session ends."
        ),
        "changed_instance_id_is_free": (
            "With it, another consumer may use an instance id that a member has changed. Without it, the "
            "other is refused with UNRELEASED_INSTANCE_ID."
        ),
        "preferred_assignor_bumps_epoch": (
            "With it, a new group.remote.assignor takes effect at once, and partitions move. Without it, it "
            "takes effect with the next rebalance."
        ),
        "cleared_regex_changes_subscription": (
            "With it, a consumer that gives up its regular expression gives up the topics at once. Without "
            "it, the consumer keeps them until the group rebalances."
        ),
        "regex_refreshed_regularly": (
            "With it, regular expressions are matched with the topics now and then even if no topic was "
            "created. Clients notice it only after their permissions have changed."
        ),
        "regex_topics_authorized": (
            "With it, a consumer that subscribes by a regular expression is assigned only topics that it may "
            "describe. Without it, the consumer learns of others, and its fetches of them fail with "
            "TopicAuthorizationException."
        ),
        # Assignments.
        "revocation_raises_member_epoch": (
            "Epochs of a member that gives up partitions twice in a row are counted otherwise. A commit with "
            "the epoch before may be refused with STALE_MEMBER_EPOCH."
        ),
        "unsubscribed_topics_revoked_at_once": (
            "With it, a consumer that unsubscribes from a topic gives it up with its next heartbeat. Without "
            "it, the consumer may keep the topic, or get it again, until there is a new assignment."
        ),
        "shrinking_updates_previous_epoch": (
            "Hardly anything. It decides whether a heartbeat with the epoch before is accepted or fenced, "
            "after the consumer has dropped a topic."
        ),
        "own_revoked_partitions_are_free": (
            "This concerns a consumer that is to give up a partition and then to have it after all. With it, "
            "the consumer goes on. Without it, the consumer waits for itself, and the partition is read by "
            "nobody until its session or rebalance timeout ends."
        ),
        "partition_epochs_tolerate_compaction": (
            "Without it, groups of a partition may be unavailable after a restart or move, because their "
            "compacted log cannot be loaded."
        ),
        "assignment_interval_kept": (
            "With it, consumers that join together cause one rebalance instead of several. A consumer that "
            "joins soon after another waits up to group.consumer.assignment.interval.ms (1 s) for partitions."
        ),
        "emptied_group_counts_as_assigned": (
            "With it, the first consumer of an emptied group has partitions at once. Without it, the "
            "consumer may wait for group.consumer.assignment.interval.ms (1 s)."
        ),
        "partitions_have_assignment_epochs": (
            "With it, a commit that was on its way while the group rebalanced is accepted for partitions "
            "that the consumer kept. Without it, commitSync throws CommitFailedException."
        ),
        "uniform_leaves_extra_partitions": (
            "With it, fewer partitions move when a member joins or leaves; without, a partition might move "
            "between members that both stayed."
        ),
        "replaced_member_takes_no_room": (
            "In a group of twelve, other members may have the partitions that do not divide evenly, after a "
            "static member came back."
        ),
        "regex_groups_named_without_p": (
            "Only consumers that subscribe by an expression with such a group: without it, "
            "INVALID_REGULAR_EXPRESSION."
        ),
        # What admin clients see.
        "subscription_metadata_is_hashed": ("Nothing. The log of the coordinator has other records."),
        "describe_shows_pending_revocations": (
            "kafka-consumer-groups --describe shows partitions with a member until it has given them up. "
            "Without it, they are shown with nobody meanwhile, and lag exporters see a gap."
        ),
        "empty_group_id_fails_describe": (
            "With it, a description of several groups fails as a whole if one of the ids is empty."
        ),
        "every_partition_describes_all_groups": (
            "With it, a description of groups in several partitions lists them several times, and mostly as "
            "missing. The Java admin client may report an existing group as not found."
        ),
        # Between the classic and the consumer protocol.
        "converted_group_has_metadata": (
            "Without it, a group that a consumer has upgraded rebalances once more than needed."
        ),
        "disabled_migration_refuses_classic_members": (
            "Where migration is disabled: with it, a classic consumer fails with INCONSISTENT_GROUP_PROTOCOL "
            "in a group of the consumer protocol. Without it, the consumer is let in."
        ),
        "classic_member_follows_assignment_epoch": (
            "With it, a classic consumer joins again when there is an assignment for it. Without it, it "
            "joins again as soon as the group changes, possibly in vain."
        ),
        "static_downgrade_rebalances": (
            "This concerns the restart of the last static consumer with the classic protocol and other "
            "topics. With it, the group rebalances. Without it, the consumer keeps the partitions of the "
            "former topics."
        ),
        "static_downgrade_follows_assignment": (
            "This concerns the restart of the last static consumer with the classic protocol, while its "
            "group waits for an assignment. With it, the group rebalances. Without it, the consumer has the "
            "former assignment."
        ),
        "classic_member_clears_regex": (
            "This concerns a static consumer with a regular expression that restarts with the classic "
            "protocol. Without it, topics that it does not know of may be assigned to it."
        ),
        "malformed_classic_subscription_inconsistent": (
            "Only clients that write their own subscriptions notice it: the error is another."
        ),
    }
)
