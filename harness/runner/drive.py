"""Drives one target with many scripts at once."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from harness.runner.applicable import why_not_applicable
from harness.runner.interpreter import Interpreter
from harness.runner.recorder import Place, Recorder
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
from harness.scenario.values import GroupRef, Pattern
from harness.targets.base import (
    CONFORMANCE_CONFIG,
    Broker,
    BrokerDescription,
    Capability,
    Stage,
    Target,
    TargetError,
)
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.trace.events import Event, EventKind

JOBS: Final = 64
_NOWHERE: Final = Place(step=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long things may take, and how many go on at once."""

    scenario_s: float = 60.0
    drive_s: float = 600.0
    """For all scenarios of one target."""
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
    """What targets that are driven together share: a moment to begin, and slots for scenarios.

    Attributes:
        slots: whoever holds a scenario holds one; they bound how late this process may be for a timer.
    """

    def __init__(self, targets: frozenset[str], *, jobs: int) -> None:
        self.slots = asyncio.Semaphore(jobs)
        self._awaited = set(targets)
        self._opened = asyncio.Event()
        self.pass_by("")

    def pass_by(self, target: str) -> None:
        """Say that a target has its brokers, or never will. Idempotent."""
        self._awaited.discard(target)
        if not self._awaited:
            self._opened.set()

    async def opened(self) -> None:
        """Wait until all have passed by."""
        await self._opened.wait()


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
    _starting: int = field(default=0, init=False)
    _paced: int = field(default=0, init=False)
    _paced_ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _held_since_s: float | None = field(default=None, init=False)

    async def run(self, scripts: Sequence[Script]) -> DriveResult:
        """Hold every script with a broker of the configuration that it wants.

        Raises:
            TargetError: no broker could be had; what was recorded by others stays.
        """
        groups = [
            (dict(config), group, self._logs(number))
            for number, (config, group) in enumerate(self._by_config(scripts).items())
        ]
        self.watcher.drive_begins(self.target_name, len(scripts))
        self._starting = len(groups)
        self._paced = sum(bool(config) for config, _, _ in groups)
        if not self._paced:
            self._paced_ended.set()
        try:
            async with asyncio.TaskGroup() as tasks:
                for config, group, directory in groups:
                    tasks.create_task(self._drive_broker(config, group, directory))
        except* TargetError as errors:
            raise errors.exceptions[0] from None
        finally:
            self.gate.pass_by(self.target_name)
        began_s = self._held_since_s or time.monotonic()
        return DriveResult(drive_ms=round((time.monotonic() - began_s) * 1000, 1), lost=self._lost)

    def _logs(self, number: int) -> Path:
        # Absolute, for brokers run in it.
        directory = (self.sinks.logs / f"broker-{number}").absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def _by_config(self, scripts: Sequence[Script]) -> Mapping[tuple[tuple[str, str], ...], list[Script]]:
        """Group scripts by the broker that they want; who cannot configure brokers has one for all."""
        configurable = Capability.BROKER_CONFIG in self.target.capabilities
        groups: dict[tuple[tuple[str, str], ...], list[Script]] = {}
        for script in scripts:
            restarts = Capability.RESTART in script.needs and Capability.RESTART in self.target.capabilities
            # What every broker is told anyway needs no broker of its own.
            config = dict(script.broker_config.items() - CONFORMANCE_CONFIG.items()) if configurable else {}
            # A restart disturbs everybody on the broker, so whoever restarts has one of its own.
            alone = {"": script.id} if restarts and configurable else {}
            groups.setdefault(tuple(sorted({**config, **alone}.items())), []).append(script)
        return groups

    async def _drive_broker(self, config: dict[str, str], scripts: Sequence[Script], directory: Path) -> None:
        began_s = time.monotonic()
        broker = await self.target.start(
            broker_config={**self.base_config, **{name: value for name, value in config.items() if name}},
            directory=directory,
            progress=lambda text: self.watcher.target_says(self.target_name, text),
        )
        ready_s = time.monotonic()
        try:
            self.sinks.broker_ready(broker.description, round((ready_s - began_s) * 1000, 1))
            await self._everybody_ready()
            if not config:
                await self._paced_ended.wait()
            await self._hold_all(broker, scripts)
            self._lost = self._lost or how_it_ended(broker)
        finally:
            self._one_paced_ended(config)
            await asyncio.shield(broker.stop())

    def _one_paced_ended(self, config: Mapping[str, str]) -> None:
        """Scenarios of configurations of their own go first: most are about delays, and want quiet."""
        self._paced -= bool(config)
        if not self._paced:
            self._paced_ended.set()

    async def _everybody_ready(self) -> None:
        """Wait for all brokers of the run: a JVM that starts would disturb the timers of those that serve."""
        self._starting -= 1
        if not self._starting:
            self.gate.pass_by(self.target_name)
        await self.gate.opened()
        self._held_since_s = self._held_since_s or time.monotonic()

    async def _hold_all(self, broker: Broker, scripts: Sequence[Script]) -> None:
        waiting = {script.id: script for script in scripts}

        async def hold(script: Script, until_s: float) -> None:
            async with self.gate.slots:
                del waiting[script.id]
                await self._hold(broker, script, until_s)
            self.watcher.scenario_ended(self.target_name, script.id)

        until_s = asyncio.get_running_loop().time() + self.limits.drive_s
        try:
            async with asyncio.timeout_at(until_s), asyncio.TaskGroup() as tasks:
                for script in scripts:
                    tasks.create_task(hold(script, until_s))
        except TimeoutError:
            for script in waiting.values():
                self._recorder(script).note(EventKind.ABANDONED, _NOWHERE, self._limit_note())

    def _limit_note(self) -> str:
        return f"the drive's limit of {self.limits.drive_s:g} s had passed"

    async def _hold(self, broker: Broker, script: Script, until_s: float) -> None:
        reason = why_not_applicable(script, self.target.capabilities, broker.description)
        recorder = self._recorder(script)
        if reason is not None:
            recorder.note(EventKind.NOT_APPLICABLE, _NOWHERE, reason)
            return
        failure = how_it_ended(broker)
        if failure is not None:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"target lost: {failure}")
            return
        stage = broker.open_stage(script.id)
        recorder.now_ms = stage.now_ms
        try:
            async with asyncio.timeout(self.limits.scenario_s):
                await self._converse(broker, script, stage, recorder)
        except TimeoutError:
            note = f"the scenario's limit of {self.limits.scenario_s:g} s had passed"
            recorder.note(EventKind.ABANDONED, _NOWHERE, note)
        except asyncio.CancelledError:
            is_late = asyncio.get_running_loop().time() >= until_s
            recorder.note(EventKind.ABANDONED, _NOWHERE, self._limit_note() if is_late else "interrupted")
            raise
        except TargetError as error:
            recorder.note(EventKind.ABANDONED, _NOWHERE, f"target lost: {error}")
        except Exception as error:  # noqa: BLE001 - our fault is a result too, and must not stop the others
            recorder.note(EventKind.HARNESS_ERROR, _NOWHERE, repr(error))
        finally:
            await stage.close()

    async def _converse(self, broker: Broker, script: Script, stage: Stage, recorder: Recorder) -> None:
        interpreter = Interpreter(
            script=script,
            stage=stage,
            recorder=recorder,
            bindings=Bindings(groups=self._groups(script)),
            broker_failure=lambda: how_it_ended(broker),
        )
        await interpreter.hold()

    def _recorder(self, script: Script) -> Recorder:
        groups = {real: name for name, real in self._groups(script).items()}
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

    def _groups(self, script: Script) -> Mapping[str, str]:
        """Give every group of a script an id that no other scenario, and no other run, has."""
        slug = script.id.replace("/", ".")
        return {name: f"{self.run_id}.{slug}.{name}" for name in group_names(script)}


def how_it_ended(broker: Broker) -> str | None:
    """Return in one line why a broker is gone, or None; the end of its log stays in the log."""
    failure = broker.failure()
    return None if failure is None else failure.partition("\n")[0]


def group_names(script: Script) -> tuple[str, ...]:
    """Return the symbolic names of a script's groups, in the order of their first mention."""
    found: dict[str, None] = {"main": None}

    def visit(value: Pattern) -> None:
        if isinstance(value, GroupRef):
            found[value.name] = None
        elif isinstance(value, Mapping):
            for item in value.values():
                visit(item)
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            for item in value:
                visit(item)

    for step in script.steps:
        visit(getattr(step, "fields", {}))
        visit(getattr(step, "until", {}))
    return tuple(found)
