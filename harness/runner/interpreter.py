"""Runs one script on one broker session.

Whatever happens is recorded and the conversation goes on: an answer that is not as expected, a closed
connection, no answer at all. It ends early only if a value or a change of metadata is missing that later
steps need, or if the broker is gone.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from harness.apis.table import descriptor
from harness.runner.broker_actions import PAUSED, meeting_places
from harness.runner.line import Answered, Line, OpenRequest, role_of
from harness.runner.metadata_probe import UNCONFIGURED_MS, MetadataUnseenError, probes
from harness.runner.recorder import EventPosition, Recorder
from harness.runner.rendezvous import Action, Rendezvous
from harness.runner.witness import Witness
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.matching import mismatches
from harness.scenario.script import (
    ActorStep,
    Append,
    AwaitMetadata,
    Control,
    Disconnect,
    DoToBroker,
    Elapse,
    PauseAt,
    Receive,
    Repeat,
    ResumeFrom,
    Script,
    SeeClosed,
    Send,
    SendBytes,
    StayParked,
    Step,
    step_text,
)
from harness.scenario.values import GroupRef, refers
from harness.targets.base.interface import Breakpoint, BrokerAction, BrokerSession, ConnectionLost, NoAnswer
from harness.targets.base.java_hash import partition_of
from harness.targets.external.namespace import TopicNames
from harness.trace.events import TARGET_LOST, EventKind
from harness.wire.codec import FieldValue, encode_request
from harness.wire.errors import WireError
from harness.wire.log_records import encode_record

_LAST_ANSWER_MS: Final = 1_000.0
"""The least wait for the answer to a repeated request, even after the deadline: it may be on its way."""

_REST_MS: Final = 5_000.0
"""How long the rest of a frame may take, once the time for the answer has passed."""


class TargetLost(Exception):  # noqa: N818 - an observation about the target, not our fault
    """The broker is gone; `str()` describes how."""


@dataclass(slots=True, kw_only=True)
class Interpreter:
    """Runs one conversation."""

    script: Script
    session: BrokerSession
    recorder: Recorder
    bindings: Bindings
    broker_failure: Callable[[], str | None]
    """Returns why the broker is gone, or None."""
    look: Callable[[], Awaitable[None]] | None = None
    """Finds out whether the broker still accepts connections, so that `broker_failure` knows."""
    partitions: int | None = None
    """The number of partitions of `__consumer_offsets`, if it is known."""
    rendezvous: Rendezvous | None = None
    """Where the conversation meets those that share its broker, before an action on the broker."""
    before_step: Callable[[int], Awaitable[None]] | None = None
    """Called with each step before it is taken, and awaited."""
    witness: Witness | None = None
    """Reports when the machine kept the harness or the broker from running; None in virtual time."""
    topics: TopicNames | None = None
    """The names of topics on an external broker; None if topics have the names that scripts use."""
    may_configure: bool = True
    """Whether groups may be configured on the broker, which the wait for metadata requires."""
    is_written_again: bool = True
    """Whether to check for each answer that encoding its fields gives the same bytes."""
    late: Callable[[], AbstractContextManager[float]] | None = None
    """Makes the context in which an answer is awaited after its time, for at most so many milliseconds.

    None if no late answer is awaited.
    """
    _lines: dict[tuple[str, str], Line] = field(default_factory=dict, init=False)
    _correlation_id: int = field(default=0, init=False)
    _was_unanswered: bool = field(default=False, init=False)
    """Whether an answer did not come for as long as a client waits; no further one is awaited as long."""
    _last_cut: int = field(default=-1, init=False)
    """The last step that cut all connections; -1 while there was none."""

    async def run(self) -> None:
        """Run the conversation to its end, or record why it ended early."""
        index = 0
        try:
            for index, step in enumerate(self.script.steps):
                if self.before_step is not None:
                    await self.before_step(index)
                await self._take(index, step)
                self._tell_starvation(index)
        except (UnboundReferenceError, MetadataUnseenError) as error:
            self.recorder.note(EventKind.ABANDONED, EventPosition(step=index), str(error))
        except TargetLost as lost:
            self.recorder.note(EventKind.ABANDONED, EventPosition(step=index), f"{TARGET_LOST}{lost}")
        finally:
            self._tell_starvation(index, is_last=True)
            self.recorder.end()

    def _tell_starvation(self, index: int, *, is_last: bool = False) -> None:
        if self.witness is not None:
            for reported in self.witness.news(is_last=is_last):
                self.recorder.starved(EventPosition(step=index), reported)

    async def _take(self, index: int, step: Step) -> None:  # noqa: C901 - one flat case a kind of step
        match step:
            case Send():
                await self._send(index, step)
            case SendBytes():
                await self._send_bytes(index, step)
            case Receive():
                await self._receive(index, step)
            case StayParked():
                await self._stay_parked(index, step)
            case SeeClosed():
                await self._see_closed(index, step)
            case Repeat():
                await self._repeat(index, step)
            case Disconnect():
                await self._drop_line(step.actor, step.connection)
                self.recorder.note(EventKind.DISCONNECTED, self._place(index, step))
            case Elapse():
                await self.session.elapse(step.duration_ms)
                self.recorder.note(EventKind.ELAPSED, EventPosition(step=index), elapsed_ms=step.duration_ms)
            case AwaitMetadata():
                await self._await_metadata(index, step)
            case DoToBroker() | Append() | PauseAt() | ResumeFrom():
                await self._control(index, step)

    async def _control(self, index: int, step: Control) -> None:
        match step:
            case DoToBroker():
                action = BrokerAction(step.lever)
                if action.cuts_connections:
                    await self._cut_connections(index, action)
                await self._together(index, partial(self.session.carry_out, action, step.broker_config))
            case Append():
                # Each appends its own records, once no conversation makes the coordinator write any more.
                if not (index and isinstance(self.script.steps[index - 1], Append)):
                    await self._together(index, _nothing)
                await self._append(step)
            case PauseAt():
                partitions = frozenset(map(self._partition_of, step.of))
                pause = partial(self.session.pause_at, Breakpoint(step.point), partitions)
                await self._together(index, pause)
            case ResumeFrom():
                await self._together(index, partial(self.session.resume_from, Breakpoint(step.point)))
        self.recorder.note(EventKind.CONTROL, EventPosition(step=index), step_text(step))

    async def _cut_connections(self, index: int, action: BrokerAction) -> None:
        """Close connections on this side, so that clients reconnect on every target, however its broker ends.

        A connection stays open if the script still awaits an answer on it from a broker that shuts down.
        """
        self._last_cut = index
        for actor, connection in tuple(self._lines):
            awaits = action is BrokerAction.RESTART and self._is_awaited(index, actor, connection)
            if not awaits:
                await self._drop_line(actor, connection)

    def _is_awaited(self, index: int, actor: str, connection: str) -> bool:
        """Return whether a later step awaits the answer to a request from before the last cut."""
        return any(
            isinstance(step, Receive)
            and (step.actor, step.connection) == (actor, connection)
            and step.sent_at < self._last_cut
            for step in self.script.steps[index + 1 :]
        )

    async def _append(self, step: Append) -> None:
        resolved = [self.bindings.resolve_fields(record) for record in step.records]
        # A resolved record contains plain values only.
        records = [encode_record(record) for record in resolved]  # type: ignore[arg-type] # resolved: plain values only
        await self.session.append(self._partition_of(step.group), records)

    def _partition_of(self, group: GroupRef) -> int:
        assert self.partitions is not None, "a script that minds is not run where nobody knows"
        return partition_of(self.bindings.groups[group.name], self.partitions)

    async def _together(self, index: int, action: Action) -> None:
        if self.rendezvous is None:
            await action()
            return
        places = meeting_places(self.script)
        at = places[index]
        await self.rendezvous.meet(action, at)
        pauses_itself = any(number == at[0] and part == PAUSED for number, part in places.values())
        if isinstance(self.script.steps[index], DoToBroker) and not pauses_itself:
            await self.rendezvous.end(at)

    async def _send(self, index: int, step: Send) -> None:
        sent = await self._write(self._place(index, step), step, step.fields)
        if sent and self._is_left_waiting(index):
            await settle(self.session, self.witness)

    async def _send_bytes(self, index: int, step: SendBytes) -> None:
        place = self._place(index, step)
        try:
            line = await self._line(step.actor, step.connection)
            self.recorder.note(EventKind.REQUEST, place, step.says, payload=step.payload)
            await line.connection.send(step.payload)
        except ConnectionLost as lost:
            await self._lost(place, lost)

    async def _receive(self, index: int, step: Receive) -> None:
        place = self._place(index, step)
        line = self._lines.get((step.actor, step.connection))
        if line is None:
            self.recorder.note(EventKind.CLOSED, place, "the connection was closed before")
            return
        started_ms = self.session.now_ms()
        try:
            if step.is_optional:
                answered = await line.answer_to(step.sent_at, place, timeout_ms=step.within_ms)
            else:
                answered = await self._answer(line, step.sent_at, place, timeout_ms=step.within_ms)
        except NoAnswer:
            self._note_no_answer(line, place, started_ms)
        except ConnectionLost as lost:
            await self._lost(place, lost)
        else:
            self._learn(index, place, answered)
            if step.sent_at < self._last_cut and not self._is_awaited(index, step.actor, step.connection):
                await self._drop_line(step.actor, step.connection)

    async def _answer(self, line: Line, sent_at: int, place: EventPosition, *, timeout_ms: float) -> Answered:
        """Await an answer, and a late one for as long as a client would; raise as `Line.answer_to` does.

        Of one that has begun to come, the rest is awaited for a short time: no broker stops within a frame.
        """
        try:
            return await line.answer_to(sent_at, place, timeout_ms=timeout_ms)
        except NoAnswer:
            left_ms = line.client_waits_ms(sent_at)
            if self.late is None or self._was_unanswered or not left_ms:
                raise
            if line.connection.is_within_frame:
                left_ms = min(left_ms, _REST_MS)
        try:
            with self.late() as most_ms:
                answered = await line.answer_to(sent_at, place, timeout_ms=min(left_ms, most_ms))
        except NoAnswer:
            self._was_unanswered = True
            raise
        return replace(answered, is_late=True)

    def _note_no_answer(self, line: Line, place: EventPosition, since_ms: float) -> None:
        note = "it stopped within a frame" if line.connection.is_within_frame else None
        waited_ms = self.session.now_ms() - since_ms
        self.recorder.note(EventKind.NO_ANSWER, place, note, elapsed_ms=waited_ms)

    async def _stay_parked(self, index: int, step: StayParked) -> None:
        sent = self.script.steps[step.sent_at]
        assert isinstance(sent, Send)
        place = self._place(index, step, api=sent.api, api_version=sent.api_version)
        line = self._lines.get((step.actor, step.connection))
        if line is None:
            self.recorder.note(EventKind.CLOSED, place, "the connection was closed before")
            return
        try:
            answered = await line.answer_to(step.sent_at, place, timeout_ms=step.for_ms)
        except NoAnswer:
            self.recorder.note(EventKind.SILENCE, place, elapsed_ms=step.for_ms)
        except ConnectionLost as lost:
            await self._lost(place, lost)
        else:
            self._learn(index, place, answered)
            line.put_back(answered)

    async def _see_closed(self, index: int, step: SeeClosed) -> None:
        place = self._place(index, step)
        line = self._lines.get((step.actor, step.connection))
        if line is None:
            self.recorder.note(EventKind.CLOSED, place)
            return
        try:
            how = await line.closed(place, timeout_ms=step.within_ms)
        except NoAnswer:
            self.recorder.note(EventKind.NO_ANSWER, place, "it stayed open", elapsed_ms=step.within_ms)
        else:
            await self._drop_line(step.actor, step.connection)
            self.recorder.note(EventKind.CLOSED, place, how)
            # A broker that ended has closed the connection too.
            await self._raise_if_lost()

    async def _repeat(self, index: int, step: Repeat) -> None:
        answered = await self._poll(index, step)
        if answered is not None:
            self._learn(index, self._place(index, step), answered)

    async def _await_metadata(self, index: int, step: AwaitMetadata) -> None:
        started_ms = self.session.now_ms()
        if self.may_configure:
            for probe in probes(step):
                await self._probe(index, probe)
        else:
            await self.session.elapse(UNCONFIGURED_MS)
        passed_ms = self.session.now_ms() - started_ms
        self.recorder.note(EventKind.ELAPSED, EventPosition(step=index), elapsed_ms=passed_ms)

    async def _probe(self, index: int, probe: Repeat) -> None:
        """Poll until the answer matches, and record all answers as polls, which are never compared."""
        answered = await self._poll(index, probe)
        if answered is not None:
            answered.record(EventKind.POLL, self._place(index, probe), self.recorder)
        if answered is None or answered.decoded is None or not self._satisfies(index, probe, answered):
            raise MetadataUnseenError(probe)

    async def _poll(self, index: int, step: Repeat) -> Answered | None:
        """Repeat a request until its answer matches or time is over; return the last answer."""
        place = self._place(index, step)
        started_ms = self.session.now_ms()
        deadline_ms = started_ms + step.within_ms
        while True:
            if not await self._write(place, step, step.fields):
                return None
            line = self._lines[step.actor, step.connection]
            try:
                left_ms = max(_LAST_ANSWER_MS, step.every_ms, deadline_ms - self.session.now_ms())
                answered = await self._answer(line, index, place, timeout_ms=left_ms)
            except NoAnswer:
                self._note_no_answer(line, place, started_ms)
                return None
            except ConnectionLost as lost:
                await self._lost(place, lost)
                return None
            is_last = self.session.now_ms() + step.every_ms > deadline_ms
            if answered.decoded is None or is_last or self._satisfies(index, step, answered):
                return answered
            answered.record(EventKind.POLL, place, self.recorder)
            await self.session.elapse(step.every_ms)

    def _satisfies(self, index: int, step: Repeat, answered: Answered) -> bool:
        assert answered.decoded is not None
        self.bindings.learn(step=index, actor=step.actor, api=step.api, fields=answered.decoded.fields)
        return not mismatches(self.bindings.resolve(step.until), answered.decoded.fields)

    async def _write(self, place: EventPosition, step: Send | Repeat, fields: Mapping[str, object]) -> bool:
        """Send a request; return whether it could be sent."""
        correlation_id = self._correlation_id + 1
        resolved: Mapping[str, FieldValue] = self.bindings.resolve_fields(fields)  # type: ignore[arg-type,assignment] # a resolved request contains plain values only
        try:
            payload = encode_request(
                step.api,
                step.api_version,
                correlation_id=correlation_id,
                client_id=self.script.sheet(step.actor).client_id,
                fields=resolved if self.topics is None else self.topics.outgoing(resolved),
            )
        except WireError as error:
            if not any(refers(value) for value in step.fields.values()):
                raise
            raise UnboundReferenceError(f"what an answer brought cannot be asked with: {error}") from error
        self._correlation_id = correlation_id
        try:
            line = await self._line(step.actor, step.connection)
            # The broker's time to answer counts from here, without the time to connect.
            request = OpenRequest(
                step=place.step,
                api=step.api,
                api_version=step.api_version,
                correlation_id=correlation_id,
                sent_at_ms=self.session.now_ms(),
                client_waits_ms=descriptor(step.api).client_waits_ms(resolved),
            )
            self.recorder.request(place, payload, correlation_id=correlation_id, fields=resolved)
            await line.send(request, payload)
        except ConnectionLost as lost:
            await self._lost(place, lost)
            return False
        return True

    def _learn(self, index: int, place: EventPosition, answered: Answered) -> None:
        if answered.decoded is not None:
            assert place.actor is not None
            self.bindings.learn(
                step=index, actor=place.actor, api=answered.request.api, fields=answered.decoded.fields
            )
        answered.record(EventKind.RESPONSE, place, self.recorder)

    async def _line(self, actor: str, connection: str) -> Line:
        line = self._lines.get((actor, connection))
        if line is None:
            role, principal = role_of(connection), self.script.sheet(actor).principal
            opened = await self.session.connect(role, principal=principal)
            line = Line(
                session=self.session,
                connection=opened,
                recorder=self.recorder,
                topics=self.topics,
                is_written_again=self.is_written_again,
            )
            self._lines[actor, connection] = line
        return line

    async def _drop_line(self, actor: str, connection: str) -> None:
        line = self._lines.pop((actor, connection), None)
        if line is not None:
            await line.connection.close()

    async def _lost(self, place: EventPosition, lost: ConnectionLost) -> None:
        """Record a closed connection, unless the whole broker is gone."""
        self.recorder.note(EventKind.CLOSED, place, str(lost))
        if place.actor is not None and place.connection is not None:
            await self._drop_line(place.actor, place.connection)
        await self._raise_if_lost()

    async def _raise_if_lost(self) -> None:
        """Raise TargetLost if the whole broker is gone."""
        failure = self.broker_failure()
        if failure is None:
            # A killed process closes its connections a moment before it has ended.
            await settle(self.session, self.witness)
            if self.look is not None:
                await self.look()
            failure = self.broker_failure()
        if failure is not None:
            raise TargetLost(failure)

    def _is_left_waiting(self, index: int) -> bool:
        """Return whether another step precedes the answer to this request, so that their order matters."""
        following = self.script.steps[index + 1] if index + 1 < len(self.script.steps) else None
        return not (isinstance(following, Receive | StayParked) and following.sent_at == index)

    def _place(
        self, index: int, step: ActorStep, *, api: str | None = None, api_version: int | None = None
    ) -> EventPosition:
        spoken = step if isinstance(step, Send | Receive | Repeat) else None
        return EventPosition(
            step=index,
            actor=step.actor,
            connection=step.connection,
            api=spoken.api if spoken else api,
            api_version=spoken.api_version if spoken else api_version,
        )


async def _nothing() -> None:
    """Do nothing: the conversations only meet."""


_SETTLED_MS_MAX: Final = 2_000.0
"""The longest that a broker that the machine keeps from running is given to process a request."""
_SETTLED_NEARLY_MS: Final = 10.0
"""Being kept from running for a shorter time makes no difference."""


async def settle(session: BrokerSession, witness: Witness | None) -> None:
    """Give the broker time to process what was sent: `settle_ms` in which the machine lets it run."""
    left_ms = session.settle_ms
    if not left_ms:
        return
    until_ms = session.now_ms() + _SETTLED_MS_MAX
    kept_ms = _broker_kept_ms(witness)
    while left_ms > _SETTLED_NEARLY_MS and session.now_ms() < until_ms:
        await session.elapse(left_ms)
        before_ms, kept_ms = kept_ms, _broker_kept_ms(witness)
        left_ms = min(left_ms, kept_ms - before_ms)


def _broker_kept_ms(witness: Witness | None) -> float:
    return 0.0 if witness is None else witness.watch.broker_kept_ms()
