"""Check a stored run against a policy, today's expectations and, if there is one, a baseline.

Client scripts are evidence for a gate, like scenarios.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.decision import NOTHING_CHECKED, Evidence, Weighed, decide, refusal, weights
from harness.gate.policy import FILE_NAME, Handling, Policy, PolicyError, refuse_idle_patterns
from harness.gate.sides import StoredRun, cut_short, open_run
from harness.orchestration.judging import check_folder, read_baseline, read_expectations
from harness.report.model.clients import client_reproduction, column_key
from harness.report.model.gate_data import Complaint, Decision, Kind
from harness.report.model.phrases import scenario_page
from harness.report.site.run_site import soak_exit_code
from harness.results.baseline import BY_OPTION, BaselineData, ResultKey, results_against
from harness.results.client_results import (
    ClientsRun,
    check_clients,
    client_infos,
    client_judgements,
    clients_folder,
    column_name,
    load_clients,
)
from harness.results.status import ENDED_COMPLETE, ExitCode
from harness.results.stored_data import ReportError, added_properties, is_clients_folder
from harness.trace.events import TARGET_LOST
from harness.trace.schema import TraceError

_LOST_REMEDY: Final = "record/logs.tar.zst in the clients' folder has what its brokers wrote"


def with_clients(
    evidence: Evidence, run: ClientsRun | None, baseline: ClientsRun | None, policy: Policy
) -> Evidence:
    """Judge a run's client scripts with today's expectations, and add them to the evidence."""
    if run is None:
        return evidence if baseline is None else replace(evidence, further=(_gone(policy),))
    before = None
    if baseline is not None:
        before = client_judgements(baseline, {old: new for new, old in policy.baseline.targets.items()})
    checked = check_clients(run, entries=evidence.entries, baseline=before, today=evidence.today)
    infos = client_infos(run, () if baseline is None else tuple(baseline.libraries))
    return replace(
        evidence,
        checked=together(evidence.checked, checked),
        infos={**evidence.infos, **infos},
        baseline=(*evidence.baseline, *(before or ())),
        places=_places(run),
        further=(*_of_ending(run), *_of_lost(run, policy)),
    )


def together(of_scenarios: CheckedRun, of_clients: CheckedRun) -> CheckedRun:
    """Return the results of scenarios and of client scripts as those of one run."""
    return replace(
        of_scenarios,
        judgements=(*of_scenarios.judgements, *of_clients.judgements),
        stale_entries=(*of_scenarios.stale_entries, *of_clients.stale_entries),
    )


def _gone(policy: Policy) -> Weighed:
    complaint = Complaint(
        kind=Kind.VANISHED,
        subject="client scripts",
        reason="the baseline has some, and this run has none",
        remedy="run with --clients, or set baseline.vanished to warn",
    )
    return complaint, policy.baseline.vanished


def _places(run: ClientsRun) -> Mapping[ResultKey, tuple[str, str]]:
    found: dict[ResultKey, tuple[str, str]] = {}
    for each in run.results:
        name = run.name_of(each)
        page = scenario_page(each.script_id, column_key(name, each.library))
        found[column_name(name, each.library), each.script_id] = client_reproduction(run, each), page
    return found


def _of_ending(run: ClientsRun) -> Iterator[Weighed]:
    if run.ended != ENDED_COMPLETE:
        kind = Kind.TARGET_LOST if run.ended.startswith(TARGET_LOST) else Kind.CUT_SHORT
        complaint = Complaint(
            kind=kind,
            subject=f"the clients of run {run.run_id}",
            reason=run.ended,
            remedy="let the clients run again; the gate decides only on complete runs",
        )
        yield complaint, Handling.FAIL


def _of_lost(run: ClientsRun, policy: Policy) -> Iterator[Weighed]:
    """Complain of each target that was lost while its scripts ran, which broke off all of them."""
    infos = client_infos(run)
    lost = {
        name: each.because.removeprefix(TARGET_LOST)
        for each in run.results
        if each.is_lost
        and policy.counts.scenario(each.script_id)
        and policy.counts.target(infos[column_name(name := run.name_of(each), each.library)])
    }
    for name, reported in lost.items():
        complaint = Complaint(
            kind=Kind.TARGET_LOST, subject=name, reason=reported.strip(), remedy=_LOST_REMEDY
        )
        yield complaint, Handling.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """A decision and the data that it is based on."""

    decision: Decision
    judgements: tuple[Judgement, ...]
    """Judgements of all targets, including oracles, and of client scripts; none if the run was refused."""
    infos: Mapping[str, TargetInfo]
    baseline: BaselineData | None = None
    """The baseline, with the decision's weight of each result that is not good in both runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a run is checked against in addition to a policy."""

    expectation_files: Sequence[Path]
    catalogue: frozenset[str]
    """The ids of all scenarios."""
    baseline: Path | None
    """An earlier run, if one was named; otherwise the policy's baseline is used."""
    today: date


def evaluate(run: StoredRun, policy: Policy, given: Given) -> Gated:
    """Judge a run in memory with today's expectations, and decide on it, without changing its folder.

    Raises:
        ExpectationError: an expectation file is wrong.
        PolicyError: the policy chooses nothing, or has no target in common with the baseline.
        ReportError: the baseline is not a judged run.
        TraceError: a file of either run is damaged, or the baseline was cut short.
    """
    entries = read_expectations(given.expectation_files, given.catalogue)
    reasons = cut_short(run)
    if reasons:
        decision = refusal(run.header.run_id, run.header.targets, reasons)
        return Gated(decision=decision, judgements=(), infos=run.infos)
    asked = [info for name, info in run.infos.items() if name in run.header.targets]
    against, named_by = (
        (policy.baseline.run, FILE_NAME) if given.baseline is None else (given.baseline, BY_OPTION)
    )
    earlier = _baseline(against, policy, run.infos)
    before = None if earlier is None else earlier.judgements
    known = given.catalogue | {each.scenario_id for each in before or ()} | _script_ids(run.path)
    refuse_idle_patterns(policy, known, asked)
    checked = check_folder(run.folder, entries=entries, baseline=before, today=given.today)
    of_scenarios = Evidence(
        run_id=run.header.run_id,
        targets=run.header.targets,
        infos=run.infos,
        footer=run.footer,
        checked=checked,
        entries=entries,
        baseline_id=None if earlier is None else earlier.run_id,
        baseline=before or (),
        today=given.today,
        command=run.header.command,
        added=added_properties(run.folder),
    )
    clients = _clients(run.path), None if against is None else _clients(against)
    evidence = with_clients(of_scenarios, *clients, policy)
    decision = decide(evidence, policy)
    ran = None if earlier is None else _compared_with(earlier, checked, decision, policy, by=named_by)
    return Gated(
        decision=decision, judgements=evidence.checked.judgements, infos=evidence.infos, baseline=ran
    )


def _clients(path: Path) -> ClientsRun | None:
    folder = clients_folder(path)
    return None if folder is None else load_clients(folder)


def _compared_with(
    earlier: "_Earlier", checked: CheckedRun, decision: Decision, policy: Policy, *, by: str
) -> BaselineData:
    return BaselineData(
        run_id=earlier.run_id,
        named_by=by,
        pairs=policy.baseline.targets,
        results=results_against(
            checked.judgements, checked.removed, earlier.judgements, weights(decision, checked.judgements)
        ),
    )


def _script_ids(path: Path) -> frozenset[str]:
    """Return the ids of client scripts, which a policy may name too."""
    clients = _clients(path)
    return frozenset() if clients is None else frozenset(clients.scripts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    run_id: str
    judgements: tuple[Judgement, ...]


def _baseline(path: Path | None, policy: Policy, infos: Mapping[str, TargetInfo]) -> _Earlier | None:
    """Read a baseline, with its targets renamed to this run's targets that they are paired with."""
    if path is None:
        return None
    judged = read_baseline(path)
    assert judged is not None, "there is a path"
    earlier = open_run(path)
    _refuse(f"{path} cannot be the baseline", cut_short(earlier))
    _refuse_strangers(path, policy.baseline.targets, infos, [*earlier.header.targets, *earlier.infos])
    here = {there: name for name, there in policy.baseline.targets.items()}
    renamed = tuple(replace(each, target=here.get(each.target, each.target)) for each in judged)
    return _Earlier(run_id=earlier.header.run_id, judgements=renamed)


_KINDS_OF_SOAKS: Final = {
    ExitCode.UNEXPECTED: Kind.UNEXPECTED,
    ExitCode.NOTHING_RAN: Kind.NOTHING_RAN,
    ExitCode.UNAVAILABLE: Kind.TARGET_LOST,
}
"""The kinds of complaint about a soak that completed, or that lost its target."""
_REASONS_OF_SOAKS: Final = {
    Kind.UNEXPECTED: "its account is not as it should be",
    Kind.NOTHING_RAN: "it has no account",
}


def evaluate_clients(run: ClientsRun, policy: Policy, given: Given) -> Gated:
    """Decide on a run of client scripts with today's expectations, or on a soak, without changing its folder.

    Raises:
        ExpectationError: an expectation file is wrong.
        PolicyError: the policy chooses nothing, or has no target in common with the baseline.
        ReportError: the baseline has no client scripts.
        TraceError: the baseline was cut short.
    """
    entries = read_expectations(given.expectation_files, given.catalogue)
    infos = {name: _info(run, name) for name in sorted(each.name for each in run.references.values())}
    targets = tuple(record.name for record in run.targets) or tuple(infos)
    reasons = clients_cut_short(run)
    if reasons:
        return Gated(decision=refusal(run.run_id, targets, reasons), judgements=(), infos=infos)
    if run.soak_s:
        return Gated(decision=_of_soak(run, targets), judgements=(), infos=infos)
    earlier = _clients_baseline(
        policy.baseline.run if given.baseline is None else given.baseline, policy, targets
    )
    known = {*given.catalogue, *run.scripts, *(() if earlier is None else earlier.scripts)}
    if infos:
        refuse_idle_patterns(policy, known, [infos[name] for name in targets])
    alone = Evidence(
        run_id=run.run_id,
        targets=targets,
        infos=infos,
        entries=entries,
        baseline_id=None if earlier is None else earlier.run_id,
        today=given.today,
        command=run.command,
    )
    evidence = with_clients(alone, run, earlier, policy)
    decision = decide(evidence, policy)
    return Gated(decision=decision, judgements=evidence.checked.judgements, infos=evidence.infos)


def clients_cut_short(run: ClientsRun) -> tuple[str, ...]:
    """Return what is missing if client scripts did not complete, or if their results are missing.

    A lost target does not count as missing, because it is on record.
    """
    if run.ended.startswith(TARGET_LOST):
        return ()
    if run.ended != ENDED_COMPLETE:
        return (f"it is {run.ended}: the clients' run was stopped before its end",)
    return tuple(_gaps(run))


def _gaps(run: ClientsRun) -> Iterator[str]:
    wanted = {(script_id, library) for script_id in run.scripts for library in run.libraries}
    for record in run.targets:
        there = {(each.script_id, each.library) for each in run.results if each.target == record.spec}
        if missing := len(wanted - there):
            yield f"{missing} of the {len(wanted)} results of {record.name} are not there"


def _info(run: ClientsRun, name: str) -> TargetInfo:
    (record,) = (each for each in run.references.values() if each.name == name)
    return TargetInfo(run_id=run.run_id, target=name, spec=record.spec, profile=record.profile, oracle=None)


def _of_soak(run: ClientsRun, targets: tuple[str, ...]) -> Decision:
    """Decide on a soak, which has an account and no results: it is red if the account is not as expected."""
    code = soak_exit_code(run)
    complaints = []
    if code is not ExitCode.EXPECTED:
        kind = _KINDS_OF_SOAKS[code]
        complaint = Complaint(
            kind=kind,
            subject=f"soak {run.run_id}",
            reason=_REASONS_OF_SOAKS.get(kind, run.ended),
            remedy=f"{run.folder / 'index.html'} has the account",
            page="index.html",
        )
        complaints.append(complaint)
    return Decision(
        run_id=run.run_id,
        targets=targets,
        complaints=tuple(complaints),
    )


def _clients_baseline(path: Path | None, policy: Policy, targets: Sequence[str]) -> ClientsRun | None:
    """Read a baseline: a run of client scripts alone, or one of wire suites with client scripts beside."""
    if path is None:
        return None
    folder = path.resolve() if is_clients_folder(path) else clients_folder(path.resolve())
    if folder is None:
        raise ReportError(f"{path} cannot be the baseline: it has no client scripts")
    earlier = load_clients(folder)
    _refuse(f"{path} cannot be the baseline", clients_cut_short(earlier))
    there = [record.name for record in earlier.targets]
    _refuse_strangers(path, policy.baseline.targets, targets, there)
    return earlier


def _refuse_strangers(
    path: Path, pairs: Mapping[str, str], targets: Collection[str], there: Sequence[str]
) -> None:
    """Refuse a baseline with none of the run's targets, and pairs that name a target of neither."""
    for new, old in pairs.items():
        for wanted, known, whose in ((new, targets, "the run"), (old, there, "the baseline")):
            if wanted not in known:
                raise PolicyError(
                    f"baseline.targets: {whose} has no target {wanted!r}; it has {', '.join(sorted(known))}"
                )
    here = {old: new for new, old in pairs.items()}
    if not {here.get(name, name) for name in there} & set(targets):
        raise PolicyError(
            f"{path} cannot be the baseline: it has no target in common with the run, which has "
            f"{', '.join(sorted(targets)) or 'none'}; say which stands in whose place: "
            f"--pair {next(iter(targets), 'NEW')}={next(iter(there), 'OLD')}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run's results and the targets that they belong to."""

    checked: CheckedRun
    infos: Mapping[str, TargetInfo]
    """By target, or by target and library."""


def judge_whole(path: Path, entries: Sequence[SourcedEntry], today: date) -> JudgedRun:
    """Judge a complete run, without changing its folder.

    Raises:
        ReportError: it is not a run's folder, or it is of another kind.
        TraceError: it was cut short, or a file is damaged.
    """
    is_alone = is_clients_folder(path)
    folder = path.resolve() if is_alone else clients_folder(path.resolve())
    checked, infos = NOTHING_CHECKED, dict[str, TargetInfo]()
    if not is_alone:
        run = open_run(path)
        _refuse(f"{path}: nothing can be concluded from it", cut_short(run))
        checked = check_folder(run.folder, entries=entries, baseline=None, today=today)
        infos.update(run.infos)
    if folder is not None:
        clients = load_clients(folder)
        _refuse(f"{folder}: nothing can be concluded from it", clients_cut_short(clients))
        if clients.results:
            of_clients = check_clients(clients, entries=entries, baseline=None, today=today)
            checked = together(checked, of_clients)
        infos.update(client_infos(clients))
    return JudgedRun(checked=checked, infos=infos)


def _refuse(what: str, reasons: Sequence[str]) -> None:
    if reasons:
        raise TraceError(f"{what}: {'; '.join(reasons)}")
