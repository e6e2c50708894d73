"""What tools ask for: finding, listing, describing and deleting groups, and what proxies make of it."""

from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.messages import (
    ConsumerGroupHeartbeatRequest,
    ListedGroup,
    ListGroupsRequest,
)
from reference_coordinator.messages.share_groups import AlterShareGroupOffsetsRequest
from reference_coordinator.offsets.shard import CoordinatorShard

_TENANT = "tenant-"


@fault(
    "any-share-key-has-a-coordinator",
    "broker.broker_apis:is_share_partition_key",
    source="twmb/franz-go#1333 (kfake)",
    saw="FindCoordinator takes a share key that names no partition",
    red=("admin/find/no-share-keys",),
)
def any_share_key_has_a_coordinator(healthy: Replacement, *given: object) -> bool:
    """A share key is not looked at."""
    del healthy, given
    return True


@fault(
    "empty-groups-are-not-listed",
    "coordinator.admin:_listed_groups",
    source="MicrosoftDocs/azure-docs#115425 (Event Hubs)",
    saw="a group is gone when its last member is, so its offsets cannot be reset",
    red=(
        "admin/list/states",
        "consumer_groups/versions/list/v1",
    ),
)
def empty_groups_are_not_listed(
    healthy: Replacement, shard: CoordinatorShard, request: ListGroupsRequest
) -> tuple[ListedGroup, ...]:
    """ListGroups leaves out groups without members."""
    return tuple(each for each in healthy(shard, request) if each.group_state != "Empty")


@fault(
    "topics-of-consumer-groups-are-not-renamed",
    "broker.consumer_group_apis:handle_consumer_group_heartbeat",
    source="kroxylicious/kroxylicious#3416",
    saw="a KIP-848 consumer behind a multi-tenant proxy gets no partitions",
    red=(
        "consumer_groups/assignors/deleted",
        "consumer_groups/delete/with-message/v3",
    ),
)
def topics_of_consumer_groups_are_not_renamed(
    healthy: Replacement, broker: object, request: ConsumerGroupHeartbeatRequest
) -> object:
    """The coordinator is asked for topics by names that only the proxy's clients use."""
    names = request.subscribed_topic_names
    renamed = None if names is None else tuple(_TENANT + each for each in names)
    return healthy(broker, replace(request, subscribed_topic_names=renamed))


@fault(
    "regexes-are-not-renamed",
    "groups.consumer.regular_expressions:_matching",
    source="kroxylicious/kroxylicious#3415",
    saw="a regular expression matches nothing behind a multi-tenant proxy",
    red=(
        "consumer_groups/regex/shared-and-named",
        "consumer_groups/regex/named-too",
    ),
)
def regexes_are_not_renamed(healthy: Replacement, *given: object) -> frozenset[str]:
    """An expression is matched with names that no client knows."""
    del healthy, given
    return frozenset()


@fault(
    "share-offsets-are-not-renamed",
    "broker.share_group_apis:_handle_alter_offsets",
    source="kroxylicious/kroxylicious#3416",
    saw="the offsets of a share group cannot be altered behind a multi-tenant proxy",
    red=("share_groups/offsets/alter",),
)
def share_offsets_are_not_renamed(
    healthy: Replacement, broker: object, request: AlterShareGroupOffsetsRequest
) -> object:
    """AlterShareGroupOffsets names topics that the broker does not know."""
    topics = tuple(replace(each, topic_name=_TENANT + each.topic_name) for each in request.topics)
    return healthy(broker, replace(request, topics=topics))


@fault(
    "former-coordinator-fails",
    "runtime.coordinator_runtime:CoordinatorRuntime.throw_if_not_active",
    source="KAFKA-4362",
    saw="consumers stay with the former coordinator, as it does not say that it is none",
    releases="until 0.10.1.0",
    red=("failover/former/every-api",),
)
def former_coordinator_fails(healthy: Replacement, shard: CoordinatorShard, group_id: GroupId) -> None:
    """A broker that has lost a partition answers UNKNOWN_SERVER_ERROR instead of NOT_COORDINATOR."""
    try:
        healthy(shard, group_id)
    except CoordinatorError as refusal:
        if refusal.error is not Errors.NOT_COORDINATOR:
            raise
        raise CoordinatorError(Errors.UNKNOWN_SERVER_ERROR) from refusal
