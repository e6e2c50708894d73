"""Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete, expiry."""

from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.coordinator.loader import Loader
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import Millis, TopicPartition
from reference_coordinator.core.records import CoordinatorRecord, OffsetCommitRecord
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.values import OffsetAndMetadata


@fault(
    "nothing-committed-is-an-error",
    "offsets.fetch:_fetch_partition",
    source="ydb-platform/ydb#49893",
    saw="a consumer without committed offsets cannot start: RESOURCE_NOT_FOUND",
    red=("offsets/fetch/missing-group",),
)
def nothing_committed_is_an_error(
    healthy: Replacement, shard: CoordinatorShard, group: Group | None, *given: object, **named: object
) -> OffsetFetchResponsePartition:
    """A partition without an offset is answered with an error."""
    answered = healthy(shard, group, *given, **named)
    is_missing = answered.committed_offset == -1 and answered.error_code is Errors.NONE
    return replace(answered, error_code=Errors.RESOURCE_NOT_FOUND) if is_missing else answered


@fault(
    "nothing-committed-is-an-unknown-topic",
    "offsets.fetch:_fetch_partition",
    source="twmb/franz-go#1312 (Event Hubs)",
    saw="a client that trusts the error joins again for ever: UNKNOWN_TOPIC_OR_PARTITION",
    red=("offsets/fetch/missing-group",),
)
def nothing_committed_is_an_unknown_topic(
    healthy: Replacement, shard: CoordinatorShard, group: Group | None, *given: object, **named: object
) -> OffsetFetchResponsePartition:
    """A partition that a group has never committed is answered as if there were no such topic."""
    answered = healthy(shard, group, *given, **named)
    is_missing = answered.committed_offset == -1 and answered.error_code is Errors.NONE
    return replace(answered, error_code=Errors.UNKNOWN_TOPIC_OR_PARTITION) if is_missing else answered


@fault(
    "fetch-of-all-topics-fails",
    "offsets.fetch:fetch_offsets",
    source="streamnative/kop#202",
    saw="kafka-consumer-groups --describe fails, as OffsetFetch without topics does",
    red=("offsets/fetch/all",),
)
def fetch_of_all_topics_fails(
    healthy: Replacement, shard: CoordinatorShard, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """A request for all topics of a group ends in an exception."""
    if request.topics is None:
        raise IllegalStateError("topics is null")
    return healthy(shard, request, require_stable=require_stable)


@fault(
    "commits-of-former-generations",
    "groups.classic.group:ClassicGroup.validate_offset_commit",
    source="ydb-platform/ydb#36199",
    saw="a member that was left behind by a rebalance overwrites the offsets of its successor",
    red=(
        "regressions/control/commits-of-members",
        "offsets/member/low-version",
    ),
)
def commits_of_former_generations(
    healthy: Replacement,
    group: ClassicGroup,
    member_id: object,
    group_instance_id: object,
    generation_id: int,
    **named: object,
) -> None:
    """A commit's generation is not looked at, only that there is one."""
    healthy(group, member_id, group_instance_id, min(generation_id, group.generation_id), **named)


@fault(
    "offsets-expire-at-once",
    "offsets.storing:_from_request",
    source="streamnative/kop#303",
    saw="a group's offsets are gone some minutes after its last member left",
    red=("offsets/expiry/renewed",),
)
def offsets_expire_at_once(healthy: Replacement, *given: object) -> OffsetAndMetadata:
    """The request's timestamp, which is -1, is taken for the time of expiry."""
    offset: OffsetAndMetadata = healthy(*given)
    return replace(offset, expire_timestamp_ms=Millis(-1)) if offset.expire_timestamp_ms is None else offset


@fault(
    "offsets-expire-under-a-reader",
    "offsets.expiration:_is_in_use",
    source="KAFKA-4682",
    saw="a consumer that reads a topic with few records starts anew from its beginning",
    releases="until 2.0",
    red=("offsets/expiry/subscribed-topic",),
)
def offsets_expire_under_a_reader(
    healthy: Replacement, shard: CoordinatorShard, group: Group, partition: TopicPartition
) -> bool:
    """Retention counts from the commit, whether members read the topic or not."""
    is_read = not group.is_empty and group.is_subscribed_to_topic(partition.topic)
    return not is_read and healthy(shard, group, partition)


@fault(
    "offsets-expire-under-a-staged-one",
    "offsets.expiration:_is_in_use",
    source="redpanda-data/redpanda#31483 (CORE-16998)",
    saw="a group's offset is gone after a transaction that committed it",
    red=("transactions/expiry/pending-in-consumer-group",),
)
def offsets_expire_under_a_staged_one(
    healthy: Replacement, shard: CoordinatorShard, group: Group, partition: TopicPartition
) -> bool:
    """Expiry does not ask open transactions."""
    is_staged = shard.offsets.transactions.contains(group.group_id, partition)
    return not is_staged and healthy(shard, group, partition)


@fault(
    "unknown-subscription-protects-offsets",
    "offsets.delete:_is_read",
    source="redpanda-data/redpanda#26664 (CORE-12338)",
    saw="OffsetDelete is refused where consumers assign partitions themselves: GROUP_SUBSCRIBED_TO_TOPIC",
    releases="until 25.1",
    red=("offsets/delete/other-protocol-type",),
)
def unknown_subscription_protects_offsets(healthy: Replacement, group: Group, topic: str) -> bool:
    """A group whose subscription is unknown is subscribed to all topics."""
    is_unknown = isinstance(group, ClassicGroup) and group.subscribed_topics is None
    return is_unknown or healthy(group, topic)


@fault(
    "leader-epochs-are-lost-in-a-restart",
    "coordinator.loader:Loader._replay",
    source="redpanda-data/redpanda#17260",
    saw="after a change of leaders consumers cannot detect that a log was truncated",
    releases="until 23.3",
    red=("loading/restart/leader-epochs",),
)
def leader_epochs_are_lost_in_a_restart(
    healthy: Replacement, loader: Loader, record: CoordinatorRecord, *, record_offset: int
) -> None:
    """What is read from the log has no leader epoch."""
    if isinstance(record, OffsetCommitRecord):
        record = replace(record, leader_epoch=-1)
    healthy(loader, record, record_offset=record_offset)
