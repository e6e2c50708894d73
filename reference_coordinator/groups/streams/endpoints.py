"""Which partitions can be asked for at which member's endpoint."""

from collections.abc import Collection, Iterator, Mapping

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.topology import source_topics
from reference_coordinator.messages.streams_groups import EndpointToPartitions, StreamsGroupTopicPartition


def build_endpoint_to_partitions(
    group: StreamsGroup, member: StreamsGroupMember, topology: ConfiguredTopology, image: MetadataImage
) -> tuple[EndpointToPartitions, ...]:
    """What each member with an endpoint has, the one that asks last.

    Raises:
        IllegalStateError: some member has an endpoint, and the topology cannot be configured.

    Source: StreamsGroup#buildEndpointToPartitions (4.3.1).
    """
    others = [each for key, each in group.members.items() if key != member.member_id]
    return tuple(
        EndpointToPartitions(
            user_endpoint=each.user_endpoint,
            active_partitions=tuple(_partitions(each.assigned_tasks.active_tasks, topology, image)),
            standby_partitions=tuple(_partitions(each.assigned_tasks.standby_tasks, topology, image)),
        )
        for each in (*others, member)
        if each.user_endpoint is not None
    )


def _partitions(
    tasks: Mapping[str, Collection[int]], topology: ConfiguredTopology, image: MetadataImage
) -> Iterator[StreamsGroupTopicPartition]:
    """Decided in: EndpointToPartitionsManager#topicPartitions (4.3.1)."""
    if topology.subtopologies is None:
        raise IllegalStateError("a topology without its topics has no partitions")
    for key in in_java_hash_map_order(tuple(tasks)):
        partitions = sorted(tasks[key])
        names = source_topics(topology.subtopologies[key].subtopology)
        for topic in in_java_hash_map_order(tuple(dict.fromkeys(names))):
            if topic not in image.topics:
                raise IllegalStateError(f"Topic {topic} not found in metadata image")
            count = image.topics[topic].num_partitions
            yield StreamsGroupTopicPartition(topic=topic, partitions=tuple(partitions[:count]))
