"""The gate for a run of client scripts alone, whose folder differs from that of wire suites."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.diff.judge import TargetInfo
from harness.gate.clients import NOTHING_CHECKED, client_evidence
from harness.gate.complaint import Complaint, Kind
from harness.gate.decision import Decision, Evidence, decide, refusal
from harness.gate.evaluate import Gated, Given
from harness.gate.policy import Policy, PolicyError, refuse_idle_patterns
from harness.orchestration.judging import read_expectations
from harness.report.site.clients_soak import soak_exit_code
from harness.results.client_results import ClientsRun, clients_folder, load_clients
from harness.results.errors import ReportError
from harness.results.exit_code import ENDED_COMPLETE, ExitCode
from harness.results.run_kinds import is_clients_folder
from harness.trace.events import TARGET_LOST
from harness.trace.schema import TraceError

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
    earlier = _baseline(policy.baseline.run if given.baseline is None else given.baseline, policy, targets)
    known = {*given.catalogue, *run.scripts, *(() if earlier is None else earlier.scripts)}
    if infos:
        refuse_idle_patterns(policy, known, [infos[name] for name in targets])
    clients = client_evidence(run, earlier, policy, entries=entries, today=given.today)
    evidence = Evidence(
        run_id=run.run_id,
        targets=targets,
        infos=infos,
        footer=None,
        checked=NOTHING_CHECKED,
        entries=entries,
        baseline_id=None if earlier is None else earlier.run_id,
        baseline=None,
        today=given.today,
        command=run.command,
        clients=clients,
    )
    return Gated(
        decision=decide(evidence, policy),
        judgements=tuple(evidence.judgements),
        infos={**infos, **clients.infos},
    )


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
        baseline_id=None,
        complaints=tuple(complaints),
        passed_over=(),
        notes=(),
        standings={},
    )


def _baseline(path: Path | None, policy: Policy, targets: Sequence[str]) -> ClientsRun | None:
    """Read a baseline: a run of client scripts alone, or one of wire suites with client scripts beside."""
    if path is None:
        return None
    folder = path.resolve() if is_clients_folder(path) else clients_folder(path.resolve())
    if folder is None:
        raise ReportError(f"{path} cannot be the baseline: it has no client scripts")
    earlier = load_clients(folder)
    if reasons := clients_cut_short(earlier):
        raise TraceError(f"{path} cannot be the baseline: {'; '.join(reasons)}")
    there = [record.name for record in earlier.targets]
    pairs = policy.baseline.targets
    _refuse_unknown_pairs(pairs, targets, there)
    here = {old: new for new, old in pairs.items()}
    if not {here.get(name, name) for name in there} & set(targets):
        raise PolicyError(
            f"{path} cannot be the baseline: it has no target in common with the run, which has "
            f"{', '.join(targets) or 'none'}; say which stands in whose place: --pair NEW=OLD"
        )
    return earlier


def _refuse_unknown_pairs(pairs: Mapping[str, str], targets: Sequence[str], there: Sequence[str]) -> None:
    for new, old in pairs.items():
        for wanted, known, whose in ((new, targets, "the run"), (old, there, "the baseline")):
            if wanted not in known:
                raise PolicyError(
                    f"baseline.targets: {whose} has no target {wanted!r}; it has {', '.join(sorted(known))}"
                )
