"""The files of a run of races.

RUN/run.json                  RunRecord
RUN/TARGET/header.json        TargetRecord; there as soon as the broker is ready
RUN/TARGET/histories.jsonl    a History a line, written as each round is over
RUN/TARGET/logs/              what the broker logged
RUN/judgement.json            what the judge made of the histories, and may make anew
RUN/summary.md, index.html    the same to read
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
    """How a run was asked for."""

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
        """Write how the run was asked for."""
        write_whole(self.path / "run.json", _json(asdict(record)))

    def read_run(self) -> RunRecord:
        """Read it; `TraceError` where there is none."""
        return _record(RunRecord, self.path / "run.json")

    def write_target(self, record: TargetRecord) -> None:
        """Write what a target is."""
        write_whole(self.path / record.name / _HEADER, _json(asdict(record)))

    def read_targets(self) -> tuple[TargetRecord, ...]:
        """Read the targets that got as far as a broker, by name.

        Raises:
            TraceError: one is damaged, or has histories and nothing that says what it is.
        """
        for path in sorted(self.path.glob(f"*/{_HISTORIES}")):
            if not path.with_name(_HEADER).is_file():
                raise TraceError(
                    f"{path}: there is no {_HEADER} beside it, which says whose histories they are"
                )
        return tuple(_record(TargetRecord, path) for path in sorted(self.path.glob(f"*/{_HEADER}")))

    def logs(self, name: str) -> Path:
        """Return where a target's broker is to log; it is made."""
        path = self.path / name / "logs"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def append(self, name: str, history: History) -> None:
        """Write one round's history and hand it to the operating system."""
        path = self.path / name / _HISTORIES
        with path.open("ab") as file:
            file.write(history_to_json(history).encode("utf-8", errors="replace") + b"\n")

    def histories(self, name: str) -> tuple[History, ...]:
        """Read a target's histories; none where no round was over."""
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
