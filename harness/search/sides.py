"""One side of a comparison: a reference in virtual time, which runs scripts and has them made on it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.runner.interpreter import Interpreter
from harness.runner.placing import num_partitions
from harness.runner.recorder import EventPosition, Recorder, recorder_of
from harness.scenario.bindings import Bindings
from harness.scenario.script import ActorSheet, Script, Send, Step
from harness.search.moves import ALL_SHEETS, GROUPS
from harness.targets.base.interface import Broker, BrokerSession, Connection, PermittedValue
from harness.targets.reference.connection import ReferenceConnection
from harness.targets.reference.draws import Draws
from harness.targets.reference.session import ReferenceSession
from harness.targets.reference.tape import Taped, TapedConnection, TapedSession, is_alike
from harness.targets.reference.target import ReferenceBroker, ReferenceTarget
from harness.trace.canonical import Canonicaliser
from harness.trace.events import Event, EventKind
from harness.wire.codec import Decoded, Fields
from harness.wire.schema import API_NAMES

_RUN_ID: Final = "search"
_PREFIX: Final = "search"


class Side:
    """A reference, with a broker for each configuration that was asked for.

    Attributes:
        target: the reference.
    """

    def __init__(
        self,
        target: ReferenceTarget,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        base_config: Mapping[str, str] | None = None,
    ) -> None:
        """Begin without brokers.

        Args:
            target: the reference.
            around: surrounds each run, and puts a fault in for as long.
            base_config: properties of every broker, below those of a script.
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
            script: what to run.
            pace: a recording of it on a broker; each request is sent no sooner than there.
            draws: ids that it is to draw; its own if there are none.
        """
        with self._around():
            broker = await self._broker(script.broker_config)
            live = RecordedRun(replace(script, steps=()), _opened(broker, script.id, draws), broker)
            live.interpreter.script = script
            live.interpreter.before_step = _Pace(live.session, pace).before if pace else None
            try:
                await live.interpreter.run()
            except Exception as error:  # noqa: BLE001 - that a reference fails is what is looked for
                live.fails(error)
            await live.session.close()
        return tuple(live.events)

    async def begin(self, script: Script) -> "LiveRun":
        """Begin a conversation whose script is not made yet."""
        broker = await self._broker(script.broker_config)
        return LiveRun(script, _opened(broker, script.id), broker)

    async def answers_alike(self, script: Script, tape: Collection[Taped]) -> bool:
        """Tell whether it answers with the bytes that another reference answered with, each at the same time.

        Args:
            script: what the other one ran.
            tape: all that was done to it.
        """
        with self._around():
            broker = await self._broker(script.broker_config)
            session = _opened(broker, script.id)
            try:
                return await is_alike(session, tape)
            except Exception:  # noqa: BLE001 - that a reference fails is what is looked for
                return False
            finally:
                await session.close()

    async def versions(self) -> Mapping[str, range]:
        """Return the versions that are served, by API."""
        broker = await self._broker({})
        return {
            API_NAMES[each.api_key]: range(each.min_version, each.max_version + 1)
            for each in broker.description.api_ranges
            if each.api_key in API_NAMES
        }

    async def _broker(self, config: Mapping[str, str]) -> ReferenceBroker:
        key = tuple(sorted(config.items()))
        if key not in self._brokers:
            broker = await self.target.start(
                broker_config={**self._base_config, **config}, directory=Path(), progress=lambda _: None
            )
            assert isinstance(broker, ReferenceBroker), "a reference starts no others"
            self._brokers[key] = broker
        return self._brokers[key]


class _Pace:
    """Has a script act as late as it did on record."""

    def __init__(self, session: ReferenceSession, events: Sequence[Event]) -> None:
        self._session = session
        self._acts: dict[int, float] = {}
        for event in events:
            if event.kind in (EventKind.REQUEST, EventKind.DISCONNECTED):
                self._acts.setdefault(event.step, event.at_ms)

    async def before(self, step: int) -> None:
        """Let time pass until a step was taken on record."""
        left_ms = self._acts.get(step, 0.0) - self._session.now_ms()
        if left_ms > 0:
            await self._session.elapse(left_ms)


class GrowingInterpreter(Interpreter):
    """Runs a script that is made while it runs: each step is decided by what came before."""

    __slots__ = ()

    async def take_another(self, step: Step, actors: tuple[ActorSheet, ...]) -> None:
        """Take a step behind the script's last, said by one of these actors, and add it.

        Raises:
            UnboundReferenceError: no answer brought a value that the step refers to; it is not added.
            WireError: the request cannot be written; it is not added.
        """
        if actors != self.script.actors:
            self.script = replace(self.script, actors=actors)
        await self._take(len(self.script.steps), step)
        self.script = replace(self.script, steps=(*self.script.steps, step))

    def connection_of(self, actor: str, connection: str) -> Connection | None:
        """Return a connection of an actor's, if it is open."""
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


class RecordedRun:
    """A script that runs on a reference, with all that happens as events.

    Attributes:
        session: the reference's clock, and what it is doing.
        events: what happened so far.
        interpreter: takes the steps.
    """

    def __init__(self, script: Script, session: ReferenceSession, broker: Broker) -> None:
        self.session = session
        self.events: list[Event] = []
        # All who may take part, so that ids have the same names however few of them a script keeps.
        recorder = recorder_of(
            replace(script, actors=ALL_SHEETS),
            run_id=_RUN_ID,
            target="reference",
            groups=_GROUP_IDS,
            write=self.events.append,
        )
        self.interpreter = _interpreter(script, session, broker, recorder, _GROUP_IDS)

    def fails(self, error: Exception) -> None:
        """Record that the reference could not go on."""
        sent = [step for step in self.interpreter.script.steps if isinstance(step, Send)]
        step = max((event.step for event in self.events), default=0)
        place = EventPosition(step=step, api=sent[-1].api if sent else None)
        self.interpreter.recorder.note(EventKind.HARNESS_ERROR, place, f"{type(error).__name__}: {error}")


@dataclass(slots=True, kw_only=True)
class _LastHeard(Recorder):
    """Keeps the last answer alone, and writes no events: most conversations are never looked at."""

    heard: tuple[str, Fields] | None = None

    @override
    def request(
        self, place: EventPosition, payload: bytes, *, correlation_id: int, fields: Mapping[str, object]
    ) -> None:
        pass

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
    ) -> None:
        assert place.api is not None
        self.heard = place.api, decoded.fields

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


class LiveRun:
    """A conversation on a reference that goes on step by step, with its bytes on tape.

    Attributes:
        session: the reference's clock, and what it is doing.
        tape: all that was done to it.
        interpreter: takes the steps.
    """

    def __init__(self, script: Script, session: ReferenceSession, broker: Broker) -> None:
        self.session = session
        taped = TapedSession(session)
        self.tape = taped.tape
        self._recorder = _LastHeard(
            run_id=_RUN_ID,
            target="reference",
            script=script,
            canonicaliser=Canonicaliser(groups={}),
            write=lambda _: None,
            now_ms=lambda: 0.0,
        )
        self.interpreter = _interpreter(script, taped, broker, self._recorder, _GROUP_IDS)
        self.interpreter.is_written_again = False

    async def take(self, step: Step, actors: tuple[ActorSheet, ...]) -> None:
        """Take another step, said by one of these actors."""
        await self.interpreter.take_another(step, actors)

    @property
    def heard(self) -> tuple[str, Fields] | None:
        """The last answer's API and fields, if the last thing that was heard is one."""
        return self._recorder.heard

    def has_answer(self, actor: str, connection: str) -> bool:
        """Tell whether an answer lies ready on a connection."""
        found = self.interpreter.connection_of(actor, connection)
        inner = found.inner if isinstance(found, TapedConnection) else None
        return isinstance(inner, ReferenceConnection) and bool(inner.arrived)
