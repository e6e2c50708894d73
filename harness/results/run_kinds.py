"""Which command made a run's folder, so that another that is given it says whose it is."""

from pathlib import Path
from typing import Final

from harness.results.errors import ReportError
from harness.trace.events import RunKind
from harness.trace.files import LATEST, RunFolder
from harness.trace.formats import kind_of
from harness.trace.schema import TraceError, parsed_json

_MAKERS: Final = {
    RunKind.SUITES: "run",
    RunKind.CLIENTS: "clients",
    RunKind.SOAK: "clients --soak",
    RunKind.TAP: "tap",
    RunKind.RACES: "race",
}
_READERS: Final = {
    RunKind.SUITES: "report",
    RunKind.CLIENTS: "report",
    RunKind.SOAK: "report",
    RunKind.TAP: "report",
    RunKind.RACES: "race --judge",
}
"""Whom to turn to with such a folder."""


def run_kind(run_dir: Path) -> RunKind | None:
    """Return what was run; None where no readable `run.json` says so."""
    run_json = RunFolder(run_dir).run_json
    if not run_json.is_file():  # a FIFO would be waited for
        return None
    try:
        content = parsed_json(run_json.read_bytes(), where="run.json")
    except (OSError, TraceError):
        return None
    kind = kind_of(content)
    return next((each for each in RunKind if each == kind), None)


def is_clients_folder(run_dir: Path) -> bool:
    """Tell whether a run's folder is one of client scripts alone, or of a soak."""
    return run_kind(run_dir) in (RunKind.CLIENTS, RunKind.SOAK)


def open_folder(path: Path, *kinds: RunKind, made_by: str | None = None) -> RunFolder:
    """Return the folder of a run that a command can read.

    A `run.json` that is damaged is let pass: whoever reads it tells where.

    Args:
        path: what the user named.
        kinds: what the command can read, what it is mostly given first.
        made_by: the command that makes such a run, where more is to be said of it than its name.

    Raises:
        ReportError: there is no run, or one of another kind.
    """
    folder = RunFolder(path.resolve())
    if not folder.run_json.is_file():
        raise ReportError(
            f"{path} is not a run's folder; {_newest_in(path)}"
            f"`kafka-conformance {made_by or _MAKERS[kinds[0]]}` makes one"
        )
    found = run_kind(folder.path)
    if found is not None and found not in kinds:
        raise ReportError(
            f"{path} is a {found}, and a {' or '.join(kinds)} is needed; "
            f"`kafka-conformance {_READERS[found]} {path}` reads it"
        )
    return folder


def _newest_in(path: Path) -> str:
    """Name the newest run where somebody named the folder of all of them."""
    newest = path / LATEST
    return f"the newest run in it is {newest}; " if RunFolder(newest).run_json.is_file() else ""
