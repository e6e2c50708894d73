"""The files of a run of races.

RUN/run.json                  RunRecord
RUN/TARGET/header.json        TargetRecord, written as soon as the broker is ready
RUN/TARGET/histories.jsonl    one History a line, written when its round is over
RUN/TARGET/logs/              the broker's logs
RUN/judgement.json            the judgement of the histories, which can be repeated
RUN/summary.md, index.html    the same for people
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.races.history import History, history_to_json, read_histories
from harness.trace.events import RunKind
from harness.trace.files import write_whole
from harness.trace.schema import TraceError
from harness.trace.target_record import TargetRecord

RecordT = TypeVar("RecordT")
_HEADER: Final = "header.json"
_HISTORIES: Final = "histories.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The parameters of a run."""

    run_id: str
    seed: int
    round_count: int
    races: tuple[str, ...]
    command: str
    kind: str = RunKind.RACES.value


@dataclass(frozen=True, slots=True)
class RacesFolder:
    """The folder of one run, as the module's text describes it."""

    path: Path

    def write_run(self, record: RunRecord) -> None:
        """Write the parameters of the run."""
        write_whole(self.path / "run.json", _json(asdict(record)))

    def read_run(self) -> RunRecord:
        """Read the parameters of the run; raise `TraceError` if they are missing."""
        return _record(RunRecord, self.path / "run.json")

    def write_target(self, record: TargetRecord) -> None:
        """Write the description of a target."""
        write_whole(self.path / record.name / _HEADER, _json(asdict(record)))

    def read_targets(self) -> tuple[TargetRecord, ...]:
        """Read the targets whose broker became ready, sorted by name.

        Raises:
            TraceError: one is damaged, or has histories without a header.
        """
        for path in sorted(self.path.glob(f"*/{_HISTORIES}")):
            if not path.with_name(_HEADER).is_file():
                raise TraceError(
                    f"{path}: there is no {_HEADER} beside it, which says whose histories they are"
                )
        return tuple(_record(TargetRecord, path) for path in sorted(self.path.glob(f"*/{_HEADER}")))

    def logs(self, name: str) -> Path:
        """Create and return the folder for the logs of a target's broker."""
        path = self.path / name / "logs"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def append(self, name: str, history: History) -> None:
        """Write one round's history and hand it to the operating system."""
        path = self.path / name / _HISTORIES
        with path.open("ab") as file:
            file.write(history_to_json(history).encode("utf-8", errors="replace") + b"\n")

    def histories(self, name: str) -> tuple[History, ...]:
        """Read a target's histories; return none if no round was completed."""
        path = self.path / name / _HISTORIES
        return read_histories(path) if path.exists() else ()


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _record(kind: type[RecordT], path: Path) -> RecordT:
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}; it is not a folder of races") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f", {part}" for part in first["loc"])
        raise TraceError(f"{path}{where}: {first['msg']}") from error
