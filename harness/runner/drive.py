"""Drives one target with many scripts at once."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from harness.capacity import broker_slots, machine, start_slots
from harness.runner.admission import Admission
from harness.runner.applicable import why_not_applicable
from harness.runner.broker_actions import rounds_with_pauses
from harness.runner.interpreter import Interpreter
from harness.runner.placing import clear_log_of, group_ids, kinds_of_names, num_partitions
from harness.runner.recorder import EventPosition, Recorder, recorder_of
from harness.runner.rendezvous import Rendezvous
from harness.runner.rounds import LongestFirst, Turn
from harness.runner.sharing import BrokerGroup, Packing, broker_groups, names_no_group
from harness.runner.suspects import LastWords, Suspect
from harness.runner.witness import Witness, sampler
from harness.scenario.bindings import Bindings
from harness.scenario.fitting import fitted
from harness.scenario.script import Script
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import (
    Broker,
    BrokerDescription,
    BrokerSession,
    Target,
    TargetError,
)
from harness.targets.base.layout import Coordinated, Layout
from harness.targets.base.nonsense import blaming_target
from harness.targets.external.guard import NotOurs
from harness.trace.events import LEADERS_MOVED, TARGET_LOST, Event, EventKind
from harness.workers import first_error


class Watcher(Protocol):
    """Receives the progress of a drive, for a display."""

    def target_says(self, target: str, text: str) -> None:
        """Report what a target's slow start is doing."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Report how many scenarios are about to run on a target."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Report that one of them has ended, with whatever result."""


class Unwatched:
    """A watcher that displays nothing."""

    def target_says(self, target: str, text: str) -> None:
        """Do nothing."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Do nothing."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Do nothing."""


JOBS: Final = machine().jobs(per_core=64)
"""How many scenarios run at once: they mostly wait, and begin only when the running ones leave time."""
_EXTERNAL_JOBS: Final = machine().jobs(per_core=12)
"""How many scenarios run at once on an external broker, which others use too."""
_IN_A_ROW_MS: Final = 3_000
"""Roughly how much longer several cohorts of a broker take, one after the other, than their waits."""
_NO_STARTS_S: Final = 5.0
"""The longest wait for other brokers to start: some restart all the time."""
_NOWHERE: Final = EventPosition(step=-1)
_NOT_HERE: Final = '"NOT_COORDINATOR"'
_SPREADS_S: Final = 3.0
"""Within this time every broker of a cluster knows of an election."""
_ASKS_AGAIN_S: Final = 0.3
_RECORDING_S: Final = 5.0
"""Time to record that an answer did not come, before the drive's limit."""
LATE_S_MAX: Final = 120.0
"""How long a scenario awaits late answers, beside its limit; the last one may take longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on time, and on how many scenarios run at once."""

    scenario_s: float = 60.0
    drive_s: float = 600.0
    """For all scenarios of a cohort, from when the cohort begins."""
    jobs: int = JOBS
    """How many scenarios run at once, on all brokers together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveSinks:
    """The receivers of what a drive records."""

    write: Callable[[Event], None]
    """Called for each event, but for those of scenarios that will run again."""
    broker_ready: Callable[[BrokerDescription, float], None]
    """Called for each broker that became ready, with the duration of its start in milliseconds."""
    logs: Path
    hear: Callable[[Event], None] = lambda _: None
    """Called for each event of a conversation as soon as it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveResult:
    """How driving one target went."""

    drive_ms: float
    """From the first conversation to the end of the last scenario."""
    lost: str | None
    """Why a broker was lost before its scenarios had ended."""
    suspects: tuple[Suspect, ...] = ()
    """Who may have ended it, the most suspicious first."""


@dataclass(slots=True, kw_only=True)
class _Place:
    """What a scenario takes while it runs."""

    rendezvous: Rendezvous | None
    slots: LongestFirst | None
    """Where it takes a slot."""
    last_words: LastWords = field(default_factory=LastWords)
    """What is sent to its broker."""
    until_s: float = 0.0
    """The end of the cohort's drive, on the event loop's clock."""
    limit: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    """The scenario's own limit."""
    late_s: float = 0.0
    """How long it awaited late answers."""
    was_elsewhere: bool = False
    """Whether a broker said that it is not the coordinator, which it may know before the others do."""

    @contextlib.contextmanager
    def late(self) -> Iterator[float]:
        """Await a late answer in the block, which takes no slot, and none of the scenario's time.

        Yields how long it may be awaited, in milliseconds: up to shortly before the drive's own limit.
        """
        end_s, began_s = self.limit.when(), asyncio.get_running_loop().time()
        most_ms = max(0.0, self.until_s - began_s - _RECORDING_S) * 1000
        if end_s is None or self.late_s >= LATE_S_MAX:
            yield most_ms
            return
        self.limit.reschedule(None)
        try:
            with contextlib.nullcontext() if self.slots is None else self.slots.lent():
                yield most_ms
        finally:
            late_s = asyncio.get_running_loop().time() - began_s
            self.late_s += late_s
            self.limit.reschedule(end_s + late_s)


@dataclass(slots=True, kw_only=True)
class Drive:
    """Drives one target."""

    run_id: str
    target: Target
    target_name: str
    """The target's name in traces and displays."""
    limits: Limits
    sinks: DriveSinks
    watcher: Watcher
    admission: Admission = field(default_factory=lambda: Admission(frozenset(), jobs=JOBS))
    """Shared with the targets that are driven at the same time."""
    fits: bool = True
    """Whether scripts are fitted to an external broker; not if it is compared with a target that is not."""
    with_needs: Callable[[Sequence[Script], BrokerDescription], Awaitable[Sequence[Script]]] | None = None
    """Returns scripts with the settings that they need of such a broker besides those they ask for."""
    is_written_again: bool = True
    """Whether to check for each answer that encoding its fields gives the same bytes."""
    awaits_late: bool = True
    """Whether late answers are awaited for as long as a client would."""
    base_config: Mapping[str, str] = field(default_factory=dict)
    """Properties for every broker, which those of a scenario override; an oracle gets its target's here."""
    packing: Packing | None = None
    """Which scripts may share brokers; without it, each configuration has its own broker."""
    _lost: str | None = field(default=None, init=False)
    _suspects: tuple[Suspect, ...] = field(default=(), init=False)
    _start_failure: str | None = field(default=None, init=False)
    """Why a broker could not be started, which also ends the scenarios on the target's others."""
    _first_conversation_s: float | None = field(default=None, init=False)

    async def run(self, scripts: Sequence[Script]) -> DriveResult:
        """Run every script with a broker of the configuration that it needs.

        Raises:
            TargetError: a broker could not be started; what was recorded with others is kept.
        """
        self.watcher.drive_begins(self.target_name, len(scripts))
        found = broker_groups(scripts, self.target.capabilities, self.packing)
        placed = [(broker_group, self._logs(number)) for number, broker_group in enumerate(found)]
        at_rest = [one for one in placed if not one[0].does_something]
        acting = [one for one in placed if one[0].does_something]
        try:
            turns = await self.admission.rounds.turns(
                self.target_name,
                [broker_group for broker_group, _ in at_rest],
                processes=self.target.process_count,
            )
            left_over = [one for one, turn in zip(at_rest, turns, strict=True) if turn is None]
            in_rounds = [(one, turn) for one, turn in zip(at_rest, turns, strict=True) if turn is not None]
            script_count = sum(len(broker_group.scripts) for (broker_group, _), _ in in_rounds)
            self.admission.expect(self.target_name, script_count)
            with first_error(TargetError):
                async with asyncio.TaskGroup() as tasks:
                    for broker_group, directory in [*left_over, *acting]:
                        tasks.create_task(self._drive_late(broker_group, directory))
                    rounds = [
                        tasks.create_task(self._drive_in_round(broker_group, directory, turn))
                        for (broker_group, directory), turn in in_rounds
                    ]
                    if rounds:
                        await asyncio.wait(rounds)
                    # A broker that was lost leaves scenarios that never end.
                    self.admission.settle(self.target_name)
        finally:
            self.admission.settle(self.target_name)
        began_s = self._first_conversation_s or time.monotonic()
        drive_ms = round((time.monotonic() - began_s) * 1000, 1)
        return DriveResult(drive_ms=drive_ms, lost=self._lost, suspects=self._suspects)

    def _logs(self, number: int) -> Path:
        # Absolute, since brokers run in this directory.
        directory = (self.sinks.logs / f"broker-{number}").absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    async def _started(self, broker_group: BrokerGroup, directory: Path) -> Broker:
        began_s = time.monotonic()
        try:
            with blaming_target():
                broker = await self.target.start(
                    broker_config={**self.base_config, **broker_group.broker_config},
                    directory=directory,
                    progress=lambda text: self.watcher.target_says(self.target_name, text),
                    breakpoints=broker_group.breakpoints,
                    broker_actions=broker_group.broker_actions,
                )
        except TargetError as error:
            self._start_failure = _first_line(str(error))
            raise
        try:
            self.sinks.broker_ready(broker.description, round((time.monotonic() - began_s) * 1000, 1))
        except BaseException:
            await to_its_end(broker.stop())
            raise
        return broker

    async def _drive_in_round(self, broker_group: BrokerGroup, directory: Path, turn: Turn) -> None:
        """Run the cohorts of a broker that is up together with others."""
        try:
            await turn.begin()
            async with broker_slots().taken(self.target.process_count):
                await self._drive_broker(broker_group, directory, turn.all_ready)
        finally:
            turn.end()

    async def _drive_late(self, broker_group: BrokerGroup, directory: Path) -> None:
        """Run the cohorts of a broker that has no round, once few scenarios of the rounds are left."""
        await self.admission.calm()
        async with (
            self.admission.late_slots.taken(broker_group.duration_ms),
            broker_slots().taken(self.target.process_count),
        ):
            first = broker_group.cohorts[0]
            has_timers = not first.acts and first.duration_ms > 0
            await self._drive_broker(broker_group, directory, _no_starts if has_timers else None)

    async def _drive_broker(
        self,
        broker_group: BrokerGroup,
        directory: Path,
        may_begin: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Start a broker, run its cohorts once they may begin, and stop it."""
        broker = await self._started(broker_group, directory)
        try:
            if may_begin is not None:
                await may_begin()
            self._first_conversation_s = self._first_conversation_s or time.monotonic()
            await self._run_cohorts(broker, broker_group, last_words := LastWords())
            await broker.look()
            failure = how_it_ended(broker)
            if failure is not None:
                self._lost, self._suspects = self._lost or failure, self._suspects or last_words.suspects()
        finally:
            await to_its_end(broker.stop())

    def _slots(self, broker: Broker) -> LongestFirst:
        """Return the slots that limit how many scenarios run at once: fewer for an external broker."""
        if broker.run_namespace is None:
            return self.admission.slots
        return LongestFirst(min(self.limits.jobs, _EXTERNAL_JOBS))

    async def _fitted(self, broker: Broker, scripts: Sequence[Script]) -> Sequence[Script]:
        """Fit scripts to the settings of an external broker, which the harness does not configure."""
        if broker.run_namespace is None or not self.fits:
            return scripts
        found = [fitted(script, broker.description.broker_config) for script in scripts]
        return found if self.with_needs is None else await self.with_needs(found, broker.description)

    async def _run_cohorts(self, broker: Broker, broker_group: BrokerGroup, last_words: LastWords) -> None:
        """Run a broker's cohorts, one after the other."""
        slots = self._slots(broker)
        rest_ms = broker_group.duration_ms + (_IN_A_ROW_MS if len(broker_group.cohorts) > 1 else 0)
        for number, each in enumerate(broker_group.cohorts):
            rest_ms -= each.duration_ms
            meets = each.acts and broker.shares_coordinator
            rendezvous = Rendezvous(len(each.scripts), rounds_with_pauses(each.scripts)) if meets else None
            try:
                if number and broker_group.cohorts[number - 1].clears and how_it_ended(broker) is None:
                    await clear_log_of(broker)
                # Scripts that wait for each other take no slots, since the others may need them.
                scripts = await self._fitted(broker, each.scripts)
                place = _Place(
                    rendezvous=rendezvous, slots=None if each.acts else slots, last_words=last_words
                )
                nameless = any(map(names_no_group, scripts))
                async with broker.without_nameless() if nameless else contextlib.nullcontext():
                    await self._run_all(broker, scripts, place, rest_ms)
            except TargetError as error:
                note = f"{TARGET_LOST}{_first_line(str(error))}"
                self._lost = self._lost or _first_line(str(error))
                for script in (script for rest in broker_group.cohorts[number:] for script in rest.scripts):
                    self._recorder(script).note(EventKind.ABANDONED, _NOWHERE, note)
                return
            finally:
                if rendezvous is not None:
                    await asyncio.shield(rendezvous.close())

    async def _run_all(
        self,
        broker: Broker,
        scripts: Sequence[Script],
        place: _Place,
        rest_ms: float,
    ) -> None:
        """Run scripts at once; `rest_ms` is about how long the broker's later cohorts take."""
        slots, rendezvous = place.slots, place.rendezvous
        waiting = {script.id: script for script in scripts}

        async def run(script: Script, until_s: float) -> None:
            # A script that waits for others at a rendezvous must not take a slot that they need.
            slot = contextlib.nullcontext() if slots is None else slots.taken(script.waiting_ms + rest_ms)
            async with slot, self.admission.begun(self.target_name):
                del waiting[script.id]
                try:
                    await self._run(broker, script, replace(place, until_s=until_s))
                finally:
                    if rendezvous is not None:
                        rendezvous.leave()
            self.watcher.scenario_ended(self.target_name, script.id)

        until_s = asyncio.get_running_loop().time() + self.limits.drive_s
        try:
            async with asyncio.timeout_at(until_s), asyncio.TaskGroup() as tasks:
                # Scripts that wait longest begin first: meanwhile the processor is free for the others.
                for script in sorted(scripts, key=lambda each: each.waiting_ms, reverse=True):
                    tasks.create_task(run(script, until_s))
        except TimeoutError:
            for script in waiting.values():
                self._recorder(script).note(EventKind.ABANDONED, _NOWHERE, self._limit_note())

    def _why_cancelled(self, until_s: float) -> str:
        if self._start_failure is not None:
            return f"{TARGET_LOST}{self._start_failure}"
        return self._limit_note() if asyncio.get_running_loop().time() >= until_s else "interrupted"

    def _limit_note(self) -> str:
        return f"the drive's limit of {self.limits.drive_s:g} s had passed"

    async def _run(self, broker: Broker, script: Script, at: _Place) -> None:
        reason = why_not_applicable(
            script, self.target.capabilities, broker.description, run_namespace=broker.run_namespace
        )
        if reason is not None:
            self._recorder(script).note(EventKind.NOT_APPLICABLE, _NOWHERE, reason)
            return
        run_namespace = broker.run_namespace
        groups = self._groups(script, broker)
        recorder = self._recorder(script, groups)
        failure = how_it_ended(broker)
        if failure is not None:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"{TARGET_LOST}{failure}")
            return
        await self._run_applicable(broker, script, groups, recorder, at)
        if run_namespace is not None:
            kinds = kinds_of_names(script)
            named = {groups[name]: kinds[name] for name in kinds}
            spreads_s = _SPREADS_S if at.was_elsewhere else 0.0
            await _note_move(broker, recorder, run_namespace.layout, named, spreads_s=spreads_s)

    async def _run_applicable(
        self,
        broker: Broker,
        script: Script,
        groups: Mapping[str, str],
        recorder: Recorder,
        at: _Place,
    ) -> None:
        session = broker.open_session(script.id)
        recorder.now_ms = session.now_ms
        recorder.write = partial(self._write, script, at)
        try:
            async with asyncio.timeout(self.limits.scenario_s) as at.limit:
                await self._converse(broker, script, session, recorder, groups, at)
        except TimeoutError:
            note = f"the scenario's limit of {self.limits.scenario_s:g} s had passed"
            recorder.note(EventKind.ABANDONED, _NOWHERE, note)
        except asyncio.CancelledError:
            recorder.note(EventKind.ABANDONED, _NOWHERE, self._why_cancelled(at.until_s))
            raise
        except NotOurs as refused:
            recorder.note(EventKind.NOT_APPLICABLE, _NOWHERE, str(refused))
        except TargetError as error:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"{TARGET_LOST}{error}")
        except Exception as error:  # noqa: BLE001 - a fault of the harness is a result too, and must not stop the others
            recorder.note(EventKind.HARNESS_ERROR, _NOWHERE, repr(error))
        finally:
            await session.close()

    def _write(self, script: Script, at: _Place, event: Event) -> None:
        at.last_words.hear(script, event)
        at.was_elsewhere = at.was_elsewhere or _NOT_HERE in (event.fields or "")
        self.sinks.write(event)
        self.sinks.hear(event)

    async def _converse(
        self,
        broker: Broker,
        script: Script,
        session: BrokerSession,
        recorder: Recorder,
        groups: Mapping[str, str],
        at: _Place,
    ) -> None:
        run_namespace = broker.run_namespace
        with sampler().watching(broker) as watch:
            interpreter = Interpreter(
                script=script,
                session=session,
                recorder=recorder,
                bindings=Bindings(groups=groups),
                partitions=num_partitions(broker.description),
                topics=None if run_namespace is None else run_namespace.topics,
                may_configure=run_namespace is None or run_namespace.guard.may_configure,
                broker_failure=lambda: how_it_ended(broker),
                look=broker.look,
                rendezvous=at.rendezvous,
                late=at.late if self.awaits_late else None,
                witness=None if watch is None else Witness(watch=watch, now_ms=session.now_ms),
                is_written_again=self.is_written_again,
            )
            await interpreter.run()

    def _recorder(self, script: Script, groups: Mapping[str, str] = MappingProxyType({})) -> Recorder:
        return recorder_of(
            script,
            run_id=self.run_id,
            target=self.target_name,
            groups=groups,
            write=self.sinks.write,
        )

    def _groups(self, script: Script, broker: Broker) -> Mapping[str, str]:
        partitions, run_namespace = num_partitions(broker.description), broker.run_namespace
        if run_namespace is None:
            return group_ids(script, run_id=self.run_id, partitions=partitions)
        at_home = run_namespace.at_home(script.id)
        return group_ids(
            script,
            run_id="",
            partitions=partitions,
            prefix=run_namespace.namespace.prefix,
            at_home=at_home,
        )


async def _note_move(
    broker: Broker,
    recorder: Recorder,
    layout: Layout,
    names: Mapping[str, frozenset[Coordinated]],
    *,
    spreads_s: float,
) -> None:
    """Record if the coordinator of one of a scenario's names was elected anew since its layout.

    Args:
        broker: says what the layout is now.
        recorder: receives the note.
        layout: the layout in which the scenario ran.
        names: the scenario's groups and producers.
        spreads_s: how long to wait for the news of an election to reach the broker that is asked.
    """
    until_s = time.monotonic() + spreads_s
    try:
        while (later := await broker.layout_now()) is not None:
            if layout.has_moved(later, names):
                note = f"{LEADERS_MOVED}another coordinator took over a group or producer meanwhile"
                recorder.note(EventKind.ABANDONED, _NOWHERE, note)
                return
            if time.monotonic() >= until_s:
                return
            await asyncio.sleep(_ASKS_AGAIN_S)
    except TargetError as error:
        recorder.note(EventKind.ABANDONED, _NOWHERE, f"{LEADERS_MOVED}nobody says where to: {error}")


def how_it_ended(broker: Broker) -> str | None:
    """Return in one line why a broker is gone, or None; the excerpt of its log is left out."""
    failure = broker.failure()
    return None if failure is None else _first_line(failure)


async def _no_starts() -> None:
    """Wait for a while until no broker starts: a start keeps a core busy, and delays the timers of others."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_NO_STARTS_S):
            await start_slots().none_taken()


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
