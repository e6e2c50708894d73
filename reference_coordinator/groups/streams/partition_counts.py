"""The partition counts that the internal topics of a topology need."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.map_order import utf16_order
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.streams_records import Subtopology
from reference_coordinator.groups.streams.topology import StreamsTopology, source_topics

_ItemT = TypeVar("_ItemT")
_INCORRECTLY_PARTITIONED: Final = "INCORRECTLY_PARTITIONED_TOPICS"
_NO_SINK: Final = (
    "Failed to compute number of partitions for all repartition topics, because a repartition source topic "
    "is never used as a sink topic."
)
_LOOP: Final = (
    "Failed to compute number of partitions for all repartition topics. There may be loops in the topology "
    "that cannot be resolved."
)


class TopicConfigurationError(Exception):
    """The topics of the cluster do not fit the topology. Source: TopicConfigurationException (4.3.1)."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        """The name of the status that members receive."""


def decide_partition_counts(topology: StreamsTopology, image: MetadataImage) -> dict[str, int]:
    """Return the partition count of each internal topic.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY.
        TopicConfigurationError: copartitioned topics have different partition counts.

    Source: InternalTopicManager#decidePartitionCounts (4.3.1).
    """
    existing = {name: each.num_partitions for name, each in image.topics.items()}
    decided = compute_repartition_topic_partition_count(topology, existing)
    decided.update(_enforce_copartitioning(topology, decided, existing))
    for each in topology.subtopologies.values():
        counts = [existing.get(topic, decided.get(topic, 0)) for topic in source_topics(each)]
        if not counts:
            raise _invalid(f"No source topics found for subtopology {each.subtopology_id}")
        decided.update(dict.fromkeys((info.name for info in each.state_changelog_topics), max(counts)))
    return decided


def compute_repartition_topic_partition_count(
    topology: StreamsTopology, existing: Mapping[str, int]
) -> dict[str, int]:
    """Return the partition counts of repartition topics: the maximum over the topics read before them.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY.

    Source: RepartitionTopics#computeRepartitionTopicPartitionCount, RepartitionTopics#setup (4.3.1).
    """
    subtopologies = topology.subtopologies.values()
    sources = [info for each in subtopologies for info in each.repartition_source_topics]
    counts = {each.name: each.partitions for each in sources if each.partitions}
    is_needed = True
    while is_needed:
        is_needed = has_progress = False
        for each in subtopologies:
            for sink in each.repartition_sink_topics:
                if sink in counts:
                    continue
                count = _compute_partition_count(each, counts, existing)
                if count is None:
                    is_needed = True
                else:
                    counts[sink] = count
                    has_progress = True
        if is_needed and not has_progress:
            raise _invalid(_LOOP)
    if any(each.name not in counts for each in sources):
        raise _invalid(_NO_SINK)
    return counts


def _compute_partition_count(
    subtopology: Subtopology, counts: Mapping[str, int], existing: Mapping[str, int]
) -> int | None:
    """Source: RepartitionTopics#computePartitionCount (4.3.1)."""
    found = [counts[each.name] for each in subtopology.repartition_source_topics if each.name in counts]
    found += [existing[each] for each in subtopology.source_topics if each in existing]
    return max(found, default=None)


def _enforce_copartitioning(
    topology: StreamsTopology, decided: Mapping[str, int], existing: Mapping[str, int]
) -> dict[str, int]:
    """Source: InternalTopicManager#enforceCopartitioning (4.3.1)."""
    infos = [info for each in topology.subtopologies.values() for info in each.repartition_source_topics]
    fixed = {each.name for each in infos if each.partitions}
    flexible = {each.name for each in infos if not each.partitions}
    counts = {**decided, **existing}
    changed: dict[str, int] = {}
    for each in topology.subtopologies.values():
        for group in each.copartition_groups:
            topics = {
                *(_at(each.source_topics, index) for index in group.source_topics),
                *(
                    _at(each.repartition_source_topics, index).name
                    for index in group.repartition_source_topics
                ),
            }
            found = _enforce(topics, fixed, flexible, counts)
            changed.update(found)
            counts.update({name: count for name, count in found.items() if name not in existing})
    return changed


def _at(listed: Sequence[_ItemT], index: int) -> _ItemT:
    if not 0 <= index < len(listed):
        raise IllegalStateError(f"there is no topic {index} in the subtopology")
    return listed[index]


def _enforce(
    topics: set[str], fixed: set[str], flexible: set[str], counts: Mapping[str, int]
) -> dict[str, int]:
    """Source: CopartitionedTopicsEnforcer#enforce (4.3.1)."""
    if not topics:
        return {}
    internal = {each: counts[each] for each in topics & (fixed | flexible)}
    external = {each: counts[each] for each in topics - internal.keys()}
    if external:
        number = _same(external.values(), external)
    elif fixed:
        number = _same((counts[each] for each in fixed), internal)
    else:
        number = max(internal.values())
    for name in internal.keys() & fixed:
        if internal[name] != number:
            raise TopicConfigurationError(
                _INCORRECTLY_PARTITIONED,
                f"Number of partitions [{internal[name]}] of repartition topic [{name}] doesn't match number "
                f"of partitions [{number}] of the source topic.",
            )
    return dict.fromkeys(internal, number)


def _same(numbers: Iterable[int], named: Mapping[str, int]) -> int:
    distinct = set(numbers)
    if len(distinct) > 1:
        shown = ", ".join(f"{each}={named[each]}" for each in sorted(named, key=utf16_order))
        raise TopicConfigurationError(
            _INCORRECTLY_PARTITIONED,
            f"Following topics do not have the same number of partitions: [{{{shown}}}]",
        )
    return distinct.pop()


def _invalid(message: str) -> CoordinatorError:
    return CoordinatorError(Errors.STREAMS_INVALID_TOPOLOGY, message)
