"""The command that made a run's folder, so that other commands can name it when they refuse the folder."""

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
"""The command that reads each kind of folder."""


def run_kind(run_dir: Path) -> RunKind | None:
    """Return the kind of a run; None if its `run.json` is missing, unreadable or does not name a kind."""
    run_json = RunFolder(run_dir).run_json
    if not run_json.is_file():  # opening a FIFO would block
        return None
    try:
        content = parsed_json(run_json.read_bytes(), where="run.json")
    except (OSError, TraceError):
        return None
    kind = kind_of(content)
    return next((each for each in RunKind if each == kind), None)


def is_clients_folder(run_dir: Path) -> bool:
    """Return whether a folder is that of a run of client scripts alone, or of a soak."""
    return run_kind(run_dir) in (RunKind.CLIENTS, RunKind.SOAK)


def open_folder(path: Path, *kinds: RunKind, made_by: str | None = None) -> RunFolder:
    """Return the run folder at a path, after checking that a command can read its kind of run.

    A damaged `run.json` is accepted here: the code that reads it reports where it is damaged.

    Args:
        path: the path that the user named.
        kinds: the kinds of run that the command can read, the most usual first.
        made_by: the command line that makes such a run, if it is more than the command's name.

    Raises:
        ReportError: there is no run, or it is of another kind.
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
    """Return a hint with the newest run if the path is the folder of all runs; empty otherwise."""
    newest = path / LATEST
    return f"the newest run in it is {newest}; " if RunFolder(newest).run_json.is_file() else ""
