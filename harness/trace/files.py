"""The files of a run: where they are, how they are written to survive a crash, and how they are read.

    reports/latest                          a link to the newest run
    reports/RUN/run.json                    RunHeader
    reports/RUN/footer.json                 RunFooter; absent from a run that was cut short
    reports/RUN/scripts.json                scenario id to script
    reports/RUN/clauses.jsonl               a Clause of the catalogue a line
    reports/RUN/alignments.jsonl            an Alignment a line
    reports/RUN/judgements.jsonl            a Judgement a line
    reports/RUN/differences.jsonl           a Difference a line
    reports/RUN/attributions.jsonl          an Attribution a line; only where versions were compared
    reports/RUN/traces/TARGET/header.json   a list of TraceHeader, one for each broker configuration
    reports/RUN/traces/TARGET/events.jsonl  an Event a line
    reports/RUN/traces/TARGET/attempt-N/    events.jsonl of what was run again, N from 2
    reports/RUN/attempts.jsonl              an Attempt a line, of scenarios that were run again
    reports/RUN/tables/TABLE/               Parquet, made of all these by `harness.spark`
    reports/RUN/logs/TARGET/                the logs of brokers

A whole file is written under another name and then renamed, so that it exists completely or not at all.
A line of events is flushed as it is written, so that a killed process loses at most that line.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from harness.trace.beside import BrokersOfTarget, fit_brokers, fit_scripts, scripts_text
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.formats import run_footer_of_today, run_header_of_today, trace_header_of_today
from harness.trace.schema import (
    RecordT,
    TraceError,
    from_content,
    from_json,
    parsed_json,
    to_content,
    to_json,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_BLOCK_BYTES: Final = 1 << 20
LATEST: Final = "latest"
"""Name of the link in `reports/`."""
_SCENARIO_ID: Final = re.compile(rb'"scenario_id": "([^"\\]*)"')  # what an event quotes is escaped
_ATTEMPT: Final = "attempt-"


def attempt_name(target: str, number: int) -> str:
    """Return the name of a further attempt's trace, for `RunFolder.events`."""
    return f"{target}/{_ATTEMPT}{number}"


class EventWriter:
    """Appends events to a trace: whole lines only, and from any thread, since Python's file has a lock.

    A character that is half a surrogate pair, which UTF-8 cannot contain, is written as `?`.

    Raises:
        TraceError: the file exists and ends within a line.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if ends_within_a_line(path):
            raise TraceError(f"{path}: its last line is torn; nothing can be appended to it")
        self._path = path
        self._file = path.open("ab")
        self.size = self._file.tell()
        """The size of the file so far, in bytes."""

    def write(self, event: Event) -> None:
        """Append an event and hand it to the operating system before returning."""
        line = to_json(event).encode("utf-8", errors="replace") + b"\n"
        with _naming(self._path):
            self._file.write(line)
            self._file.flush()
        self.size += len(line)

    def close(self) -> None:
        """Close the file. Idempotent."""
        with _naming(self._path):
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """The events of one target, in the order in which they were written."""

    events: tuple[Event, ...]
    torn_line: int | None
    """Number of the last line, from 1, if its writer was stopped within it; the line is not in `events`."""


def read_events(path: Path, scenario_ids: Collection[str] | None = None) -> EventFile:
    """Read a trace, or its events of some scenarios; its last line may be torn.

    Raises:
        TraceError: the file is missing, or any other line is not an event.
    """
    *lines, last = _read_bytes(path).split(b"\n")
    events = [
        from_json(Event, line, where=f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if _may_be_of(line, scenario_ids)
    ]
    torn_line = None
    if last and _may_be_of(last, scenario_ids):
        try:
            events.append(from_json(Event, last, where=f"{path}:{len(lines) + 1}"))
        except TraceError:
            torn_line = len(lines) + 1
    return EventFile(events=tuple(events), torn_line=torn_line)


def _may_be_of(line: bytes, scenario_ids: Collection[str] | None) -> bool:
    found = None if scenario_ids is None else _SCENARIO_ID.search(line)
    return found is None or scenario_ids is None or found[1].decode(errors="replace") in scenario_ids


def count_events(path: Path) -> int:
    """Return the number of complete lines of a trace; 0 if it is missing."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK_BYTES), b""))


def ends_within_a_line(path: Path) -> bool:
    """Return whether a file exists, has content, and does not end with a newline."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers always see all of it, or its previous content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with _naming(unfinished):
            unfinished.write_bytes(text.encode("utf-8", errors="replace"))
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def write_records(path: Path, records: "Iterable[DataclassInstance]") -> None:
    """Write records as JSON Lines, the whole file at once."""
    write_whole(path, "".join(f"{to_json(record)}\n" for record in records))


def read_records(cls: type[RecordT], path: Path) -> tuple[RecordT, ...]:
    """Read JSON Lines that were written at once.

    Raises:
        TraceError: the file is missing, or a line is not such a record.
    """
    lines = _read_bytes(path).removesuffix(b"\n").split(b"\n")
    return tuple(
        from_json(cls, line, where=f"{path}:{number}")
        for number, line in enumerate(lines if lines != [b""] else [], start=1)
    )


def point_latest(run: Path) -> None:
    """Make `latest`, beside a run's folder, point to the folder."""
    # The name contains the run's, since another run may be created at the same moment.
    link = run.parent / f".{LATEST}.{run.name}"
    link.symlink_to(run.name, target_is_directory=True)
    link.replace(run.parent / LATEST)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run, as the module's docstring describes it."""

    path: Path

    @classmethod
    def create(cls, reports: Path, run_id: str) -> "RunFolder":
        """Create the folder of a new run and make `latest` point to it.

        Raises:
            TraceError: there is already a run with that id.
        """
        folder = cls(reports / run_id)
        reports.mkdir(parents=True, exist_ok=True)
        try:
            folder.path.mkdir()
        except FileExistsError as error:
            raise TraceError(f"{folder.path}: there is a run of that id already") from error
        point_latest(folder.path)
        return folder

    @property
    def run_json(self) -> Path:
        """The run's header."""
        return self.path / "run.json"

    @property
    def footer_json(self) -> Path:
        """The run's footer."""
        return self.path / "footer.json"

    @property
    def scripts_json(self) -> Path:
        """The scripts that were run, by scenario id."""
        return self.path / "scripts.json"

    @property
    def brokers_json(self) -> Path:
        """Which brokers each target's scenarios ran on, and in which order."""
        return self.path / "brokers.json"

    @property
    def clauses(self) -> Path:
        """The catalogue that scenarios exercise; absent from a run of suites without one."""
        return self.path / "clauses.jsonl"

    @property
    def alignments(self) -> Path:
        """Which events of targets and oracles correspond; absent from a run that was judged in format 3."""
        return self.path / "alignments.jsonl"

    @property
    def judgements(self) -> Path:
        """The judgement of each scenario with each target."""
        return self.path / "judgements.jsonl"

    @property
    def differences(self) -> Path:
        """The differences."""
        return self.path / "differences.jsonl"

    @property
    def attempts(self) -> Path:
        """The results of each attempt at scenarios that were run again; absent if none was."""
        return self.path / "attempts.jsonl"

    @property
    def attributions(self) -> Path:
        """Which named behaviours make profiles differ."""
        return self.path / "attributions.jsonl"

    @property
    def tables(self) -> Path:
        """The tables that reports are made from, a folder each."""
        return self.path / "tables"

    def headers_json(self, target: str) -> Path:
        """A target's headers, one for each broker configuration."""
        return self.path / "traces" / target / "header.json"

    def events(self, target: str) -> Path:
        """The events of a target, or of a further attempt."""
        return self.path / "traces" / target / "events.jsonl"

    def logs(self, target: str) -> Path:
        """The logs of the target's brokers."""
        return self.path / "logs" / target

    def targets(self) -> tuple[str, ...]:
        """Return the names of the targets that left a trace, in alphabetical order."""
        return tuple(sorted(path.name for path in (self.path / "traces").glob("*") if path.is_dir()))

    def repeats(self, target: str) -> Mapping[int, str]:
        """Return the further attempts that have traces of a target: number, from 2, to the trace's name."""
        folders = (self.path / "traces" / target).glob(f"{_ATTEMPT}*")
        numbers = sorted(
            int(found) for each in folders if (found := each.name.removeprefix(_ATTEMPT)).isdecimal()
        )
        return {number: attempt_name(target, number) for number in numbers}

    def traces(self) -> tuple[str, ...]:
        """Return the names of all traces, those of further attempts after their target's."""
        return tuple(name for target in self.targets() for name in (target, *self.repeats(target).values()))

    def write_run(self, header: RunHeader) -> None:
        """Write the run's header, before anything else is written."""
        write_whole(self.run_json, _pretty(to_content(header)))

    def read_run(self) -> RunHeader:
        """Read the run's header; raises `TraceError` if this is not a run's folder."""
        content = run_header_of_today(_read_json(self.run_json), where=str(self.run_json))
        return from_content(RunHeader, content, where=str(self.run_json))

    def write_footer(self, footer: RunFooter) -> None:
        """Write the run's footer, after everything else was written."""
        write_whole(self.footer_json, _pretty(to_content(footer)))

    def read_footer(self) -> RunFooter | None:
        """Read the run's footer; return None if the run was cut short."""
        if not self.footer_json.exists():
            return None
        content = run_footer_of_today(_read_json(self.footer_json))
        return from_content(RunFooter, content, where=str(self.footer_json))

    def write_headers(self, target: str, headers: Sequence[TraceHeader]) -> None:
        """Write all headers of a target; called again whenever one is added."""
        write_whole(self.headers_json(target), _pretty([to_content(header) for header in headers]))

    def read_headers(self, target: str) -> tuple[TraceHeader, ...]:
        """Read the headers of a target, in the order in which its brokers were started."""
        path = self.headers_json(target)
        content = _read_json(path)
        if not isinstance(content, list):
            raise TraceError(f"{path}: no list of headers")
        return tuple(
            from_content(TraceHeader, trace_header_of_today(header), where=f"{path}[{index}]")
            for index, header in enumerate(content)
        )

    def write_brokers(self, brokers: Mapping[str, object]) -> None:
        """Write which brokers each target's scenarios run on."""
        write_whole(self.brokers_json, _pretty(brokers))

    def read_brokers(self) -> Mapping[str, BrokersOfTarget]:
        """Return which brokers each target's scenarios ran on; nothing if that is not on file.

        Raises:
            TraceError: the file is damaged.
        """
        if not self.brokers_json.is_file():
            return {}
        return fit_brokers(_read_json(self.brokers_json), where=str(self.brokers_json))

    def read_broker_configs(self) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
        """Return, by target and scenario id, the properties of the broker beyond the usual ones."""
        return {
            target: {
                scenario_id: broker.broker_config
                for broker in reported.brokers
                for cohort in broker.cohorts
                for scenario_id in cohort
            }
            for target, reported in self.read_brokers().items()
        }

    def write_scripts(self, scripts: Mapping[str, object]) -> None:
        """Write the scripts of the run, each as JSON-like fields."""
        write_whole(self.scripts_json, scripts_text(scripts))

    def read_scripts(self) -> Mapping[str, object]:
        """Read the scripts as JSON-like fields, which the scenario language interprets.

        Raises:
            TraceError: the file is missing, or something in it cannot be a script.
        """
        return fit_scripts(_read_json(self.scripts_json), where=str(self.scripts_json))


class _naming:  # noqa: N801 - reads as a verb where it is used
    """Adds the file name to an OSError that lacks it, as the one for a full disk does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(self._path)


def _pretty(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _read_json(path: Path) -> object:
    return parsed_json(_read_bytes(path), where=str(path))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from error
