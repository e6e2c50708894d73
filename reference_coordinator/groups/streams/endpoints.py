"""The partitions that can be queried at each member's endpoint."""

from collections.abc import Collection, Iterator, Mapping

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.topology import source_topics
from reference_coordinator.messages.streams_groups import EndpointToPartitions, StreamsGroupTopicPartition
from reference_coordinator.profile.behaviours import Behaviour


def build_endpoint_to_partitions(
    group: StreamsGroup,
    member: StreamsGroupMember,
    topology: ConfiguredTopology,
    image: MetadataImage,
    replaced: StreamsGroupMember | None = None,
) -> tuple[EndpointToPartitions, ...]:
    """Return the partitions of each member with an endpoint, with the requesting member last.

    A member that the requesting one replaces is left out.

    Raises:
        IllegalStateError: some member has an endpoint, and the topology is not configured.

    Source: StreamsGroup#buildEndpointToPartitions (4.3.1).
    """
    left_out = {member.member_id, *(() if replaced is None else (replaced.member_id,))}
    others = [each for key, each in group.members.items() if key not in left_out]
    shows_real = group.profile.has(Behaviour.STREAMS_ENDPOINTS_FOLLOW_CHANGES)
    return tuple(
        EndpointToPartitions(
            user_endpoint=each.user_endpoint,
            active_partitions=tuple(
                _partitions(each.assigned_tasks.active_tasks, topology, image, shows_real=shows_real)
            ),
            standby_partitions=tuple(
                _partitions(each.assigned_tasks.standby_tasks, topology, image, shows_real=shows_real)
            ),
        )
        for each in (*others, member)
        if each.user_endpoint is not None
    )


def _partitions(
    tasks: Mapping[str, Collection[int]],
    topology: ConfiguredTopology,
    image: MetadataImage,
    *,
    shows_real: bool,
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
            shown = [each for each in partitions if each < count] if shows_real else partitions[:count]
            if shown or not shows_real:
                yield StreamsGroupTopicPartition(topic=topic, partitions=tuple(shown))
