"""Check a stored run against a policy, today's expectations and, if there is one, a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.clients import ClientEvidence, client_evidence
from harness.gate.decision import Decision, Evidence, decide, refusal
from harness.gate.policy import FILE_NAME, Policy, PolicyError, refuse_idle_patterns
from harness.gate.stored import StoredRun, cut_short, open_run
from harness.gate.words import weights
from harness.orchestration.judging import check_folder, read_baseline, read_expectations
from harness.results.baseline import BY_OPTION, BaselineData, results_against
from harness.results.brokers import added_properties
from harness.results.client_results import clients_folder, load_clients
from harness.trace.schema import TraceError


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
    clients = _clients(run.path, against, policy, entries, given.today)
    evidence = Evidence(
        run_id=run.header.run_id,
        targets=run.header.targets,
        infos=run.infos,
        footer=run.footer,
        checked=checked,
        entries=entries,
        baseline_id=None if earlier is None else earlier.run_id,
        baseline=before,
        today=given.today,
        command=run.header.command,
        added=added_properties(run.folder),
        clients=clients,
    )
    decision = decide(evidence, policy)
    ran = None if earlier is None else _compared_with(earlier, checked, decision, policy, by=named_by)
    infos = {**run.infos, **clients.infos}
    return Gated(decision=decision, judgements=tuple(evidence.judgements), infos=infos, baseline=ran)


def _clients(
    path: Path, baseline: Path | None, policy: Policy, entries: Sequence[SourcedEntry], today: date
) -> ClientEvidence:
    here = clients_folder(path)
    there = None if baseline is None else clients_folder(baseline)
    return client_evidence(
        None if here is None else load_clients(here),
        None if there is None else load_clients(there),
        policy,
        entries=entries,
        today=today,
    )


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
    folder = clients_folder(path)
    return frozenset() if folder is None else frozenset(load_clients(folder).scripts)


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
    reasons = cut_short(earlier)
    if reasons:
        raise TraceError(f"{path} cannot be the baseline: {'; '.join(reasons)}")
    here = {there: name for name, there in policy.baseline.targets.items()}
    _refuse_unknown_pairs(policy, infos, earlier)
    renamed = tuple(replace(each, target=here.get(each.target, each.target)) for each in judged)
    if not {each.target for each in renamed} & set(infos):
        raise PolicyError(
            f"{path} cannot be the baseline: it has no target in common with the run, which has "
            f"{', '.join(sorted(infos))}; say which stands in whose place: --pair {next(iter(infos), 'NEW')}="
            f"{earlier.header.targets[0]}"
        )
    return _Earlier(run_id=earlier.header.run_id, judgements=renamed)


def _refuse_unknown_pairs(policy: Policy, infos: Mapping[str, TargetInfo], earlier: StoredRun) -> None:
    for name, there in policy.baseline.targets.items():
        for wanted, known, whose in ((name, infos, "the run"), (there, earlier.infos, "the baseline")):
            if wanted not in known:
                raise PolicyError(
                    f"baseline.targets: {whose} has no target {wanted!r}; it has {', '.join(sorted(known))}"
                )
