"""The reference as a recording is replayed on it: the only module of replays that touches it.

Time is the recording's. Deadlines do not fall due by themselves: whether one has passed before or after a
request that came at about that time is for the search to find out.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from typing_extensions import override

from harness.replay.compare import Alternatives, comparable
from harness.replay.history import Operation, RecordedConversation, of_groups
from harness.replay.planting import records_of, seed_of
from harness.replay.seeds import Seed, SeedGroup
from harness.targets.reference.profile import CLIENT_HOST, ReferenceProfile, state_of
from harness.trace.canonical import fields_json
from harness.trace.schema import json_object
from harness.wire.codec import decode_response, encode_request
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import Respond
from reference_coordinator.core.ids import (
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
from reference_coordinator.core.timers import Due, Timers
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    OffsetFetchRequest,
    RequestContext,
)
from reference_coordinator.profile.behaviours import CoordinatorFamily
from reference_coordinator.runtime.deadlines import Deadline, OffsetExpirationKey, TimerKey
from reference_coordinator.wire import (
    MalformedRequestError,
    ReceivedRequest,
    RequestHeader,
    read_request,
    write_response,
)

DeadlineKey: TypeAlias = TimerKey
"""Names a deadline of the reference."""
_SET_UP: Final = ResponseToken(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswer:
    """An answer of the reference."""

    operation: int
    answer: Respond[BrokerResponse]


class _DelayedTimers(Timers[TimerKey, Deadline]):
    """Timers of which one falls due when it is let go, and none before."""

    def __init__(self) -> None:
        super().__init__()
        self.released: TimerKey | None = None

    @override
    def pop_due(self, now_ms: Millis) -> Due[Deadline] | None:
        key, self.released = self.released, None
        if key is None:
            return None
        scheduled = self._scheduled.pop(key)
        return Due(at_ms=now_ms, deadline=scheduled.deadline)

    def delayed(self) -> list[tuple[int, TimerKey]]:
        """Return what is waited for, and when it is due; offsets that may expire are left alone."""
        return [
            (each.at_ms, key)
            for key, each in self._scheduled.items()
            if not isinstance(key, OffsetExpirationKey)
        ]


@dataclass(slots=True)
class _RecordedChoices:
    """Chooses as the recording shows that the target chose."""

    operations: Sequence[Operation]
    strays: Mapping[str, tuple[str, ...]]
    """Ids that leaders were told of and nobody was answered with, by what they begin with."""
    current: int = -1
    parked: set[int] = field(default_factory=set)
    """JoinGroups that wait for their answer."""
    given: set[str] = field(default_factory=set)
    rest: DeterministicChoices = field(default_factory=DeterministicChoices)

    def member_id(self, prefix: str) -> MemberId:
        """Return the id that the request was answered with."""
        answer = self.operations[self.current].answer or {}
        answered = answer.get("member_id")
        seen = (answered,) if isinstance(answered, str) and answered else self.strays.get(prefix, ())
        chosen = next(
            (each for each in seen if each not in self.given), f"{prefix}-never-told-{self.current}"
        )
        self.given.add(chosen)
        return MemberId(chosen)

    def uuid(self) -> MemberId:
        """Return the id that the request was answered with."""
        return self.member_id("")

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate that those who wait were told of, or the first."""
        reported = self._reported("leader")
        return next((each for each in candidates if each in reported), candidates[0])

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return what those who wait were told, or what Kafka's map has first."""
        reported = self._reported("protocol_name")
        return next((each for each in tied if each in reported), self.rest.protocol(tied, family))

    def _reported(self, name: str) -> set[object]:
        waiting = (self.operations[each] for each in (*self.parked, self.current) if each >= 0)
        return {each.answer.get(name) for each in waiting if each.api == "JoinGroup" and each.answer}


class ReplayMachine:
    """A broker of the reference that is told a recording's requests."""

    def __init__(
        self,
        spec: ReferenceProfile,
        conversation: RecordedConversation,
        groups: frozenset[str],
        strays: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._spec = spec
        self._operations = conversation.operations
        self._groups = groups
        self._partitions = spec.config.offsets_topic_num_partitions
        self._choices = _RecordedChoices(conversation.operations, strays)
        self._apis = spec.broker(self._choices)
        self._coordinator = self._apis.coordinator
        self._shard = self._coordinator.shard
        self._timers = self._shard.timers = _DelayedTimers()
        self._headers: dict[ResponseToken, RequestHeader] = {}
        self.now_ms = Millis(0)
        self._planted: SeedGroup | None = None
        self._create_topics(conversation)
        for key_type in (0, 1):
            found = encode_request(
                "FindCoordinator",
                2,
                correlation_id=0,
                client_id="replay",
                fields={"key": "replay", "key_type": key_type},
            )
            self._handle(_SET_UP, self._read(found))

    def copy(self) -> "ReplayMachine":
        """Return one that goes on by itself; what never changes is shared."""
        shared = (
            self._spec,
            self._spec.profile,
            self._spec.config,
            self._operations,
            self._apis.broker.ranges,
            self._apis.append_outcome,
        )
        return deepcopy(self, {id(each): each for each in shared})

    def plant(self, seed: Seed, group_id: str) -> None:
        """Let a group be there already, as its partition's log would have it."""
        self.now_ms = Millis(int(max(seed.at_ms, 0.0)))
        partition = partition_for(GroupId(group_id), self._partitions)
        records = records_of(seed, GroupId(group_id), self.now_ms)
        self._coordinator.unload(partition, epoch=1, now_ms=self.now_ms)
        self._coordinator.begin_loading(partition, epoch=2, now_ms=self.now_ms)
        self._coordinator.load(partition, records)
        self._planted = seed.group
        self._coordinator.finish_loading(partition, now_ms=self.now_ms)

    def harvest(self, group_id: str) -> Seed:
        """Return what a coordinator that came now would find in the log."""
        return seed_of(
            self._planted,
            self._apis.append_log,
            self._shard.offsets.of_group(GroupId(group_id)),
            group_id=GroupId(group_id),
            now_ms=self.now_ms,
        )

    def refusal(self, operation: Operation) -> str | None:
        """Return why the reference cannot be told a request; None if it can."""
        try:
            self._read(operation.frame)
        except MalformedRequestError:
            return "in a version that the reference does not serve"
        return None

    def apply(self, operation: Operation, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Let a request take effect."""
        self.now_ms = Millis(max(self.now_ms, int(at_ms)))
        self._choices.current = operation.index
        if operation.api == "JoinGroup":
            self._choices.parked.add(operation.index)
        if operation.descriptor.gives_producer_id:
            self._give_producer_id(operation)
        reported = self._handle(ResponseToken(operation.index), self._read(operation.frame))
        self._choices.current = -1
        if operation.transactional_id and operation.answer is not None and operation.error == "NONE":
            self._correct_producer(operation)
        return reported

    def deadlines(self) -> list[tuple[int, TimerKey]]:
        """Return what is waited for, and when it is due."""
        return self._timers.delayed()

    def fall_due(self, key: TimerKey, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Let one deadline pass."""
        self.now_ms = Millis(max(self.now_ms, int(at_ms)))
        self._timers.released = key
        return self._reported(self._apis.advance(now_ms=self.now_ms))

    def fields_of(self, reported: ReferenceAnswer) -> Alternatives:
        """Return the fields of an answer, and what else may stand in some of them."""
        header = self._headers[ResponseToken(reported.operation)]
        respond = reported.answer

        def read(response: BrokerResponse) -> Mapping[str, object]:
            operation = self._operations[reported.operation]
            decoded = decode_response(operation.api, header.api_version, write_response(header, response))
            fields = json_object(fields_json(decoded.fields), where="an answer")
            return comparable(operation.api, of_groups(operation.api, fields, self._groups))

        permitted = {
            choice.field: tuple(
                read(_with(respond.response, choice.field, each))[choice.field] for each in choice.any_of
            )
            for choice in respond.permitted
        }
        return Alternatives(fields=read(respond.response), permitted=permitted)

    def state(self) -> str:
        """Return in words how the groups are."""
        groups = list(self._shard.groups())
        if not groups:
            return "no group"
        return "; ".join(_state_of(as_classic_group(each)) for each in groups)

    def digest(self) -> str:
        """Return a text that differs where the reference would go on differently."""
        return repr((state_of(self._shard), self._timers.delayed()))

    def _create_topics(self, conversation: RecordedConversation) -> None:
        topics = self._apis.broker.topics
        for name, num_partitions in conversation.topics.items():
            if name.startswith("__"):
                continue
            chosen = conversation.topic_ids.get(name)
            topics.create(name, num_partitions, None if chosen is None else TopicId(chosen))

    def _read(self, frame: bytes) -> ReceivedRequest:
        return read_request(frame, ranges=self._apis.broker.ranges)

    def _handle(self, token: ResponseToken, received: ReceivedRequest) -> tuple[ReferenceAnswer, ...]:
        self._headers[token] = header = received.header
        context = RequestContext(
            api_version=header.api_version, client_id=header.client_id, client_host=CLIENT_HOST
        )
        message = self._narrowed(received.message)
        return self._reported(self._apis.handle(message, context, token, now_ms=self.now_ms))

    def _narrowed(self, message: BrokerRequest) -> BrokerRequest:
        """Leave out of a request what is about other groups."""
        match message:
            case DescribeGroupsRequest():
                return replace(message, groups=tuple(each for each in message.groups if each in self._groups))
            case DeleteGroupsRequest():
                names = tuple(each for each in message.groups_names if each in self._groups)
                return replace(message, groups_names=names)
            case OffsetFetchRequest():
                groups = tuple(each for each in message.groups if each.group_id in self._groups)
                return replace(message, groups=groups)
            case _:
                return message

    def _reported(self, answers: Sequence[Respond[BrokerResponse]]) -> tuple[ReferenceAnswer, ...]:
        reported = tuple(
            ReferenceAnswer(operation=int(answer.token), answer=answer)
            for answer in answers
            if answer.token != _SET_UP
        )
        self._choices.parked.difference_update(each.operation for each in reported)
        return reported

    def _give_producer_id(self, operation: Operation) -> None:
        answered = (operation.answer or {}).get("producer_id")
        if isinstance(answered, int) and answered >= 0:
            self._apis.cluster.transactions.producer_ids = iter((answered,))  # type: ignore[assignment] # it is only asked for the next

    def _correct_producer(self, operation: Operation) -> None:
        """Go on with the epoch that the target gave a producer: how often it was raised is chance."""
        transactions = self._apis.cluster.transactions.transactions
        transaction = transactions.get(TransactionalId(operation.transactional_id))
        answer = operation.answer or {}
        producer_id, epoch = answer.get("producer_id"), answer.get("producer_epoch")
        if transaction is None or not isinstance(producer_id, int) or not isinstance(epoch, int):
            return
        if producer_id >= 0:
            transaction.producer_id = ProducerId(producer_id)
            transaction.producer_epoch = ProducerEpoch(epoch)


def _with(response: BrokerResponse, name: str, value: object) -> BrokerResponse:
    return replace(response, **{name: value})  # type: ignore[arg-type] # a choice names a field of its response


def _state_of(group: ClassicGroup) -> str:
    members = ", ".join(group.members) or "no members"
    return f"{group.state.value} in generation {group.generation_id} with {members}"
