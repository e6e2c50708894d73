"""What a gate says of the client scripts of a run: they count as scenarios do, and nothing foresees them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from harness.diff.judge import TargetInfo
from harness.gate.decision import Complaint, Kind
from harness.gate.policy import FailOn, Handling, Policy
from harness.report.clients_data import ClientResult, ClientsRun, Place
from harness.report.clients_page import client_reproduction, column_key, first_remark, script_page
from harness.report.exit_code import ENDED_COMPLETE
from harness.report.names import target_anchor
from harness.report.standing import Standing
from harness.trace.events import TARGET_LOST

Weighed: TypeAlias = tuple[Complaint, Handling]
_KINDS = {
    Standing.FAILED: Kind.UNEXPECTED,
    Standing.INDETERMINATE: Kind.INDETERMINATE,
    Standing.ERROR: Kind.HARNESS_ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsWeighed:
    """What a decision is to take into account."""

    complaints: tuple[Weighed, ...] = ()
    standings: Mapping[str, Mapping[Standing, int]] | None = None
    """By target and library; None where the run has no client scripts."""


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
    standings: dict[str, Counter[Standing]] = {}
    for each in counted:
        standings.setdefault(f"{run.name_of(each)}, {each.library}", Counter())[each.standing] += 1
    before = {} if baseline is None else _before(baseline, policy)
    only_new = baseline is not None and policy.baseline.fail_on is FailOn.NEW
    complaints = [
        *_of_ending(run),
        *(_weighed(run, each, before if only_new else {}) for each in counted if each.standing in _KINDS),
        *_of_vanished(run, before, policy),
    ]
    return ClientsWeighed(complaints=tuple(complaints), standings=standings)


def _counts(run: ClientsRun, result: ClientResult, policy: Policy) -> bool:
    record = run.references[result.target]
    info = TargetInfo(
        run_id=run.run_id, target=record.name, spec=record.spec, profile=record.profile, oracle=None
    )
    return policy.counts.scenario(result.script_id) and policy.counts.target(info)


def _before(baseline: ClientsRun, policy: Policy) -> Mapping[Place, ClientResult]:
    """Return a baseline's results, their targets by the names that they have here."""
    here = {there: name for name, there in policy.baseline.targets.items()}
    found: dict[Place, ClientResult] = {}
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
            remedy="let the clients run again; nothing is decided on a part of what they were to do",
        )
        yield complaint, Handling.FAIL


def _weighed(run: ClientsRun, result: ClientResult, before: Mapping[Place, ClientResult]) -> Weighed:
    place, says = first_remark(result)
    earlier = before.get(run.place(result))
    is_old = (
        earlier is not None
        and result.standing is not Standing.ERROR
        and (earlier.outcome, first_remark(earlier)) == (result.outcome, (place, says))
    )
    name = run.name_of(result)
    complaint = Complaint(
        kind=_KINDS[result.standing],
        subject=_subject(run.place(result)),
        reason=": ".join(part for part in (place, says) if part),
        line=client_reproduction(run, result),
        page=f"{script_page(result.script_id)}#{target_anchor(column_key(name, result.library))}",
    )
    return complaint, Handling.WARN if is_old else Handling.FAIL


def _of_vanished(run: ClientsRun, before: Mapping[Place, ClientResult], policy: Policy) -> Iterator[Weighed]:
    """Complain of what clients did in the baseline, on targets that this run has too, and no more."""
    now = {run.place(each): each for each in run.results}
    names = {record.name for record in run.targets}
    for place, earlier in before.items():
        if earlier.standing is Standing.SKIPPED or place[0] not in names:
            continue
        after = now.get(place)
        if after is None or after.standing is Standing.SKIPPED:
            why = "is not in this run" if after is None else f"is not applicable any more: {after.because}"
            complaint = Complaint(
                kind=Kind.VANISHED,
                subject=_subject(place),
                reason=f"it {earlier.outcome} in the baseline and {why}",
                remedy="run the same scripts, or set baseline.vanished to warn",
            )
            yield complaint, policy.baseline.vanished


def _subject(place: Place) -> str:
    target, script_id, library = place
    return f"{script_id} with {library} on {target}"
