"""How large the answer to a request will be, estimated before it is made.

Only requests whose answer may be far larger than themselves are estimated. They name groups, topics or other
resources, or none in order to mean all, and get what is known of each, as often as they name it.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final

from reference_coordinator import messages
from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker_messages import BrokerRequest, CreateTopicsRequest, MetadataRequest
from reference_coordinator.broker_messages.inspection import DescribeLogDirsRequest
from reference_coordinator.broker_messages.tools import DescribeConfigsRequest
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.messages.share_groups import (
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
)
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.profile.behaviours import Behaviour

ESTIMATED: Final = frozenset(
    {
        Api.METADATA,
        Api.OFFSET_FETCH,
        Api.DESCRIBE_GROUPS,
        Api.LIST_GROUPS,
        Api.CREATE_TOPICS,
        Api.DESCRIBE_CONFIGS,
        Api.DESCRIBE_LOG_DIRS,
        Api.CONSUMER_GROUP_DESCRIBE,
        Api.SHARE_GROUP_DESCRIBE,
        Api.STREAMS_GROUP_DESCRIBE,
        Api.DESCRIBE_SHARE_GROUP_OFFSETS,
    }
)
"""The APIs with such requests; `answer_bytes` knows no others."""
# Bytes beside texts and numbers of an entry; each is a little less than the least that a version writes.
_OFFSET: Final = 18
_GROUP: Final = 30
_LISTED: Final = 10
_MEMBER: Final = 10
_PARTITION: Final = 20
_CONFIGS: Final = 1_000
"""About the bytes of all configurations of a topic."""


def answer_bytes(broker: Broker, shard: CoordinatorShard, request: BrokerRequest) -> int:
    """Return about how many bytes the answer has; 0 if it is not estimated, since it must be small."""
    of_group = cache(lambda group_id: _described_bytes(shard, group_id))
    match request:
        case messages.OffsetFetchRequest():
            return _offset_fetch_bytes(shard, request)
        case messages.DescribeGroupsRequest():
            return sum(map(of_group, request.groups))
        case (
            messages.ConsumerGroupDescribeRequest()
            | ShareGroupDescribeRequest()
            | messages.StreamsGroupDescribeRequest()
        ):
            return sum(map(of_group, request.group_ids)) + _not_found_bytes(shard, request)
        case messages.ListGroupsRequest():
            return sum(_LISTED + len(each.group_id) for each in shard.groups(committed=True))
        case DescribeShareGroupOffsetsRequest():
            return _share_offsets_bytes(shard, request)
        case _:
            return _about_topics(broker, request)


def _about_topics(broker: Broker, request: BrokerRequest) -> int:
    match request:
        case MetadataRequest(topics=None) | DescribeLogDirsRequest():
            return sum(_PARTITION * topic.num_partitions for topic in broker.topics)
        case MetadataRequest():
            named = (broker.topics.get(each.name or "") for each in dict.fromkeys(request.topics or ()))
            return sum(_PARTITION * topic.num_partitions for topic in named if topic is not None)
        case DescribeConfigsRequest():
            return sum(0 if each.configuration_keys else _CONFIGS for each in request.resources)
        case CreateTopicsRequest():
            return _CONFIGS * len(request.topics)
        case _:
            return 0


def _not_found_bytes(shard: CoordinatorShard, request: BrokerRequest) -> int:
    """Return the bytes of groups that partitions describe that do not have them, as one release does."""
    if not (
        isinstance(request, messages.ConsumerGroupDescribeRequest)
        and shard.profile.has(Behaviour.EVERY_PARTITION_DESCRIBES_ALL_GROUPS)
    ):
        return 0
    partitions = {shard.partition_for(each) for each in request.group_ids}
    return len(partitions) * sum(_GROUP + len(each) for each in request.group_ids)


def _offset_fetch_bytes(shard: CoordinatorShard, request: messages.OffsetFetchRequest) -> int:
    @cache
    def of_all(group_id: GroupId) -> int:
        return sum(_OFFSET + len(each.metadata) for each in shard.offsets.of_group(group_id).values())

    def of_some(group_id: GroupId, topics: Iterable[messages.OffsetFetchRequestTopic]) -> int:
        offsets = shard.offsets.of_group(group_id)
        named = (TopicPartition(each.name, index) for each in topics for index in each.partition_indexes)
        found = (offsets.get(each) for each in named)
        return sum(_OFFSET + (0 if each is None else len(each.metadata)) for each in found)

    return sum(
        of_all(each.group_id) if each.topics is None else of_some(each.group_id, each.topics)
        for each in request.groups
    )


def _share_offsets_bytes(shard: CoordinatorShard, request: DescribeShareGroupOffsetsRequest) -> int:
    @cache
    def of_all(group_id: GroupId) -> int:
        group = shard.find_group(group_id)
        if not isinstance(group, ShareGroup) or group.state_partitions is None:
            return _LISTED
        return sum(
            _PARTITION * len(each.partitions) for each in group.state_partitions.initialized_topics.values()
        )

    return sum(
        of_all(each.group_id)
        if each.topics is None
        else sum(_PARTITION * len(topic.partitions) for topic in each.topics)
        for each in request.groups
    )


def _described_bytes(shard: CoordinatorShard, group_id: GroupId) -> int:
    group = shard.find_group(group_id, committed=True)
    if isinstance(group, ClassicGroup):
        members = group.members.values()
        return _GROUP + sum(
            _MEMBER
            + len(each.member_id)
            + len(each.assignment)
            + sum(len(of.metadata) for of in each.supported_protocols if of.name == group.protocol_name)
            for each in members
        )
    if isinstance(group, ModernGroup):
        topology = getattr(group, "topology", None)
        return _GROUP + sum(map(_bytes_in, (group.members, group.target_assignment, topology))) // 2
    return _GROUP


def _bytes_in(content: Any) -> int:  # noqa: ANN401 - whatever a group consists of
    """Return about the bytes of what a group keeps, more than half of which its description shows."""
    match content:
        case None | bool():
            return 1
        case str() | bytes():
            return len(content) + 1
        case int():
            return 4
        case Mapping():
            return sum(_bytes_in(key) + _bytes_in(each) for key, each in content.items())
        case tuple() | list() | AbstractSet():
            return sum(map(_bytes_in, content))
        case _ if dataclasses.is_dataclass(content):
            return sum(_bytes_in(getattr(content, each.name)) for each in dataclasses.fields(content))
        case _:
            return 0
