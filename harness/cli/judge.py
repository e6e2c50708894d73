"""`judge`: compare what brokers answered in recordings with the reference, and check runs' invariants."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from os.path import lexists
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from harness.captures import DEFAULT_PORT, Judge, JudgedCaptures, JudgedGroup, Terms, judge_here, sources_of
from harness.captures.judged import likeness, patterns_of, signature_of
from harness.captures.pages import Given, write_pages
from harness.captures.sources import Recording, recordings_of
from harness.cli.errors import ends_with_exit_code
from harness.cli.tap import CAUSES, print_violations, worst_of
from harness.invariants import Violation
from harness.invariants.blame import ToBlame, in_words
from harness.invariants.checker import check_run
from harness.orchestration.plan import PlanError, parse_properties, refusing
from harness.races.catalogue import race_of, why_known
from harness.replay import ReferenceProfile, Replayed
from harness.replay.group import NEVER_CAME, keep
from harness.replay.search import GIVEN_UP
from harness.results.replay_results import ReplayFinding
from harness.results.status import ExitCode, worst
from harness.results.stored_data import open_folder, run_kind
from harness.spark.master import SparkError, why_no_spark
from harness.tap.journal import JOURNAL
from harness.targets.base.interface import TargetError
from harness.targets.reference.profile import coordinator_properties, stored_specification
from harness.targets.reference.target import DEFAULT_PROFILE
from harness.targets.secured.properties import read_properties
from harness.terminal import Writer, plain
from harness.trace.completeness import refuse_cut_short
from harness.trace.embedded import broker_properties
from harness.trace.events import RunKind
from harness.trace.files import RunFolder, write_whole
from harness.trace.schema import TraceError


class FailOn(StrEnum):
    """What else ends a judgement with exit code 1."""

    CLIENT = "client"


_DEFAULT_COMPARED: Final = (
    "compared with Kafka's default configuration; if the brokers had another, name it with --broker-config "
    "or --broker-property"
)
_KEPT: Final = 4
"""Rows for what follows the findings."""
_IN_PAGES: Final = "judged.json"
"""The file with the results, beside the pages."""

_NO_END: Final = "this run has not ended in order, so no invariants were checked; `tap --finish` ends a tap"
_SCRIPTED: Final = (RunKind.SUITES, RunKind.RACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    profile: str | None = None
    ports: frozenset[int] = frozenset((DEFAULT_PORT,))
    properties: Mapping[str, str] = field(default_factory=dict)
    broker_config: Path | None = None
    is_whole: bool = False
    spark_master: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    spec: ReferenceProfile
    properties: Mapping[str, str]
    """The coordinator's properties that were given or recorded."""
    is_newest: bool
    """Whether the newest profile is used because none is known."""
    says: str | None
    """The line that tells what the user did not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    recording: Recording
    compared: _Compared
    judged: JudgedCaptures

    @property
    def name(self) -> str:
        return "" if self.recording.header is None else self.recording.header.target

    def why_known(self, finding: ReplayFinding) -> str | None:
        """Return why a finding of a race is known of its target; None if it is not."""
        header = self.recording.header
        if not self.recording.is_raced or header is None:
            return None
        signature = signature_of(likeness(finding))
        return why_known(finding, signature, header, today=datetime.now(UTC).date())

    @property
    def unknown(self) -> list[Replayed]:
        """The results of the groups, without the findings that are known."""
        results = (group.replayed for group in self.judged.groups)
        return [
            replace(each, findings=tuple(one for one in each.findings if self.why_known(one) is None))
            for each in results
        ]


@ends_with_exit_code
def judge(
    captures: list[Path],
    *,
    profile: str | None = None,
    port: list[int] | None = None,
    broker_property: list[str] | None = None,
    broker_config: Path | None = None,
    whole: bool = False,
    json_file: Path | None = None,
    out: Path | None = None,
    fail_on: FailOn | None = None,
    spark_master: str | None = None,
) -> ExitCode:
    """Compare the answers in recordings with the reference, check runs' invariants, and name causes."""
    _refuse_unrelated(out)
    terms = _Terms(
        profile=profile,
        ports=frozenset(port or [DEFAULT_PORT]),
        properties=parse_properties(broker_property or []),
        broker_config=broker_config,
        is_whole=whole,
        spark_master=spark_master,
    )
    return _judge(captures, terms, Writer(), json_file=json_file, out=out, fail_on=fail_on)


def judge_races(folder: RunFolder, writer: Writer) -> ExitCode:
    """Compare the answers in a run of races with the reference, and write the pages into its folder."""
    return _judge([folder.path], _Terms(), writer, out=folder.path)


def _judge(
    captures: Sequence[Path],
    terms: "_Terms",
    writer: Writer,
    *,
    json_file: Path | None = None,
    out: Path | None = None,
    fail_on: FailOn | None = None,
) -> ExitCode:
    kinds = (RunKind.TAP, RunKind.CLIENTS, *_SCRIPTED)
    folders = [open_folder(each, *kinds) for each in captures if lexists(each / "run.json")]
    recorded = [each for each in captures if not _is_scripted(each)]
    found: list[_Judged] = []
    for recording in recordings_of(recorded):
        compared = _compared(recording, terms)
        how = Terms(
            spec=compared.spec,
            ports=terms.ports,
            is_whole=terms.is_whole or recording.is_whole,
            has_excerpts=out is not None,
            is_raced=recording.is_raced,
        )
        judged = _judge_at(terms.spark_master)(sources_of(recording.files), how)
        judged.notes.damages += recording.damages
        found.append(_Judged(recording=recording, compared=compared, judged=judged))
    for each in found:
        _say_judged(writer, each, is_alone=len(found) == 1, where=out)
    _write(found, json_file, out)
    for each in found if out is not None else ():
        files, properties = each.recording.files, each.compared.properties
        subject = Given(files, properties, is_newest=each.compared.is_newest)
        assert out is not None
        pages = out if len(found) == 1 else out / each.name
        writer.say(f"Pages: {write_pages(pages, each.judged, each.compared.spec, subject)}")
    codes = [_exit_code(each, fail_on) for each in found]
    return worst([*codes, *_checked(folders, writer)] or [ExitCode.NOTHING_RAN])


def _is_scripted(path: Path) -> bool:
    """Return whether a folder is a run of suites, in which no client was recorded."""
    return run_kind(path) is RunKind.SUITES and not any(path.rglob(JOURNAL))


def _checked(folders: Sequence[RunFolder], writer: Writer) -> list[ExitCode]:
    found: list[Violation] = []
    checked: list[RunFolder] = []
    for folder in folders:
        kind = run_kind(folder.path)
        if kind is RunKind.CLIENTS:
            continue  # Clients were checked as they ended.
        if kind is not RunKind.SUITES and folder.read_footer() is None:
            writer.say(f"{folder.path}: {_NO_END}")
            continue
        refuse_cut_short(folder)
        checked.append(folder)
        found += check_run(folder)
    if not checked:
        return []
    is_scripted = all(run_kind(folder.path) in _SCRIPTED for folder in checked)
    print_violations(writer, found)
    if is_scripted:
        writer.say("The runs were scripted: their clients break rules on purpose.")
    code = worst_of(found, is_scripted=is_scripted)
    return [code] if any(folder.targets() for folder in checked) else [code, ExitCode.NOTHING_RAN]


def _say_judged(writer: Writer, each: _Judged, *, is_alone: bool, where: Path | None) -> None:
    if not is_alone:
        writer.say(f"{each.name or 'captures'}:")
    if each.compared.says is not None:
        writer.say(each.compared.says)
    rest = f"{where / _IN_PAGES} has all" if where else "--out FOLDER or --json FILE writes all"
    named = race_of if each.recording.is_raced else str
    writer.say_beginning(partial(_print, found=each, named=named), rest=rest, keep=_KEPT + CAUSES)
    groups = [] if each.recording.is_raced else each.judged.groups
    causes = [plain(line) for line in in_words([one for group in groups for one in group.refusals])]
    for line in causes[:CAUSES]:
        writer.say(line)
    if len(causes) > CAUSES:
        writer.say(f"{len(causes) - CAUSES} more causes of refusals; {rest}")
    if not each.compared.properties and any(group.replayed.findings for group in each.judged.groups):
        writer.say(_DEFAULT_COMPARED)
    if each.recording.run is not None and each.recording.header is not None:
        replayed = [group.replayed for group in each.judged.groups]
        keep(each.recording.run.of_target(each.recording.header.target), replayed)


def _write(found: Sequence[_Judged], json_file: Path | None, out: Path | None) -> None:
    results = [{"target": each.name, **_as_json(each.judged, each.compared.spec)} for each in found]
    content = results[0] if len(results) == 1 else {"targets": results}
    written = json.dumps(content, indent=2, ensure_ascii=False)
    for path in (json_file, None if out is None else out / _IN_PAGES):
        if path is not None:
            write_whole(path, written + "\n")


def _exit_code(each: _Judged, fail_on: FailOn | None) -> ExitCode:
    replayed = each.unknown
    codes = [exit_code(replayed)]
    if each.recording.is_raced and _is_open(replayed):
        codes = [ExitCode.INDETERMINATE]
    if each.judged.notes.damages:
        codes.append(ExitCode.BAD_DATA)
    if fail_on is FailOn.CLIENT and any(group.blamed.get(ToBlame.CLIENT) for group in each.judged.groups):
        codes.append(ExitCode.UNEXPECTED)
    return worst(codes)


def exit_code(replayed: Sequence[Replayed]) -> ExitCode:
    """Return the exit code of a comparison; comparing nothing does not count as agreement."""
    if any(each.findings for each in replayed):
        return ExitCode.UNEXPECTED
    return ExitCode.EXPECTED if any(each.compared for each in replayed) else ExitCode.NOTHING_RAN


def _refuse_unrelated(out: Path | None) -> None:
    """Refuse an output folder with unrelated files."""
    if out is not None and out.is_dir() and any(out.iterdir()) and not (out / _IN_PAGES).is_file():
        raise PlanError(
            f"{out}: this folder has files that are no pages of `judge`; name an empty or new one"
        )


def _judge_at(spark_master: str | None) -> Judge:
    if spark_master is None:
        return judge_here
    if (lacking := why_no_spark(spark_master)) is not None:
        raise SparkError(lacking)
    from harness.captures.on_spark import judge_on_spark  # noqa: PLC0415 - PySpark is an extra, and slow to import

    return partial(judge_on_spark, master=spark_master)


def _compared(recording: Recording, terms: _Terms) -> _Compared:
    """Return what the user named, completed by what was recorded, else by the newest release."""
    header = recording.header
    recorded = broker_properties(header) if header is not None and terms.broker_config is None else {}
    config = terms.broker_config
    in_file = {} if config is None else read_properties(config, "--broker-config")
    properties = coordinator_properties({**recorded, **in_file}) | dict(terms.properties)
    is_newest = terms.profile is None and header is None
    profile = terms.profile or (DEFAULT_PROFILE if header is None else header.profile)
    # A header that was recorded is no choice of the user's.
    with refusing(*((TargetError,) if recorded else (TargetError, TraceError))):
        spec = stored_specification(profile, properties, where="the brokers' configuration", defaults={})
    newest = f"compared with the newest profile, {spec.profile.name}; name another with --profile"
    says = newest if is_newest else None
    if recorded:
        says = f"compared with {spec.profile.name} as the recorded broker was configured"
    return _Compared(spec=spec, properties=properties, is_newest=is_newest, says=says)


def _is_open(replayed: Sequence[Replayed]) -> bool:
    """Return whether answers may only have been late, or orders that explain them were not tried."""
    findings = [finding for each in replayed for finding in each.findings]
    is_late = any(NEVER_CAME in each.not_compared for each in replayed)
    return all(GIVEN_UP in each.says for each in findings) and (bool(findings) or is_late)


def _print(console: Console, *, found: _Judged, named: Callable[[str], str]) -> None:
    judged = found.judged
    table = Table("group", "clients", "compared", "not compared", *ToBlame, box=None)
    by_name: dict[str, list[JudgedGroup]] = {}
    for each in judged.groups:
        by_name.setdefault(named(each.group), []).append(each)
    for name, groups in by_name.items():
        libraries = sorted({client for each in groups for client in each.clients})
        replayed = [each.replayed for each in groups]
        table.add_row(
            plain(name),
            plain(", ".join(libraries) or "unknown"),
            str(sum(each.compared for each in replayed)),
            str(sum(sum(each.not_compared.values()) for each in replayed)),
            str(sum(len(each.findings) for each in replayed)),
            *(
                str(sum(each.blamed.get(party, 0) for each in groups))
                for party in (ToBlame.CLIENT, ToBlame.UNKNOWN)
            ),
        )
    console.print(table)
    for line in judged.notes.in_words():
        _say(console, line)
    for each in judged.groups:
        for why, count in sorted(each.replayed.not_compared.items()):
            _say(console, f"group {each.group}: not compared: {count} {why}")
    findings = [finding for each in judged.groups for finding in each.replayed.findings]
    for pattern in patterns_of(judged.groups):
        clients = ", ".join(f"{name or 'unknown'} {count}" for name, count in pattern.clients.items())
        _say(console, f"{pattern.signature}: {pattern.what}, {pattern.count} times, to {clients}")
        _say(console, f"  {pattern.noticed}")
    for finding in findings:
        reason = found.why_known(finding)
        known = f"; known: {reason}" if reason else ""
        _say(console, f"group {finding.group}, at {finding.at_ms / 1_000:.3f} s: {finding.says}{known}")


def _say(console: Console, line: str) -> None:
    console.print(plain(line), soft_wrap=True, highlight=False)


def _as_json(judged: JudgedCaptures, spec: ReferenceProfile) -> dict[str, object]:
    return {
        "profile": spec.profile.name,
        "notes": list(judged.notes.in_words()),
        "patterns": [asdict(each) for each in patterns_of(judged.groups)],
        "groups": [
            {
                "group": each.group,
                "clients": each.clients,
                "compared": each.replayed.compared,
                "not_compared": dict(each.replayed.not_compared),
                "findings": [asdict(finding) for finding in each.replayed.findings],
                "blamed": {party: each.blamed.get(party, 0) for party in (ToBlame.CLIENT, ToBlame.UNKNOWN)},
                "refusals": [asdict(refusal) for refusal in each.refusals],
            }
            for each in judged.groups
        ],
    }
