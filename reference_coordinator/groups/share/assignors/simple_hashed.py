"""`simple` of 4.1: one partition by hash of the member id, then previous ones, then the rest round-robin."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java import as_int
from reference_coordinator.core.java_hash_map import JavaHashMap, JavaHashSet, capacity_for
from reference_coordinator.core.map_order import string_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.group_spec import (
    PartitionAssignorError,
    SubscriptionType,
)
from reference_coordinator.groups.share.assignors.share_spec import (
    ShareGroupSpec,
    TopicIdPartition,
    by_topic,
    topic_id_partition_hash_code,
)
from reference_coordinator.groups.share.member import AssignedPartitions

_ByPartition: TypeAlias = JavaHashMap[TopicIdPartition, list[MemberId]]
_ByMember: TypeAlias = dict[MemberId, JavaHashSet[TopicIdPartition]]
"""In each set the order of Kafka's: it decides in which order a member's topics are stored."""


def assign(spec: ShareGroupSpec) -> Mapping[MemberId, AssignedPartitions]:
    """Assign each partition to at least one member. Source: SimpleAssignor#assign (4.1.2).

    Raises:
        PartitionAssignorError: partitions are left, and no member may have more.
    """
    current = _current_assignment(spec)
    if spec.subscription_type is SubscriptionType.HETEROGENEOUS:
        assigned = _new_assignment_heterogeneous(spec, current)
    else:
        first = next(iter(spec.members.values()))
        assigned = _new_assignment_homogeneous(spec, first.subscribed_topic_ids, current)
    return {member_id: by_topic(partitions) for member_id, partitions in assigned.items()}


def _current_assignment(spec: ShareGroupSpec) -> _ByPartition:
    """Source: SimpleAssignor#currentAssignment (4.1.2)."""
    current: _ByPartition = JavaHashMap(topic_id_partition_hash_code)
    for member_id, member in spec.members.items():
        for topic_id, partitions in member.assignment.items():
            for partition in partitions:
                current.compute_if_absent(TopicIdPartition(topic_id, partition), list).append(member_id)
    return current


def _new_assignment_homogeneous(
    spec: ShareGroupSpec, topic_ids: Collection[TopicId], current: _ByPartition
) -> _ByMember:
    """Source: SimpleAssignor#newAssignmentHomogeneous (4.1.2)."""
    targets = spec.target_partitions(topic_ids)
    desired = -(-len(targets) // len(spec.members))
    hashed: _ByPartition = JavaHashMap(topic_id_partition_hash_code, capacity=capacity_for(len(targets) + 1))
    _member_hash_assignment(spec.members, targets, hashed)
    final, taken = _by_member(hashed), set(hashed)
    for partition, members in current.items():
        if partition.topic_id not in topic_ids:
            continue
        for member_id in members:
            has = _partitions_of(final, member_id)
            if len(has) < desired and partition not in hashed:
                has.add(partition)
                taken.add(partition)
    unassigned = [each for each in targets if each not in taken]
    _round_robin_assignment_with_count(spec.members, unassigned, final, desired)
    return final


def _new_assignment_heterogeneous(  # noqa: C901 - one flat step after the other, as in Kafka
    spec: ShareGroupSpec, current: _ByPartition
) -> _ByMember:
    """Source: SimpleAssignor#newAssignmentHeterogeneous (4.1.2)."""
    targets_of: JavaHashMap[MemberId, list[TopicIdPartition]] = JavaHashMap(string_hash_code)
    for member_id, member in spec.members.items():
        if member.names_topics:
            targets_of[member_id] = spec.target_partitions(member.subscribed_topic_ids)
    members_of: dict[TopicId, dict[MemberId, None]] = {}
    assigned: _ByPartition = JavaHashMap(topic_id_partition_hash_code)
    for member_id, partitions in targets_of.items():
        for partition in partitions:
            members_of.setdefault(partition.topic_id, {})[member_id] = None
        _member_hash_assignment((member_id,), partitions, assigned)
    unassigned: JavaHashMap[TopicId, list[TopicIdPartition]] = JavaHashMap(uuid_hash_code)
    for partition in dict.fromkeys(each for partitions in targets_of.values() for each in partitions):
        if partition not in assigned.keys() | current.keys():
            unassigned.compute_if_absent(partition.topic_id, list).append(partition)
    for topic_id, partitions in unassigned.items():
        _round_robin_assignment(tuple(members_of[topic_id]), partitions, assigned)
    final = _by_member(assigned)
    for partition, members in current.items():
        if partition not in assigned:
            for member_id in members_of.get(partition.topic_id, {}).keys() & set(members):
                _partitions_of(final, member_id).add(partition)
    return final


def _partitions_of(assignment: _ByMember, member_id: MemberId) -> JavaHashSet[TopicIdPartition]:
    if member_id not in assignment:
        assignment[member_id] = JavaHashSet(topic_id_partition_hash_code)
    return assignment[member_id]


def _by_member(assigned: _ByPartition) -> _ByMember:
    final: _ByMember = {}
    for partition, members in assigned.items():
        for member_id in members:
            _partitions_of(final, member_id).add(partition)
    return final


def _member_hash_assignment(
    member_ids: Iterable[MemberId], partitions: Sequence[TopicIdPartition], assignment: _ByPartition
) -> None:
    """Source: SimpleAssignor#memberHashAssignment (4.1.2)."""
    if partitions:
        for member_id in member_ids:
            index = abs(as_int(string_hash_code(member_id))) % len(partitions)
            assignment.compute_if_absent(partitions[index], list).append(member_id)


def _round_robin_assignment(
    member_ids: Sequence[MemberId], partitions: Sequence[TopicIdPartition], assignment: _ByPartition
) -> None:
    """Source: SimpleAssignor#roundRobinAssignment (4.1.2)."""
    for index, partition in enumerate(partitions):
        member_id = member_ids[index % len(member_ids)]
        assignment.compute_if_absent(partition, list).append(member_id)


def _round_robin_assignment_with_count(
    member_ids: Iterable[MemberId],
    partitions: Sequence[TopicIdPartition],
    assignment: _ByMember,
    desired: int,
) -> None:
    """Source: SimpleAssignor#roundRobinAssignmentWithCount (4.1.2).

    A member with one partition more than desired gets no more.

    Raises:
        PartitionAssignorError: all members have so many, as they share partitions of former assignments.
    """
    left, at = list(member_ids), 0
    for partition in partitions:
        while True:
            if not left:
                raise PartitionAssignorError("Inconsistent number of member IDs")
            at = at if at < len(left) else 0
            has = _partitions_of(assignment, left[at])
            if len(has) <= desired:
                has.add(partition)
                at += 1
                break
            del left[at]
