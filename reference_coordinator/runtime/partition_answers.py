"""The answers to OffsetCommit and TxnOffsetCommit: an error for each partition."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.messages import (
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequestTopic,
    OffsetFetchRequestTopic,
)
from reference_coordinator.profile.profiles import Behaviour, Profile

Verdicts = list[tuple[TopicPartition, Errors]]
ResponseTopics = tuple[OffsetCommitResponseTopic, ...]
_TopicT = TypeVar("_TopicT", OffsetDeleteRequestTopic, OffsetFetchRequestTopic)


def commit_topics(
    profile: Profile, asked: Iterable[OffsetCommitRequestTopic], verdicts: Verdicts
) -> ResponseTopics:
    """Group verdicts, which are in the order of the request, by topic. Scala has one per partition.

    Decided in: OffsetMetadataManager#commitOffset (4.3.1), GroupCoordinatorAdapter#commitOffsets (3.9.2).
    """
    if profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):
        left = iter(verdicts)
        return tuple(_response_topic(topic.name, [next(left) for _ in topic.partitions]) for topic in asked)
    last = dict(verdicts)
    names = dict.fromkeys(each.topic for each in last)
    return tuple(
        _response_topic(name, [pair for pair in last.items() if pair[0].topic == name]) for name in names
    )


def refused_topics(
    profile: Profile, asked: Iterable[OffsetCommitRequestTopic], error: Errors
) -> ResponseTopics:
    """Return the answer with one error for every partition.

    Decided in: OffsetCommitRequest#getErrorResponse, TxnOffsetCommitRequest#getErrorResponse (4.3.1).
    """
    topics = tuple(asked)
    verdicts = [
        (TopicPartition(topic=topic.name, partition=each.partition_index), error)
        for topic in topics
        for each in topic.partitions
    ]
    return commit_topics(profile, topics, verdicts)


def with_none_replaced(topics: ResponseTopics, error: Errors) -> ResponseTopics:
    """Replace the error NONE. A partition that was refused for another reason keeps its error.

    Decided in: GroupMetadataManager#createPutCacheCallback (3.9.2).
    """
    return tuple(
        OffsetCommitResponseTopic(
            name=topic.name,
            partitions=tuple(
                each
                if each.error_code is not Errors.NONE
                else OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                for each in topic.partitions
            ),
        )
        for topic in topics
    )


def each_partition_once(topics: Iterable[_TopicT]) -> tuple[_TopicT, ...]:
    """Merge topics like a map by partition: each partition occurs once, and topics without any are dropped.

    Decided in: GroupCoordinatorAdapter#deleteOffsets, GroupMetadataManager#getOffsets (3.9.2).
    """
    by_name: dict[str, tuple[_TopicT, dict[int, None]]] = {}
    for topic in topics:
        _, indexes = by_name.setdefault(topic.name, (topic, {}))
        indexes.update(dict.fromkeys(topic.partition_indexes))
    return tuple(
        replace(topic, partition_indexes=tuple(indexes)) for topic, indexes in by_name.values() if indexes
    )


def _response_topic(name: str, verdicts: Verdicts) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=name,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition, error_code=error)
            for each, error in verdicts
        ),
    )
