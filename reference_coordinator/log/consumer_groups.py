"""Consumer groups that a coordinator has loaded, as data to show to people."""

from reference_coordinator.core.consumer_records import TopicPartitions
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_target_assignment_record,
)


@value
class LoadedConsumerMember:
    """A member; its partitions are in the form of records."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    server_assignor: str | None
    rebalance_timeout_ms: int
    speaks_classic_protocol: bool
    member_epoch: int
    state: str
    assigned: tuple[TopicPartitions, ...]
    pending_revocation: tuple[TopicPartitions, ...]
    target: tuple[TopicPartitions, ...]


@value
class LoadedRegularExpression:
    """A regular expression, and the topics that it was resolved to."""

    regular_expression: str
    topics: tuple[str, ...]


@value
class StoredConsumerGroup:
    """A consumer group without its offsets."""

    group_id: GroupId
    group_epoch: int
    metadata_hash: int
    assignment_epoch: int
    members: tuple[LoadedConsumerMember, ...]
    regular_expressions: tuple[LoadedRegularExpression, ...]


def stored_consumer_group(group: ConsumerGroup) -> StoredConsumerGroup:
    """Return a group with its members, sorted by id."""
    return StoredConsumerGroup(
        group_id=group.group_id,
        group_epoch=group.group_epoch,
        metadata_hash=group.subscription_metadata.metadata_hash,
        assignment_epoch=group.assignment_epoch,
        members=tuple(_member(group, group.members[each]) for each in sorted(group.members)),
        regular_expressions=tuple(
            LoadedRegularExpression(regular_expression=regex, topics=tuple(sorted(resolved.topics)))
            for regex, resolved in group.resolved_regular_expressions.items()
        ),
    )


def _member(group: ConsumerGroup, member: ConsumerGroupMember) -> LoadedConsumerMember:
    target_assignment = group.target_assignment_of(member.member_id)
    current = new_consumer_group_current_assignment_record(group.group_id, member, group.profile)
    target = new_consumer_group_target_assignment_record(group.group_id, member.member_id, target_assignment)
    return LoadedConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        subscribed_topic_regex=member.subscribed_topic_regex,
        server_assignor=member.server_assignor_name,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        speaks_classic_protocol=member.use_classic_protocol,
        member_epoch=member.member_epoch,
        state=member.state.name,
        assigned=current.assigned_partitions,
        pending_revocation=current.partitions_pending_revocation,
        target=target.topic_partitions,
    )
