"""The reference as a search drives it: nothing happens in it by itself.

Deadlines do not pass by themselves. The search finds out whether one passed before or after a request that
came at about the same time.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Final, Self, TypeAlias

from typing_extensions import override

from harness.invariants.exchange import Exchange, Fields
from harness.orders.choices import SeenChoices
from harness.orders.compare import comparable
from harness.orders.interface import InnerKind, InnerStep, ReferenceAnswer
from harness.targets.reference.profile import CLIENT_HOST, ReferenceProfile, state_of
from harness.trace.canonical import fields_json
from harness.trace.schema import json_object
from harness.wire.codec import decode_response, encode_request
from harness.wire.schema import API_NAMES
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.core.effects import Respond
from reference_coordinator.core.ids import GroupId, Millis, ResponseToken, TopicId
from reference_coordinator.core.timers import Due, Timers
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.share.deadlines import ShareInitializationKey
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    OffsetFetchRequest,
    RequestContext,
)
from reference_coordinator.messages.consumer_groups import ConsumerGroupDescribeRequest
from reference_coordinator.messages.share_groups import ShareGroupDescribeRequest
from reference_coordinator.messages.streams_groups import StreamsGroupDescribeRequest
from reference_coordinator.runtime.deadlines import Deadline, OffsetExpirationKey, TimerKey
from reference_coordinator.wire import ReceivedRequest, RequestHeader, read_request, write_response

Answers: TypeAlias = tuple[ReferenceAnswer, ...]
_SET_UP: Final = ResponseToken(-1)
_REMEMBERED: Final = 4096
_CORRELATION_ID: Final = 4
"""The length in bytes of the correlation id, with which an answer begins."""


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


class ReferenceMachine:
    """A broker of the reference without a network, which receives a history's requests.

    Attributes:
        now_ms: its time, which never goes back.
    """

    def __init__(
        self,
        spec: ReferenceProfile,
        operations: Sequence[Exchange],
        groups: frozenset[str],
        *,
        topics: Mapping[str, tuple[int, str | None]],
        strays: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """Begin with topics and without groups.

        Args:
            spec: the reference to run.
            operations: the history, which shows what the target chose.
            groups: the groups about which answers are compared.
            topics: partition counts and ids by name; the reference chooses an id that is None.
            strays: ids that answers list and that no request was answered with, by prefix.
        """
        self.now_ms = Millis(0)
        self._spec = spec
        self._operations = operations
        self._groups = groups
        self._choices = SeenChoices(operations, strays or {})
        self._timers = DelayedTimers()
        self._apis = spec.broker(self._choices, self._timers)
        self._shard = self._apis.coordinator.shard
        self._headers: dict[ResponseToken, RequestHeader] = {}
        self._recorded: dict[ResponseToken, bytes] = {}
        for name, (num_partitions, topic_id) in topics.items():
            self.create_topic(name, num_partitions, topic_id)
        for key_type in (0, 1):
            fields = {"key": "orders", "key_type": key_type}
            found = encode_request("FindCoordinator", 2, correlation_id=0, client_id="orders", fields=fields)
            self._handle(_SET_UP, self._read(found))

    def create_topic(self, name: str, num_partitions: int, topic_id: str | None) -> None:
        """Create a topic."""
        chosen = None if topic_id is None else TopicId(topic_id)
        self._apis.broker.topics.create(name, num_partitions, chosen)

    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply a request; return the answers that it causes."""
        self._pass_to(at_ms)
        self._choices.current = operation
        if operation.api == "JoinGroup":
            self._choices.parked[operation.index] = operation
        token = ResponseToken(operation.index)
        self._recorded[token] = operation.answer_frame[_CORRELATION_ID:]
        reported = self._handle(token, self._read(self._frame_of(operation)))
        self._choices.current = None
        return reported

    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the deadlines that could pass up to a time, except those at which offsets expire."""
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
        committed = [
            self._shard.find_group(GroupId(each), committed=True) is not None for each in self._groups
        ]
        due = [(each.due_ms, each.key) for each in self.inner_steps()]
        return repr((state_of(self._shard), committed, due, sorted(self._choices.given)))

    def copy(self) -> Self:
        """Return an independent copy, which shares what never changes."""
        shared = (
            self._spec,
            self._spec.profile,
            self._spec.config,
            self._operations,
            self._apis.broker.ranges,
        )
        return deepcopy(self, {id(each): each for each in shared})

    def _pass_to(self, at_ms: float) -> None:
        self.now_ms = Millis(max(self.now_ms, int(at_ms)))

    def _frame_of(self, operation: Exchange) -> bytes:
        """Return the request as it is sent."""
        return operation.frame

    def _plain(self, api: str, api_version: int, frame: bytes) -> Fields:
        """Return the fields of an answer in the form that the history has."""
        return _decoded(api, api_version, bytes(_CORRELATION_ID) + frame[_CORRELATION_ID:])

    def _read(self, frame: bytes) -> ReceivedRequest:
        return read_request(frame, ranges=self._apis.broker.ranges)

    def _handle(self, token: ResponseToken, received: ReceivedRequest) -> Answers:
        self._headers[token] = header = received.header
        context = RequestContext(
            api_version=header.api_version, client_id=header.client_id, client_host=CLIENT_HOST
        )
        message = self._narrowed(received.message)
        return self._reported(self._apis.handle(message, context, token, now_ms=self.now_ms))

    def _narrowed(self, message: BrokerRequest) -> BrokerRequest:
        """Return a request without its entries about other groups."""
        match message:
            case DescribeGroupsRequest():
                return replace(message, groups=tuple(each for each in message.groups if each in self._groups))
            case DeleteGroupsRequest():
                names = tuple(each for each in message.groups_names if each in self._groups)
                return replace(message, groups_names=names)
            case ConsumerGroupDescribeRequest() | ShareGroupDescribeRequest() | StreamsGroupDescribeRequest():
                ids = tuple(each for each in message.group_ids if each in self._groups)
                return replace(message, group_ids=ids)
            case OffsetFetchRequest():
                groups = tuple(each for each in message.groups if each.group_id in self._groups)
                return replace(message, groups=groups)
            case _:
                return message

    def _reported(self, answers: Sequence[Respond[BrokerResponse]]) -> Answers:
        reported = tuple(self._one_answer(each) for each in answers if each.token != _SET_UP)
        for each in reported:
            self._choices.parked.pop(each.operation, None)
        return reported

    def _one_answer(self, answer: Respond[BrokerResponse]) -> ReferenceAnswer:
        header = self._headers.pop(answer.token)
        recorded = self._recorded.pop(answer.token, b"")
        if recorded and write_response(header, answer.response)[_CORRELATION_ID:] == recorded:
            return ReferenceAnswer(operation=int(answer.token), fields={}, is_as_recorded=True)
        api = API_NAMES[int(header.api)]

        def read(response: BrokerResponse) -> Fields:
            fields = self._plain(api, header.api_version, write_response(header, response))
            return comparable(api, fields, self._groups)

        permitted = {
            choice.field: tuple(
                read(_with(answer.response, choice.field, each))[choice.field] for each in choice.any_of
            )
            for choice in answer.permitted
        }
        return ReferenceAnswer(operation=int(answer.token), fields=read(answer.response), permitted=permitted)


def _with(response: BrokerResponse, name: str, value: object) -> BrokerResponse:
    return replace(response, **{name: value})  # type: ignore[arg-type] # a choice names a field of its response


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
    fields = decode_response(api, api_version, frame, is_written_again=False).fields
    return json_object(fields_json(fields), where="an answer")
