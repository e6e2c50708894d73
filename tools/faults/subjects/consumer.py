"""Consumer groups (KIP-848), and classic groups that become one."""

from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.broker.narrowing import Narrowed
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.groups.consumer.assignors.group_spec import (
    GroupSpec,
    PartitionAssignorError,
    SubscriptionType,
)
from reference_coordinator.groups.consumer.current_assignment import CurrentAssignmentBuilder
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.heartbeat import create_assignment
from reference_coordinator.groups.consumer.joining import Speaker
from reference_coordinator.groups.consumer.reconciliation import MemberUpdate
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages.consumer_groups import (
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


@fault(
    "owned-partitions-get-the-whole-assignment",
    "groups.consumer.heartbeat:_response",
    source="KAFKA-16367",
    saw="each heartbeat with owned partitions is answered with the whole assignment",
    releases="3.7, a preview",
    red=(
        "consumer_groups/assignors/deleted",
        "consumer_groups/regex/shared-and-named",
    ),
)
def owned_partitions_get_the_whole_assignment(
    healthy: Replacement, update: MemberUpdate, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """An assignment is sent to whoever reports partitions, changed or not."""
    response = healthy(update, request)
    if request.topic_partitions is None:
        return response
    return replace(response, assignment=create_assignment(update.updated_member.assigned_partitions))


@fault(
    "two-members-own-a-partition",
    "groups.consumer.current_assignment:CurrentAssignmentBuilder._is_free",
    source="KAFKA-16147",
    saw="two consumers read one partition at the same time",
    releases="3.7, a preview",
    red=("consumer_groups/reconciliation/handover",),
)
def two_members_own_a_partition(
    healthy: Replacement, builder: CurrentAssignmentBuilder, topic_id: TopicId, partition: int
) -> bool:
    """A partition that its owner has been asked to give up is free already."""
    is_being_revoked = any(
        partition in each.partitions_pending_revocation.get(topic_id, {})
        for each in builder.group.members.values()
    )
    return is_being_revoked or healthy(builder, topic_id, partition)


@fault(
    "no-subscription-breaks-the-assignor",
    "groups.consumer.assignors:assign",
    source="KAFKA-16930",
    saw="a member without topics makes every heartbeat of its group fail",
    releases="3.7, a preview",
    red=(
        "consumer_groups/assignors/deleted",
        "consumer_groups/reconciliation/drops-while-revoking",
    ),
)
def no_subscription_breaks_the_assignor(
    healthy: Replacement, name: str, spec: GroupSpec, *given: object
) -> object:
    """Where subscriptions differ, one that is empty ends in an exception."""
    is_mixed = spec.subscription_type is SubscriptionType.HETEROGENEOUS
    if is_mixed and any(not each.subscribed_topic_ids for each in spec.members.values()):
        raise PartitionAssignorError("null")
    return healthy(name, spec, *given)


@fault(
    "static-consumer-cannot-replace-a-classic-one",
    "groups.consumer.joining:get_or_maybe_subscribe_static_consumer_group_member",
    source="KAFKA-17228",
    saw="a rolling upgrade of static members stops: UNRELEASED_INSTANCE_ID",
    releases="3.8-3.9, opt-in",
    red=("migration/replace/by-consumer",),
)
def static_consumer_cannot_replace_a_classic_one(
    healthy: Replacement, group: ConsumerGroup, speaker: Speaker, instance_id: str
) -> object:
    """A static member that is alive is replaced by nobody, whatever its protocol."""
    existing = group.static_member(instance_id) if speaker.create_if_not_exists else None  # type: ignore[arg-type] # an instance id
    is_alive = existing is not None and existing.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH
    if existing is not None and is_alive and existing.use_classic_protocol != speaker.use_classic_protocol:
        raise CoordinatorError(Errors.UNRELEASED_INSTANCE_ID)
    return healthy(group, speaker, instance_id)


@fault(
    "replaced-consumer-leaves-no-classic-group",
    "groups.consumer.downgrade:validate_online_downgrade_with_replaced_member",
    source="KAFKA-17317",
    saw="a group stays of type consumer after its last consumer was replaced by a classic member",
    releases="3.8-3.9, opt-in",
    red=("migration/replace/last-consumer",),
)
def replaced_consumer_leaves_no_classic_group(healthy: Replacement, *given: object) -> bool:
    """The replacement of a static member downgrades no group."""
    del healthy, given
    return False


@fault(
    "temporary-leave-is-final",
    "groups.consumer.leave:consumer_group_leave",
    source="confluentinc/librdkafka#4994 (its mock)",
    saw="a static consumer that restarts gets other partitions, and the group rebalances",
    red=(
        "consumer_groups/static/replaced",
        "consumer_groups/regex/static-replaced",
    ),
)
def temporary_leave_is_final(
    healthy: Replacement, shard: GroupMetadataManager, request: ConsumerGroupHeartbeatRequest
) -> object:
    """A leave with epoch -2 is one with epoch -1."""
    result = healthy(shard, replace(request, member_epoch=-1))
    response = replace(result.response, member_epoch=request.member_epoch)
    return replace(result, response=response)


@fault(
    "topics-are-not-authorized",
    "broker.authorized_parts:_consumer_group_heartbeat",
    source="KAFKA-18813",
    saw="a member subscribes to a topic that it may not describe",
    releases="3.7-3.9, a preview",
    red=("access/consumer-groups/heartbeat",),
)
def topics_are_not_authorized(
    healthy: Replacement,
    broker: object,
    authorizer: object,
    request: ConsumerGroupHeartbeatRequest,
    context: object,
) -> Narrowed | ConsumerGroupHeartbeatResponse:
    """A heartbeat's topics are not looked at, only its group is."""
    answered = healthy(broker, authorizer, replace(request, subscribed_topic_names=None), context)
    return Narrowed(request=request) if isinstance(answered, Narrowed) else answered
