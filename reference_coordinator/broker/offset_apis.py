"""Processing of offset requests around the coordinator: unknown topics, topic ids, and forms of errors.

A handler answers at once, or forwards the rest of the request together with a function that completes the
coordinator's answer.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Generic, TypeVar

from reference_coordinator import messages
from reference_coordinator.broker.topics import Topics
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_FIRST_TOPIC_IDS: Final = 10
_FIRST_TOPIC_IDS_IN_TRANSACTIONS: Final = 6
_FIRST_TOP_LEVEL_FETCH_ERROR: Final = 2
_FIRST_LOADING_TXN_COMMIT: Final = 2

Finish = Callable[[messages.GroupResponse], messages.GroupResponse]
"""Converts the coordinator's answer into the client's."""


@value
class Forward:
    """The request for the coordinator, and the function that completes its answer."""

    request: messages.GroupRequest
    finish: Finish = lambda response: response


_KeyT = TypeVar("_KeyT")
_PartitionT = TypeVar("_PartitionT")


class _Builder(Generic[_KeyT, _PartitionT]):
    """Collects refused partitions by topic, and merges the coordinator's results with them."""

    def __init__(self, profile: Profile) -> None:
        self._repeats = profile.has(Behaviour.UNKNOWN_PARTITIONS_ANSWERED_EACH)
        self._topics: dict[_KeyT, list[_PartitionT]] = {}

    def add(self, key: _KeyT, partitions: Iterable[_PartitionT]) -> None:
        topic = self._topics.setdefault(key, [])
        for each in partitions:
            if self._repeats or each not in topic:
                topic.append(each)

    def merge(
        self, answered: Iterable[tuple[_KeyT, tuple[_PartitionT, ...]]]
    ) -> tuple[tuple[_KeyT, tuple[_PartitionT, ...]], ...]:
        """Return the topics, with refused partitions first; unchanged if nothing was refused."""
        if not self._topics:
            return tuple(answered)
        for key, partitions in answered:
            self.add(key, partitions)
        return tuple((key, tuple(partitions)) for key, partitions in self._topics.items())


@value
class _CommitKey:
    name: str
    topic_id: TopicId | None


def handle_offset_commit(
    request: messages.OffsetCommitRequest, context: messages.RequestContext, topics: Topics, profile: Profile
) -> messages.OffsetCommitResponse | Forward:
    """Refuse partitions that do not exist; answer without the coordinator if none is left.

    Source: KafkaApis#handleOffsetCommitRequest (4.3.1).
    """
    uses_ids = context.api_version >= _FIRST_TOPIC_IDS
    left, builder = _known_and_refused(request.topics, topics, profile, uses_ids=uses_ids)
    if not left:
        return messages.OffsetCommitResponse(topics=_commit_topics(builder.merge(())))

    def finish(response: messages.GroupResponse) -> messages.GroupResponse:
        assert isinstance(response, messages.OffsetCommitResponse)
        answered = (
            (_commit_key(topic, topics, uses_ids=uses_ids), topic.partitions) for topic in response.topics
        )
        return messages.OffsetCommitResponse(topics=_commit_topics(builder.merge(answered)))

    return Forward(request=replace(request, topics=left), finish=finish)


def _known_and_refused(
    asked: Iterable[messages.OffsetCommitRequestTopic], topics: Topics, profile: Profile, *, uses_ids: bool
) -> tuple[
    tuple[messages.OffsetCommitRequestTopic, ...],
    _Builder[_CommitKey, messages.OffsetCommitResponsePartition],
]:
    """Return the topics of a commit for the coordinator, and the partitions that are refused before."""
    answers_all = profile.has(Behaviour.EMPTY_UNKNOWN_TOPIC_ANSWERED)
    builder = _Builder[_CommitKey, messages.OffsetCommitResponsePartition](profile)
    left: list[messages.OffsetCommitRequestTopic] = []
    for each in asked:
        topic = _with_name(each, topics) if uses_ids else each
        key = _CommitKey(name=topic.name, topic_id=topic.topic_id if uses_ids else None)
        known, unknown = _split(topic.partitions, topic.name, topics)
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION if topic.name or not uses_ids else Errors.UNKNOWN_TOPIC_ID
        if unknown or (answers_all and topics.get(topic.name) is None):
            builder.add(key, (_refused_commit(partition, error) for partition in unknown))
        if known:
            left.append(replace(topic, partitions=known))
    return tuple(left), builder


def _split(
    partitions: tuple[messages.OffsetCommitRequestPartition, ...], name: str, topics: Topics
) -> tuple[
    tuple[messages.OffsetCommitRequestPartition, ...], tuple[messages.OffsetCommitRequestPartition, ...]
]:
    known = tuple(each for each in partitions if topics.has_partition(name, each.partition_index))
    unknown = tuple(each for each in partitions if not topics.has_partition(name, each.partition_index))
    return known, unknown


def _commit_key(topic: messages.OffsetCommitResponseTopic, topics: Topics, *, uses_ids: bool) -> _CommitKey:
    return _CommitKey(name=topic.name, topic_id=_id_of(topic.name, topics) if uses_ids else None)


def _commit_topics(
    merged: tuple[tuple[_CommitKey, tuple[messages.OffsetCommitResponsePartition, ...]], ...],
) -> tuple[messages.OffsetCommitResponseTopic, ...]:
    return tuple(
        messages.OffsetCommitResponseTopic(name=key.name, topic_id=key.topic_id, partitions=partitions)
        for key, partitions in merged
    )


def _refused_commit(
    partition: messages.OffsetCommitRequestPartition, error: Errors
) -> messages.OffsetCommitResponsePartition:
    return messages.OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)


def handle_txn_offset_commit(
    request: messages.TxnOffsetCommitRequest,
    context: messages.RequestContext,
    topics: Topics,
    profile: Profile,
) -> messages.TxnOffsetCommitResponse | Forward:
    """Refuse partitions that do not exist; answer without the coordinator if none is left.

    Source: KafkaApis#handleTxnOffsetCommitRequest (4.4.0).
    """
    uses_ids = context.api_version >= _FIRST_TOPIC_IDS_IN_TRANSACTIONS
    left, builder = _known_and_refused(request.topics, topics, profile, uses_ids=uses_ids)
    if not left:
        return messages.TxnOffsetCommitResponse(topics=_commit_topics(builder.merge(())))
    hides_loading = context.api_version < _FIRST_LOADING_TXN_COMMIT and profile.has(
        Behaviour.TXN_COMMIT_HIDES_LOADING
    )

    def finish(response: messages.GroupResponse) -> messages.GroupResponse:
        assert isinstance(response, messages.TxnOffsetCommitResponse)
        answered = (
            (_commit_key(topic, topics, uses_ids=uses_ids), topic.partitions) for topic in response.topics
        )
        reported = _commit_topics(builder.merge(answered))
        return messages.TxnOffsetCommitResponse(
            topics=_without_loading(reported) if hides_loading else reported
        )

    return Forward(request=replace(request, topics=left), finish=finish)


def _without_loading(
    topics: tuple[messages.OffsetCommitResponseTopic, ...],
) -> tuple[messages.OffsetCommitResponseTopic, ...]:
    """Replace an error that is fatal to old producers (KAFKA-7296)."""
    return tuple(
        replace(
            topic,
            partitions=tuple(
                replace(each, error_code=Errors.COORDINATOR_NOT_AVAILABLE)
                if each.error_code is Errors.COORDINATOR_LOAD_IN_PROGRESS
                else each
                for each in topic.partitions
            ),
        )
        for topic in topics
    )


def handle_offset_fetch(
    request: messages.OffsetFetchRequest, context: messages.RequestContext, topics: Topics, profile: Profile
) -> Forward:
    """Resolve topic ids, and report a group's error in the form of the version.

    Source: KafkaApis#handleOffsetFetchRequest, OffsetFetchResponse#groupError (4.3.1).
    """
    groups = request.groups
    if profile.has(Behaviour.FETCH_COLLAPSES_DUPLICATE_GROUPS):
        groups = tuple({group.group_id: group for group in groups}.values())
    uses_ids = context.api_version >= _FIRST_TOPIC_IDS
    asked = tuple(_with_names(group, topics) for group in groups) if uses_ids else groups

    def finish(response: messages.GroupResponse) -> messages.GroupResponse:
        assert isinstance(response, messages.OffsetFetchResponse)
        return messages.OffsetFetchResponse(
            groups=tuple(
                _fetched(group, answered, context, topics, profile)
                for group, answered in zip(asked, response.groups, strict=True)
            )
        )

    forwarded = tuple(_without_unknown_ids(group) for group in asked) if uses_ids else asked
    return Forward(request=replace(request, groups=forwarded), finish=finish)


def _with_names(group: messages.OffsetFetchRequestGroup, topics: Topics) -> messages.OffsetFetchRequestGroup:
    if group.topics is None:
        return group
    return replace(group, topics=tuple(_with_name(topic, topics) for topic in group.topics))


def _without_unknown_ids(group: messages.OffsetFetchRequestGroup) -> messages.OffsetFetchRequestGroup:
    if group.topics is None:
        return group
    return replace(group, topics=tuple(topic for topic in group.topics if topic.name))


def _fetched(
    asked: messages.OffsetFetchRequestGroup,
    answered: messages.OffsetFetchResponseGroup,
    context: messages.RequestContext,
    topics: Topics,
    profile: Profile,
) -> messages.OffsetFetchResponseGroup:
    if answered.error_code is not Errors.NONE:
        if context.api_version >= _FIRST_TOP_LEVEL_FETCH_ERROR or profile.has(
            Behaviour.FETCH_V1_DROPS_GROUP_ERROR
        ):
            return answered
        return replace(
            answered, topics=tuple(failed_fetch(topic, answered.error_code) for topic in asked.topics or ())
        )
    if context.api_version < _FIRST_TOPIC_IDS:
        return answered
    with_ids = tuple(replace(topic, topic_id=_id_of(topic.name, topics)) for topic in answered.topics)
    unknown = tuple(
        failed_fetch(topic, Errors.UNKNOWN_TOPIC_ID) for topic in asked.topics or () if not topic.name
    )
    return replace(answered, topics=tuple(topic for topic in with_ids if topic.topic_id) + unknown)


def failed_fetch(topic: messages.OffsetFetchRequestTopic, error: Errors) -> messages.OffsetFetchResponseTopic:
    """Return the result for a topic that is not fetched, with the error on each of its partitions.

    Decided in: OffsetFetchRequest#getErrorResponse (4.3.1).
    """
    return messages.OffsetFetchResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=tuple(
            messages.OffsetFetchResponsePartition(
                partition_index=partition_index,
                committed_offset=-1,
                committed_leader_epoch=-1,
                metadata="",
                error_code=error,
            )
            for partition_index in topic.partition_indexes
        ),
    )


def handle_offset_delete(request: messages.OffsetDeleteRequest, topics: Topics, profile: Profile) -> Forward:
    """Refuse partitions that do not exist; the request is always forwarded, and its error takes precedence.

    Source: KafkaApis#handleOffsetDeleteRequest, OffsetDeleteResponse.Builder#merge (4.3.1).
    """
    answers_all = profile.has(Behaviour.EMPTY_UNKNOWN_TOPIC_ANSWERED)
    builder = _Builder[str, messages.OffsetDeleteResponsePartition](profile)
    left: list[messages.OffsetDeleteRequestTopic] = []
    for topic in request.topics:
        known = tuple(each for each in topic.partition_indexes if topics.has_partition(topic.name, each))
        unknown = tuple(each for each in topic.partition_indexes if each not in known)
        if unknown or (answers_all and topics.get(topic.name) is None):
            builder.add(topic.name, (_refused_delete(each) for each in unknown))
        if known:
            left.append(replace(topic, partition_indexes=known))

    def finish(response: messages.GroupResponse) -> messages.GroupResponse:
        assert isinstance(response, messages.OffsetDeleteResponse)
        if response.error_code is not Errors.NONE:
            return replace(response, topics=())
        merged = builder.merge((topic.name, topic.partitions) for topic in response.topics)
        repeats = profile.has(Behaviour.OFFSET_DELETE_REPEATS_TOPICS)
        return replace(
            response,
            topics=tuple(
                messages.OffsetDeleteResponseTopic(name=name, partitions=partitions)
                for name, partitions in merged
                for _ in (partitions if repeats else (None,))
            ),
        )

    return Forward(request=replace(request, topics=tuple(left)), finish=finish)


def _refused_delete(partition_index: int) -> messages.OffsetDeleteResponsePartition:
    return messages.OffsetDeleteResponsePartition(
        partition_index=partition_index, error_code=Errors.UNKNOWN_TOPIC_OR_PARTITION
    )


_TopicT = TypeVar("_TopicT", messages.OffsetCommitRequestTopic, messages.OffsetFetchRequestTopic)


def _with_name(topic: _TopicT, topics: Topics) -> _TopicT:
    """Set the name of a topic that was given by id; for an unknown id, the name is empty."""
    found = None if topic.topic_id is None else topics.get_by_id(topic.topic_id)
    return replace(topic, name="" if found is None else found.name)


def _id_of(name: str, topics: Topics) -> TopicId | None:
    topic = topics.get(name)
    return None if topic is None else topic.topic_id
