"""Drives one target with many scripts at once."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from harness.runner.applicable import why_not_applicable
from harness.runner.capacity import ProcessSlots, processes_at_once
from harness.runner.interpreter import Interpreter
from harness.runner.placing import group_ids, num_partitions
from harness.runner.recorder import Place, Recorder
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import Party, parties
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
from harness.targets.base import (
    Broker,
    BrokerDescription,
    Capability,
    Stage,
    Target,
    TargetError,
)
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.trace.events import TARGET_LOST, Event, EventKind

JOBS: Final = 64
_LATE_AT_ONCE: Final = 4
"""Brokers that scripts start, stop and hold at the same time: each start keeps a core busy for a second.

Those that are clusters are fewer where their processes are too many for the machine.
"""
_NOWHERE: Final = Place(step=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take, and how many go on at once."""

    scenario_s: float = 60.0
    drive_s: float = 600.0
    """For all scenarios that share a broker, from when it is there."""
    jobs: int = JOBS
    """Scenarios at once, on all brokers together."""


class Watcher(Protocol):
    """Told how a drive goes on, for a progress display."""

    def target_says(self, target: str, text: str) -> None:
        """Tell what a target's slow start is busy with."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Tell how many scenarios a target is about to be driven with."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Tell that one of them has come to its end, however."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveSinks:
    """Where a drive leaves what it learns."""

    write: Callable[[Event], None]
    broker_ready: Callable[[BrokerDescription, float], None]
    """Told of each broker that got ready, and in how many milliseconds."""
    logs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveResult:
    """How driving one target went."""

    drive_ms: float
    """From when all brokers were ready to the last scenario's end."""
    lost: str | None
    """Why a broker was gone before its scenarios were through."""


class Gate:
    """What targets that are driven together share: moments to begin, and slots for scenarios.

    Attributes:
        slots: whoever holds a scenario holds one; they bound how late this process may be for a timer.
        late_slots: a broker of scripts that come later holds one, and they hold none.
        process_slots: it holds one for each of its processes.
    """

    def __init__(self, targets: frozenset[str], *, jobs: int) -> None:
        self.slots = asyncio.Semaphore(jobs)
        self.late_slots = asyncio.Semaphore(_LATE_AT_ONCE)
        self.process_slots = ProcessSlots(processes_at_once())
        self._starting = set(targets)
        self._opened = asyncio.Event()
        self._busy = set(targets)
        self._calm = asyncio.Event()
        self.settle("")

    def pass_by(self, target: str) -> None:
        """Say that a target has its brokers, or never will. Idempotent."""
        self._starting.discard(target)
        if not self._starting:
            self._opened.set()

    def settle(self, target: str) -> None:
        """Say that a target is through with all scenarios that do not come later. Idempotent."""
        self.pass_by(target)
        self._busy.discard(target)
        if not self._busy:
            self._calm.set()

    async def opened(self) -> None:
        """Wait until all have passed by."""
        await self._opened.wait()

    async def calm(self) -> None:
        """Wait until all have settled: brokers that start and stop would disturb the timers of others."""
        await self._calm.wait()


@dataclass(slots=True, kw_only=True)
class Drive:
    """Drives one target."""

    run_id: str
    target: Target
    target_name: str
    """What traces and displays call it."""
    limits: Limits
    sinks: DriveSinks
    watcher: Watcher
    gate: Gate = field(default_factory=lambda: Gate(frozenset(), jobs=JOBS))
    """Nothing is held before it opens."""
    base_config: Mapping[str, str] = field(default_factory=dict)
    """Properties for every broker, below those of a scenario; an oracle gets its target's here."""
    _lost: str | None = field(default=None, init=False)
    _start_failure: str | None = field(default=None, init=False)
    """Why a broker could not be started, which ends what goes on with the target's others."""
    _starting: int = field(default=0, init=False)
    _paced: int = field(default=0, init=False)
    _paced_ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _held_since_s: float | None = field(default=None, init=False)

    async def run(self, scripts: Sequence[Script]) -> DriveResult:
        """Hold every script with a broker of the configuration that it wants.

        Raises:
            TargetError: no broker could be had; what was recorded by others stays.
        """
        found = parties(scripts, self.target.capabilities)
        placed = [(party, self._logs(number)) for number, party in enumerate(found)]
        self.watcher.drive_begins(self.target_name, len(scripts))
        try:
            await self._all(self._drive_broker, [one for one in placed if not self._comes_later(one[0])])
            self.gate.settle(self.target_name)
            await self._all(self._drive_later, [one for one in placed if self._comes_later(one[0])])
        except* TargetError as errors:
            raise errors.exceptions[0] from None
        finally:
            self.gate.settle(self.target_name)
        began_s = self._held_since_s or time.monotonic()
        return DriveResult(drive_ms=round((time.monotonic() - began_s) * 1000, 1), lost=self._lost)

    def _comes_later(self, party: Party) -> bool:
        """Tell whether a party comes when the others are through, as one of a few.

        It does if it starts and stops brokers, and if its broker is a cluster: those of all configurations at
        once would be too many processes.
        """
        is_cluster = Capability.CLUSTER in self.target.capabilities
        return party.does_something or (is_cluster and bool(party.broker_config))

    async def _all(
        self,
        drive: Callable[[Party, Path], Coroutine[object, object, None]],
        placed: Sequence[tuple[Party, Path]],
    ) -> None:
        self._starting = len(placed)
        self._paced = sum(bool(party.broker_config) for party, _ in placed)
        if not self._paced:
            self._paced_ended.set()
        async with asyncio.TaskGroup() as tasks:
            for party, directory in placed:
                tasks.create_task(drive(party, directory))

    def _logs(self, number: int) -> Path:
        # Absolute, for brokers run in it.
        directory = (self.sinks.logs / f"broker-{number}").absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    async def _started(self, party: Party, directory: Path) -> Broker:
        began_s = time.monotonic()
        try:
            broker = await self.target.start(
                broker_config={**self.base_config, **party.broker_config},
                directory=directory,
                progress=lambda text: self.watcher.target_says(self.target_name, text),
                holds=party.holds,
                levers=party.levers,
            )
        except TargetError as error:
            self._start_failure = _first_line(str(error))
            raise
        self.sinks.broker_ready(broker.description, round((time.monotonic() - began_s) * 1000, 1))
        return broker

    async def _drive_broker(self, party: Party, directory: Path) -> None:
        broker = await self._started(party, directory)
        try:
            await self._everybody_ready()
            if not party.broker_config:
                await self._paced_ended.wait()
            await self._hold_all(broker, party.scripts, self.gate.slots)
            self._lost = self._lost or how_it_ended(broker)
        finally:
            self._one_paced_ended(party)
            await asyncio.shield(broker.stop())

    async def _drive_later(self, party: Party, directory: Path) -> None:
        """Hold the scripts of a party, all at once, when all targets are through with the first ones."""
        await self.gate.calm()
        async with self.gate.late_slots, self.gate.process_slots.taken(self.target.process_count):
            broker = await self._started(party, directory)
            rendezvous = Rendezvous(len(party.scripts)) if broker.shares_coordinator else None
            self._held_since_s = self._held_since_s or time.monotonic()
            try:
                await self._hold_all(broker, party.scripts, None, rendezvous)
                self._lost = self._lost or how_it_ended(broker)
            finally:
                if rendezvous is not None:
                    await asyncio.shield(rendezvous.close())
                await asyncio.shield(broker.stop())

    def _one_paced_ended(self, party: Party) -> None:
        """Scenarios of configurations of their own go first: most are about delays, and want quiet."""
        self._paced -= bool(party.broker_config)
        if not self._paced:
            self._paced_ended.set()

    async def _everybody_ready(self) -> None:
        """Wait for all brokers of the run: a JVM that starts would disturb the timers of those that serve."""
        self._starting -= 1
        if not self._starting:
            self.gate.pass_by(self.target_name)
        await self.gate.opened()
        self._held_since_s = self._held_since_s or time.monotonic()

    async def _hold_all(
        self,
        broker: Broker,
        scripts: Sequence[Script],
        slots: asyncio.Semaphore | None,
        rendezvous: Rendezvous | None = None,
    ) -> None:
        waiting = {script.id: script for script in scripts}

        async def hold(script: Script, until_s: float) -> None:
            # Who waits for others at a rendezvous must not keep a slot from them.
            async with slots or contextlib.nullcontext():
                del waiting[script.id]
                try:
                    await self._hold(broker, script, until_s, rendezvous)
                finally:
                    if rendezvous is not None:
                        rendezvous.leave()
            self.watcher.scenario_ended(self.target_name, script.id)

        until_s = asyncio.get_running_loop().time() + self.limits.drive_s
        try:
            async with asyncio.timeout_at(until_s), asyncio.TaskGroup() as tasks:
                for script in scripts:
                    tasks.create_task(hold(script, until_s))
        except TimeoutError:
            for script in waiting.values():
                self._recorder(script).note(EventKind.ABANDONED, _NOWHERE, self._limit_note())

    def _why_cancelled(self, until_s: float) -> str:
        if self._start_failure is not None:
            return f"{TARGET_LOST}{self._start_failure}"
        return self._limit_note() if asyncio.get_running_loop().time() >= until_s else "interrupted"

    def _limit_note(self) -> str:
        return f"the drive's limit of {self.limits.drive_s:g} s had passed"

    async def _hold(
        self, broker: Broker, script: Script, until_s: float, rendezvous: Rendezvous | None
    ) -> None:
        reason = why_not_applicable(script, self.target.capabilities, broker.description)
        if reason is not None:
            self._recorder(script).note(EventKind.NOT_APPLICABLE, _NOWHERE, reason)
            return
        recorder = self._recorder(script, num_partitions(broker.description))
        failure = how_it_ended(broker)
        if failure is not None:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"{TARGET_LOST}{failure}")
            return
        stage = broker.open_stage(script.id)
        recorder.now_ms = stage.now_ms
        try:
            async with asyncio.timeout(self.limits.scenario_s):
                await self._converse(broker, script, stage, recorder, rendezvous)
        except TimeoutError:
            note = f"the scenario's limit of {self.limits.scenario_s:g} s had passed"
            recorder.note(EventKind.ABANDONED, _NOWHERE, note)
        except asyncio.CancelledError:
            recorder.note(EventKind.ABANDONED, _NOWHERE, self._why_cancelled(until_s))
            raise
        except TargetError as error:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"{TARGET_LOST}{error}")
        except Exception as error:  # noqa: BLE001 - our fault is a result too, and must not stop the others
            recorder.note(EventKind.HARNESS_ERROR, _NOWHERE, repr(error))
        finally:
            await stage.close()

    async def _converse(
        self,
        broker: Broker,
        script: Script,
        stage: Stage,
        recorder: Recorder,
        rendezvous: Rendezvous | None,
    ) -> None:
        partitions = num_partitions(broker.description)
        interpreter = Interpreter(
            script=script,
            stage=stage,
            recorder=recorder,
            bindings=Bindings(groups=self._groups(script, partitions)),
            partitions=partitions,
            broker_failure=lambda: how_it_ended(broker),
            rendezvous=rendezvous,
        )
        await interpreter.hold()

    def _recorder(self, script: Script, partitions: int | None = None) -> Recorder:
        groups = {real: name for name, real in self._groups(script, partitions).items()}
        prefixes = member_prefixes(
            (sheet.name, prefix)
            for sheet in script.actors
            for prefix in (sheet.client_id, sheet.group_instance_id)
        )
        return Recorder(
            run_id=self.run_id,
            target=self.target_name,
            script=script,
            canonicaliser=Canonicaliser(groups=groups, actors=prefixes),
            write=self.sinks.write,
            now_ms=lambda: 0.0,
        )

    def _groups(self, script: Script, partitions: int | None) -> Mapping[str, str]:
        return group_ids(script, run_id=self.run_id, partitions=partitions)


def how_it_ended(broker: Broker) -> str | None:
    """Return in one line why a broker is gone, or None; the end of its log stays in the log."""
    failure = broker.failure()
    return None if failure is None else _first_line(failure)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
