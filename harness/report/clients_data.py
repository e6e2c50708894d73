"""Everything that pages tell of client scripts, read once from the folder of their run.

The folder is `clients` within the run of the wire suites that it stands beside, or a run's folder of its own.
Whoever carries scripts out writes it; here are its files as data.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from harness.invariants import Violation
from harness.report.errors import ReportError
from harness.report.exit_code import ENDED_COMPLETE, ExitCode, worst
from harness.report.standing import Standing, standing
from harness.trace.events import TARGET_LOST
from harness.trace.schema import TraceError
from harness.trace.target_record import TargetRecord
from harness.verdict import Expectation, Outcome

CLIENTS: Final = "clients"
"""Name of the folder beside the wire suites."""
_BY_ITSELF: Final = (Outcome.CONFORMS, Outcome.NOT_APPLICABLE)


class _Data(BaseModel):
    """Strict about what it needs; what a later writer adds is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ClientStep(_Data):
    """One step of a script, in words."""

    text: str


class ClientScriptData(_Data):
    """One script, as the run kept it."""

    id: str
    title: str
    notes: str = ""
    source: str
    uses: tuple[str, ...]
    steps: tuple[ClientStep, ...]


class Remark(_Data):
    """One thing that is not as it should be, at a step of the script."""

    step: int
    text: str
    says: str


class ReplayFinding(_Data):
    """An answer that the reference gives otherwise when the conversation is replayed to it."""

    conversation: str
    position: int | None = None
    api: str | None = None
    api_version: int | None = None
    actor: str | None = None
    group: str | None = None
    field: str | None = None
    expected: object = None
    actual: object = None
    state: str = ""
    says: str = ""


class ClientResult(_Data):
    """What is to be said of one script with one library on one target."""

    target: str
    """The target's spec."""
    script_id: str
    library: str
    outcome: str
    because: str
    """Why it was not run, or was cut short; empty otherwise."""
    mismatches: tuple[Remark, ...]
    """Against the script."""
    differences: tuple[Remark, ...]
    """Against the reference."""
    violations: tuple[Violation, ...]
    compared: str
    duration_s: float
    replays: tuple[ReplayFinding, ...] = ()
    """What the reference answers otherwise when the same is said to it."""

    @property
    def expectation(self) -> str:
        """Nobody foresees anything of client scripts: whatever departs is unexpected."""
        expected = Outcome(self.outcome) in _BY_ITSELF
        return Expectation.EXPECTED if expected else Expectation.UNEXPECTED

    @property
    def standing(self) -> Standing:
        """How it counts."""
        return standing(self)

    @property
    def is_lost(self) -> bool:
        """Whether its target was lost under it."""
        return self.because.startswith(TARGET_LOST)


class Seen(_Data):
    """What was seen of one step."""

    step: int
    facts: Mapping[str, object]
    at_ms: float = 0.0
    """When the step began, on the clock of clients; 0 in runs of old."""


class ScriptOutcome(_Data):
    """What came of one script with one library on one target, before anybody judged it."""

    script_id: str
    library: str
    ended: str
    observations: tuple[Seen, ...]
    clock_offset_ms: float = 0.0
    """What makes a time of the clients' clock one since 1970."""


class _Counts(_Data):
    conversation: str
    compared: int
    not_compared: Mapping[str, int] = {}

    @property
    def told(self) -> str:
        """The counts in words."""
        left_out = "; ".join(f"{count} {why}" for why, count in sorted(self.not_compared.items()))
        return f"{self.compared} answers held against the reference's" + (
            f", not held: {left_out}" if left_out else ""
        )


class _RunFile(_Data):
    run_id: str
    command: str
    libraries: Mapping[str, str]
    scripts: tuple[ClientScriptData, ...]
    soak_s: float = 0.0


class _Ending(_Data):
    ended: str


Place = tuple[str, str, str]
"""A target's name, a script's id, a library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsRun:
    """One run of client scripts."""

    folder: Path
    run_id: str
    command: str
    libraries: Mapping[str, str]
    """Names to versions."""
    scripts: Mapping[str, ClientScriptData]
    targets: tuple[TargetRecord, ...]
    """Those that are judged, in the order in which they were."""
    references: Mapping[str, TargetRecord]
    """All that something was carried out on, by spec."""
    results: tuple[ClientResult, ...]
    outcomes: Mapping[Place, ScriptOutcome]
    replayed: Mapping[Place, str]
    """How much of each conversation was replayed, in words."""
    ended: str
    """`complete`, or why it is not."""
    soak_s: float
    """How long clients were to endure load and upheavals; 0 where they carried out scripts."""

    def name_of(self, result: ClientResult) -> str:
        """Return the name of a result's target."""
        return self.references[result.target].name

    def place(self, result: ClientResult) -> Place:
        """Return where a result belongs."""
        return self.name_of(result), result.script_id, result.library

    def talk_dir(self, place: Place) -> Path:
        """Return where a script's clients kept what they were told and said."""
        target, script_id, library = place
        return self.folder / target / "talks" / f"{script_id.replace('/', '-')}-{library}"

    @property
    def exit_code(self) -> ExitCode:
        """How a process ends that ran it."""
        return clients_exit_code(self.results, ended=self.ended)


def clients_exit_code(results: tuple[ClientResult, ...], *, ended: str = ENDED_COMPLETE) -> ExitCode:
    """Say how client scripts with these results end."""
    standings = {each.standing for each in results}
    codes = {
        Standing.FAILED: ExitCode.UNEXPECTED,
        Standing.INDETERMINATE: ExitCode.INDETERMINATE,
        Standing.ERROR: ExitCode.HARNESS_ERROR,
    }
    applying = {ExitCode.EXPECTED, *(codes[each] for each in standings if each in codes)}
    if standings <= {Standing.SKIPPED}:
        applying.add(ExitCode.NOTHING_RAN)
    if ended.startswith(TARGET_LOST) or any(each.is_lost for each in results):
        applying.add(ExitCode.UNAVAILABLE)
    elif ended != ENDED_COMPLETE:
        applying.add(ExitCode.BAD_DATA)
    return worst(applying)


def clients_folder(run_dir: Path) -> Path | None:
    """Return the folder of the client scripts of a run, or of a run of client scripts alone; None without."""
    beside = run_dir / CLIENTS
    return beside if (beside / "run.json").is_file() else None


def is_clients_folder(run_dir: Path) -> bool:
    """Tell whether a run's folder is one of client scripts alone."""
    try:
        content = json.loads((run_dir / "run.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "libraries" in content


def load_clients(folder: Path) -> ClientsRun:
    """Read the folder of client scripts.

    Raises:
        ReportError: a file is missing or damaged.
    """
    run = _whole(TypeAdapter(_RunFile), folder / "run.json")
    records = _records(folder)
    judged = folder / "judgement.json"
    results = _whole(TypeAdapter(tuple[ClientResult, ...]), judged) if judged.is_file() else ()
    replays = _replays(folder, records)
    unknown = sorted({each.target for each in results} - records.keys())
    if unknown:
        raise ReportError(f"{judged} names {unknown[0]}, of which the run has no folder")
    return ClientsRun(
        folder=folder,
        run_id=run.run_id,
        command=run.command,
        libraries=run.libraries,
        scripts={each.id: each for each in run.scripts},
        targets=tuple(records[spec] for spec in dict.fromkeys(each.target for each in results)),
        references=records,
        results=tuple(
            sorted(
                (_with_replays(each, records, replays) for each in results),
                key=lambda each: (each.script_id, each.library),
            )
        ),
        outcomes=dict(_outcomes(folder, records)),
        replayed=_replayed(folder, records),
        ended=_ended(folder, is_judged=judged.is_file()),
        soak_s=run.soak_s,
    )


def _ended(folder: Path, *, is_judged: bool) -> str:
    footer = folder / "footer.json"
    if footer.is_file():
        return _whole(TypeAdapter(_Ending), footer).ended
    return ENDED_COMPLETE if is_judged else "cut short"


def _records(folder: Path) -> dict[str, TargetRecord]:
    adapter = TypeAdapter(TargetRecord)
    found = [_whole(adapter, path) for path in sorted(folder.glob("*/target.json"))]
    return {each.spec: each for each in found}


def _outcomes(folder: Path, records: Mapping[str, TargetRecord]) -> Iterator[tuple[Place, ScriptOutcome]]:
    for record in records.values():
        for each in _lines(TypeAdapter(ScriptOutcome), folder / record.name / "outcomes.jsonl"):
            yield (record.name, each.script_id, each.library), each


def _replays(folder: Path, records: Mapping[str, TargetRecord]) -> Mapping[Place, tuple[ReplayFinding, ...]]:
    found: dict[Place, tuple[ReplayFinding, ...]] = {}
    for record in records.values():
        for each in read_replay(folder / record.name / "replay.jsonl"):
            script_id, _, library = each.conversation.rpartition("/")
            place = (record.name, script_id, library)
            found[place] = (*found.get(place, ()), each)
    return found


def read_replay(path: Path) -> tuple[ReplayFinding, ...]:
    """Read what was found when conversations were replayed; nothing where nobody did that.

    Raises:
        TraceError: a line is damaged.
    """
    return tuple(_lines(TypeAdapter(ReplayFinding), path))


def _with_replays(
    result: ClientResult,
    records: Mapping[str, TargetRecord],
    replays: Mapping[Place, tuple[ReplayFinding, ...]],
) -> ClientResult:
    """Return a result with what was found when its conversation was replayed after it had been judged."""
    found = replays.get((records[result.target].name, result.script_id, result.library), ())
    return result if result.replays or not found else result.model_copy(update={"replays": found})


def _replayed(folder: Path, records: Mapping[str, TargetRecord]) -> Mapping[Place, str]:
    found: dict[Place, str] = {}
    for record in records.values():
        path = folder / record.name / "replay.json"
        for each in _whole(TypeAdapter(tuple[_Counts, ...]), path) if path.is_file() else ():
            script_id, _, library = each.conversation.rpartition("/")
            found[record.name, script_id, library] = each.told
    return found


DataT = TypeVar("DataT")


def _whole(adapter: TypeAdapter[DataT], path: Path) -> DataT:
    try:
        return adapter.validate_json(path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise ReportError(f"{path} is damaged: {error.errors()[0]['msg']}") from error


def _lines(adapter: TypeAdapter[DataT], path: Path) -> Iterator[DataT]:
    """Read a file of lines, where it is there; the last may be torn."""
    if not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            raise TraceError(f"{path}:{number} is damaged: {error.errors()[0]['msg']}") from error
