"""The files of a run of races.

RUN/run.json                  RunRecord
RUN/index.html                the results for people
RUN/record/judgement.json     the judgement of the histories, which can be repeated
RUN/record/logs.tar.zst       the brokers' logs
RUN/record/traces/TARGET/     of each target:
  header.json                 a TraceHeader, written as soon as the broker is ready
  histories.jsonl.zst         one History a line, written when its round is over
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.races.history import History, history_to_json, read_histories
from harness.trace.events import RunKind
from harness.trace.files import RunFolder, append_line, write_whole
from harness.trace.formats import FORMAT_VERSION, refuse_other_formats
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError

RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The parameters of a run."""

    run_id: str
    seed: int
    round_count: int
    races: tuple[str, ...]
    command: str
    kind: str = RunKind.RACES.value
    format_version: int = FORMAT_VERSION


class RacesFolder(RunFolder):
    """The folder of one run, as the module's text describes it."""

    __slots__ = ()

    @property
    def judgement_json(self) -> Path:
        """The judgement of the histories."""
        return self.record / "judgement.json"

    def write_plan(self, record: RunRecord) -> None:
        """Write the parameters of the run."""
        write_whole(self.run_json, json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n")

    def read_plan(self) -> RunRecord:
        """Read the parameters of the run; raise `TraceError` if they are missing, or of another format."""
        record = _record(RunRecord, self.run_json)
        refuse_other_formats(asdict(record), where=str(self.run_json))
        return record

    def append(self, name: str, history: History) -> None:
        """Write one round's history and hand it to the operating system."""
        append_line(self._histories(name), history_to_json(history))

    def histories(self, name: str) -> tuple[History, ...]:
        """Read a target's histories; return none if no round was completed."""
        path = self._histories(name)
        return read_histories(path) if path.exists() else ()

    def _histories(self, name: str) -> Path:
        return self.of_target(name) / "histories.jsonl.zst"


def _record(kind: type[RecordT], path: Path) -> RecordT:
    try:
        return TypeAdapter(kind).validate_json(read_plain(path))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}; it is not a folder of races") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f", {part}" for part in first["loc"])
        raise TraceError(f"{path}{where}: {first['msg']}") from error
