"""Files of a run's folder, read as data, strict about what pages need; and who made the folder."""

from collections.abc import Iterator, Mapping
from os.path import lexists
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from harness.trace.events import RECORD, RunKind
from harness.trace.files import LATEST, RunFolder
from harness.trace.formats import refuse_other_formats
from harness.trace.plain_files import read_plain, refuse_special_files
from harness.trace.schema import TraceError, json_object

AddedProperties: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
"""By target and scenario id: properties that the broker had and the scenario did not ask for; never empty."""


def added_properties(folder: RunFolder, scripts: Mapping[str, object] | None = None) -> AddedProperties:
    """Return the broker properties that scenarios were run with but did not ask for.

    Only covers targets whose brokers the run configured, and runs that stored the configurations. Scripts
    that have been read already, by scenario id, are not read again.

    Raises:
        TraceError: the run's scripts are missing or damaged.
    """
    configs = folder.read_broker_configs()
    if scripts is None:
        scripts = folder.read_scripts() if configs else {}
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    for target, of_target in configs.items():
        for scenario_id, config in of_target.items():
            script = scripts.get(scenario_id)
            asked = script.get("broker_config", {}) if isinstance(script, dict) else {}
            if added := {name: value for name, value in config.items() if name not in asked}:
                found[target, scenario_id] = added
    return found


DataT = TypeVar("DataT")


class StoredData(BaseModel):
    """A base for stored data: strict about its own fields; ignores fields that later versions add."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_whole(adapter: TypeAdapter[DataT], path: Path) -> DataT:
    """Read a file that was written as a whole.

    Raises:
        ReportError: it is missing.
        TraceError: it is damaged.
    """
    try:
        return adapter.validate_json(read_plain(path))
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise TraceError(f"{path} is damaged: {error.errors()[0]['msg']}") from error


def read_lines(adapter: TypeAdapter[DataT], path: Path) -> Iterator[DataT]:
    """Read a file that grows by lines, if it exists; an incomplete last line is ignored.

    Raises:
        TraceError: a line is damaged.
    """
    if not path.is_file():
        return
    # Only a newline ends a line: JSON may contain other characters that Python counts as line ends.
    *lines, _ = read_plain(path).split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            raise TraceError(f"{path}:{number} is damaged: {error.errors()[0]['msg']}") from error


class ReportError(Exception):
    """A run folder cannot be reported on.

    The message names what is missing or unreadable and the remedy; it is shown to the user as it is.
    """


_MAKERS: Final = {
    RunKind.SUITES: "run",
    RunKind.CLIENTS: "clients",
    RunKind.TAP: "tap",
    RunKind.RACES: "race",
}


def run_kind(run_dir: Path) -> RunKind | None:
    """Return the kind of a run; None if its `run.json` is missing, unreadable or does not name a kind."""
    kind = _header(run_dir).get("kind")
    return next((each for each in RunKind if each == kind), None)


def _header(run_dir: Path) -> Mapping[str, object]:
    try:
        return json_object(read_plain(RunFolder(run_dir).run_json), where="run.json")
    except (OSError, TraceError):
        return {}


def is_clients_folder(run_dir: Path) -> bool:
    """Return whether a folder is that of a run of client scripts alone."""
    return run_kind(run_dir) is RunKind.CLIENTS


def open_folder(path: Path, *kinds: RunKind, made_by: str | None = None) -> RunFolder:
    """Return the run folder at a path, after checking that a command can read its kind of run.

    A damaged `run.json` is accepted here: the code that reads it reports where it is damaged. The most usual
    kind comes first; `made_by` is the command line that makes it, if that is more than a command's name.

    Raises:
        ReportError: there is no run, it is of another kind, or its record is elsewhere.
        TraceError: one of its files is no plain file.
    """
    folder = RunFolder(path.resolve())
    if lexists(folder.run_json):
        refuse_special_files(folder.path)
    if not folder.run_json.is_file():
        newest = RunFolder(path / LATEST)
        hint = f"the newest run in it is {newest.path}; " if newest.run_json.is_file() else ""
        maker = f"kafka-conformance {made_by or _MAKERS[kinds[0]]}"
        raise ReportError(f"{path} is not a run's folder; {hint}`{maker}` makes one")
    found = run_kind(folder.path)
    if found is not None and found not in kinds:
        reader = "judge" if found is RunKind.RACES else "report"
        raise ReportError(
            f"{path} is a {found}, and a {' or '.join(kinds)} is needed; "
            f"`kafka-conformance {reader} {path}` reads it"
        )
    if found is not None and not folder.record.is_dir():
        header = _header(path)
        refuse_other_formats(dict(header), where=str(folder.run_json))
        where = header.get("record", RECORD)
        has_it = "a copy that was made with its record" if where == RECORD else where
        raise ReportError(f"{path} is a report without the run's record; {has_it} has it")
    return folder
