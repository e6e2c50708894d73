"""What a gate says of the client scripts of a run: they count as scenarios do, and nothing foresees them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.diff.judge import TargetInfo
from harness.gate.complaint import Complaint, Kind
from harness.gate.policy import FailOn, Handling, Policy
from harness.report.model.client_verdicts import client_signature
from harness.report.model.clients_page import client_reproduction, column_key, first_remark, script_page
from harness.report.model.names import target_anchor
from harness.results.client_results import ClientResult, ClientResultKey, ClientsRun
from harness.results.exit_code import ENDED_COMPLETE
from harness.results.status import ResultStatus
from harness.trace.events import TARGET_LOST

Weighed: TypeAlias = tuple[Complaint, Handling]
_KINDS = {
    ResultStatus.FAILED: Kind.UNEXPECTED,
    ResultStatus.FLAKY: Kind.FLAKY,
    ResultStatus.INDETERMINATE: Kind.INDETERMINATE,
    ResultStatus.ERROR: Kind.HARNESS_ERROR,
}
_LOST_REMEDY: Final = "TARGET/logs/ in the clients' folder has what its brokers wrote"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsWeighed:
    """What a decision is to take into account."""

    complaints: tuple[Weighed, ...] = ()
    standings: Mapping[str, Mapping[ResultStatus, int]] | None = None
    """By target and library; None where the run has no client scripts."""
    ran: Mapping[str, int] = field(default_factory=dict)
    """By target that has results that count: how many scripts clients carried out on it."""


def weigh_clients(run: ClientsRun | None, baseline: ClientsRun | None, policy: Policy) -> ClientsWeighed:
    """Weigh the client scripts of a run, under a policy, and beside those of a baseline that has some."""
    if run is None:
        gone = (
            None
            if baseline is None
            else Complaint(
                kind=Kind.VANISHED,
                subject="client scripts",
                reason="the baseline has some, and this run has none",
                remedy="run with --clients, or set baseline.vanished to warn",
            )
        )
        return ClientsWeighed(complaints=() if gone is None else ((gone, policy.baseline.vanished),))
    counted = [each for each in run.results if _counts(run, each, policy)]
    standings: dict[str, Counter[ResultStatus]] = {}
    for each in counted:
        standings.setdefault(f"{run.name_of(each)}, {each.library}", Counter())[each.status] += 1
    before = {} if baseline is None else _before(baseline, policy)
    only_new = baseline is not None and policy.baseline.fail_on is FailOn.NEW
    complaints = [
        *_of_ending(run),
        *_of_lost(run, counted),
        *_of_results(run, counted, before if only_new else {}, policy),
        *_of_vanished(run, before, policy),
    ]
    return ClientsWeighed(complaints=tuple(complaints), standings=standings, ran=_ran(run, counted))


def _ran(run: ClientsRun, counted: Sequence[ClientResult]) -> Mapping[str, int]:
    carried_out: dict[str, set[str]] = {run.name_of(each): set() for each in counted}
    for each in counted:
        if each.status is not ResultStatus.SKIPPED:
            carried_out[run.name_of(each)].add(each.script_id)
    return {name: len(scripts) for name, scripts in carried_out.items()}


def _counts(run: ClientsRun, result: ClientResult, policy: Policy) -> bool:
    record = run.references[result.target]
    info = TargetInfo(
        run_id=run.run_id, target=record.name, spec=record.spec, profile=record.profile, oracle=None
    )
    return policy.counts.scenario(result.script_id) and policy.counts.target(info)


def _before(baseline: ClientsRun, policy: Policy) -> Mapping[ClientResultKey, ClientResult]:
    """Return a baseline's results, their targets by the names that they have here."""
    here = {there: name for name, there in policy.baseline.targets.items()}
    found: dict[ClientResultKey, ClientResult] = {}
    for each in baseline.results:
        name, script_id, library = baseline.place(each)
        found[here.get(name, name), script_id, library] = each
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


def _of_lost(run: ClientsRun, counted: Sequence[ClientResult]) -> Iterator[Weighed]:
    """Complain of each target that was lost under its scripts; all of them then broke off."""
    lost = {run.name_of(each): each.because.removeprefix(TARGET_LOST) for each in counted if each.is_lost}
    for name, reported in lost.items():
        complaint = Complaint(
            kind=Kind.TARGET_LOST, subject=name, reason=reported.strip(), remedy=_LOST_REMEDY
        )
        yield complaint, Handling.FAIL


def _of_results(
    run: ClientsRun,
    counted: Sequence[ClientResult],
    before: Mapping[ClientResultKey, ClientResult],
    policy: Policy,
) -> Iterator[Weighed]:
    """Complain of what departs; of what broke off, if it is more than a share of what was carried out."""
    concerning = [
        each
        for each in counted
        if each.status in _KINDS and not (each.is_lost and each.status is ResultStatus.INDETERMINATE)
    ]
    old = {run.place(each) for each in concerning if _is_old(each, before.get(run.place(each)))}
    ran = sum(each.status is not ResultStatus.SKIPPED for each in counted)
    broken = sum(
        each.status is ResultStatus.INDETERMINATE and run.place(each) not in old for each in concerning
    )
    allows_broken = broken <= policy.allow.indeterminate_share * ran
    for each in concerning:
        is_allowed = each.status is ResultStatus.INDETERMINATE and allows_broken
        is_let_pass = each.status is ResultStatus.FLAKY and policy.allow.flaky is Handling.WARN
        passes = run.place(each) in old or is_allowed or is_let_pass
        yield _complaint(run, each), Handling.WARN if passes else Handling.FAIL


def _is_old(result: ClientResult, earlier: ClientResult | None) -> bool:
    """Tell whether the baseline has the same; where chance put it makes no difference."""
    return (
        earlier is not None
        and result.status is not ResultStatus.ERROR
        and (earlier.outcome, client_signature(earlier)) == (result.outcome, client_signature(result))
    )


def _complaint(run: ClientsRun, result: ClientResult) -> Complaint:
    place, says = first_remark(result)
    name = run.name_of(result)
    return Complaint(
        kind=_KINDS[result.status],
        subject=_subject(run.place(result)),
        reason=": ".join(part for part in (place, says) if part),
        line=client_reproduction(run, result),
        page=f"{script_page(result.script_id)}#{target_anchor(column_key(name, result.library))}",
    )


def _of_vanished(
    run: ClientsRun, before: Mapping[ClientResultKey, ClientResult], policy: Policy
) -> Iterator[Weighed]:
    """Complain of what clients did in the baseline, on targets that this run has too, and no more."""
    now = {run.place(each): each for each in run.results}
    names = {record.name for record in run.targets}
    for place, earlier in before.items():
        if earlier.status is ResultStatus.SKIPPED or place[0] not in names:
            continue
        after = now.get(place)
        if after is None or after.status is ResultStatus.SKIPPED:
            why = "is not in this run" if after is None else f"is not applicable any more: {after.because}"
            complaint = Complaint(
                kind=Kind.VANISHED,
                subject=_subject(place),
                reason=f"it {earlier.outcome} in the baseline and {why}",
                remedy="run the same scripts, or set baseline.vanished to warn",
            )
            yield complaint, policy.baseline.vanished


def _subject(place: ClientResultKey) -> str:
    target, script_id, library = place
    return f"{script_id} with {library} on {target}"
