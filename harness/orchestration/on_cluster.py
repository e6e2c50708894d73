"""The drive of a target on a Spark cluster: its shares run as tasks, whose results are collected here."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol, TypeVar

from harness import __version__
from harness.orchestration.plan import PlanError
from harness.orchestration.share_process import look, run_share
from harness.orchestration.shares import (
    InFolder,
    Share,
    ShareOutcome,
    events_file,
    has_ended,
    last_attempt,
    logs_folder,
    read_outcome,
    shares_of,
    stop,
    whole,
)
from harness.runner.drive import Drive, DriveResult
from harness.runner.recorder import EventPosition, recorder_of
from harness.scenario.script import Script
from harness.spark.master import LOCAL_CLUSTER, STANDALONE, SparkError, TaskError, why_no_spark
from harness.targets.base.interface import Lasting, Target, TargetError
from harness.targets.external.target import ExternalTarget
from harness.targets.secured.security import PLAINTEXT
from harness.trace.events import TARGET_LOST, EventKind
from harness.trace.files import read_events
from harness.workers import first_error

T = TypeVar("T")
S = TypeVar("S", bound=InFolder)

_GOODBYE_S: Final = 20.0
"""How long interrupted shares may take to stop their brokers."""
_POLL_S: Final = 0.1
_LOOKS_A_CORE: Final = 2
"""How many times for each core the folder is checked before a run, so that likely each executor does it."""

_ALIKE: Final = (
    "Every machine needs the same version of the harness under the same Python; PYSPARK_PYTHON says where "
    "that is, if not where the driver has it"
)


class Executors(Protocol):
    """Executors on other machines, as `harness.spark.executors` implements them."""

    @property
    def core_count(self) -> int:
        """How many tasks they run at once."""

    async def run(self, function: Callable[[T, int], None], argument: T) -> None:
        """Call a function on an executor; raises TaskError if it failed on every try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Executors, and the folder in which they leave their shares' traces."""

    executors: Executors
    folder: Path
    _drives: "count[int]" = field(default_factory=partial(count, 1), init=False)

    async def drive(self, drive: Drive, scripts: Sequence[Script]) -> DriveResult:
        """Do what `Drive.run` does, with brokers on executors; a share's events come when it has ended.

        Raises:
            TargetError: no broker, or no executor, was available; the events of other shares are kept.
        """
        drive.watcher.drive_begins(drive.target_name, len(scripts))
        folder = self.folder / f"{drive.target_name}-{next(self._drives)}"
        folder.mkdir(parents=True)
        shares = shares_of(drive, scripts, folder)
        try:
            with first_error(TargetError, SparkError):
                async with asyncio.TaskGroup() as tasks:
                    driven = [tasks.create_task(self._share(drive, share)) for share in shares]
        except SparkError as error:
            raise TargetError(str(error)) from None
        finally:
            drive.admission.settle(drive.target_name)
            shutil.rmtree(folder, ignore_errors=True)
        results = [task.result() for task in driven]
        return DriveResult(
            drive_ms=round(sum(each.drive_ms for each in results), 1),
            lost=next((each.lost for each in results if each.lost is not None), None),
        )

    async def attempt(self, run: Callable[[S, int], None], share: S) -> Path:
        """Run a share on an executor, and return the folder of its complete attempt.

        Args:
            run: runs the share on an executor's machine, which can import it.
            share: can be pickled; its folder is in the cluster's folder.

        Raises:
            TaskError: the share failed on every try, or its results are not visible here.
            SparkError: no executor was available.
            CancelledError: the share was cancelled; its last attempt had time to write its outcome.
        """
        try:
            await self.executors.run(run, share)
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

    async def _share(self, drive: Drive, share: Share) -> ShareOutcome:
        try:
            attempt = await self.attempt(run_share, share)
        except TaskError as failure:
            return _failed(drive, share, str(failure))
        except asyncio.CancelledError:
            if (begun := begun_attempt(share)) is not None:
                _take_in(drive, share, begun)
            raise
        outcome = _take_in(drive, share, attempt)
        if outcome.attempt:
            text = f"{share.folder.name} began {outcome.attempt + 1} times: an executor failed or was lost"
            drive.watcher.target_says(drive.target_name, Lasting(text))
        if outcome.error is not None:
            raise TargetError(outcome.error)
        for script in share.scripts:
            drive.watcher.scenario_ended(drive.target_name, script.id)
        return outcome


def begun_attempt(share: InFolder) -> Path | None:
    """Return the folder of the complete attempt, or else of the last that was begun."""
    return whole(share) or last_attempt(share)


async def _goodbye(share: InFolder) -> None:
    """Wait until an interrupted share's process has stopped its broker."""
    try:
        async with asyncio.timeout(_GOODBYE_S):
            while (attempt := last_attempt(share)) is not None and not has_ended(attempt):  # noqa: ASYNC110 - another machine sets no event
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        return


def _take_in(drive: Drive, share: Share, attempt: Path) -> ShareOutcome:
    """Copy the results of an attempt at a share to where a drive on this machine would have put them."""
    outcome = read_outcome(attempt)
    for description, start_ms in outcome.brokers:
        drive.sinks.broker_ready(description, start_ms)
    full = None
    for event in read_events(events_file(attempt)).events if events_file(attempt).exists() else ():
        try:
            drive.sinks.write(event)
        except TargetError as error:  # the trace is full: it only accepts how scenarios ended
            full = str(error)
    logs = logs_folder(attempt)
    if logs.is_dir():
        shutil.copytree(logs, drive.sinks.logs / share.folder.name, dirs_exist_ok=True)
    return outcome if full is None else ShareOutcome(drive_ms=outcome.drive_ms, lost=outcome.lost or full)


def _failed(drive: Drive, share: Share, why: str) -> ShareOutcome:
    """Record a share's scripts as abandoned, since no executor could run them; other shares go on."""
    first_line = why.partition("\n")[0]
    for script in share.scripts:
        recorder = recorder_of(
            script, run_id=drive.run_id, target=drive.target_name, groups={}, write=drive.sinks.write
        )
        recorder.note(EventKind.ABANDONED, EventPosition(step=-1), f"{TARGET_LOST}{first_line}")
        drive.watcher.scenario_ended(drive.target_name, script.id)
    return ShareOutcome(lost=first_line)


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

    Args:
        master: Spark's master, of a kind that `refuse_unfit` accepts.
        reports: the parent of the run's folder.
        say: called with a text about what is being waited for.

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
        say(f"driven by the executors of {master}, {found.core_count} shares at once")
        yield Cluster(executors=found, folder=Path(folder))


async def _look(found: Executors, folder: Path) -> None:
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
