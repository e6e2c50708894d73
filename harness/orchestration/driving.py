"""The drive: every target runs every script, then the references that the targets are compared with."""

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from harness.capacity import machine
from harness.diff.target_pattern import is_reference
from harness.orchestration.background import BackgroundError, in_background
from harness.orchestration.confirming import Rerun
from harness.orchestration.first_look import FirstLook
from harness.orchestration.on_cluster import Cluster
from harness.orchestration.packings import packings
from harness.orchestration.plan import RunPlan
from harness.orchestration.reference_runs import with_needs
from harness.orchestration.reviving import drives_of
from harness.orchestration.target_record import TargetRecord, Trace
from harness.results.status import ENDED_COMPLETE, ENDED_INTERRUPTED
from harness.runner.admission import Admission
from harness.runner.broker_actions import acts_on_broker
from harness.runner.drive import Drive, DriveSinks, Unwatched, Watcher
from harness.runner.recorder import header_of, note_alone
from harness.runner.sharing import Packing, brokers_json
from harness.scenario.fitting import fitted
from harness.scenario.script import Script
from harness.targets.base.interface import BrokerDescription, Capability, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.targets.reference.oracle import Oracle, is_same_profile, oracle_for
from harness.trace.events import TARGET_LOST, EventKind
from harness.trace.files import EventWriter, RunFolder

_BACKGROUND_FROM: Final = 200
"""The number of scenarios from which a reference is driven in its own process, which starts in a second."""
_NO_BROKER_YET: Final = "interrupted before a broker was ready"
_NOBODY_COMPARED: Final = "no target was compared with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveReport:
    """How the drive of a whole run went."""

    ended: str
    """`complete`, `interrupted`, or `target lost: …`, as written in the footer."""
    drive_ms: Mapping[str, float]
    """By target name, the duration of its drive in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A target that is driven under a name."""

    target: Target
    name: str
    scripts: Mapping[str, Script]
    base_config: Mapping[str, str]
    """Properties for each of its brokers."""


@asynccontextmanager
async def fetching(
    targets: Sequence[Target], tell: Callable[[str, str], None]
) -> AsyncIterator[Mapping[str, asyncio.Task[None]]]:
    """Start the downloads of some targets together, and cancel the unfinished ones on leaving."""

    async def fetch(target: Target) -> None:
        await target.fetch(lambda text: tell(target.name, text))

    tasks = {target.name: asyncio.create_task(fetch(target)) for target in targets}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        # If the run was interrupted, nobody awaited some downloads: their failures do not matter.
        await asyncio.gather(*tasks.values(), return_exceptions=True)


@dataclass(slots=True, kw_only=True)
class RunDrive:
    """Drives all targets of a plan and leaves their traces in a run folder."""

    plan: RunPlan
    folder: RunFolder
    watcher: Watcher
    cluster: Cluster | None = None
    """The cluster whose executors drive the targets; None if this machine does."""
    _records: dict[str, TargetRecord] = field(default_factory=dict, init=False)
    _packings: Mapping[str, Packing] = field(default_factory=dict, init=False)
    _fetches: Mapping[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    """The downloads of targets that are driven here, by name."""
    _one_in_background: AbstractAsyncContextManager[object] = field(default_factory=asyncio.Lock, init=False)
    """Acquired while a reference runs beside brokers: only one may do so at a time, except on executors."""
    _oracles: dict[str, asyncio.Task[str | None]] = field(default_factory=dict, init=False)
    """By target, the task that drives its oracle and returns the oracle's name."""
    _beside: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup, init=False)
    """The tasks that drive references while brokers are driven."""
    _look: FirstLook = field(init=False)
    _early: dict[asyncio.Task[None], float] = field(default_factory=dict, init=False)
    """Further attempts at scenarios that take long, with when they are half done."""

    def __post_init__(self) -> None:
        self._look = FirstLook(
            plan=self.plan, folder=self.folder, watcher=self.watcher, run_again=self._run_again
        )
        if self.cluster is not None:
            self._one_in_background = nullcontext()

    async def run(self) -> DriveReport:
        """Drive the targets, then their oracles; losing one target does not stop the others."""
        references = [target for target in self.plan.targets if is_reference(target.spec)]
        others = [target for target in self.plan.targets if not is_reference(target.spec)]
        for target in self.plan.targets:
            target.for_run(self.plan.run_id)
        interrupted = False
        try:
            async with (
                fetching(others if self.cluster is None else (), self.watcher.target_says) as self._fetches,
                self._beside,
            ):
                asked_for = self._beside.create_task(self._drive_references(references))
                if not self._uses_background:
                    await asked_for
                await asyncio.to_thread(self._pack, others)
                # Executors are separate machines, so all targets can be driven at once.
                at_once = self.plan.at_once or (None if self.cluster is None else len(others))
                for wave in _waves(others, at_once):
                    await self._drive_together(wave)
            for target in others if self.plan.against is None else self.plan.targets:
                await self._settle_oracle_of(target)
            await self._end_early(half_done=True)
        except asyncio.CancelledError:
            interrupted = True
        finally:
            await self._end_early(half_done=False)
        suspects = {each.name: [*map(str, each.suspects)] for each in self._records.values() if each.suspects}
        if suspects:
            self.folder.write_suspects(suspects)
        return DriveReport(
            ended=ENDED_INTERRUPTED if interrupted else self._ended(),
            drive_ms={record.name: record.drive_ms for record in self._records.values()},
        )

    def _run_again(self, target_name: str, scenario_id: str, lasts_s: float) -> None:
        """Begin a further attempt at a long scenario on an external broker, beside the others."""
        script = self.plan.scripts[scenario_id]
        if self.plan.confirms and self.plan.repeat == 1 and not acts_on_broker(script):
            (target,) = (each for each in self.plan.targets if each.name == target_name)
            rerun = Rerun(plan=self.plan, folder=self.folder, watcher=self.watcher)
            attempt = asyncio.create_task(rerun.run_early(target, script))
            self._early[attempt] = time.monotonic() + lasts_s / 2

    async def _end_early(self, *, half_done: bool) -> None:
        """Cancel the further attempts that are less than half done, or all; await the others."""
        for attempt, half_s in self._early.items():
            if not half_done or half_s > time.monotonic():
                attempt.cancel()
        await asyncio.gather(*self._early, return_exceptions=True)

    def _pack(self, targets: Sequence[Target]) -> None:
        scripts = tuple(self.plan.scripts.values())
        self._packings = packings(scripts, targets, merges=self.plan.merges_configs)
        self.folder.write_brokers(
            {
                target.name: brokers_json(scripts, target.capabilities, self._packings[target.name])
                for target in targets
                if Capability.BROKER_CONFIG in target.capabilities
            }
        )

    @property
    def _uses_background(self) -> bool:
        """Whether references are driven in their own process while brokers are driven."""
        are_alone = all(is_reference(target.spec) for target in self.plan.targets)
        return self.cluster is None and not are_alone and len(self.plan.scripts) >= _BACKGROUND_FROM

    def _asked_for(self, target: Target) -> Subject:
        config = self.plan.properties_of(target)
        return Subject(target=target, name=target.name, scripts=self.plan.scripts, base_config=config)

    async def alone(self, reference: Subject) -> TargetRecord:
        """Drive one reference, and return its record."""
        await self._drive(reference)
        return self._records[reference.name]

    async def _drive_references(self, targets: Sequence[Target]) -> None:
        async with self._one_in_background:
            for target in targets:
                await self._drive_reference(self._asked_for(target))

    async def _drive_reference(self, reference: Subject) -> None:
        if not self._uses_background:
            await self._drive(reference)
            return
        name = reference.name
        self.watcher.drive_begins(name, len(reference.scripts))
        # Other targets may not be picklable, and the other process does not need them.
        plan = replace(self.plan, targets=())
        try:
            self._records[name] = await in_background(partial(_driven, plan, self.folder, reference))
        except (asyncio.CancelledError, BackgroundError) as ending:
            why = ENDED_INTERRUPTED if isinstance(ending, asyncio.CancelledError) else str(ending)
            self._give_up(reference.target, name, why)
            if why == ENDED_INTERRUPTED:
                raise
        for scenario_id in reference.scripts:
            self.watcher.scenario_ended(name, scenario_id)

    def _give_up(self, target: Target, name: str, why: str) -> None:
        """Record that a reference was not driven; delete its trace first, which may be incomplete."""
        self.folder.events(name).unlink(missing_ok=True)
        record = self._records[name] = TargetRecord(name=name)
        is_lost = why != ENDED_INTERRUPTED
        record.lost = why if is_lost else None
        with EventWriter(self.folder.events(name)) as writer:
            trace = Trace(writer=writer, record=record)
            self._abandon_rest(record, target, trace, f"{TARGET_LOST}{why}" if is_lost else why, why=why)

    async def _drive_together(self, targets: Sequence[Target]) -> None:
        """Drive some targets at once, in rounds of as many brokers as the machine can run."""
        admission = Admission(frozenset(target.name for target in targets), jobs=self.plan.limits.jobs)
        async with asyncio.TaskGroup() as tasks:
            for target in targets:
                tasks.create_task(self._drive(self._asked_for(target), admission))

    def _ended(self) -> str:
        lost = [f"{record.name}: {record.lost}" for record in self._records.values() if record.lost]
        return f"{TARGET_LOST}{'; '.join(lost)}" if lost else ENDED_COMPLETE

    async def _drive(self, subject: Subject, admission: Admission | None = None) -> None:
        target, name, chosen = subject.target, subject.name, subject.scripts
        record = self._records[name] = TargetRecord(name=name)
        with EventWriter(self.folder.events(name)) as writer:
            trace = Trace(writer=writer, record=record)
            ready = partial(self._broker_ready, target, record)
            drive = Drive(
                run_id=self.plan.run_id,
                target=target,
                target_name=name,
                limits=self.plan.limits,
                sinks=DriveSinks(
                    write=trace.write, broker_ready=ready, logs=self.folder.logs(name), hear=self._look.hear
                ),
                watcher=self._look,
                base_config=subject.base_config,
                packing=self._packings.get(name),
                fits=self.plan.against is None,
                with_needs=with_needs,
                admission=admission or Admission(frozenset(), jobs=self.plan.limits.jobs),
            )
            began_s = time.monotonic()
            self._note_rest(name, chosen, trace)
            try:
                if (fetch := self._fetches.get(target.name)) is not None:
                    await asyncio.shield(fetch)
                result = await drives_of(target, drive, self.cluster)(tuple(chosen.values()))
                record.drive_ms = result.drive_ms
                record.lost = record.lost or result.lost or trace.full
                record.suspects = result.suspects
                self._describe_none(record, target, "no scenario wants a broker of it")
            except TargetError as error:
                record.lost = str(error).partition("\n")[0]
                record.drive_ms = round((time.monotonic() - began_s) * 1000, 1)
                drive.admission.settle(name)
                self._abandon_rest(record, target, trace, f"{TARGET_LOST}{record.lost}", why=str(error))
            except asyncio.CancelledError:
                self._abandon_rest(record, target, trace, ENDED_INTERRUPTED, why=_NO_BROKER_YET)
                raise
            except Exception as error:  # noqa: BLE001 - a fault of the harness with one target takes no other's verdict
                why = record.lost = f"the harness failed: {error!r}"
                logs = self.folder.logs(name)
                logs.mkdir(parents=True, exist_ok=True)
                (logs / "harness-error.txt").write_text(traceback.format_exc())
                drive.admission.settle(name)
                self._abandon_rest(record, target, trace, why, why=why, kind=EventKind.HARNESS_ERROR)

    def _broker_ready(
        self, target: Target, record: TargetRecord, description: BrokerDescription, start_ms: float
    ) -> None:
        record.descriptions.append(description)
        record.headers.append(header_of(self.plan.run_id, record.name, description, start_ms))
        self.folder.write_headers(record.name, record.headers)
        self._foresee_oracle(target, record)

    def _abandon_rest(
        self,
        record: TargetRecord,
        target: Target,
        trace: Trace,
        note: str,
        *,
        why: str,
        kind: EventKind = EventKind.ABANDONED,
    ) -> None:
        """Record every scenario that was not begun as abandoned, or as an error of the harness."""
        self._describe_none(record, target, why)
        for script in self.plan.scripts.values():
            if script.id not in trace.reported_of:
                self._note(record.name, script, trace, kind, note)

    def _describe_none(self, record: TargetRecord, target: Target, why: str) -> None:
        """Record why there was no broker to describe, if there was none."""
        if record.headers:
            return
        nothing = BrokerDescription(
            spec=target.spec,
            profile="",
            implementation="not available",
            bootstrap="",
            broker_config={},
            api_ranges=(),
            notes=(why,),
        )
        record.headers.append(header_of(self.plan.run_id, record.name, nothing, 0.0))
        self.folder.write_headers(record.name, record.headers)

    def _note(self, name: str, script: Script, trace: Trace, kind: EventKind, note: str) -> None:
        note_alone(script, kind, note, run_id=self.plan.run_id, target=name, write=trace.write)

    async def _settle_oracle_of(self, target: Target) -> None:
        """Set what a target is compared with: its profile's reference, or the one that the plan names."""
        record = self._records[target.name]
        if not record.descriptions:
            return
        name = self.plan.against
        if name is None:
            foreseen = self._oracles.get(target.name)
            name = await (self._oracle_of(target, record) if foreseen is None else foreseen)
        if name is not None and name != target.name:
            record.headers = [replace(header, oracle=name) for header in record.headers]
            self.folder.write_headers(target.name, record.headers)

    def _foresee_oracle(self, target: Target, record: TargetRecord) -> None:
        """Start to drive a target's reference beside it, if the first broker determines the reference."""
        is_known = self.plan.against is None and not target.is_external and not is_reference(target.spec)
        if (self._uses_background or self.cluster) and is_known and target.name not in self._oracles:
            self._oracles[target.name] = self._beside.create_task(self._oracle_of(target, record))

    async def _oracle_of(self, target: Target, record: TargetRecord) -> str | None:
        """Drive the reference that a target is compared with, if not driven yet, and return its name."""
        try:
            with blaming_target():
                oracle = oracle_for(target, record.descriptions[0])
        except TargetError as error:
            record.lost = record.lost or f"nothing to compare it with: {error}"
            return None
        async with self._one_in_background:
            name = self._name_of(oracle)
            if name not in self._records:
                scripts, config = self._compared(target), oracle.base_config
                await self._drive_reference(
                    Subject(target=oracle.target, name=name, scripts=scripts, base_config=config)
                )
        return name

    def _compared(self, target: Target) -> Mapping[str, Script]:
        """Return the scripts for a target's reference; for an external broker, only those applicable to it.

        A reference that several targets may share runs all scripts.
        """
        if not target.is_external:
            return self.plan.scripts
        record = self._records[target.name]
        settings = record.descriptions[0].broker_config
        return {
            name: fitted(script, settings)
            for name, script in self.plan.scripts.items()
            if name not in record.not_applicable
        }

    def _note_rest(self, name: str, chosen: Mapping[str, Script], trace: Trace) -> None:
        """Record every scenario that a reference does not run as not applicable: no target needs it."""
        for script in self.plan.scripts.values():
            if script.id not in chosen:
                self._note(name, script, trace, EventKind.NOT_APPLICABLE, _NOBODY_COMPARED)

    def _name_of(self, oracle: Oracle) -> str:
        """Return the name of an equal reference among the plan's targets, or else the oracle's."""
        if not oracle.base_config:
            for target in self.plan.targets:
                record = self._records.get(target.name) if is_reference(target.spec) else None
                if record and is_same_profile(record.headers[0].profile, oracle.profile):
                    return target.name
        return oracle.name


def _driven(plan: RunPlan, folder: RunFolder, reference: Subject) -> TargetRecord:
    drive = RunDrive(plan=plan, folder=folder, watcher=Unwatched())
    return asyncio.run(drive.alone(reference))


def _waves(targets: Sequence[Target], at_once: int | None) -> Iterator[Sequence[Target]]:
    """Split targets, in their order, into groups that are driven together; by default, one target a core."""
    size = at_once or machine().cores
    return (targets[start : start + size] for start in range(0, len(targets), size))
