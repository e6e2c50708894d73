"""A drive in shares: the work of one broker as data, which another machine can run.

A share is driven as a run drives its targets, and leaves a folder:

    share-N/attempt-M/events.jsonl    the exchanges, in the form of a trace
    share-N/attempt-M/logs/           the broker's logs
    share-N/attempt-M/outcome.json    ShareOutcome; written last
    share-N/stop                      asks all attempts to end
    share-N/whole/                    the complete attempt, renamed

An attempt is renamed when it is complete, so that a share that is driven twice counts once.
"""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from harness.capacity import share_start_slots
from harness.orchestration.target_record import TargetRecord, Trace
from harness.runner.admission import Admission
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.runner.sharing import BrokerGroup, Cohort, Packing
from harness.runner.watcher import Unwatched
from harness.scenario.script import Script
from harness.targets.base.interface import BrokerDescription, Target, TargetError
from harness.targets.base.limits import ANSWER_BYTES, TRACE_BYTES
from harness.targets.jars.cache import cache_directory, prepared
from harness.trace.events import Event
from harness.trace.files import EventWriter, write_whole
from harness.trace.schema import TraceError

SCRIPTS_MAX: Final = 200
"""The most scripts of a share that do not act on their broker; more are divided among several brokers."""
JOBS: Final = 32
"""How many scenarios run at once in a share, which is granted one core."""
_WHOLE: Final = "whole"
_ATTEMPT: Final = "attempt-"
_OUTCOME: Final = "outcome.json"
_EVENTS: Final = "events.jsonl"
_LOGS: Final = "logs"
_STOP: Final = "stop"


class InFolder(Protocol):
    """Work that an executor does, and whose attempts it leaves in a folder."""

    @property
    def folder(self) -> Path:
        """The folder `share-N`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The scripts to run with one broker, and everything that a machine needs to run them."""

    run_id: str
    target: Target
    target_name: str
    limits: Limits
    base_config: Mapping[str, str]
    packing: Packing | None
    fits: bool
    with_needs: Callable[[Sequence[Script], BrokerDescription], Awaitable[Sequence[Script]]] | None
    broker_groups: tuple[BrokerGroup, ...]
    """One, or several for a reference, which has a coordinator for each script and no process to start."""
    byte_limits: Mapping[str, str]
    """The size limits of answers and traces, as environment variables."""
    folder: Path
    """The folder `share-N`."""

    @property
    def scripts(self) -> Sequence[Script]:
        """The scripts of all its brokers."""
        return [script for each in self.broker_groups for script in each.scripts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOutcome:
    """How an attempt at a share ended."""

    drive_ms: float = 0.0
    lost: str | None = None
    """Why a broker was lost before its scripts had ended."""
    error: str | None = None
    """Why no broker could be started."""
    brokers: tuple[tuple[BrokerDescription, float], ...] = ()
    """The brokers that became ready, each with the duration of its start in milliseconds."""
    attempt: int = 0
    """How often the share was begun before."""


_OUTCOMES: Final = TypeAdapter(ShareOutcome)


def shares_of(drive: Drive, scripts: Sequence[Script], folder: Path) -> Sequence[Share]:
    """Divide the work of a drive into shares, the longest first.

    Args:
        drive: a drive that was not begun.
        scripts: all scripts of the drive.
        folder: the parent of the shares' folders.
    """
    share = Share(
        run_id=drive.run_id,
        target=drive.target,
        target_name=drive.target_name,
        limits=replace(drive.limits, jobs=min(drive.limits.jobs, JOBS)),
        base_config=drive.base_config,
        packing=drive.packing,
        fits=drive.fits,
        with_needs=drive.with_needs,
        broker_groups=(),
        byte_limits={each.variable: str(each.most()) for each in (ANSWER_BYTES, TRACE_BYTES)},
        folder=folder,
    )
    parts = sorted(_parts(drive, scripts), key=_duration_ms, reverse=True)
    return [
        replace(share, broker_groups=part, folder=folder / f"share-{number}")
        for number, part in enumerate(parts, start=1)
    ]


def _parts(drive: Drive, scripts: Sequence[Script]) -> Iterator[tuple[BrokerGroup, ...]]:
    groups = drive.groups_of(scripts)
    if drive.target.is_external:
        # An external target is one broker, and the end of a drive deletes all that the run created there.
        yield tuple(groups)
    elif drive.target.process_count:
        yield from ((part,) for each in groups for part in divided_group(each))
    else:
        yield from _bundles([part for each in groups for part in divided_group(each)])


def _bundles(groups: Sequence[BrokerGroup]) -> Iterator[tuple[BrokerGroup, ...]]:
    """Combine groups whose brokers need no process, up to the size of a share."""
    bundle: list[BrokerGroup] = []
    for each in groups:
        if bundle and sum(len(one.scripts) for one in (*bundle, each)) > SCRIPTS_MAX:
            yield tuple(bundle)
            bundle = []
        bundle.append(each)
    if bundle:
        yield tuple(bundle)


def divided_group(group: BrokerGroup, size: int = SCRIPTS_MAX) -> Sequence[BrokerGroup]:
    """Divide the scripts that do not act on their broker among several; other cohorts stay together.

    Scripts that wait long are dealt out evenly.
    """
    large = next((each for each in group.cohorts if not each.acts and len(each.scripts) > size), None)
    if large is None:
        return [group]
    count = -(-len(large.scripts) // size)
    by_waiting = sorted(large.scripts, key=lambda script: script.waiting_ms, reverse=True)
    first, *others = (replace(large, scripts=by_waiting[number::count]) for number in range(count))
    rest = [first if each is large else each for each in group.cohorts]
    return [replace(group, cohorts=rest), *(_alone(group, each) for each in others)]


def _alone(group: BrokerGroup, cohort: Cohort) -> BrokerGroup:
    return BrokerGroup(broker_config=group.broker_config, cohorts=[replace(cohort, clears=False)])


def _duration_ms(part: Sequence[BrokerGroup]) -> int:
    return max(each.duration_ms for each in part)


async def carry_out(share: Share, attempt: int) -> None:
    """Drive a share, and leave its results in its folder.

    Args:
        share: the share to drive.
        attempt: how often the share was begun before; a further attempt has other names on the wire, since a
            broker that still runs may remember those of the first.

    Raises:
        CancelledError: the share was cancelled; what was recorded until then is in its folder.
        OSError: the folder cannot be written.
    """
    os.environ.update(share.byte_limits)
    share_start_slots(prepared(cache_directory()) / f"starts-{gethostname()}")
    folder = attempt_folder(share, attempt)
    driving = _Driving(share=share, folder=folder, attempt=attempt)
    folder.mkdir(parents=True)
    try:
        # Brokers log to a local folder meanwhile: the folder of shares may be on a remote file system.
        with TemporaryDirectory(prefix="kafka-conformance-share-") as logs:
            try:
                outcome = await driving.run(logs)
            finally:
                shutil.copytree(logs, logs_folder(folder), dirs_exist_ok=True)
    except asyncio.CancelledError:
        _write(folder, ShareOutcome(brokers=tuple(driving.brokers)))
        raise
    _write(folder, outcome)
    become_whole(folder)


@dataclass(slots=True, kw_only=True)
class _Driving:
    share: Share
    folder: Path
    attempt: int
    brokers: list[tuple[BrokerDescription, float]] = field(default_factory=list)

    async def run(self, logs: str) -> ShareOutcome:
        share = self.share
        run_id = f"{share.run_id}.{self.attempt}" if self.attempt else share.run_id
        share.target.for_run(run_id)
        with EventWriter(events_file(self.folder)) as writer:
            trace = Trace(writer=writer, record=TargetRecord(name=share.target_name))

            def write(event: Event) -> None:
                trace.write(replace(event, run_id=share.run_id))

            drive = Drive(
                run_id=run_id,
                target=share.target,
                target_name=share.target_name,
                limits=share.limits,
                sinks=DriveSinks(
                    write=write, broker_ready=lambda *ready: self.brokers.append(ready), logs=Path(logs)
                ),
                watcher=Unwatched(),
                admission=Admission(frozenset(), jobs=share.limits.jobs),
                fits=share.fits,
                with_needs=share.with_needs,
                base_config=share.base_config,
                packing=share.packing,
            )
            error, lost, drive_ms = None, None, 0.0
            try:
                await share.target.fetch(lambda _: None)
                result = await drive.run_groups(share.broker_groups)
                lost, drive_ms = result.lost or trace.full, result.drive_ms
            except TargetError as failure:
                error = str(failure)
        return ShareOutcome(
            drive_ms=drive_ms,
            lost=lost,
            error=error,
            brokers=tuple(self.brokers),
            attempt=self.attempt,
        )


def attempt_folder(share: InFolder, attempt: int) -> Path:
    """Return the folder of an attempt; each has its own, since the attempt before may still be writing."""
    return share.folder / f"{_ATTEMPT}{attempt}"


def become_whole(folder: Path) -> None:
    """Rename an attempt as the complete one; delete it if another attempt was complete first."""
    whole = folder.with_name(_WHOLE)
    try:
        folder.rename(whole)
    except OSError:
        if not whole.is_dir():
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, outcome: ShareOutcome) -> None:
    write_whole(outcome_file(folder), _OUTCOMES.dump_json(outcome).decode())


def whole(share: InFolder) -> Path | None:
    """Return the folder of the share's complete attempt, or None while there is none."""
    folder = share.folder / _WHOLE
    return folder if has_ended(folder) else None


def stop(share: InFolder) -> None:
    """Ask all attempts at a share to end, on any machine: cancelling a task may not reach them."""
    share.folder.mkdir(exist_ok=True)
    (share.folder / _STOP).touch()


def is_stopped(share: InFolder) -> bool:
    """Return whether attempts at a share were asked to end."""
    return (share.folder / _STOP).exists()


def last_attempt(share: InFolder) -> Path | None:
    """Return the folder of the last attempt that was begun and is not complete."""
    found = [each for each in share.folder.glob(f"{_ATTEMPT}*") if each.is_dir()]
    return max(found, key=lambda each: int(each.name.removeprefix(_ATTEMPT)), default=None)


def has_ended(attempt: Path) -> bool:
    """Return whether an attempt has written its outcome."""
    return outcome_file(attempt).is_file()


def outcome_file(attempt: Path) -> Path:
    """Return the file of an attempt's outcome, which the attempt writes last."""
    return attempt / _OUTCOME


def read_outcome(attempt: Path) -> ShareOutcome:
    """Read the outcome of an attempt; return an empty one if the attempt was killed before it wrote any.

    Raises:
        TraceError: the file is damaged.
    """
    if not has_ended(attempt):
        return ShareOutcome()
    try:
        return _OUTCOMES.validate_json(outcome_file(attempt).read_bytes())
    except ValidationError as error:
        raise TraceError(f"{outcome_file(attempt)}: {error.error_count()} fields of it are wrong") from error


def events_file(attempt: Path) -> Path:
    """Return the file of an attempt's events."""
    return attempt / _EVENTS


def logs_folder(attempt: Path) -> Path:
    """Return the folder of an attempt's logs."""
    return attempt / _LOGS
