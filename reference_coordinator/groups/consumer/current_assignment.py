"""The next step of one member towards its target assignment.

Source: CurrentAssignmentBuilder (4.3.1).
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final, assert_never

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors.group_spec import Assignment
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import (
    NO_PARTITIONS,
    AssignedPartitions,
    ConsumerGroupMember,
)
from reference_coordinator.groups.consumer.partition_epochs import NO_EPOCH
from reference_coordinator.groups.consumer.subscriptions import subscribed_topics
from reference_coordinator.profile.profiles import Behaviour

OwnedPartitions = tuple[tuple[TopicId, tuple[int, ...]], ...] | None
"""The partitions that a member reports as owned, or None if it reports none."""
_NOTHING: Final[Mapping[int, int]] = {}


@value
class CurrentAssignmentBuilder:
    """The inputs for computing a member's current assignment. Source: CurrentAssignmentBuilder (4.3.1)."""

    group: ConsumerGroup
    member: ConsumerGroupMember
    image: MetadataImage
    target_assignment_epoch: int
    target_assignment: Assignment
    has_subscription_changed: bool
    owned_topic_partitions: OwnedPartitions

    def build(self) -> ConsumerGroupMember:
        """Return the member after the step.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH, if the member's state is unknown to this release.

        Source: CurrentAssignmentBuilder#build (4.3.1).
        """
        member = self.member
        match member.state:
            case MemberState.STABLE:
                if member.member_epoch != self.target_assignment_epoch:
                    return self._compute_next_assignment(member.member_epoch)
                return self._update_current_assignment() if self._revokes_at_once else member
            case MemberState.UNREVOKED_PARTITIONS:
                if self._owns_revoked_partitions(member.partitions_pending_revocation):
                    return self._update_current_assignment() if self._revokes_at_once else member
                raises = self._has(Behaviour.REVOCATION_RAISES_MEMBER_EPOCH)
                return self._compute_next_assignment(member.member_epoch + (1 if raises else 0))
            case MemberState.UNRELEASED_PARTITIONS:
                return self._compute_next_assignment(member.member_epoch)
            case MemberState.UNKNOWN:
                if self.owned_topic_partitions is None or self.owned_topic_partitions:
                    raise CoordinatorError(
                        Errors.FENCED_MEMBER_EPOCH,
                        "The consumer group member is in a unknown state. The member must abandon all its "
                        "partitions and rejoin.",
                    )
                return self._compute_next_assignment(self.target_assignment_epoch)
            case _:
                assert_never(member.state)

    @property
    def _revokes_at_once(self) -> bool:
        return self.has_subscription_changed and self._has(Behaviour.UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE)

    def _has(self, behaviour: Behaviour) -> bool:
        return self.group.profile.has(behaviour)

    def _owns_revoked_partitions(self, revoked: AssignedPartitions) -> bool:
        """Return whether the member still owns partitions to revoke, or does not report what it owns.

        Source: CurrentAssignmentBuilder#ownsRevokedPartitions (4.3.1).
        """
        if self.owned_topic_partitions is None:
            return True
        return any(
            partition in revoked.get(topic_id, _NOTHING)
            for topic_id, partitions in self.owned_topic_partitions
            for partition in partitions
        )

    def _update_current_assignment(self) -> ConsumerGroupMember:
        """Revoke the topics that the member no longer subscribes to, whatever its target assignment.

        A member that subscribes to nothing, not even to a topic that does not exist, gives up its previous
        epoch even if it has no partitions.

        Source: CurrentAssignmentBuilder#updateCurrentAssignment (4.3.1).
        """
        member, subscribed = self.member, self._subscribed_topic_ids()
        unsubscribed = {
            topic_id: epochs
            for topic_id, epochs in member.assigned_partitions.items()
            if topic_id not in subscribed
        }
        if not unsubscribed and (self._subscribed_names() or member.partitions_pending_revocation):
            return member
        left = {
            topic_id: epochs
            for topic_id, epochs in member.assigned_partitions.items()
            if topic_id in subscribed
        }
        revoked = dict(member.partitions_pending_revocation)
        for topic_id, epochs in unsubscribed.items():
            revoked[topic_id] = {**revoked.get(topic_id, _NOTHING), **epochs}
        shrunk = replace(member, assigned_partitions=left)
        if self._has(Behaviour.SHRINKING_UPDATES_PREVIOUS_EPOCH):
            shrunk = shrunk.update_member_epoch(member.member_epoch)
        if revoked and self._owns_revoked_partitions(revoked):
            return replace(
                shrunk, state=MemberState.UNREVOKED_PARTITIONS, partitions_pending_revocation=revoked
            )
        return shrunk

    def _compute_next_assignment(self, member_epoch: int) -> ConsumerGroupMember:
        """Revoke partitions first, then assign the ones that are free.

        Source: CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
        """
        assigned: dict[TopicId, Mapping[int, int]] = {}
        revoked: dict[TopicId, Mapping[int, int]] = {}
        pending: dict[TopicId, AbstractSet[int]] = {}
        has_unreleased = False
        subscribed = self._subscribed_topic_ids()
        for topic_id in dict.fromkeys((*self.target_assignment, *self.member.assigned_partitions)):
            target = self._target_of(topic_id, subscribed)
            before = self.member.assigned_partitions.get(topic_id, _NOTHING)
            kept = {partition: epoch for partition, epoch in before.items() if partition in target}
            missing = target - kept.keys()
            free = {partition for partition in missing if self._is_free(topic_id, partition)}
            has_unreleased |= len(free) < len(missing)
            _put(assigned, topic_id, kept)
            _put(revoked, topic_id, {each: before[each] for each in before if each not in kept})
            if free:
                pending[topic_id] = free
        if revoked and self._owns_revoked_partitions(revoked):
            return replace(
                self.member.update_member_epoch(member_epoch),
                state=MemberState.UNREVOKED_PARTITIONS,
                assigned_partitions=assigned,
                partitions_pending_revocation=revoked,
            )
        for topic_id, partitions in pending.items():
            since = dict.fromkeys(sorted(partitions), self.target_assignment_epoch)
            assigned[topic_id] = {**assigned.get(topic_id, _NOTHING), **since}
        return replace(
            self.member.update_member_epoch(self.target_assignment_epoch),
            state=MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE,
            assigned_partitions=assigned,
            partitions_pending_revocation=NO_PARTITIONS,
        )

    def _target_of(self, topic_id: TopicId, subscribed: Collection[TopicId]) -> AbstractSet[int]:
        filters = self._has(Behaviour.UNSUBSCRIBED_TOPICS_REVOKED_AT_ONCE)
        if filters and topic_id not in subscribed:
            return frozenset()
        return frozenset(self.target_assignment.get(topic_id, ()))

    def _is_free(self, topic_id: TopicId, partition: int) -> bool:
        if self.group.current_partition_epoch(topic_id, partition) == NO_EPOCH:
            return True
        is_own = partition in self.member.partitions_pending_revocation.get(topic_id, _NOTHING)
        return is_own and self._has(Behaviour.OWN_REVOKED_PARTITIONS_ARE_FREE)

    def _subscribed_topic_ids(self) -> frozenset[TopicId]:
        """Return the ids of the topics that the member subscribes to and that exist.

        Source: CurrentAssignmentBuilder#subscribedTopicIds (4.3.1).
        """
        topics = self.image.topics
        return frozenset(topics[each].topic_id for each in self._subscribed_names() if each in topics)

    def _subscribed_names(self) -> tuple[str, ...]:
        return subscribed_topics(self.member, self.group.resolved_regular_expressions)


def _put(partitions: dict[TopicId, Mapping[int, int]], topic_id: TopicId, epochs: Mapping[int, int]) -> None:
    if epochs:
        partitions[topic_id] = epochs
