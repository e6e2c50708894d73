"""The reference coordinator as the specification of one group: the only module of races that touches it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from typing_extensions import override

from harness.races.history import GROUP, History, Operation, fields_from_json
from harness.races.machine import InnerStep, ReferenceAnswer
from harness.targets.base.interface import CONFORMANCE_TOPICS
from harness.targets.reference.profile import CLIENT_HOST, ReferenceProfile, state_of, stored_specification
from harness.trace.canonical import Canonicaliser, canonical_json
from harness.trace.schema import json_object
from harness.wire.codec import Fields, decode_response, encode_request
from harness.wire.schema import API_NAMES
from reference_coordinator.broker_messages import BrokerResponse
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import AppendRecords, Permitted, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, GroupId, MemberId, Millis, ResponseToken
from reference_coordinator.core.records import GroupMetadataRecord
from reference_coordinator.core.timers import Timers
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.behaviours import CoordinatorFamily
from reference_coordinator.runtime.deadlines import Deadline, TimerKey
from reference_coordinator.wire import RequestHeader, read_request, write_response

_HORIZON_MS: Final = 5_000
"""Deadlines further away do not pass within a round: sessions and rebalances of races take 30 s."""
_SET_UP_TOKEN: Final = ResponseToken(-1)
_REMEMBERED: Final = 4096


class ReferenceSpecification:
    """One profile of the reference with one configuration."""

    def __init__(self, profile: str, broker_config: Mapping[str, str]) -> None:
        where = f"the header of a target of profile {profile}"
        self._spec = stored_specification(profile, broker_config, where=where)

    @property
    def family(self) -> str:
        """Which of Kafka's coordinators the profile is of."""
        return self._spec.profile.coordinator.value

    @property
    def reads_may_be_stale(self) -> bool:
        """Whether reads are of the last committed state. Source: CoordinatorReadEvent#run (4.3.1)."""
        return self._spec.profile.coordinator is CoordinatorFamily.JAVA

    def begin(self, history: History | None = None) -> "ReferenceMachine":
        """Return a coordinator that knows of no group yet."""
        return ReferenceMachine(self._spec, history)


class _SeenChoices:
    """Chooses as the target was seen to choose: its member ids, and its leader where it had a choice."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        self._leaders = {str((each.answer or {}).get("leader")) for each in operations}
        self._rest = DeterministicChoices()
        self.given: set[str] = set()
        self.operation = -1
        """The operation that takes place."""
        self.actor = ""

    def member_id(self, prefix: str) -> MemberId:
        """Return the id that the operation was answered with, or one that no answer names."""
        del prefix
        answer = self._operations[self.operation].answer if self._operations else None
        seen = (answer or {}).get("member_id")
        if isinstance(seen, str) and seen and seen not in self.given:
            self.given.add(seen)
            return MemberId(seen)
        number = 1
        while (name := f"member:{self.actor}" + (f"#{number}" if number > 1 else "")) in self.given:
            number += 1
        self.given.add(name)
        return MemberId(name)

    def uuid(self) -> MemberId:
        """Return the id that the operation was answered with, or one that no answer names."""
        return self.member_id("")

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate whom an answer names, or the first."""
        return next((each for each in candidates if each in self._leaders), candidates[0])

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return what Kafka's map has first."""
        return self._rest.protocol(tied, family)


class _TickingTimers(Timers[TimerKey, Deadline]):
    """Timers that take a tick even where there is nothing to wait for.

    In Kafka such a timer fires on a thread of its own, so that others may come before it: here it has to be a
    step of its own, which it could not be if it were due at once.

    Source: SystemTimer#addTimerTaskEntry (4.3.1).
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = Millis(0)

    @override
    def schedule(self, key: TimerKey, at_ms: int, deadline: Deadline) -> None:
        super().schedule(key, max(at_ms, self.now_ms + 1), deadline)

    def due_soon(self) -> list[tuple[TimerKey, Deadline]]:
        """Return what may pass within a round."""
        return [(key, each.deadline) for key, each in self._scheduled.items() if each.at_ms <= _HORIZON_MS]


class ReferenceMachine:
    """The reference's broker without a network; each operation is a connection of its own."""

    def __init__(self, spec: ReferenceProfile, history: History | None) -> None:
        self._choices = _SeenChoices(history.operations if history else ())
        self._apis = spec.broker(self._choices)
        for name, num_partitions in CONFORMANCE_TOPICS.items():
            self._apis.broker.topics.create(name, num_partitions)
        self._shard = self._apis.coordinator.shard
        self._timers = self._shard.timers = _TickingTimers()
        self._headers: dict[ResponseToken, RequestHeader] = {}
        self._written: list[AppendId] = []
        self._dying: list[ReferenceAnswer] = []
        """Answers of the Scala coordinator that wait until a group that is Dead is removed."""
        frame = _frame("FindCoordinator", 2, "races", canonical_json({"key": GROUP, "key_type": 0}))
        self._handle(_SET_UP_TOKEN, frame)
        self._is_java = spec.profile.coordinator is CoordinatorFamily.JAVA
        if self._is_java:
            self._decided = self._apis.append_outcome
            self._apis.append_outcome = self._append_outcome
        else:
            self._apis.pause_at_dead()

    def apply(
        self, operation: int, actor: str, api: str, api_version: int, request: Fields
    ) -> tuple[ReferenceAnswer, ...]:
        """Let an operation take place; the answer to whoever lets a group die waits until it is removed.

        Who finds the group Dead already, or is refused for another reason, is answered at once.

        Source: GroupMetadataManager#cleanupGroupMetadata, GroupCoordinator#handleDeleteOffsets (3.9.2).
        """
        self._choices.operation, self._choices.actor = operation, actor
        frame = _frame(api, api_version, actor, canonical_json(request))
        pending_before = len(self._shard.pending_deletions)
        reported = self._handle(ResponseToken(operation), frame)
        if len(self._shard.pending_deletions) == pending_before:
            return reported
        self._dying.extend(each for each in reported if each.operation == operation)
        return tuple(each for each in reported if each.operation != operation)

    def inner_steps(self) -> tuple[InnerStep, ...]:
        """Return what could happen next without a request."""
        steps = [InnerStep.WRITE] if self._written else []
        if self._shard.pending_deletions:
            steps.append(InnerStep.REMOVAL)
        deadline = self._apis.next_deadline()
        if deadline is not None and deadline <= _HORIZON_MS:
            steps.append(InnerStep.DEADLINE)
        return tuple(steps)

    def take(self, step: InnerStep) -> tuple[ReferenceAnswer, ...]:
        """Let it happen; writes are through in the order in which they were begun."""
        match step:
            case InnerStep.WRITE:
                append_id = self._written.pop(0)
                return self._reported(
                    self._apis.append_completed(append_id, Errors.NONE, now_ms=self._timers.now_ms)
                )
            case InnerStep.DEADLINE:
                deadline = self._apis.next_deadline()
                assert deadline is not None, "inner_steps offers it only where there is one"
                self._timers.now_ms = max(self._timers.now_ms, deadline)
                return self._reported(self._apis.advance(now_ms=self._timers.now_ms))
            case InnerStep.REMOVAL:
                return self._remove()

    def digest(self) -> str:
        """Return a text of the group, its offsets, what is on its way and what is due soon."""
        shard = self._shard
        is_written = shard.find_group(GroupId(GROUP), committed=True) is not None
        waiting = (len(self._written), len(shard.pending_deletions), self._dying)
        return repr((state_of(shard), is_written, waiting, self._timers.due_soon(), self._choices.given))

    def _remove(self) -> tuple[ReferenceAnswer, ...]:
        """Remove groups that are Dead, and let those who made them die have their answers."""
        removed = self._reported(self._apis.resume_from_dead(now_ms=self._timers.now_ms))
        self._apis.pause_at_dead()
        reported, self._dying = (*removed, *self._dying), []
        return reported

    def _append_outcome(self, append: AppendRecords) -> Errors | None:
        """Leave a write of group metadata open; whoever comes meanwhile finds the state before it.

        Offsets and tombstones take effect at once for whoever writes, as in Kafka, and only their answers
        wait.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run, GroupMetadataManager#classicGroupSync (4.3.1).
        """
        outcome = self._decided(append)
        if outcome is not Errors.NONE or not all(
            isinstance(each, GroupMetadataRecord) for each in append.records
        ):
            return outcome
        self._written.append(append.append_id)
        return None

    def _handle(self, token: ResponseToken, frame: bytes) -> tuple[ReferenceAnswer, ...]:
        received = read_request(frame, ranges=self._apis.broker.ranges)
        self._headers[token] = header = received.header
        context = RequestContext(
            api_version=header.api_version, client_id=header.client_id, client_host=CLIENT_HOST
        )
        return self._reported(self._apis.handle(received.message, context, token, now_ms=self._timers.now_ms))

    def _reported(self, answers: Sequence[Respond[BrokerResponse]]) -> tuple[ReferenceAnswer, ...]:
        return tuple(self._one_answer(each) for each in answers if each.token != _SET_UP_TOKEN)

    def _one_answer(self, answer: Respond[BrokerResponse]) -> ReferenceAnswer:
        header = self._headers[answer.token]
        api = API_NAMES[int(header.api)]
        reported = _canonical(api, header.api_version, write_response(header, answer.response))
        permitted = {choice.field: _alternatives(header, api, answer, choice) for choice in answer.permitted}
        return ReferenceAnswer(operation=int(answer.token), api=api, answer=reported, permitted=permitted)


def _alternatives(
    header: RequestHeader, api: str, answer: Respond[BrokerResponse], choice: Permitted
) -> tuple[str, ...]:
    others = (replace(answer.response, **{choice.field: value}) for value in choice.any_of)  # type: ignore[arg-type] # a choice names a field of its response
    frames = (write_response(header, other) for other in others)
    return tuple(canonical_json(_canonical(api, header.api_version, frame)[choice.field]) for frame in frames)


@lru_cache(maxsize=_REMEMBERED)
def _frame(api: str, api_version: int, client_id: str, request_json: str) -> bytes:
    """Write a request; the same few are written again and again."""
    request = fields_from_json(json_object(request_json, where="a request"))
    return encode_request(api, api_version, correlation_id=0, client_id=client_id, fields=request)


@lru_cache(maxsize=_REMEMBERED)
def _canonical(api: str, api_version: int, frame: bytes) -> Fields:
    """Read an answer of the reference, whose ids are canonical already."""
    canonicaliser = Canonicaliser(groups={GROUP: GROUP.removeprefix("group:")})
    fields = canonicaliser.value(decode_response(api, api_version, frame).fields, api=api)
    assert isinstance(fields, Mapping)
    return fields
