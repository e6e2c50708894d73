"""One side of a comparison: a reference in virtual time, on which scripts are run and made."""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from typing_extensions import override

from harness.runner.interpreter import Interpreter
from harness.runner.placing import FIRST_OF_NAMES, num_partitions
from harness.runner.recorder import EventPosition, Recorder, recorder_of
from harness.scenario.bindings import Bindings
from harness.scenario.script import ActorSheet, Script, Send, Step
from harness.search.judging import Answer
from harness.search.moves import GROUPS, SHEETS_WITH_GUESTS
from harness.targets.base.interface import Broker, BrokerSession, Connection, PermittedValue
from harness.targets.reference.connection import ReferenceConnection
from harness.targets.reference.draws import Draws
from harness.targets.reference.session import ReferenceSession
from harness.targets.reference.tape import Taped, TapedConnection, TapedSession, is_alike
from harness.targets.reference.target import ReferenceBroker, ReferenceTarget
from harness.trace.canonical import Observed, canonical_json, digest
from harness.trace.events import ANSWER_KINDS, Event, EventKind
from harness.wire.codec import Decoded, Fields
from harness.wire.schema import API_NAMES

_RUN_ID: Final = "search"
_PREFIX: Final = f"{FIRST_OF_NAMES}.search"


class Side:
    """A reference, with a broker for each requested configuration.

    Attributes:
        target: the reference.
    """

    def __init__(
        self,
        target: ReferenceTarget,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        base_config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a side without brokers.

        Args:
            target: the reference.
            around: a context manager around each run, for example to put a fault in during the run.
            base_config: properties of every broker; those of a script override them.
        """
        self.target = target
        self._around = around
        self._base_config = base_config or {}
        self._brokers: dict[tuple[tuple[str, str], ...], ReferenceBroker] = {}

    async def run(
        self, script: Script, pace: Sequence[Event] = (), draws: Draws | None = None
    ) -> tuple[Event, ...]:
        """Run a script; a reference that fails ends the trace with a harness error.

        Args:
            script: the script to run.
            pace: a recording of the script on a broker; no request is sent earlier than in it.
            draws: the ids that the reference draws; its own if None.
        """
        with self._around():
            try:
                broker = await self.broker(script.broker_config)
            except Exception as error:  # noqa: BLE001 - failures of a reference are searched for
                return _never_started(script, error)
            live = RecordedRun(replace(script, steps=()), _opened(broker, script.id, draws), broker)
            live.interpreter.script = script
            live.interpreter.before_step = _Pace(live.session, pace).before if pace else None
            try:
                await live.interpreter.run()
                await live.session.close()
            except Exception as error:  # noqa: BLE001 - failures of a reference are searched for
                live.fails(error)
        return tuple(live.events)

    async def begin(self, script: Script, *, notes_answers: bool = False) -> "LiveRun":
        """Begin a conversation whose script is still to be made.

        Args:
            script: the script, without steps.
            notes_answers: whether all answers are noted, to compare them with those of a broker.
        """
        broker = await self.broker(script.broker_config)
        return LiveRun(script, _opened(broker, script.id), broker, notes_answers=notes_answers)

    async def answers_alike(self, script: Script, tape: Collection[Taped]) -> bool:
        """Return whether the side answers with the same bytes as another reference, at the same times.

        Args:
            script: the script that the other reference ran.
            tape: all that was done to the other reference.
        """
        with self._around():
            try:
                broker = await self.broker(script.broker_config)
            except Exception:  # noqa: BLE001 - failures of a reference are searched for
                return False
            session = _opened(broker, script.id)
            try:
                found = await is_alike(session, tape)
                await session.close()
            except Exception:  # noqa: BLE001 - failures of a reference are searched for
                return False
            return found

    async def versions(self) -> Mapping[str, range]:
        """Return the served versions, by API."""
        broker = await self.broker({})
        return {
            API_NAMES[each.api_key]: range(each.min_version, each.max_version + 1)
            for each in broker.description.api_ranges
            if each.api_key in API_NAMES
        }

    async def broker(self, config: Mapping[str, str]) -> ReferenceBroker:
        """Return the broker with a configuration, started if need be.

        Raises:
            TargetError: it cannot be started.
        """
        key = tuple(sorted(config.items()))
        if key not in self._brokers:
            broker = await self.target.start(
                broker_config={**self._base_config, **config}, directory=Path(), progress=lambda _: None
            )
            assert isinstance(broker, ReferenceBroker), "a reference starts no others"
            self._brokers[key] = broker
        return self._brokers[key]


class _Pace:
    """Delays the steps of a script to the times in a recording."""

    def __init__(self, session: ReferenceSession, events: Sequence[Event]) -> None:
        self._session = session
        self._begins_ms: dict[int, float] = {}
        latest_ms = 0.0
        for event in events:
            if event.kind == EventKind.STARVED:
                continue
            # A step that sends nothing begins when the one before ends, however late that is.
            acts = event.kind in (EventKind.REQUEST, EventKind.DISCONNECTED)
            self._begins_ms.setdefault(event.step, event.at_ms if acts else latest_ms)
            latest_ms = max(latest_ms, event.at_ms)

    async def before(self, step: int) -> None:
        """Let time pass up to the recorded time of a step."""
        left_ms = self._begins_ms.get(step, 0.0) - self._session.now_ms()
        if left_ms > 0:
            await self._session.elapse(left_ms)


class GrowingInterpreter(Interpreter):
    """Runs a script that is made while it runs: each step depends on what happened before."""

    __slots__ = ()

    async def take_another(self, step: Step, actors: tuple[ActorSheet, ...]) -> None:
        """Run a step of one of these actors after the script's last step, and add it to the script.

        Raises:
            UnboundReferenceError: no answer contained a value that the step refers to; the step is not added.
            WireError: the request cannot be written; the step is not added.
        """
        if actors != self.script.actors:
            self.script = replace(self.script, actors=actors)
        await self._take(len(self.script.steps), step)
        self.script = replace(self.script, steps=(*self.script.steps, step))

    def connection_of(self, actor: str, connection: str) -> Connection | None:
        """Return a connection of an actor; None if it is not open."""
        line = self._lines.get((actor, connection))
        return None if line is None else line.connection


def _opened(broker: ReferenceBroker, script_id: str, draws: Draws | None = None) -> ReferenceSession:
    session = broker.open_session(script_id, draws)
    assert isinstance(session, ReferenceSession)
    return session


def _interpreter(
    script: Script, session: BrokerSession, broker: Broker, recorder: Recorder, groups: Mapping[str, str]
) -> GrowingInterpreter:
    recorder.now_ms = session.now_ms
    return GrowingInterpreter(
        script=script,
        session=session,
        recorder=recorder,
        bindings=Bindings(groups=groups),
        broker_failure=broker.failure,
        partitions=num_partitions(broker.description),
    )


_GROUP_IDS: Final = {name: f"{_PREFIX}.{name}" for name in GROUPS}


def _recorder(script: Script, write: Callable[[Event], None]) -> Recorder:
    # All actors of the cast, so that ids get the same names however few actors a script keeps.
    whole = replace(script, actors=SHEETS_WITH_GUESTS)
    return recorder_of(whole, run_id=_RUN_ID, target="reference", groups=_GROUP_IDS, write=write)


class RecordedRun:
    """A script that runs on a reference, recorded as events.

    Attributes:
        session: the session with the reference, with its clock and state.
        events: the events so far.
        interpreter: runs the steps.
    """

    def __init__(self, script: Script, session: ReferenceSession, broker: Broker) -> None:
        self.session = session
        self.events: list[Event] = []
        recorder = _recorder(script, self.events.append)
        self.interpreter = _interpreter(script, session, broker, recorder, _GROUP_IDS)

    def fails(self, error: Exception) -> None:
        """Record that the reference failed."""
        sent = [step for step in self.interpreter.script.steps if isinstance(step, Send)]
        step = max((event.step for event in self.events), default=0)
        place = EventPosition(step=step, api=sent[-1].api if sent else None)
        self.interpreter.recorder.note(EventKind.HARNESS_ERROR, place, f"{type(error).__name__}: {error}")


def _never_started(script: Script, error: Exception) -> tuple[Event, ...]:
    """Return the events of a conversation for which the reference could not be prepared."""
    events: list[Event] = []
    recorder = recorder_of(script, run_id=_RUN_ID, target="reference", groups=_GROUP_IDS, write=events.append)
    place = EventPosition(step=0, api=None)
    recorder.note(EventKind.HARNESS_ERROR, place, f"{type(error).__name__}: {error}")
    return tuple(events)


class LastAnswer(NamedTuple):
    """The answer that was received last."""

    api: str
    api_version: int
    fields: Fields


@dataclass(slots=True, kw_only=True)
class _Heard(Recorder):
    """A recorder of the last answer; it writes no events, because most conversations are never read."""

    notes_answers: bool
    heard: LastAnswer | None = None
    _noted: deque[tuple[EventKind, EventPosition, Observed | None]] = field(default_factory=deque)
    """What waits for ids, as events do that are written."""
    _answers: list[Answer] = field(default_factory=list)

    @property
    def answers(self) -> list[Answer]:
        """All answers of a conversation that is over."""
        self.canonicaliser.settle()
        self._take_settled(is_over=True)
        return self._answers

    @override
    def request(
        self, place: EventPosition, payload: bytes, *, correlation_id: int, fields: Mapping[str, object]
    ) -> None:
        if self.notes_answers:
            assert place.actor is not None
            assert place.api is not None
            self.canonicaliser.asked(actor=place.actor, api=place.api, fields=fields)
            self._take_settled()

    @override
    def response(
        self,
        kind: EventKind,
        place: EventPosition,
        decoded: Decoded,
        *,
        payload: bytes,
        elapsed_ms: float,
        permitted: tuple[PermittedValue, ...] = (),
        note: str | None = None,
    ) -> None:
        assert place.api is not None
        assert place.api_version is not None
        self.heard = LastAnswer(place.api, place.api_version, decoded.fields)
        if self.notes_answers:
            self._noted.append((kind, place, self.observe(place, decoded)))
            self._take_settled()

    @override
    def note(
        self,
        kind: EventKind,
        place: EventPosition,
        note: str | None = None,
        *,
        payload: bytes | None = None,
        correlation_id: int | None = None,
        elapsed_ms: float | None = None,
    ) -> None:
        self.heard = None
        if self.notes_answers:
            self._noted.append((kind, place, None))
            self._take_settled()

    def _take_settled(self, *, is_over: bool = False) -> None:
        """Take the answers in which every id has a name, up to the first in which one has none yet."""
        while self._noted:
            kind, place, observed = self._noted[0]
            if not is_over and observed is not None and not self.canonicaliser.is_settled(observed):
                return
            self._noted.popleft()
            if kind in ANSWER_KINDS:
                canonical = None if observed is None else canonical_json(self.canonicaliser.form(observed))
                found = digest(kind.value, place.api, place.api_version, canonical)
                self._answers.append((place.step, kind.value, found))


class LiveRun:
    """A conversation with a reference that goes on step by step, with its bytes on tape.

    Attributes:
        session: the session with the reference, with its clock and state.
        tape: all that was done to the reference.
        interpreter: runs the steps.
    """

    def __init__(
        self, script: Script, session: ReferenceSession, broker: Broker, *, notes_answers: bool
    ) -> None:
        self.session = session
        taped = TapedSession(session)
        self.tape = taped.tape
        self._recorder = _Heard(
            run_id=_RUN_ID,
            target="reference",
            script=script,
            canonicaliser=_recorder(script, lambda _: None).canonicaliser,
            write=lambda _: None,
            now_ms=lambda: 0.0,
            notes_answers=notes_answers,
        )
        self.interpreter = _interpreter(script, taped, broker, self._recorder, _GROUP_IDS)
        self.interpreter.is_written_again = False

    async def take(self, step: Step, actors: tuple[ActorSheet, ...]) -> None:
        """Run another step, of one of these actors."""
        await self.interpreter.take_another(step, actors)

    @property
    def heard(self) -> LastAnswer | None:
        """The last answer; None if something else came last."""
        return self._recorder.heard

    @property
    def answers(self) -> Sequence[Answer]:
        """All answers of the conversation, which is over, if they are noted."""
        return self._recorder.answers

    def has_answer(self, actor: str, connection: str) -> bool:
        """Return whether an answer is ready to be received on a connection."""
        found = self.interpreter.connection_of(actor, connection)
        inner = found.inner if isinstance(found, TapedConnection) else None
        return isinstance(inner, ReferenceConnection) and bool(inner.arrived)
