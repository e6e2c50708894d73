"""Tables of the consumer groups in a log."""

from collections.abc import Iterable

from rich.table import Table

from reference_coordinator.core.consumer_records import TopicPartitions
from reference_coordinator.log.inspection import LoadedConsumerGroup


def consumer_group_table(groups: Iterable[LoadedConsumerGroup]) -> Table:
    """Return a table with a row for each group."""
    names = ("partition", "group", "epoch", "assignment epoch", "metadata hash", "members", "offsets")
    table = Table(*names, title="Consumer groups")
    for each in groups:
        group = each.group
        table.add_row(
            *(str(each.offsets_partition), group.group_id),
            *(str(group.group_epoch), str(group.assignment_epoch), str(group.metadata_hash)),
            *(str(len(group.members)), str(len(each.offsets))),
        )
    return table


def consumer_member_table(groups: Iterable[LoadedConsumerGroup]) -> Table:
    """Return a table with a row for each member."""
    names = ("group", "member", "instance", "client", "host", "epoch", "state")
    table = Table(
        *names, "subscription", "assigned", "revoking", "target", title="Members of consumer groups"
    )
    for each in groups:
        for member in each.group.members:
            subscription = (*member.subscribed_topic_names, member.subscribed_topic_regex or "")
            table.add_row(
                *(each.group_id, member.member_id, member.instance_id or "-"),
                *(member.client_id, member.client_host),
                *(str(member.member_epoch), member.state),
                ", ".join(filter(None, subscription)) or "-",
                *(_shown(member.assigned), _shown(member.pending_revocation), _shown(member.target)),
            )
    return table


def _shown(topics: Iterable[TopicPartitions]) -> str:
    return ", ".join(f"{each.topic_id}: {' '.join(map(str, each.partitions))}" for each in topics) or "-"
