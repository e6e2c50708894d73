"""All data that pages show of client scripts, read once from their folder.

The folder is `clients` inside the run of the wire suites, or the folder of a separate run. The code that
runs the scripts writes it; this module reads its files as data. Results are judgements like those of
scenarios, with what only clients have; a target with a library has a name of its own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from pydantic import TypeAdapter

from harness.diff.check import CheckedRun, Precedents
from harness.diff.expectations import SourcedEntry, apply_expectations
from harness.diff.judge import TargetInfo
from harness.diff.model import GOOD, Attempt, Judgement, compared_with
from harness.invariants import AtFault, Violation
from harness.invariants.checker import VIOLATIONS
from harness.results.replay_results import ReplayFinding, read_counts
from harness.results.status import ENDED_COMPLETE, ExitCode, ResultStatus, exit_code, status_of, worst
from harness.results.stored_data import ReportError, StoredData, read_lines, read_whole
from harness.spark.rows import OF_LIBRARY, BrokerHeader
from harness.trace.embedded import phrase
from harness.trace.events import TARGET_LOST, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, read_records, write_whole
from harness.trace.schema import TraceError
from harness.verdict import Delta, Expectation, Outcome

CLIENTS: Final = "clients"
"""Name of the folder when it lies beside the wire suites of a run."""
CONVERSATION_FILE: Final = "talk.jsonl"
SOAK: Final = "clients/soak"
"""The id of a soak, which has a result like a script with a step for each group."""


class ClientsFiles(RunFolder):
    """The paths of one run's files.

    ```
    RUN/run.json                      RunHeader
    RUN/summary.md, index.html        the results for people, with a page for each script in scripts/
    RUN/record/clients.json.zst       each script as data, and the libraries
    RUN/record/judgement.json.zst     the judged results
    RUN/record/footer.json            RunFooter
    RUN/record/logs.tar.zst           the brokers' logs
    RUN/record/attempts/N/            the same files for scripts that were run again
    RUN/record/traces/TARGET/         of each target:
      header.json                     the broker's identity
      outcomes.jsonl.zst              the outcome of each script with each library, one line each
      talks/SCRIPT-LIBRARY/           the clients' commands and events (talk.jsonl), and their output;
                                      the error, if the harness failed (harness.log)
      journal.bin                     every byte between clients and brokers
      violations.jsonl.zst            the invariants that these bytes violate
      replay.jsonl.zst                where the reference differs when conversations are replayed to it
      replay.json                     how much of each conversation was replayed
    ```
    """

    __slots__ = ()

    @property
    def clients_json(self) -> Path:
        """The file with what was to be run."""
        return self.record / "clients.json.zst"

    @property
    def judgement_json(self) -> Path:
        """The file with the judged results; absent until the run is judged."""
        return self.record / "judgement.json.zst"

    def attempt(self, number: int) -> Path:
        """Return the folder of scripts that were run again, laid out like that of a run."""
        return self.record / "attempts" / str(number)

    def outcomes(self, target: str) -> Path:
        """Return the file of the scripts' outcomes."""
        return self.of_target(target) / "outcomes.jsonl.zst"

    def conversation_dir(self, target: str, script_id: str, library: str) -> Path:
        """Return the folder of the commands, events and output of a script's clients."""
        return self.of_target(target) / "talks" / f"{script_id.replace('/', '-')}-{library}"

    def violations(self, target: str) -> Path:
        """Return the file of violated invariants; absent if nothing was tapped."""
        return self.of_target(target) / VIOLATIONS


def conversation(script_id: str, library: str) -> str:
    """Return the name that a script's conversation has in a journal and in files derived from it."""
    return f"{script_id}/{library}"


NOT_RUN: Final = "not run: "
CUT_SHORT: Final = "cut short: "
FAILED: Final = "harness failed: "
"""The prefixes of `ScriptOutcome.ended` where it is not `complete`; the reason follows the prefix."""
NOT_COMPARED: Final = "not compared"
ClientResultKey = tuple[str, str, str]
"""A target's name, a script's id, a library."""


class ScriptStep(StoredData):
    """One step of a script, in words."""

    text: str


class StoredScript(StoredData):
    """What a stored script says of itself, of scenarios and of clients alike."""

    id: str
    title: str
    notes: str = ""
    source: str
    steps: tuple[ScriptStep, ...]


class ClientScriptData(StoredScript):
    """A script of clients."""

    uses: tuple[str, ...]


class Remark(StoredData):
    """One departure from what was expected."""

    step: int
    text: str
    """The step in words."""
    says: str
    about: str = ""
    """What departs, without the observed values, which may contain anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult(Judgement):
    """The judged result of one script with one library on one target; the name of its target is of both."""

    on: str
    """The target's own name."""
    spec: str
    library: str
    because: str
    """Why the script was not run, or was cut short; empty otherwise."""
    mismatches: tuple[Remark, ...] = ()
    """Departures from what the script expects."""
    differences: tuple[Remark, ...] = ()
    """Departures from the reference."""
    violations: tuple[Violation, ...] = ()
    """Violated invariants, found in the recorded bytes."""
    replays: tuple[ReplayFinding, ...] = ()
    """Answers in which the reference differs when the same requests are replayed to it."""
    compared: str
    """The reference that the result was compared with, or `not compared: …`."""
    attempts: tuple[Attempt, ...] = ()
    """All attempts, including the first; empty if the first was as expected."""

    @classmethod
    def of(
        cls,
        header: TraceHeader,
        result: "ScriptOutcome",
        outcome: Outcome,
        *,
        title: str,
        source: str,
        compared: str,
    ) -> Self:
        """Return what a script with a library on a target came to, without what it departs in."""
        return cls(
            run_id=header.run_id,
            target=column_name(header.name, result.library),
            oracle=None,
            scenario_id=result.script_id,
            title=title,
            suite=result.script_id.partition("/")[0],
            apis=(),
            clauses=(),
            source=source,
            outcome=outcome.value,
            expectation=(Expectation.EXPECTED if outcome in GOOD else Expectation.UNEXPECTED).value,
            delta=Delta.NO_BASELINE.value,
            reason="",
            observed="",
            causes=(),
            link=None,
            signature=None,
            first_step=None,
            difference_count=0,
            event_count=0,
            duration_ms=1000 * result.duration_s,
            on=header.name,
            spec=header.spec,
            library=result.library,
            because="" if result.ended == ENDED_COMPLETE else result.ended,
            compared=compared,
        )

    def summed_up(self) -> Self:
        """Return the result with what a judgement says of all its departures."""
        place, says = ("", self.because) if self.is_lost else first_remark(self)
        said = ": ".join(filter(None, (place, says)))
        coordinators = sum(each.party == AtFault.COORDINATOR for each in self.violations)
        return replace(
            self,
            reason=said,
            observed=said,
            signature=_signature_of(self),
            first_step=self.remarks[0].step if self.remarks else None,
            difference_count=len(self.remarks) + coordinators + len(self.replays),
        )

    @property
    def is_lost(self) -> bool:
        """Whether the target was lost while the script ran."""
        return self.because.startswith(TARGET_LOST)

    @property
    def is_compared(self) -> bool:
        """Whether the result was compared with a reference."""
        return not self.compared.startswith(NOT_COMPARED)

    @property
    def place(self) -> ClientResultKey:
        """The result's key."""
        return self.on, self.scenario_id, self.library

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The departures from script and reference, in the order of steps."""
        return tuple(sorted((*self.mismatches, *self.differences), key=lambda each: each.step))


class ClientObservation(StoredData):
    """The unjudged observations of one step; the entry after the last step is about the whole script."""

    step: int
    facts: Mapping[str, object]
    """By the names that the script uses."""
    at_ms: float = 0.0
    """When the step began, on the clock of the clients' events; 0 if not recorded."""


class ScriptOutcome(StoredData):
    """The unjudged outcome of one script with one library on one target."""

    script_id: str
    library: str
    ended: str
    """`complete`, or `NOT_RUN`, `CUT_SHORT`, `FAILED` or `TARGET_LOST` with the reason."""
    observations: tuple[ClientObservation, ...]
    duration_s: float = 0.0
    clock_offset_ms: float = 0.0
    """Added to the clients' clock, this gives the time since 1970, which a tap's journal uses."""


class _Planned(StoredData):
    libraries: Mapping[str, str]
    scripts: tuple[ClientScriptData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsRun:
    """One run of client scripts."""

    files: ClientsFiles
    header: RunHeader
    footer: RunFooter | None
    libraries: Mapping[str, str]
    """Names to versions."""
    scripts: Mapping[str, ClientScriptData]
    targets: tuple[TraceHeader, ...]
    """The judged targets, in the order in which they were judged."""
    references: Mapping[str, TraceHeader]
    """All targets that scripts were run on, by spec."""
    results: tuple[ClientResult, ...]
    outcomes: Mapping[ClientResultKey, ScriptOutcome]
    replayed: Mapping[ClientResultKey, str]
    """How much of each conversation was replayed, in words."""

    @property
    def ended(self) -> str:
        """`complete`, or why it is not."""
        return "cut short" if self.footer is None else self.footer.ended

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a process that ran these scripts."""
        is_lost = any(each.is_lost for each in self.results)
        return worst((exit_code(self.results, self.footer), *([ExitCode.UNAVAILABLE] if is_lost else ())))


def clients_folder(run_dir: Path) -> Path | None:
    """Return the folder of the client scripts inside a run; None if the run has none."""
    beside = run_dir / CLIENTS
    return beside if ClientsFiles(beside).run_json.is_file() else None


def load_clients(folder: Path) -> ClientsRun:
    """Read a folder of client scripts.

    Raises:
        ReportError: a file is missing or damaged.
        TraceError: a line is damaged in a file that grows by lines, or a complete run has no judged results.
    """
    files = ClientsFiles(folder)
    header, footer = files.read_run(), files.read_footer()
    planned = read_whole(TypeAdapter(_Planned), files.clients_json)
    records = {each.spec: each for each in files.all_headers()}
    judged = files.judgement_json
    results = read_results(files) if judged.is_file() else ()
    if footer is not None and footer.ended == ENDED_COMPLETE and not judged.is_file():
        raise TraceError(f"{judged} is missing, and the run came to its end")
    unknown = sorted({each.spec for each in results} - records.keys())
    if unknown:
        raise ReportError(f"{judged} names {unknown[0]}, of which the run has no folder")
    return ClientsRun(
        files=files,
        header=header,
        footer=footer,
        libraries=planned.libraries,
        scripts={each.id: each for each in planned.scripts},
        targets=tuple(records[spec] for spec in dict.fromkeys(each.spec for each in results)),
        references=records,
        results=tuple(sorted(results, key=lambda each: (each.scenario_id, each.library))),
        outcomes={
            (record.name, each.script_id, each.library): each
            for record in records.values()
            for each in read_outcomes(files, record.name)
        },
        replayed={
            (record.name, script_id, library): each.reported
            for record in records.values()
            for each in read_counts(files.of_target(record.name))
            for script_id, _, library in [each.conversation.rpartition("/")]
        },
    )


def read_outcomes(files: ClientsFiles, target: str) -> Iterator[ScriptOutcome]:
    """Read the outcomes of the scripts on a target; none if no script was run.

    Raises:
        TraceError: a line is damaged.
    """
    return read_lines(TypeAdapter(ScriptOutcome), files.outcomes(target))


def read_violations(files: ClientsFiles, target: str) -> tuple[Violation, ...]:
    """Read the invariants that were violated on a target; none if nothing was tapped.

    Raises:
        TraceError: a line is damaged.
    """
    path = files.violations(target)
    return read_records(Violation, path) if path.is_file() else ()


def read_results(files: ClientsFiles) -> tuple[ClientResult, ...]:
    """Read the judged results, in the order in which they were judged.

    Raises:
        ReportError: the file is missing.
        TraceError: it is damaged.
    """
    return read_whole(_RESULTS, files.judgement_json)


def write_results(files: ClientsFiles, results: Sequence[ClientResult]) -> None:
    """Write the judged results."""
    # A lone surrogate, which a target may send, is not UTF-8.
    reported = _RESULTS.dump_python(tuple(results), mode="python")
    write_whole(files.judgement_json, json.dumps(reported, indent=2, ensure_ascii=False) + "\n")


_RESULTS: Final = TypeAdapter(tuple[ClientResult, ...])


_IN_TIME: Final = "in time"


def fact_texts(facts: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return facts in words, by name, without those that only say that nothing is wrong."""
    return tuple(
        (name, "no" if name == _IN_TIME else phrase(fact))
        for name, fact in facts.items()
        if (fact is not True if name == _IN_TIME else fact not in ([], {}))
    )


def column_name(target: str, library: str) -> str:
    """Return the name of a target with a library, for use wherever a target's name is expected."""
    return f"{target}, {library}"


def client_infos(run: ClientsRun, libraries: Sequence[str] = ()) -> Mapping[str, TargetInfo]:
    """Return the target information that a checker needs, by `column_name` of each target and library.

    There may be further libraries, for which the run has no result.
    """
    return {
        column_name(record.name, library): TargetInfo(
            run_id=run.header.run_id,
            target=record.name,
            spec=record.spec,
            profile=record.profile,
            oracle=None,
            library=library,
        )
        for record in run.targets
        for library in dict.fromkeys((*run.libraries, *libraries))
    }


def check_clients(run: ClientsRun, precedents: Precedents) -> CheckedRun:
    """Check client scripts against expectation entries and against an earlier run's results.

    The targets of the earlier run have this run's names.
    """
    applied = apply_expectations(run.results, client_infos(run), precedents.entries, precedents.today)
    compared, removed = compared_with(applied.judgements, precedents.baseline)
    return CheckedRun(
        judgements=compared, differences=(), stale_entries=applied.stale_entries, removed=removed
    )


def keep_expectations(folder: Path, entries: Sequence[SourcedEntry], today: date) -> ClientsRun:
    """Store with the results of client scripts what the expectation entries make of them, and reload the run.

    Raises:
        ReportError: a file is missing or damaged.
        TraceError: likewise.
    """
    run = load_clients(folder)
    if not run.files.judgement_json.is_file():
        return run
    applied = apply_expectations(read_results(run.files), client_infos(run), entries, today)
    write_results(run.files, applied.judgements)
    return load_clients(folder)


def _signature_of(result: ClientResult) -> str | None:
    """Return a hash of the first departure, equal in every run; None if no departure can be named.

    The hash leaves out what varies by chance: an event's number in its conversation, and the observed values.
    """
    if result.outcome not in (Outcome.DIVERGES, Outcome.INDETERMINATE):
        return None
    departure = _departure(result)
    return _digest([result.scenario_id, result.library, *departure]) if departure else None


def _departure(result: ClientResult) -> tuple[object, ...]:
    if result.remarks:
        first = result.remarks[0]
        against = "script" if first in result.mismatches else "reference"
        return (against, first.step, first.about)
    broken = sorted(each.invariant for each in result.violations if each.party == AtFault.COORDINATOR)
    if broken:
        return ("wire", broken[0])
    if result.replays:
        found = result.replays[0]
        return ("replay", found.api, found.api_version, found.field)
    return ()


def first_remark(result: ClientResult) -> tuple[str, str]:
    """Return where and how a result first departs; the place is empty if only the outcome has a reason."""
    if result.remarks:
        first = result.remarks[0]
        against = "" if first in result.mismatches else "against the reference: "
        return f"step {first.step}, {first.text}", f"{against}{first.says}"
    if result.violations and status_of(result) is not ResultStatus.PASSED:
        broken = result.violations[0]
        return f"on the wire, event {broken.sequence}", f"{broken.invariant}: {broken.detail}"
    if result.replays:
        return f"in the replay, {replay_place(result.replays[0])}", result.replays[0].says
    return "", result.because


def replay_place(finding: ReplayFinding) -> str:
    """Return where in a conversation the reference answers differently, in words."""
    parts = (
        f"event {finding.position}",
        f"{finding.api} v{finding.api_version}",
        finding.actor,
        f"group {finding.group}",
        finding.field,
    )
    return ", ".join(part for part in parts if part)


def archived_clients(folder: RunFolder) -> tuple[Sequence[BrokerHeader], Sequence[Judgement]]:
    """Return the targets with libraries of a run's client scripts, and their results, for an archive.

    Raises:
        ReportError: a file of the scripts is missing or damaged.
        TraceError: likewise.
    """
    found = clients_folder(folder.path)
    if found is None:
        return (), ()
    run_id, run = folder.read_run().run_id, load_clients(found)
    names = [each.name for each in fields(Judgement)]
    judgements = [
        Judgement(**{name: getattr(each, name) for name in names} | {"run_id": run_id})
        for each in run.results
    ]
    scripts = [[each.id, *[step.text for step in each.steps]] for _, each in sorted(run.scripts.items())]
    headers = [
        BrokerHeader(
            **asdict(record)
            | {"run_id": run_id, "target": name, "config_digest": _digest([*scripts, version])},
            broker_ordinal=OF_LIBRARY,
        )
        for record in run.targets
        for library, version in run.libraries.items()
        if (name := column_name(record.name, library)) in {each.target for each in judgements}
    ]
    return headers, judgements


def _digest(parts: Sequence[object]) -> str:
    return sha256(json.dumps(parts, ensure_ascii=False).encode(errors="replace")).hexdigest()[:12]
