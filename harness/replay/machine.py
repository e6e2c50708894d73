"""The reference as a recording is replayed on it: one of two modules of replays that use the reference.

Nothing happens in it by itself. What happens between two requests is an *inner step*, which the search may
take at any time: a write takes effect, a deadline passes, a group that is Dead is removed. Choices that Kafka
leaves to chance are made as the target made them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache, partial
from math import inf
from typing import Final, NamedTuple, Self, TypeAlias

from typing_extensions import override

from harness.invariants.exchange import Exchange, Fields, number, text
from harness.replay.compare import ReferenceAnswer, comparable
from harness.replay.history import RecordedConversation
from harness.replay.seeds import Seed, SeedOffset, latest, seed_of
from harness.replay.topics import TopicChange
from harness.tap.frames import ID_IN_REQUEST, read_once
from harness.targets.reference.profile import CLIENT_HOST, ReferenceProfile, state_of
from harness.trace.canonical import plain_json
from harness.wire.codec import decode_response, encode_request
from harness.wire.schema import API_NAMES
from reference_coordinator.broker_messages import BrokerResponse
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import AppendRecords, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    AppendId,
    GroupId,
    MemberId,
    Millis,
    ProducerEpoch,
    ProducerId,
    ResponseToken,
    TopicId,
    TransactionalId,
)
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord, GroupMetadataRecord
from reference_coordinator.core.timers import Due, Timers
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.share.deadlines import ShareInitializationKey
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.initializing import initialized_assignment_pending
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.api_versions import ApiRanges
from reference_coordinator.profile.behaviours import CoordinatorFamily
from reference_coordinator.runtime.deadlines import Deadline, OffsetExpirationKey, TimerKey
from reference_coordinator.wire import (
    MalformedRequestError,
    ReceivedRequest,
    RequestHeader,
    read_request,
    write_response,
)


@dataclass(slots=True)
class SeenChoices:
    """The ids that the target gave, and the leader and protocol that it chose."""

    operations: Sequence[Exchange]
    strays: Mapping[str, tuple[str, ...]]
    """Ids that answers list and that no request was answered with, by prefix."""
    current: Exchange | None = None
    """The operation that is being applied."""
    parked: dict[int, Exchange] = field(default_factory=dict)
    """JoinGroups that wait for their answer, by their index."""
    given: set[str] = field(default_factory=set)
    rest: DeterministicChoices = field(default_factory=DeterministicChoices)

    def member_id(self, prefix: str) -> MemberId:
        """Return the id that the request was answered with."""
        answered = "" if self.current is None else text(self.current.response, "member_id")
        seen = (answered,) if answered else self.strays.get(prefix, ())
        chosen = next(each for each in (*seen, *self._unseen()) if each not in self.given)
        self.given.add(chosen)
        return MemberId(chosen)

    def uuid(self) -> MemberId:
        """Return the id that the request was answered with, or one that answers list as its sender's."""
        if self.current is None:
            return self.member_id("")
        request = self.current.request
        found = request.get("group_instance_id") or request.get("instance_id") or self.current.actor
        return self.member_id(str(found or ""))

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate that a waiting JoinGroup's answer names, else any answer, else the first."""
        everybody = {(each.answer or {}).get("leader") for each in self.operations}
        for known in (self._reported("leader"), everybody):
            if (found := next((each for each in candidates if each in known), None)) is not None:
                return found
        return candidates[0]

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return the protocol in a waiting JoinGroup's answer, else the first in Kafka's map."""
        reported = self._reported("protocol_name")
        return next((each for each in tied if each in reported), self.rest.protocol(tied, family))

    def _unseen(self) -> Iterator[str]:
        """Yield made-up ids for a member whose id no answer shows; at least one was not given yet."""
        actor = "" if self.current is None else self.current.actor
        for nth in range(1, len(self.given) + 2):
            yield f"member:{actor}" + (f"#{nth}" if nth > 1 else "")

    def _reported(self, name: str) -> set[object]:
        waiting = [*self.parked.values(), *(() if self.current is None else (self.current,))]
        return {each.answer.get(name) for each in waiting if each.api == "JoinGroup" and each.answer}


Answers: TypeAlias = tuple[ReferenceAnswer, ...]
_SET_UP: Final = ResponseToken(-1)
_REMEMBERED: Final = 4_096
_ID_BYTES: Final = 4
"""The length of the correlation id, with which an answer begins."""


class InnerKind(StrEnum):
    """The kinds of steps that a coordinator takes by itself between two requests."""

    DEADLINE = "a deadline passes"
    WRITE = "a write is through"
    REPLY = "another coordinator replies"
    REMOVAL = "a Dead group is removed"


class InnerStep(NamedTuple):
    """One thing that could happen next without a request."""

    kind: InnerKind
    due_ms: int = 0
    """When a deadline is due."""
    key: Hashable = None
    """The key of the deadline."""


class DelayedTimers(Timers[TimerKey, Deadline]):
    """Timers that expire only when they are released, one at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.released: TimerKey | None = None

    @override
    def _enqueue(self, key: TimerKey, scheduled: object) -> None:
        """Put nothing into the queue, which nobody reads here and every copy would have."""

    @override
    def pop_due(self, now_ms: Millis) -> Due[Deadline] | None:
        key, self.released = self.released, None
        return None if key is None else Due(at_ms=now_ms, deadline=self.take(key))


class ReplayMachine:
    """A broker of the reference without a network, which receives a recording's requests.

    Attributes:
        now_ms: its time, which never goes back.
    """

    def __init__(
        self,
        spec: ReferenceProfile,
        conversation: RecordedConversation,
        group_id: str,
        topics: Mapping[str, int],
        strays: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Begin with topics, whose partition counts are given, and without groups.

        The recording shows what the target chose. Answers are compared about one group. Strays are ids that
        answers list and that no request was answered with, by prefix.
        """
        self.now_ms = Millis(0)
        self._spec = spec
        self._operations: Sequence[Exchange] = conversation.operations
        self._group_id = GroupId(group_id)
        self._choices = SeenChoices(self._operations, strays)
        self._timers = DelayedTimers()
        self._apis = spec.broker(self._choices, self._timers)
        self._shard = self._apis.coordinator.shard
        self._headers: dict[ResponseToken, RequestHeader] = {}
        self._recorded: dict[ResponseToken, bytes] = {}
        self._planted: list[CoordinatorRecord] = []
        self._read = _reader(spec)
        # When internal topics came is in the recording, as for all others.
        self._apis.cluster.creates_internal_topics = False
        self._shard.awaits_share_state = True
        self._grow_topics(topics, conversation.topic_ids)
        for key_type in (0, 1):
            fields = {"key": "orders", "key_type": key_type}
            found = encode_request("FindCoordinator", 2, correlation_id=0, client_id="orders", fields=fields)
            self._handle(_SET_UP, self._read(found))
        self._leave_to_search()

    def _leave_to_search(self) -> None:
        """Take up what else happens between two requests: here nothing but deadlines."""

    def _grow_topics(self, topics: Mapping[str, int], ids: Mapping[str, str]) -> None:
        for name, num_partitions in topics.items():
            # The reference creates its coordinators' logs by itself.
            if not name.startswith("__"):
                self._grow_topic(name, num_partitions, ids.get(name))

    def _grow_topic(self, name: str, num_partitions: int, topic_id: str | None) -> None:
        """Create a topic, or add the partitions that it lacks."""
        topics = self._apis.broker.topics
        if topics.get(name) is None:
            topics.create(name, num_partitions, None if topic_id is None else TopicId(topic_id))
        elif not topics.has_partition(name, num_partitions - 1):
            topics.add_partitions(name, num_partitions)

    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply an operation; return the answers that it causes, to any client.

        What the reference chose by chance is replaced with what the target chose.
        """
        self._pass_to(at_ms)
        if isinstance(operation, TopicChange):
            self._grow_topic(operation.name, operation.num_partitions, operation.topic_id)
            return self._reported(self._apis.publish(now_ms=self.now_ms))
        answered = number(operation.response, "producer_id") if operation.descriptor.gives_producer_id else -1
        if answered >= 0:
            self._apis.cluster.transactions.producer_ids = iter((answered,))  # type: ignore[assignment] # it is only asked for the next
        self._choices.current = operation
        if operation.api == "JoinGroup":
            self._choices.parked[operation.index] = operation
        token = ResponseToken(operation.index)
        self._recorded[token] = operation.answer_frame[_ID_BYTES:]
        reported = self._handle(token, self._read(operation.frame))
        self._choices.current = None
        if operation.transactional_id and operation.answer is not None and operation.error == "NONE":
            self._correct_producer(operation)
        return reported

    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return what could happen next without a request, up to a time, the likeliest first.

        That is the deadlines that could pass, except those at which offsets expire.
        """
        steps: list[InnerStep] = []
        for due_ms, key in self._timers.pending(until_ms):
            if isinstance(key, OffsetExpirationKey):
                continue
            is_reply = isinstance(key, ShareInitializationKey)
            kind = InnerKind.REPLY if is_reply else InnerKind.DEADLINE
            steps.append(InnerStep(kind=kind, due_ms=due_ms, key=key))
        return tuple(steps)

    def take(self, step: InnerStep, at_ms: float) -> Answers:
        """Let one deadline pass; return the answers that it causes."""
        self._pass_to(at_ms)
        self._timers.released = step.key  # type: ignore[assignment] # a deadline's key, as `inner_steps` gave it
        return self._reported(self._apis.advance(now_ms=self.now_ms))

    def state(self) -> str:
        """Return the state of the groups in words."""
        return "; ".join(_state_in_words(each) for each in self._shard.groups()) or "no group"

    def digest(self) -> str:
        """Return a text that is equal only for states with the same future behaviour."""
        committed = self._shard.find_group(self._group_id, committed=True) is not None
        due = [(each.due_ms, each.key) for each in self.inner_steps()]
        return repr((state_of(self._shard), committed, due, sorted(self._choices.given)))

    def copy(self) -> Self:
        """Return an independent copy, which shares what never changes."""
        ranges = self._apis.broker.ranges
        shared = (self._spec, self._spec.profile, self._spec.config, self._operations, ranges)
        return deepcopy(self, {id(each): each for each in shared})

    def plant(self, seed: Seed) -> None:
        """Load a group into the coordinator, as from its partition's log."""
        self.now_ms = Millis(int(max(seed.at_ms, 0.0)))
        coordinator = self._apis.coordinator
        partition = partition_for(self._group_id, self._spec.config.offsets_topic_num_partitions)
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

    def harvest(self) -> Seed:
        """Return what a coordinator that took over now would find in the log."""
        log, offsets = (*self._planted, *self._apis.append_log), self._shard.offsets.of_group(self._group_id)
        return seed_of(log, offsets, group_id=self._group_id, now_ms=self.now_ms)

    def go_on(
        self, operations: Sequence[Exchange], strays: Mapping[str, tuple[str, ...]], topics: Mapping[str, int]
    ) -> None:
        """Continue with other operations and topics, and drop what no answer depends on any more.

        Topics that are not named stay as they are.
        """
        self._operations = self._choices.operations = operations
        self._choices.strays = strays
        self._choices.given = set(self.member_ids())
        self._planted = latest((*self._planted, *self._apis.append_log))
        self._apis.append_log.clear()
        self._grow_topics(topics, {})

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

    def _pass_to(self, at_ms: float) -> None:
        self.now_ms = Millis(max(self.now_ms, int(at_ms)))

    def _correct_producer(self, operation: Exchange) -> None:
        """Take over the epoch that the target gave a producer: how often it was raised depends on chance."""
        transactions = self._apis.cluster.transactions.transactions
        transaction = transactions.get(TransactionalId(operation.transactional_id))
        producer_id = number(operation.response, "producer_id")
        epoch = number(operation.response, "producer_epoch")
        if transaction is not None and producer_id >= 0 and "producer_epoch" in operation.response:
            transaction.producer_id = ProducerId(producer_id)
            transaction.producer_epoch = ProducerEpoch(epoch)

    def _handle(self, token: ResponseToken, received: ReceivedRequest) -> Answers:
        self._headers[token] = header = received.header
        context = RequestContext(
            api_version=header.api_version, client_id=header.client_id, client_host=CLIENT_HOST
        )
        answers = self._apis.handle(received.message, context, token, now_ms=self.now_ms)
        return self._reported(answers)

    def _reported(self, answers: Sequence[Respond[BrokerResponse]]) -> Answers:
        reported = tuple(self._one_answer(each) for each in answers if each.token != _SET_UP)
        for each in reported:
            self._choices.parked.pop(each.operation, None)
        return reported

    def _one_answer(self, answer: Respond[BrokerResponse]) -> ReferenceAnswer:
        header = self._headers.pop(answer.token)
        recorded = self._recorded.pop(answer.token, b"")
        if recorded and write_response(header, answer.response)[_ID_BYTES:] == recorded:
            return ReferenceAnswer(operation=int(answer.token), fields={}, is_as_recorded=True)
        api = API_NAMES[int(header.api)]

        def read(response: BrokerResponse) -> Fields:
            answered = bytes(_ID_BYTES) + write_response(header, response)[_ID_BYTES:]
            return comparable(api, _decoded(api, header.api_version, answered), self._group_id)

        def with_value(name: str, value: object) -> object:
            # A choice names a field of its response.
            return read(replace(answer.response, **{name: value}))[name]  # type: ignore[arg-type] # as said

        permitted = {
            choice.field: tuple(with_value(choice.field, each) for each in choice.any_of)
            for choice in answer.permitted
        }
        return ReferenceAnswer(operation=int(answer.token), fields=read(answer.response), permitted=permitted)


def _state_in_words(group: Group) -> str:
    match group:
        case ClassicGroup():
            members = ", ".join(group.members) or "no members"
            return f"{group.state.value} in generation {group.generation_id} with {members}"
        case ModernGroup():
            each_with_epoch = (f"{name} in {each.member_epoch}" for name, each in group.members.items())
            members = ", ".join(each_with_epoch) or "no members"
            return f"{group.state.value} in epoch {group.group_epoch} with {members}"
        case _:
            raise AssertionError(f"{group.group_id} is of type {group.type.value}")


@lru_cache(maxsize=_REMEMBERED)
def _decoded(api: str, api_version: int, frame: bytes) -> Fields:
    """Decode an answer, with a cache: a search gets the same few again as it goes back and forth."""
    return plain_json(decode_response(api, api_version, frame, is_written_again=False).fields)


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
    """Return a function that reads requests. Each is read twice."""
    ranges: ApiRanges = spec.broker(DeterministicChoices()).broker.ranges
    read = partial(read_request, ranges=ranges)
    return lambda frame: read_once(read, payload=frame, id_at=ID_IN_REQUEST)


_HORIZON_MS: Final = 5_000
"""Deadlines further away do not pass within a round: session and rebalance timeouts of races are 30 s."""


class RacedMachine(ReplayMachine):
    """A broker of the reference whose pending writes and removals are inner steps."""

    @override
    def _leave_to_search(self) -> None:
        self._written: list[AppendId] = []
        self._dying: Answers = ()
        """Answers of the Scala coordinator that wait until a Dead group is removed."""
        if self._spec.profile.coordinator is CoordinatorFamily.JAVA:
            self._decided = self._apis.append_outcome
            self._apis.append_outcome = self._append_outcome
        else:
            self._apis.pause_at_dead()

    @override
    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply an operation; if it makes a group Dead, its answer waits until the group is removed.

        A request that finds the group Dead already, or is refused for another reason, is answered at once.

        Source: GroupMetadataManager#cleanupGroupMetadata, GroupCoordinator#handleDeleteOffsets (3.9.2).
        """
        pending_before = len(self._shard.pending_deletions)
        reported = super().apply(operation, at_ms)
        if len(self._shard.pending_deletions) == pending_before:
            return reported
        self._dying += tuple(each for each in reported if each.operation == operation.index)
        return tuple(each for each in reported if each.operation != operation.index)

    @override
    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the possible next steps; of the deadlines only the first, as in Kafka."""
        steps = [InnerStep(kind=InnerKind.WRITE)] if self._written else []
        if self._shard.pending_deletions:
            steps.append(InnerStep(kind=InnerKind.REMOVAL))
        return (*steps, *self._due_soon(until_ms)[:1])

    @override
    def take(self, step: InnerStep, at_ms: float) -> Answers:
        """Take an inner step; writes complete in the order in which they began."""
        match step.kind:
            case InnerKind.WRITE:
                append_id = self._written.pop(0)
                return self._reported(self._apis.append_completed(append_id, Errors.NONE, now_ms=self.now_ms))
            case InnerKind.DEADLINE | InnerKind.REPLY:
                return super().take(step, at_ms)
            case InnerKind.REMOVAL:
                return self._remove()

    @override
    def digest(self) -> str:
        """Return a text of the groups, their offsets, pending writes and removals, and near deadlines."""
        written = self._shard.find_group(self._group_id, committed=True) is not None
        waiting = (len(self._written), len(self._shard.pending_deletions), self._dying)
        due = [each.key for each in self._due_soon()]
        return repr((state_of(self._shard), written, waiting, due, sorted(self._choices.given)))

    def _due_soon(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        return super().inner_steps(min(until_ms, self.now_ms + _HORIZON_MS))

    def _remove(self) -> Answers:
        """Remove Dead groups, and return the answers that waited for it."""
        removed = self._reported(self._apis.resume_from_dead(now_ms=self.now_ms))
        self._apis.pause_at_dead()
        reported, self._dying = (*removed, *self._dying), ()
        return reported

    def _append_outcome(self, append: AppendRecords) -> Errors | None:
        """Leave a write of group metadata pending; requests meanwhile find the state before it.

        Offsets, tombstones and records of consumer groups take effect at once for later writes, as in Kafka,
        and only their answers wait.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run, GroupMetadataManager#classicGroupSync (4.3.1).
        """
        outcome = self._decided(append)
        if outcome is not Errors.NONE or not all(
            isinstance(each, GroupMetadataRecord) for each in append.records
        ):
            return outcome
        self._written.append(append.append_id)
        return None
