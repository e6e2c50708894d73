"""Drives of targets on a Spark cluster: an executor drives each, and its events are collected here."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from harness import __version__
from harness.orchestration.plan import PlanError
from harness.orchestration.share_process import (
    LOGS,
    OUTCOME,
    Share,
    begun,
    has_ended,
    look,
    run_share,
    stop,
    whole,
)
from harness.orchestration.target_record import TargetRecord, Trace
from harness.runner.admission import Admission
from harness.runner.drive import Drive, DriveResult, DriveSinks, Unwatched
from harness.scenario.script import Script
from harness.spark.master import LOCAL_CLUSTER, STANDALONE, SparkError, TaskError, why_no_spark
from harness.targets.base.interface import BrokerDescription, Lasting, Target, TargetError
from harness.targets.base.limits import ANSWER_BYTES, TRACE_BYTES
from harness.targets.external.target import ExternalTarget
from harness.targets.secured.security import PLAINTEXT
from harness.targets.secured.variables import MIRROR_VARIABLE, take_secrets
from harness.trace.events import Event
from harness.trace.files import EventWriter, read_events, write_whole
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError
from harness.workers import first_error

if TYPE_CHECKING:
    from harness.spark.executors import Executors

_EVENTS: Final = "events.jsonl.zst"
_GOODBYE_S: Final = 20.0
"""How long interrupted shares may take to stop their brokers."""
_POLL_S: Final = 0.1
_LOOKS_A_CORE: Final = 2
"""How many times for each core the folder is checked before a run, so that likely each executor does it."""

_ALIKE: Final = (
    "Every machine needs the same version of the harness under the same Python; PYSPARK_PYTHON says where "
    "that is, if not where the driver has it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveOutcome:
    """How an attempt at a drive ended."""

    drive_ms: float = 0.0
    lost: str | None = None
    """Why a broker was lost before its scripts had ended."""
    error: str | None = None
    """Why no broker could be started."""
    brokers: tuple[tuple[BrokerDescription, float], ...] = ()
    """The brokers that became ready, each with the duration of its start in milliseconds."""
    attempt: int = 0
    """How often the share was begun before."""


_OUTCOMES: Final = TypeAdapter(DriveOutcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetShare:
    """A drive of one target, with everything that another machine needs for it."""

    drive: Drive
    """How the target is driven; its sinks, watcher and admission stay on the driver."""
    scripts: Sequence[Script]
    variables: Mapping[str, str]
    """The size limits of answers and traces, and the mirror of jars, as environment variables."""
    folder: Path

    @classmethod
    def of(cls, drive: Drive, scripts: Sequence[Script], folder: Path) -> "TargetShare":
        """Return the share that does what a drive would do here."""
        nowhere = DriveSinks(write=_nowhere, broker_ready=_nowhere, logs=Path(), hear=_nowhere)
        return cls(
            drive=replace(drive, sinks=nowhere, watcher=Unwatched(), admission=_admission(drive)),
            scripts=scripts,
            variables={
                **{each.variable: str(each.most()) for each in (ANSWER_BYTES, TRACE_BYTES)},
                **{name: url for name, url in take_secrets().items() if name == MIRROR_VARIABLE},
            },
            folder=folder,
        )

    async def carry_out(self, folder: Path, attempt: int) -> None:
        """Drive the target, and leave events, logs and outcome in a folder."""
        os.environ.update(self.variables)
        brokers: list[tuple[BrokerDescription, float]] = []
        # Brokers log to a local folder meanwhile: the folder of shares may be on a remote file system.
        with TemporaryDirectory(prefix="kafka-conformance-share-") as logs:
            try:
                outcome = await self._driven(folder / _EVENTS, Path(logs), brokers, attempt)
            except asyncio.CancelledError:
                _write(folder, DriveOutcome(brokers=tuple(brokers)))
                raise
            finally:
                shutil.copytree(logs, folder / LOGS, dirs_exist_ok=True)
        _write(folder, replace(outcome, brokers=tuple(brokers), attempt=attempt))

    async def _driven(
        self, events: Path, logs: Path, brokers: list[tuple[BrokerDescription, float]], attempt: int
    ) -> DriveOutcome:
        asked = self.drive
        run_id = f"{asked.run_id}.{attempt}" if attempt else asked.run_id
        asked.target.for_run(run_id)
        with EventWriter(events) as writer:
            trace = Trace(writer=writer, record=TargetRecord(name=asked.target_name))

            def write(event: Event) -> None:
                trace.write(replace(event, run_id=asked.run_id))

            sinks = DriveSinks(write=write, broker_ready=lambda *ready: brokers.append(ready), logs=logs)
            drive = replace(asked, run_id=run_id, sinks=sinks, admission=_admission(asked))
            try:
                await drive.target.fetch(lambda _: None)
                result = await drive.run(self.scripts)
            except TargetError as failure:
                return DriveOutcome(error=str(failure))
            return DriveOutcome(drive_ms=result.drive_ms, lost=result.lost or trace.full)


def _nowhere(*_: object) -> None:
    """Drop what a drive would record: only its copy on an executor's machine records anything."""


def _admission(drive: Drive) -> Admission:
    return Admission(frozenset(), jobs=drive.limits.jobs)


def _write(folder: Path, outcome: DriveOutcome) -> None:
    write_whole(folder / OUTCOME, _OUTCOMES.dump_json(outcome).decode())


def read_outcome(attempt: Path) -> DriveOutcome:
    """Read the outcome of an attempt; return an empty one if the attempt was killed before it wrote any.

    Raises:
        TraceError: the file is damaged.
    """
    if not has_ended(attempt):
        return DriveOutcome()
    try:
        return _OUTCOMES.validate_json(read_plain(attempt / OUTCOME))
    except ValidationError as error:
        raise TraceError(f"{attempt / OUTCOME}: {error.error_count()} fields of it are wrong") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Executors, and the folder in which they leave what they did."""

    executors: "Executors"
    folder: Path
    _drives: "count[int]" = field(default_factory=partial(count, 1), init=False)

    async def drive(self, drive: Drive, scripts: Sequence[Script]) -> DriveResult:
        """Do what `Drive.run` does, with brokers on one executor; the events come when it has ended.

        Raises:
            TargetError: no broker, or no executor, was available.
        """
        drive.watcher.drive_begins(drive.target_name, len(scripts))
        share = TargetShare.of(drive, scripts, self.folder / f"{drive.target_name}-{next(self._drives)}")
        share.folder.mkdir(parents=True)
        try:
            outcome = _take_in(drive, await self.attempt(share))
        except asyncio.CancelledError:
            if (last := begun(share)) is not None:
                _take_in(drive, last)
            raise
        except (SparkError, TaskError) as error:
            raise TargetError(str(error)) from None
        finally:
            drive.admission.settle(drive.target_name)
            shutil.rmtree(share.folder, ignore_errors=True)
        if outcome.attempt:
            text = f"it began {outcome.attempt + 1} times: an executor failed or was lost"
            drive.watcher.target_says(drive.target_name, Lasting(text))
        if outcome.error is not None:
            raise TargetError(outcome.error)
        for script in scripts:
            drive.watcher.scenario_ended(drive.target_name, script.id)
        return DriveResult(drive_ms=outcome.drive_ms, lost=outcome.lost)

    async def attempt(self, share: Share) -> Path:
        """Run a share on an executor, and return the folder of its complete attempt.

        Raises:
            TaskError: the share failed on every try, or its results are not visible here.
            SparkError: no executor was available.
            CancelledError: the share was cancelled; its last attempt had time to write its outcome.
        """
        try:
            await self.executors.run(run_share, share)
        except TaskError:
            stop(share)
            raise
        except asyncio.CancelledError:
            stop(share)
            await _goodbye(share)
            raise
        if (attempt := whole(share)) is None:
            raise TaskError(f"what its executor wrote to {share.folder} is not seen here")
        return attempt


async def _goodbye(share: Share) -> None:
    """Wait until an interrupted share's process has stopped its broker."""
    try:
        async with asyncio.timeout(_GOODBYE_S):
            while (attempt := begun(share)) is not None and not has_ended(attempt):  # noqa: ASYNC110 - another machine sets no event
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        return


def _take_in(drive: Drive, attempt: Path) -> DriveOutcome:
    """Copy the results of an attempt at a share to where a drive on this machine would have put them."""
    outcome = read_outcome(attempt)
    for description, start_ms in outcome.brokers:
        drive.sinks.broker_ready(description, start_ms)
    full = None
    for event in read_events(attempt / _EVENTS) if (attempt / _EVENTS).exists() else ():
        try:
            drive.sinks.write(event)
            drive.sinks.hear(event)
        except TargetError as error:  # the trace is full: it only accepts how scenarios ended
            full = str(error)
    if (attempt / LOGS).is_dir():
        shutil.copytree(attempt / LOGS, drive.sinks.logs, dirs_exist_ok=True)
    return replace(outcome, lost=outcome.lost or full)


def refuse_unfit(master: str, targets: Sequence[Target]) -> None:
    """Check that targets can be driven on a cluster.

    Raises:
        PlanError: the master is of another kind, or a target's password would have to travel.
        SparkError: Spark or Java is not installed.
    """
    if not master.startswith((STANDALONE, LOCAL_CLUSTER)):
        raise PlanError(
            f"--on {master}: write spark://HOST:PORT for a standalone cluster, "
            "or 'local-cluster[2,1,1024]' for one on this machine: 2 executors of 1 core and 1024 MiB"
        )
    for target in targets:
        if isinstance(target, ExternalTarget) and target.security != PLAINTEXT:
            raise PlanError(
                f"--on {master}: the credentials for {target.spec} are not sent to executors; "
                "run it without --on"
            )
    if (lacking := why_no_spark(master)) is not None:
        raise SparkError(f"--on {master}: {lacking}")


@contextmanager
def cluster_of(master: str | None, reports: Path, say: Callable[[str], None]) -> Iterator[Cluster | None]:
    """Provide a cluster's executors, all of which see the folder of runs; None without a master.

    The master is of a kind that `refuse_unfit` accepts.

    Raises:
        SparkError: there is no master or no executor, or an executor does not see the folder.
    """
    if master is None:
        yield None
        return
    # PySpark is optional: only runs on a cluster need it.
    from harness.spark.executors import executors  # noqa: PLC0415 - as said

    reports.mkdir(parents=True, exist_ok=True)
    say(f"waiting for an executor of {master}")
    with (
        # It is removed when the executors are gone: until then they may write to it.
        TemporaryDirectory(prefix=".shares-", dir=reports.resolve(), ignore_cleanup_errors=True) as folder,
        executors(master) as found,
    ):
        asyncio.run(_look(found, Path(folder)), debug=False)
        say(f"driven by the executors of {master}, {found.core_count} targets at once")
        yield Cluster(executors=found, folder=Path(folder))


async def _look(found: "Executors", folder: Path) -> None:
    """Check the folder from all executors; raises SparkError if one cannot use it."""
    try:
        await found.run(look_as_task, (folder, __version__))
        with first_error(TaskError, SparkError):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(_LOOKS_A_CORE * found.core_count):
                    tasks.create_task(found.run(look_as_task, (folder, __version__)))
    except TaskError as error:
        raise SparkError(f"an executor cannot take part: {error}\n{_ALIKE}") from None


def look_as_task(folder_and_version: tuple[Path, str], _: int) -> None:
    """Check the folder, as a Spark task."""
    look(*folder_and_version)
