"""Check a stored run against a policy, today's expectations and, if there is one, a baseline.

Client scripts are evidence for a gate, like scenarios.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

from harness.diff.check import CheckedRun, Precedents
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.decision import NOTHING_CHECKED, Evidence, Weighed, complain, decide, refusal, weights
from harness.gate.policy import FILE_NAME, Handling, Policy, PolicyError, refuse_idle_patterns
from harness.gate.sides import OF_CLIENTS_TOO, OF_SCENARIOS, StoredRun, cut_short, open_run
from harness.orchestration.judging import Given, check_folder, read_baseline, read_expectations
from harness.report.model.gate_data import Decision, Kind
from harness.results.baseline import BY_OPTION, BaselineData, results_against
from harness.results.client_results import ClientResult, ClientsRun, check_clients, client_infos, column_name
from harness.results.status import ENDED_COMPLETE
from harness.results.stored_data import ReportError, added_properties
from harness.trace.events import TARGET_LOST
from harness.trace.schema import TraceError

_LOST_REMEDY: Final = "record/logs.tar.zst in the clients' folder has what its brokers wrote"


def with_clients(
    evidence: Evidence, run: ClientsRun | None, baseline: ClientsRun | None, policy: Policy
) -> Evidence:
    """Judge a run's client scripts with today's expectations, and add them to the evidence."""
    if run is None:
        return evidence if baseline is None else replace(evidence, further=(_gone(policy),))
    before = None if baseline is None else _renamed(baseline, policy)
    precedents = Precedents(entries=evidence.entries, baseline=before, today=evidence.today)
    checked = check_clients(run, precedents)
    infos = client_infos(run, () if baseline is None else tuple(baseline.libraries))
    return replace(
        evidence,
        checked=together(evidence.checked, checked),
        infos={**evidence.infos, **infos},
        baseline=(*evidence.baseline, *(before or ())),
        client_command=run.header.command,
        further=(*_of_ending(run), *_of_lost(run, policy)),
    )


def _renamed(baseline: ClientsRun, policy: Policy) -> tuple[ClientResult, ...]:
    here = {old: new for new, old in policy.baseline.targets.items()}
    names = [(each, here.get(each.on, each.on)) for each in baseline.results]
    return tuple(replace(each, on=on, target=column_name(on, each.library)) for each, on in names)


def together(of_scenarios: CheckedRun, of_clients: CheckedRun) -> CheckedRun:
    """Return the results of scenarios and of client scripts as those of one run."""
    return replace(
        of_scenarios,
        judgements=(*of_scenarios.judgements, *of_clients.judgements),
        stale_entries=(*of_scenarios.stale_entries, *of_clients.stale_entries),
        removed=(*of_scenarios.removed, *of_clients.removed),
    )


def _gone(policy: Policy) -> Weighed:
    reason = "the baseline has some, and this run has none"
    remedy = "run with --clients, or set baseline.vanished to warn"
    return complain(Kind.VANISHED, "client scripts", reason, remedy), policy.baseline.vanished


def _of_ending(run: ClientsRun) -> Iterator[Weighed]:
    if run.ended != ENDED_COMPLETE:
        kind = Kind.TARGET_LOST if run.ended.startswith(TARGET_LOST) else Kind.CUT_SHORT
        remedy = "let the clients run again; the gate decides only on complete runs"
        yield complain(kind, f"the clients of run {run.header.run_id}", run.ended, remedy), Handling.FAIL


def _of_lost(run: ClientsRun, policy: Policy) -> Iterator[Weighed]:
    """Complain of each target that was lost while its scripts ran, which broke off all of them."""
    counts, infos = policy.counts, client_infos(run)
    lost = {
        each.on: each.because.removeprefix(TARGET_LOST).strip()
        for each in run.results
        if each.is_lost and counts.scenario(each.scenario_id) and counts.target(infos[each.target])
    }
    for name, reported in lost.items():
        yield complain(Kind.TARGET_LOST, name, reported, _LOST_REMEDY), Handling.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """A decision and the data that it is based on."""

    decision: Decision
    judgements: tuple[Judgement, ...]
    """Judgements of all targets, including oracles, and of client scripts; none if the run was refused."""
    infos: Mapping[str, TargetInfo]
    baseline: BaselineData | None = None
    """The baseline, with the decision's weight of each result that is not good in both runs."""


def evaluate(run: StoredRun, policy: Policy, given: Given) -> Gated:
    """Judge a run in memory with today's expectations, and decide on it, without changing its folder.

    Raises:
        ExpectationError: an expectation file is wrong.
        PolicyError: the policy chooses nothing, or has no target in common with the baseline.
        ReportError: the baseline is not a judged run, or has no client scripts for a run of these alone.
        TraceError: a file of either run is damaged, or the baseline was cut short.
    """
    entries = read_expectations(given.expectation_files, given.catalogue)
    if reasons := cut_short(run):
        decision = refusal(run.header.run_id, run.header.targets, reasons)
        return Gated(decision=decision, judgements=(), infos=run.infos)
    against, named_by = (
        (policy.baseline.run, FILE_NAME) if given.baseline is None else (given.baseline, BY_OPTION)
    )
    earlier = None if against is None else _baseline(against, policy, run)
    before = None if earlier is None else _scenarios_of(earlier, policy)
    ids = {each.scenario_id for each in before or ()} | _script_ids(run) | _script_ids(earlier)
    asked = [info for name, info in run.infos.items() if name in run.header.targets]
    if asked:  # A target of clients may never have come up.
        refuse_idle_patterns(policy, given.catalogue | ids, asked)
    of_scenarios = Evidence(
        run_id=run.header.run_id,
        targets=run.header.targets,
        infos=run.infos,
        footer=run.footer,
        checked=_checked(run, Precedents(entries=entries, baseline=before, today=given.today)),
        entries=entries,
        baseline_id=None if earlier is None else earlier.header.run_id,
        baseline=before or (),
        today=given.today,
        command=run.header.command,
        added={} if run.is_alone else added_properties(run.folder),
    )
    evidence = with_clients(of_scenarios, run.clients, None if earlier is None else earlier.clients, policy)
    decision = decide(evidence, policy)
    ran = None if earlier is None else _compared_with(evidence, decision, policy, by=named_by)
    return Gated(
        decision=decision, judgements=evidence.checked.judgements, infos=evidence.infos, baseline=ran
    )


def _checked(run: StoredRun, precedents: Precedents) -> CheckedRun:
    return NOTHING_CHECKED if run.is_alone else check_folder(run.folder, precedents)


def _compared_with(evidence: Evidence, decision: Decision, policy: Policy, *, by: str) -> BaselineData:
    checked = evidence.checked
    assert evidence.baseline_id is not None, "there is a baseline"
    return BaselineData(
        run_id=evidence.baseline_id,
        named_by=by,
        pairs=policy.baseline.targets,
        results=results_against(
            checked.judgements, checked.removed, evidence.baseline, weights(decision, checked.judgements)
        ),
    )


def _script_ids(run: StoredRun | None) -> frozenset[str]:
    return frozenset() if run is None or run.clients is None else frozenset(run.clients.scripts)


def _baseline(path: Path, policy: Policy, run: StoredRun) -> StoredRun:
    earlier = open_run(path, OF_CLIENTS_TOO if run.is_alone else OF_SCENARIOS)
    if run.is_alone and earlier.clients is None:
        raise ReportError(f"{path} cannot be the baseline: it has no client scripts")
    _refuse(f"{path} cannot be the baseline", cut_short(earlier))
    there = [*earlier.header.targets, *earlier.infos]
    _refuse_strangers(path, policy.baseline.targets, run.infos, there)
    return earlier


def _scenarios_of(earlier: StoredRun, policy: Policy) -> tuple[Judgement, ...] | None:
    if earlier.is_alone:
        return None
    here = {there: name for name, there in policy.baseline.targets.items()}
    judged = read_baseline(earlier.path) or ()
    return tuple(replace(each, target=here.get(each.target, each.target)) for each in judged)


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
    run = open_run(path, OF_CLIENTS_TOO)
    _refuse(f"{path}: nothing can be concluded from it", cut_short(run))
    precedents = Precedents(entries=entries, today=today)
    checked, infos = _checked(run, precedents), dict(run.infos)
    if run.clients is not None:
        checked = together(checked, check_clients(run.clients, precedents))
        infos |= client_infos(run.clients)
    return JudgedRun(checked=checked, infos=infos)


def _refuse(what: str, reasons: Sequence[str]) -> None:
    if reasons:
        raise TraceError(f"{what}: {'; '.join(reasons)}")
