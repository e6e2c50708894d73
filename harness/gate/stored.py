"""Stored runs as input to decisions: complete, or with the reason why they are not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.diff.judge import TargetInfo
from harness.results.exit_code import ENDED_COMPLETE
from harness.results.run_kinds import open_folder
from harness.trace.completeness import lost_events
from harness.trace.events import TARGET_LOST, RunFooter, RunHeader, RunKind
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run's folder with its header, footer and targets."""

    folder: RunFolder
    header: RunHeader
    footer: RunFooter | None
    infos: Mapping[str, TargetInfo]
    """By the targets' names, including oracles."""

    @property
    def path(self) -> Path:
        """The path of the run's folder."""
        return self.folder.path

    @property
    def oracles(self) -> frozenset[str]:
        """Names of the targets that were run only for others to be compared with."""
        return frozenset(self.infos) - frozenset(self.header.targets)


def open_run(path: Path) -> StoredRun:
    """Open a run's folder.

    Raises:
        ReportError: it is not a run's folder, or it is of another kind.
        TraceError: its header, footer or targets' headers are damaged.
    """
    folder = open_folder(path, RunKind.SUITES)
    return StoredRun(
        folder=folder,
        header=folder.read_run(),
        footer=folder.read_footer(),
        infos={name: info for name in folder.targets() if (info := _info(folder, name)) is not None},
    )


def _info(folder: RunFolder, target: str) -> TargetInfo | None:
    """Return a run's data on a target; None if the run was cut short before the first broker was ready."""
    if not folder.headers_json(target).is_file():
        return None
    headers = folder.read_headers(target)
    if not headers:
        raise TraceError(f"{folder.headers_json(target)}: contains no header")
    first = headers[0]
    return TargetInfo(
        run_id=first.run_id, target=target, spec=first.spec, profile=first.profile, oracle=first.oracle
    )


def cut_short(run: StoredRun) -> tuple[str, ...]:
    """Return what is missing if a run did not complete, or lost part of its records.

    A lost target does not count as missing, because it is on record, scenario by scenario.
    """
    if run.footer is None:
        return ("it has no footer: the run was stopped before its end",)
    ended = run.footer.ended
    if ended != ENDED_COMPLETE and not ended.startswith(TARGET_LOST):
        return (f"its footer says {ended!r}",)
    return tuple(_losses(run, run.footer))


def _losses(run: StoredRun, footer: RunFooter) -> Iterator[str]:
    for target in run.header.targets:
        if target not in run.infos:
            yield f"the trace of {target} is missing"
    yield from lost_events(run.folder, footer)
