"""The assignor `range`: each topic's partitions in contiguous ranges, in the order of the members' ids."""

from collections.abc import Iterable, Mapping
from typing import Final

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap, capacity_for
from reference_coordinator.core.map_order import utf16_order, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    PartitionAssignorError,
    SubscribedTopic,
    SubscriptionType,
)

NAME: Final = "range"
"""Source: RangeAssignor.NAME."""


class _TopicMetadata:
    """The progress of assigning a topic's partitions. Source: RangeAssignor.TopicMetadata (4.3.1)."""

    def __init__(self, num_partitions: int, num_members: int) -> None:
        self._num_partitions = num_partitions
        self._min_quota, self._extra_partitions = divmod(num_partitions, num_members)
        self._next_range = 0

    def add_partitions_to_assignment(self) -> tuple[int, ...]:
        """Return the next member's partitions. Source: RangeAssignor#addPartitionsToAssignment (4.3.1)."""
        quota = self._min_quota
        if self._extra_partitions > 0:
            quota += 1
            self._extra_partitions -= 1
        start = self._next_range
        self._next_range = min(start + quota, self._num_partitions)
        return tuple(range(start, self._next_range))


def assign(spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic]) -> dict[MemberId, Assignment]:
    """Assign each topic's partitions to its subscribers. Source: RangeAssignor#assign (4.3.1).

    Raises:
        PartitionAssignorError: a subscribed topic does not exist.
    """
    if not spec.members:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return _assign_homogeneous_group(spec, topics)
    return _assign_heterogeneous_group(spec, topics)


def _assign_homogeneous_group(
    spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic]
) -> dict[MemberId, Assignment]:
    """Assign only the first member's topics. Source: RangeAssignor#assignHomogeneousGroup (4.3.1)."""
    member_ids = _sort_member_ids(spec)
    metadata = {
        topic_id: _TopicMetadata(_num_partitions(topics, topic_id), len(member_ids))
        for topic_id in spec.members[member_ids[0]].subscribed_topic_ids
    }
    capacity = capacity_for(len(metadata))
    return {member_id: _next_ranges(metadata, metadata, capacity) for member_id in member_ids}


def _assign_heterogeneous_group(
    spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic]
) -> dict[MemberId, Assignment]:
    """Source: RangeAssignor#assignHeterogeneousGroup (4.3.1)."""
    member_ids = _sort_member_ids(spec)
    subscribers: dict[TopicId, int] = {}
    for member_id in member_ids:
        for topic_id in spec.members[member_id].subscribed_topic_ids:
            subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
    metadata = {
        topic_id: _TopicMetadata(_num_partitions(topics, topic_id), num_members)
        for topic_id, num_members in subscribers.items()
    }
    assignments: dict[MemberId, Assignment] = {}
    for member_id in member_ids:
        member = spec.members[member_id]
        capacity = capacity_for(member.num_subscribed_names)
        assignments[member_id] = _next_ranges(metadata, member.subscribed_topic_ids, capacity)
    return assignments


def _sort_member_ids(spec: GroupSpec) -> list[MemberId]:
    """Sort static members by instance id, then all others. Source: RangeAssignor#sortMemberIds (4.3.1)."""

    def rank(member_id: MemberId) -> tuple[bool, bytes]:
        instance_id = spec.members[member_id].instance_id
        return instance_id is None, utf16_order(member_id if instance_id is None else instance_id)

    return sorted(spec.members, key=rank)


def _next_ranges(
    metadata: Mapping[TopicId, _TopicMetadata], topic_ids: Iterable[TopicId], capacity: int
) -> Assignment:
    ranges: JavaHashMap[TopicId, tuple[int, ...]] = JavaHashMap(uuid_hash_code, capacity=capacity)
    for topic_id in topic_ids:
        if partitions := metadata[topic_id].add_partitions_to_assignment():
            ranges[topic_id] = partitions
    return dict(ranges)


def _num_partitions(topics: Mapping[TopicId, SubscribedTopic], topic_id: TopicId) -> int:
    if topic_id not in topics:
        raise PartitionAssignorError("Member is subscribed to a non-existent topic")
    return topics[topic_id].num_partitions
