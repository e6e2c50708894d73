"""What the assignors share: assignments as the JVM's maps, and the members in their map's order."""

from collections.abc import Mapping
from typing import TypeAlias

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap, JavaHashSet
from reference_coordinator.core.map_order import int_hash_code, string_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    MemberSubscription,
)

AssignmentMap: TypeAlias = JavaHashMap[TopicId, JavaHashSet[int]]
"""An assignment while it is made."""


def members_in_map_order(spec: GroupSpec) -> Mapping[MemberId, MemberSubscription]:
    """The members as Kafka's map of them iterates.

    Decided in: TargetAssignmentBuilder#build (4.3.1), which fills the map.
    """
    if isinstance(spec.members, JavaHashMap):
        return spec.members
    members: JavaHashMap[MemberId, MemberSubscription] = JavaHashMap(string_hash_code)
    members.update(spec.members)
    return members


def from_record(assignment: Assignment) -> AssignmentMap:
    """What the record of a target assignment is in memory. Source: Assignment#fromRecord (4.3.1)."""
    partitions_by_topic: AssignmentMap = JavaHashMap(uuid_hash_code)
    for topic_id, partitions in assignment.items():
        partitions_by_topic[topic_id] = JavaHashSet.copy_of(partitions, int_hash_code)
    return partitions_by_topic


def deep_copy_assignment(assignment: AssignmentMap) -> AssignmentMap:
    """A copy to change, maybe of another order. Source: AssignorHelpers#deepCopyAssignment (4.3.1)."""
    copied: AssignmentMap = JavaHashMap(uuid_hash_code, capacity=len(assignment))
    for topic_id, partitions in assignment.items():
        copied[topic_id] = JavaHashSet.copy_of(partitions, int_hash_code)
    return copied


def assignment_of(partitions_by_topic: AssignmentMap) -> Assignment:
    """An assignment that is made.

    Decided in: GroupCoordinatorRecordHelpers#newConsumerGroupTargetAssignmentRecord (4.3.1).
    """
    return {topic_id: tuple(partitions) for topic_id, partitions in partitions_by_topic.items()}
