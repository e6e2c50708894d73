"""The reference as a recording is replayed on it: one of two modules of replays that use the reference."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Final

from typing_extensions import override

from harness.invariants.exchange import Exchange
from harness.orders.interface import InnerKind
from harness.orders.machine import Answers, ReferenceMachine
from harness.replay.history import RecordedConversation
from harness.replay.seeds import Seed, SeedOffset, latest, seed_of
from harness.replay.topics import TopicChange
from harness.targets.reference.profile import ReferenceProfile
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import (
    GroupId,
    Millis,
    ProducerEpoch,
    ProducerId,
    TransactionalId,
)
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.initializing import initialized_assignment_pending
from reference_coordinator.profile.api_versions import ApiRanges
from reference_coordinator.wire import MalformedRequestError, ReceivedRequest, read_request

_REMEMBERED: Final = 4_096
_REMEMBERED_BYTES_MAX: Final = 512
_CORRELATION_ID: Final = slice(4, 8)
_NO_ID: Final = bytes(4)


class ReplayMachine(ReferenceMachine):
    """A broker of the reference that receives a recording's requests."""

    def __init__(
        self,
        spec: ReferenceProfile,
        conversation: RecordedConversation,
        groups: frozenset[str],
        topics: Mapping[str, int],
        strays: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Begin as `ReferenceMachine` does, with partition counts by topic."""
        # The reference creates its coordinators' logs by itself.
        with_ids = {
            name: (num_partitions, conversation.topic_ids.get(name))
            for name, num_partitions in topics.items()
            if not name.startswith("__")
        }
        self._reader = _reader(spec)
        super().__init__(spec, conversation.operations, groups, topics=with_ids, strays=strays)
        # When internal topics came is in the recording, as for all others.
        self._apis.cluster.creates_internal_topics = False
        self._shard.awaits_share_state = True
        self._planted: list[CoordinatorRecord] = []

    def plant(self, seed: Seed, group_id: str) -> None:
        """Load a group into the coordinator, as from its partition's log."""
        self.now_ms = Millis(int(max(seed.at_ms, 0.0)))
        coordinator = self._apis.coordinator
        partition = partition_for(GroupId(group_id), self._spec.config.offsets_topic_num_partitions)
        self._planted = seed.records(self.now_ms)
        coordinator.unload(partition, epoch=1, now_ms=self.now_ms)
        coordinator.begin_loading(partition, epoch=2, now_ms=self.now_ms)
        coordinator.load(partition, self._planted)
        coordinator.finish_loading(partition, now_ms=self.now_ms)

    def is_settled(self) -> bool:
        """Whether it is known that no share coordinator's reply was lost with this coordinator."""
        awaited = any(each.kind is InnerKind.REPLY for each in self.inner_steps())
        shares = (each for each in self._shard.groups() if isinstance(each, ShareGroup))
        return not awaited and not any(initialized_assignment_pending(each) for each in shares)

    def harvest(self, group_id: str) -> Seed:
        """Return what a coordinator that took over now would find in the log."""
        return seed_of(
            (*self._planted, *self._apis.append_log),
            self._shard.offsets.of_group(GroupId(group_id)),
            group_id=GroupId(group_id),
            now_ms=self.now_ms,
        )

    def go_on(
        self,
        operations: Sequence[Exchange],
        strays: Mapping[str, tuple[str, ...]],
        topics: Mapping[str, int],
    ) -> None:
        """Continue with other operations, and drop what no answer depends on any more.

        Args:
            operations: the operations that may take effect now.
            strays: ids that answers list and that no request was answered with, by prefix.
            topics: partition counts by name; topics that are not named stay as they are.
        """
        self._operations = self._choices.operations = operations
        self._choices.strays = strays
        self._choices.given = set(self.member_ids())
        self._planted = latest((*self._planted, *self._apis.append_log))
        self._apis.append_log.clear()
        there = self._apis.broker.topics
        for name, num_partitions in topics.items():
            if name.startswith("__"):
                continue
            if there.get(name) is None:
                self.create_topic(name, num_partitions, None)
            elif not there.has_partition(name, num_partitions - 1):
                there.add_partitions(name, num_partitions)

    def learn(self, offsets: Iterable[SeedOffset]) -> None:
        """Add committed offsets that were unknown until now."""
        for offset in offsets:
            self._shard.replay(replace(offset, commit_timestamp_ms=self.now_ms), record_offset=0)

    def member_ids(self) -> frozenset[str]:
        """Return the ids of all members."""
        groups = self._shard.groups()
        return frozenset(
            member
            for group in groups
            if isinstance(group, ClassicGroup | ModernGroup)
            for member in group.members
        )

    @override
    def _read(self, frame: bytes) -> ReceivedRequest:
        return self._reader(frame)

    @override
    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply a request, and replace what the reference chose by chance with what the target chose."""
        if isinstance(operation, TopicChange):
            return self._change_topic(operation, at_ms)
        if operation.descriptor.gives_producer_id:
            self._give_producer_id(operation)
        reported = super().apply(operation, at_ms)
        if operation.transactional_id and operation.answer is not None and operation.error == "NONE":
            self._correct_producer(operation)
        return reported

    def _change_topic(self, operation: TopicChange, at_ms: float) -> Answers:
        self._pass_to(at_ms)
        topics, change = self._apis.broker.topics, operation.change
        if topics.get(change.name) is None:
            self.create_topic(change.name, change.num_partitions, change.topic_id)
        elif not topics.has_partition(change.name, change.num_partitions - 1):
            topics.add_partitions(change.name, change.num_partitions)
        return self._reported(self._apis.publish(now_ms=self.now_ms))

    def _give_producer_id(self, operation: Exchange) -> None:
        answered = (operation.answer or {}).get("producer_id")
        if isinstance(answered, int) and answered >= 0:
            self._apis.cluster.transactions.producer_ids = iter((answered,))  # type: ignore[assignment] # it is only asked for the next

    def _correct_producer(self, operation: Exchange) -> None:
        """Take over the epoch that the target gave a producer: how often it was raised depends on chance."""
        transactions = self._apis.cluster.transactions.transactions
        transaction = transactions.get(TransactionalId(operation.transactional_id))
        answer = operation.answer or {}
        producer_id, epoch = answer.get("producer_id"), answer.get("producer_epoch")
        if transaction is None or not isinstance(producer_id, int) or not isinstance(epoch, int):
            return
        if producer_id >= 0:
            transaction.producer_id = ProducerId(producer_id)
            transaction.producer_epoch = ProducerEpoch(epoch)


def refusal(spec: ReferenceProfile) -> Callable[[Exchange], str | None]:
    """Return a function that says why the reference cannot serve a request, or returns None if it can."""
    reader = _reader(spec)

    def why(operation: Exchange) -> str | None:
        try:
            reader(operation.frame)
        except MalformedRequestError:
            return "in a version that the reference does not serve"
        return None

    return why


@cache
def _reader(spec: ReferenceProfile) -> Callable[[bytes], ReceivedRequest]:
    """Return a function that reads requests, with a cache for small ones.

    A request is read twice, and heartbeats repeat the same bytes. Small requests all get the correlation id
    0, since no answer is compared by it.
    """
    ranges: ApiRanges = spec.broker(DeterministicChoices()).broker.ranges
    remembered = lru_cache(maxsize=_REMEMBERED)(partial(read_request, ranges=ranges))

    def read(frame: bytes) -> ReceivedRequest:
        if len(frame) > _REMEMBERED_BYTES_MAX:
            return read_request(frame, ranges=ranges)
        return remembered(frame[: _CORRELATION_ID.start] + _NO_ID + frame[_CORRELATION_ID.stop :])

    return read
