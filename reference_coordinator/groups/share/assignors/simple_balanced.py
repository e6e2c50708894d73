"""`simple` from 4.2 on: partitions have equally many members, and members have equally many partitions.

If all members subscribe to the same topics, it balances all partitions together, otherwise each topic.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import HashCode, JavaHashMap, JavaHashSet, capacity_for
from reference_coordinator.core.map_order import int_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.assignor_helpers import deep_copy_assignment
from reference_coordinator.groups.consumer.assignors.group_spec import SubscriptionType
from reference_coordinator.groups.share.assignors.share_spec import (
    ShareGroupSpec,
    TopicIdPartition,
    topic_id_partition_hash_code,
)
from reference_coordinator.groups.share.member import AssignedPartitions

_KeyT = TypeVar("_KeyT")
_Members: TypeAlias = JavaHashSet[int]
"""Members, represented by their position in the group's map."""


def assign(spec: ShareGroupSpec) -> Mapping[MemberId, AssignedPartitions]:
    """Assign partitions. Source: SimpleAssignor#assign (4.3.1)."""
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return _assign_homogeneous(spec)
    return _assign_heterogeneous(spec)


def _assign_homogeneous(spec: ShareGroupSpec) -> Mapping[MemberId, AssignedPartitions]:
    """Decided in: SimpleHomogeneousAssignmentBuilder#build (4.3.1)."""
    first = next(iter(spec.members.values()))
    if not first.names_topics:
        return {}
    old = [
        [
            TopicIdPartition(topic_id, partition)
            for topic_id, partitions in member.assignment.items()
            if topic_id in first.subscribed_topic_ids
            for partition in partitions
        ]
        for member in spec.members.values()
    ]
    targets = spec.target_partitions(first.subscribed_topic_ids)
    moves = _Balancing(targets, old, range(len(spec.members)), topic_id_partition_hash_code).build()
    return {
        member_id: _moved(
            member.assignment,
            moves[index],
            dropped=[each for each in member.assignment if each not in first.subscribed_topic_ids],
        )
        for index, (member_id, member) in enumerate(spec.members.items())
    }


def _assign_heterogeneous(spec: ShareGroupSpec) -> Mapping[MemberId, AssignedPartitions]:
    """Decided in: SimpleHeterogeneousAssignmentBuilder#build (4.3.1).

    The assignment of a topic without subscribers does not change.
    """
    topic_ids: JavaHashSet[TopicId] = JavaHashSet(uuid_hash_code)
    for member in spec.members.values():
        for topic_id in member.subscribed_topic_ids:
            topic_ids.add(topic_id)
    if not topic_ids:
        return {}
    members = tuple(spec.members.values())
    moves: list[list[_Move[TopicIdPartition]]] = [[] for _ in members]
    for topic_id in topic_ids:
        old = [tuple(member.assignment.get(topic_id, ())) for member in members]
        subscribed = [index for index, each in enumerate(members) if topic_id in each.subscribed_topic_ids]
        targets = spec.assignable.get(topic_id, ())
        of_topic = _Balancing(targets, old, subscribed, int_hash_code).build()
        for index, some in enumerate(of_topic):
            moves[index] += [_Move(TopicIdPartition(topic_id, each.what), each.is_given) for each in some]
    return {
        member_id: _moved(member.assignment, moves[index])
        for index, (member_id, member) in enumerate(spec.members.items())
    }


class _Move(NamedTuple, Generic[_KeyT]):
    """A partition that a member is given, or that is taken from it."""

    what: _KeyT
    is_given: bool


def _moved(
    assignment: AssignedPartitions,
    moves: Sequence[_Move[TopicIdPartition]],
    *,
    dropped: Sequence[TopicId] = (),
) -> AssignedPartitions:
    """Return a member's new assignment. A topic stays in it from which all partitions are taken.

    Decided in: SimpleHomogeneousAssignmentBuilder#build (4.3.1), which changes a copy.
    """
    if not (moves or dropped):
        return assignment
    new = deep_copy_assignment(assignment)
    for topic_id in dropped:
        del new[topic_id]
    for (topic_id, partition), is_given in moves:
        if is_given:
            new.compute_if_absent(topic_id, lambda: JavaHashSet(int_hash_code)).add(partition)
        else:
            new[topic_id].discard(partition)
    return new


@dataclass(slots=True)
class _Balancing(Generic[_KeyT]):
    """One computation for some partitions and the members that subscribe to them."""

    targets: Sequence[_KeyT]
    old: Sequence[Sequence[_KeyT]]
    """The previous partitions of each member, whether it subscribes or not."""
    members: Sequence[int]
    """The subscribed members."""
    hash_code: HashCode[_KeyT]
    desired_sharing: int = 0
    desired_counts: list[int] = field(default_factory=list)
    by_partition: JavaHashMap[_KeyT, _Members] = field(init=False)
    by_member: list[JavaHashSet[_KeyT]] = field(init=False)
    moves: list[list[_Move[_KeyT]]] = field(init=False)
    """What each member is given, and what is taken from it, in this order."""

    def __post_init__(self) -> None:
        count, subscribed = len(self.targets), len(self.members)
        self.desired_sharing = -(-subscribed // count) if count else 0
        precise = self.desired_sharing * count / subscribed
        self.desired_counts = [0] * len(self.old)
        for position, index in enumerate(self.members):
            upper, lower = math.ceil(precise * (position + 1)), math.ceil(precise * position)
            self.desired_counts[index] = upper - lower
        self.by_partition = JavaHashMap(self.hash_code, capacity=capacity_for(count + 1))
        self.by_member = [JavaHashSet(self.hash_code) for _ in self.old]
        self.moves = [[] for _ in self.old]

    def build(self) -> Sequence[Sequence[_Move[_KeyT]]]:
        """Return what each member is given, and what is taken from it.

        Source: SimpleHomogeneousAssignmentBuilder#build,
        SimpleHeterogeneousAssignmentBuilder.TopicAssignmentPartialBuilder#build (4.3.1).
        """
        for index, partitions in enumerate(self.old):
            for partition in partitions:
                self._owners(partition).add(index)
                self.by_member[index].add(partition)
        self._revoke_overfilled_members()
        self._revoke_overshared_partitions()
        for partition in self.targets:
            self._owners(partition)
        self._assign_remaining_partitions()
        return self.moves

    def _take(self, partition: _KeyT, index: int) -> None:
        self.by_partition[partition].discard(index)
        self.by_member[index].discard(partition)
        self.moves[index].append(_Move(partition, is_given=False))

    def _owners(self, partition: _KeyT) -> _Members:
        return self.by_partition.compute_if_absent(partition, lambda: JavaHashSet(int_hash_code))

    def _revoke_overfilled_members(self) -> None:
        """Source: SimpleHomogeneousAssignmentBuilder#revokeOverfilledMembers (4.3.1)."""
        for index, partitions in enumerate(self.by_member):
            for partition in list(partitions)[: max(0, len(partitions) - self.desired_counts[index])]:
                self._take(partition, index)

    def _revoke_overshared_partitions(self) -> None:
        """Source: SimpleHomogeneousAssignmentBuilder#revokeOversharedPartitions (4.3.1)."""
        for partition, owners in self.by_partition.items():
            for index in list(owners)[: max(0, len(owners) - self.desired_sharing)]:
                self._take(partition, index)

    def _assign_remaining_partitions(self) -> None:
        """Assign each partition to members with too few partitions, in a round-robin order.

        Source: SimpleHomogeneousAssignmentBuilder#assignRemainingPartitions (4.3.1).
        """
        unfilled = [index for index in sorted(self.members) if self._wants_more(index)]
        at, has_assigned = 0, False
        for partition, owners in self.by_partition.items():
            while unfilled and len(owners) < self.desired_sharing:
                if at == len(unfilled):
                    if not has_assigned:
                        break
                    at, has_assigned = 0, False
                index = unfilled[at]
                at += 1
                if index in owners:
                    continue
                owners.add(index)
                self.by_member[index].add(partition)
                self.moves[index].append(_Move(partition, is_given=True))
                has_assigned = True
                if not self._wants_more(index):
                    at -= 1
                    del unfilled[at]

    def _wants_more(self, index: int) -> bool:
        return len(self.by_member[index]) < self.desired_counts[index]
