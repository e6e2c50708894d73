"""The drive: every target with every script, then the references that they are held against."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from harness.conduct.plan import RunPlan
from harness.report.exit_code import ENDED_COMPLETE, ENDED_INTERRUPTED
from harness.runner.capacity import processes_at_once
from harness.runner.drive import Drive, DriveSinks, Gate, Watcher
from harness.runner.recorder import Place, Recorder
from harness.targets.base import BrokerDescription, Capability, Target, TargetError
from harness.targets.oracle import Oracle, is_same_profile, oracle_for
from harness.trace.canonical import Canonicaliser
from harness.trace.events import TARGET_LOST, Event, EventKind, TraceHeader
from harness.trace.files import EventWriter, RunFolder
from harness.trace.formats import config_digest
from harness.wire.schema import API_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveReport:
    """How the drive of a whole run went."""

    ended: str
    """`complete`, `interrupted`, or `target lost: …`, as the footer says it."""
    drive_ms: Mapping[str, float]
    """Target name to milliseconds."""


@dataclass(slots=True, kw_only=True)
class _TargetRecord:
    """What is on file of one target."""

    name: str
    oracle: str | None = None
    headers: list[TraceHeader] = field(default_factory=list)
    descriptions: list[BrokerDescription] = field(default_factory=list)
    drive_ms: float = 0.0
    lost: str | None = None


@dataclass(slots=True, kw_only=True)
class _Trace:
    """A trace that is being written, and which scenarios it tells of."""

    writer: EventWriter
    told_of: set[str] = field(default_factory=set)

    def write(self, event: Event) -> None:
        self.told_of.add(event.scenario_id)
        self.writer.write(event)


@dataclass(slots=True, kw_only=True)
class RunDrive:
    """Drives all targets of a plan and leaves their traces in a run folder."""

    plan: RunPlan
    folder: RunFolder
    watcher: Watcher
    _records: dict[str, _TargetRecord] = field(default_factory=dict, init=False)

    async def run(self) -> DriveReport:
        """Drive the targets, then their oracles; losing one target does not stop the others."""
        references = [target for target in self.plan.targets if _is_reference(target)]
        others = [target for target in self.plan.targets if not _is_reference(target)]
        interrupted = False
        try:
            for target in references:
                await self._drive(target, target.name)
            for wave in _waves(others, self.plan.at_once):
                await self._drive_together(wave)
            for target in others if self.plan.against is None else self.plan.targets:
                await self._settle_oracle_of(target)
        except asyncio.CancelledError:
            interrupted = True
        return DriveReport(
            ended=ENDED_INTERRUPTED if interrupted else self._ended(),
            drive_ms={record.name: record.drive_ms for record in self._records.values()},
        )

    async def _drive_together(self, targets: Sequence[Target]) -> None:
        """Drive some targets at once; nothing is held before all of them have their brokers."""
        gate = Gate(frozenset(target.name for target in targets), jobs=self.plan.limits.jobs)
        async with asyncio.TaskGroup() as tasks:
            for target in targets:
                tasks.create_task(self._drive(target, target.name, gate=gate))

    def _ended(self) -> str:
        lost = [f"{record.name}: {record.lost}" for record in self._records.values() if record.lost]
        return f"{TARGET_LOST}{'; '.join(lost)}" if lost else ENDED_COMPLETE

    async def _drive(
        self,
        target: Target,
        name: str,
        *,
        base_config: Mapping[str, str] | None = None,
        gate: Gate | None = None,
    ) -> None:
        record = self._records[name] = _TargetRecord(name=name)
        with EventWriter(self.folder.events(name)) as writer:
            trace = _Trace(writer=writer)

            def broker_ready(description: BrokerDescription, start_ms: float) -> None:
                record.descriptions.append(description)
                record.headers.append(self._header(name, description, start_ms))
                self.folder.write_headers(name, record.headers)

            drive = Drive(
                run_id=self.plan.run_id,
                target=target,
                target_name=name,
                limits=self.plan.limits,
                sinks=DriveSinks(write=trace.write, broker_ready=broker_ready, logs=self.folder.logs(name)),
                watcher=self.watcher,
                base_config=base_config or {},
                gate=gate or Gate(frozenset(), jobs=self.plan.limits.jobs),
            )
            began_s = time.monotonic()
            try:
                result = await drive.run(tuple(self.plan.scripts.values()))
                record.drive_ms, record.lost = result.drive_ms, result.lost
            except TargetError as error:
                record.lost = str(error).partition("\n")[0]
                record.drive_ms = round((time.monotonic() - began_s) * 1000, 1)
                self._abandon_rest(record, target, trace, f"{TARGET_LOST}{record.lost}", why=str(error))
            except asyncio.CancelledError:
                self._abandon_rest(
                    record, target, trace, ENDED_INTERRUPTED, why="interrupted before a broker was ready"
                )
                raise

    def _abandon_rest(
        self, record: _TargetRecord, target: Target, trace: _Trace, note: str, *, why: str
    ) -> None:
        """Put on record of every scenario that was not begun that it never will be.

        Args:
            record: of the target.
            target: itself.
            trace: gets a note for each scenario that it tells nothing of.
            note: what it says.
            why: there is no broker to describe, where there is none.
        """
        if not record.headers:
            nothing = BrokerDescription(
                spec=target.spec,
                profile="",
                implementation="not available",
                bootstrap="",
                broker_config={},
                api_ranges=(),
                notes=(why,),
            )
            record.headers.append(self._header(record.name, nothing, 0.0))
            self.folder.write_headers(record.name, record.headers)
        for script in self.plan.scripts.values():
            if script.id in trace.told_of:
                continue
            recorder = Recorder(
                run_id=self.plan.run_id,
                target=record.name,
                script=script,
                canonicaliser=Canonicaliser(groups={}),
                write=trace.write,
                now_ms=lambda: 0.0,
            )
            recorder.note(EventKind.ABANDONED, Place(step=-1), note)

    async def _settle_oracle_of(self, target: Target) -> None:
        """Name what a target is held against: the reference of its profile, or what the plan says."""
        record = self._records[target.name]
        if not record.descriptions:
            return
        name = await self._oracle_of(target, record) if self.plan.against is None else self.plan.against
        if name is not None and name != target.name:
            record.oracle = name
            record.headers = [_with_oracle(header, name) for header in record.headers]
            self.folder.write_headers(target.name, record.headers)

    async def _oracle_of(self, target: Target, record: _TargetRecord) -> str | None:
        """Drive the reference that a target is held against, unless it was already, and return its name."""
        try:
            oracle = oracle_for(target, record.descriptions[0])
        except TargetError as error:
            record.lost = record.lost or f"nothing to hold it against: {error}"
            return None
        name = self._name_of(oracle)
        if name not in self._records:
            await self._drive(oracle.target, name, base_config=oracle.base_config)
        return name

    def _name_of(self, oracle: Oracle) -> str:
        """Return the name of a reference that the user asked for if it is the same, else the oracle's."""
        if not oracle.base_config:
            for target in self.plan.targets:
                record = self._records.get(target.name)
                if (
                    record
                    and _is_reference(target)
                    and is_same_profile(record.headers[0].profile, oracle.profile)
                ):
                    return target.name
        return oracle.name

    def _header(self, name: str, description: BrokerDescription, start_ms: float) -> TraceHeader:
        ranges = {
            API_NAMES.get(item.api_key, f"API {item.api_key}"): [item.min_version, item.max_version]
            for item in description.api_ranges
        }
        return TraceHeader(
            run_id=self.plan.run_id,
            target=name,
            spec=description.spec,
            version=description.version,
            image=description.image,
            profile=description.profile,
            implementation=description.implementation,
            bootstrap=description.bootstrap,
            broker_config=(broker_config := json.dumps(dict(description.broker_config), sort_keys=True)),
            config_digest=config_digest(broker_config),
            api_ranges=json.dumps(ranges),
            notes=description.notes,
            oracle=None,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            start_ms=start_ms,
        )


def _waves(targets: Sequence[Target], at_once: int | None) -> Iterator[Sequence[Target]]:
    """Split targets, in their order, into those that may have brokers together.

    Where nobody said how many, they are all of them, but of clusters no more than fit the machine.
    """
    size = at_once or max(len(targets), 1)
    fitting = processes_at_once()
    wave: list[Target] = []
    for target in targets:
        in_clusters = sum(each.process_count for each in (*wave, target) if _is_cluster(each))
        if wave and (len(wave) == size or (_is_cluster(target) and in_clusters > fitting)):
            yield wave
            wave = []
        wave.append(target)
    if wave:
        yield wave


def _is_cluster(target: Target) -> bool:
    return Capability.CLUSTER in target.capabilities


def _is_reference(target: Target) -> bool:
    return target.spec.startswith("reference") and not target.spec.startswith("reference-tcp")


def _with_oracle(header: TraceHeader, oracle: str) -> TraceHeader:
    return replace(header, oracle=oracle)
