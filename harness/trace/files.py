"""The files of a run: where they are, how they are written to survive a crash, and how they are read.

    reports/latest                  a link to the newest run
    reports/RUN/run.json            RunHeader
    reports/RUN/record/             what was recorded, or a link to where `--record` put it
      footer.json                   RunFooter; absent from a run that was cut short
      scripts.json.zst              scenario id to script
      clauses.jsonl.zst             a Clause of the catalogue a line
      crossings.jsonl.zst           a Crossing of the scenarios a line
      judgements.jsonl.zst          a Judgement a line
      differences.jsonl.zst         a Difference a line
      attributions.jsonl.zst        an Attribution a line; only where versions were compared
      attempts.jsonl.zst            an Attempt a line, of scenarios that were run again
      traces/TARGET/header.json     a list of TraceHeader, one for each broker configuration
      traces/TARGET/events.jsonl.zst  an Event a line
      traces/TARGET/attempt-N/      events.jsonl.zst of what was run again, N from 2
      brokers.json                  which scenarios ran on which brokers
      suspects.json                 who may have ended a lost target's broker, by target; seldom there
      logs.tar.zst                  the logs of brokers, a folder for each target; `logs/` until the run ends
    reports/RUN/trend/TABLE/        Parquet, made of all archived runs up to this one by `harness.spark`

A file whose name ends with `.zst` is compressed. A whole file is written under another name and then renamed,
so that it exists completely or not at all. A line of events is compressed and flushed as it is written, so
that a killed process loses at most that line.
"""

import json
import re
import shutil
import tarfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from harness.trace.beside import BrokersOfTarget, fit_brokers, fit_scripts, fit_suspects, scripts_text
from harness.trace.events import RECORD, Event, RunFooter, RunHeader, TraceHeader
from harness.trace.formats import refuse_other_formats
from harness.trace.plain_files import COMPRESSED, blocks_of, read_plain, zstd
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

LATEST: Final = "latest"
"""Name of the link in `reports/`."""
_SCENARIO_ID: Final = re.compile(rb'"scenario_id": "([^"\\]*)"')  # what an event quotes is escaped
_ATTEMPT: Final = "attempt-"
_LOGS: Final = "logs.tar.zst"
_CHECKED: Final[Mapping[int, int]] = {zstd.CompressionParameter.checksum_flag: 1}
_WHOLE: Final[Mapping[int, int]] = {**_CHECKED, zstd.CompressionParameter.compression_level: 9}
"""How a file is compressed that is written once; a higher level takes longer than it saves."""


def attempt_name(target: str, number: int) -> str:
    """Return the name of a further attempt's trace, for `RunFolder.events`."""
    return f"{target}/{_ATTEMPT}{number}"


class EventWriter:
    """Appends events to a trace: whole lines only, and from any thread.

    A character that is half a surrogate pair, which UTF-8 cannot contain, is written as `?`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("ab")
        self._packer = zstd.ZstdCompressor(options=_CHECKED)
        self._lock = Lock()
        self.size = 0
        """How many bytes were written, before they were compressed."""

    def write(self, event: Event) -> None:
        """Append an event and hand it to the operating system before returning."""
        line = to_json(event).encode("utf-8", errors="replace") + b"\n"
        with self._lock, _naming(self._path):
            self._file.write(self._packer.compress(line, self._packer.FLUSH_BLOCK))
            self._file.flush()
            self.size += len(line)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if not self._file.closed:
            with self._lock, _naming(self._path), self._file:
                self._file.write(self._packer.flush())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_events(path: Path, scenario_ids: Collection[str] | None = None) -> tuple[Event, ...]:
    """Read a trace, or its events of some scenarios, in the order in which they were written.

    A last line that its writer did not finish is left out.

    Raises:
        TraceError: the file is missing or damaged, or a line is not an event.
    """
    *lines, _ = _read_bytes(path).split(b"\n")
    return tuple(
        from_json(Event, line, where=f"{path}:{number}")
        for number, line in enumerate(lines, start=1)
        if _may_be_of(line, scenario_ids)
    )


def _may_be_of(line: bytes, scenario_ids: Collection[str] | None) -> bool:
    found = None if scenario_ids is None else _SCENARIO_ID.search(line)
    return found is None or scenario_ids is None or found[1].decode(errors="replace") in scenario_ids


def count_events(path: Path) -> int:
    """Return the number of complete lines of a trace; 0 if it is missing."""
    if not path.exists():
        return 0
    return sum(block.count(b"\n") for block in blocks_of(path))


def write_whole(path: Path, text: str) -> None:
    """Write a file, compressed if its name says so; readers always see all of it, or its previous content."""
    content = text.encode("utf-8", errors="replace")
    if path.suffix == COMPRESSED:
        content = zstd.compress(content, options=_WHOLE)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with _naming(unfinished):
            unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _compress_whole(path: Path) -> None:
    """Compress a file anew that grew line by line; it gets half as large. What is damaged stays."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file, zstd.ZstdFile(file, "w", options=_WHOLE) as packer:
            for block in blocks_of(path):
                packer.write(block)
    except TraceError:
        unfinished.unlink()
    else:
        unfinished.replace(path)


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


def append_line(path: Path, text: str) -> None:
    """Append a line to a compressed file, and hand it to the operating system before returning."""
    with path.open("ab") as file:
        file.write(zstd.compress(text.encode("utf-8", errors="replace") + b"\n"))


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
    def create(cls, reports: Path, run_id: str, records: Path | None = None) -> "RunFolder":
        """Create the folder of a new run and make `latest` point to it.

        Args:
            reports: gets the folder.
            run_id: the folder's name.
            records: gets a folder of that name with the record, which the run then links to.

        Raises:
            TraceError: there is already a run with that id.
        """
        folder = cls(reports / run_id)
        reports.mkdir(parents=True, exist_ok=True)
        try:
            folder.path.mkdir()
            if records is None:
                folder.record.mkdir()
            else:
                elsewhere = records.absolute() / run_id / folder.record.name
                elsewhere.mkdir(parents=True)
                folder.record.symlink_to(elsewhere, target_is_directory=True)
        except FileExistsError as error:
            raise TraceError(f"{error.filename}: there is a run of that id already") from error
        point_latest(folder.path)
        return folder

    @property
    def record(self) -> Path:
        """The folder of what was recorded."""
        return self.path / RECORD

    @property
    def run_json(self) -> Path:
        """The run's header."""
        return self.path / "run.json"

    @property
    def footer_json(self) -> Path:
        """The run's footer."""
        return self.record / "footer.json"

    @property
    def scripts_json(self) -> Path:
        """The scripts that were run, by scenario id."""
        return self.record / "scripts.json.zst"

    @property
    def brokers_json(self) -> Path:
        """Which brokers each target's scenarios ran on, and in which order."""
        return self.record / "brokers.json"

    @property
    def suspects_json(self) -> Path:
        """What scenarios did last before their target was lost, by target; absent if none was lost."""
        return self.record / "suspects.json"

    @property
    def clauses(self) -> Path:
        """The catalogue that scenarios exercise; absent from a run of suites without one."""
        return self.record / "clauses.jsonl.zst"

    @property
    def crossings(self) -> Path:
        """What scenarios show of pairs of things that happen to a group; absent if nobody asked for them."""
        return self.record / "crossings.jsonl.zst"

    @property
    def judgements(self) -> Path:
        """The judgement of each scenario with each target."""
        return self.record / "judgements.jsonl.zst"

    @property
    def differences(self) -> Path:
        """The differences."""
        return self.record / "differences.jsonl.zst"

    @property
    def attempts(self) -> Path:
        """The results of each attempt at scenarios that were run again; absent if none was."""
        return self.record / "attempts.jsonl.zst"

    @property
    def attributions(self) -> Path:
        """Which named behaviours make profiles differ."""
        return self.record / "attributions.jsonl.zst"

    def of_target(self, target: str) -> Path:
        """The folder of what was recorded of a target."""
        return self.record / "traces" / target

    def headers_json(self, target: str) -> Path:
        """A target's headers, one for each broker configuration."""
        return self.of_target(target) / "header.json"

    def events(self, target: str) -> Path:
        """The events of a target, or of a further attempt."""
        return self.of_target(target) / "events.jsonl.zst"

    def logs(self, target: str) -> Path:
        """The folder to which the target's brokers log; `pack` archives it."""
        return self.record / "logs" / target

    def pack(self) -> None:
        """Compress what grew as a whole: each trace, and the logs of brokers, which become one archive."""
        for trace in (self.record / "traces").rglob("events.jsonl.zst"):
            _compress_whole(trace)
        logs = self.record / "logs"
        if not logs.is_dir():
            return
        archive = self.record / _LOGS
        unfinished = archive.with_name(f".{archive.name}.unfinished")
        with (
            unfinished.open("wb") as file,
            zstd.ZstdFile(file, "w", options=_WHOLE) as packer,
            tarfile.open(fileobj=packer, mode="w|") as members,
        ):
            for path in sorted(each for each in logs.rglob("*") if each.is_file()):
                members.add(path, path.relative_to(self.record), recursive=False, filter=_without_owner)
        unfinished.replace(archive)
        shutil.rmtree(logs)

    def copy_logs(self, run_id: str, into: "RunFolder") -> None:
        """Copy the archives of logs to the folder of another run, named by the run that they come from."""
        for archive in self.record.glob(f"*{_LOGS}"):
            shutil.copyfile(archive, into.record / f"{run_id}-{archive.name}")

    def targets(self) -> tuple[str, ...]:
        """Return the names of the targets that left a trace, in alphabetical order."""
        return tuple(sorted(path.name for path in (self.record / "traces").glob("*") if path.is_dir()))

    def repeats(self, target: str) -> Mapping[int, str]:
        """Return the further attempts that have traces of a target: number, from 2, to the trace's name."""
        folders = self.of_target(target).glob(f"{_ATTEMPT}*")
        numbers = sorted(
            int(found) for each in folders if (found := each.name.removeprefix(_ATTEMPT)).isdecimal()
        )
        return {number: attempt_name(target, number) for number in numbers}

    def traces(self) -> tuple[str, ...]:
        """Return the names of all traces, those of further attempts after their target's."""
        return tuple(name for target in self.targets() for name in (target, *self.repeats(target).values()))

    def write_run(self, header: RunHeader) -> None:
        """Write the run's header, before anything else is written; a record elsewhere gets it too."""
        for path in {self.run_json, self.record.resolve().with_name(self.run_json.name)}:
            write_whole(path, _pretty(to_content(header)))

    def read_run(self) -> RunHeader:
        """Read the run's header; raises `TraceError` if this is not a run's folder."""
        content = _read_json(self.run_json)
        refuse_other_formats(content, where=str(self.run_json))
        return from_content(RunHeader, content, where=str(self.run_json))

    def write_footer(self, footer: RunFooter) -> None:
        """Write the run's footer, after everything else was written."""
        write_whole(self.footer_json, _pretty(to_content(footer)))

    def read_footer(self) -> RunFooter | None:
        """Read the run's footer; return None if the run was cut short."""
        if not self.footer_json.exists():
            return None
        return from_content(RunFooter, _read_json(self.footer_json), where=str(self.footer_json))

    def write_headers(self, target: str, headers: Sequence[TraceHeader]) -> None:
        """Write all headers of a target; called again whenever one is added."""
        write_whole(self.headers_json(target), _pretty([to_content(header) for header in headers]))

    def read_headers(self, target: str) -> tuple[TraceHeader, ...]:
        """Read the headers of a target, in the order in which its brokers were started."""
        path = self.headers_json(target)
        content = _read_json(path)
        if not isinstance(content, list) or not content:
            raise TraceError(f"{path}: no list of headers")
        return tuple(
            from_content(TraceHeader, header, where=f"{path}[{index}]")
            for index, header in enumerate(content)
        )

    def all_headers(self) -> tuple[TraceHeader, ...]:
        """Read the headers of all targets, in alphabetical order."""
        return tuple(header for target in self.targets() for header in self.read_headers(target))

    def write_suspects(self, suspects: Mapping[str, Sequence[str]]) -> None:
        """Write, by target, what scenarios did last before it was lost."""
        write_whole(self.suspects_json, _pretty(suspects))

    def read_suspects(self) -> Mapping[str, Sequence[str]]:
        """Return, by target, what scenarios did last before it was lost; nothing if that is not on file.

        Raises:
            TraceError: the file is damaged.
        """
        if not self.suspects_json.exists():
            return {}
        return fit_suspects(_read_json(self.suspects_json), where=str(self.suspects_json))

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


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    # `TarInfo.replace` came with Python 3.11.4.
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _pretty(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _read_json(path: Path) -> object:
    return parsed_json(_read_bytes(path), where=str(path))


def _read_bytes(path: Path) -> bytes:
    try:
        return read_plain(path)
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    except (NotADirectoryError, PermissionError) as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from error
