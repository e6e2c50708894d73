"""The decision on a run, and its words: what is red and why, worst first, and what was let pass.

Nothing is judged anew here: outcome, expectation and delta are the checker's. The gate only decides, under a
policy, which of them count.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, TypeAlias

from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.target_pattern import matches_target
from harness.gate.policy import FailOn, Handling, Policy
from harness.report.model.clients import client_repetition
from harness.report.model.gate_data import Complaint, Decision, Kind, shown_difference
from harness.report.model.phrases import entry_text, not_compared, repetition, shortened, stands_for_reference
from harness.results.client_results import ClientResult
from harness.results.status import ResultStatus, status_of
from harness.results.stored_data import AddedProperties
from harness.terminal import in_terminal
from harness.trace.events import TARGET_LOST, RunFooter
from harness.verdict import Confirmation, Delta, Outcome

Weighed: TypeAlias = tuple[Complaint, Handling]
_AGAIN: Final = "run it again; the gate decides only on complete runs"
_LOGS: Final = "record/logs.tar.zst in the run's folder has what its brokers wrote"
_MORE: Final = "run more scenarios, or have the policy ask for less"
_MEND: Final = "mend the target, or have the policy ask for less"
_SAME: Final = "run the same selection, or set baseline.vanished to warn"
_PRUNE: Final = "`kafka-conformance expect prune` removes the entry; or renew it by hand"
NOTHING_CHECKED: Final = CheckedRun(judgements=(), differences=(), stale_entries=(), removed=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All data that a decision is based on."""

    run_id: str
    targets: tuple[str, ...]
    """The targets that the run was asked for, without oracles."""
    infos: Mapping[str, TargetInfo]
    """By target, and by target and library, including the libraries of the baseline."""
    entries: Sequence[SourcedEntry]
    baseline_id: str | None
    today: date
    footer: RunFooter | None = None
    checked: CheckedRun = NOTHING_CHECKED
    """The results of scenarios, then those of client scripts, which count alike."""
    baseline: Sequence[Judgement] = ()
    """The baseline's judgements, with its targets renamed to this run's names."""
    command: str = ""
    """The command line of the run."""
    added: AddedProperties = field(default_factory=dict)
    """Broker properties that scenarios were run with but did not ask for."""
    client_command: str = ""
    """The command line that ran the client scripts."""
    further: tuple[Weighed, ...] = ()
    """Complaints about the client scripts as a whole."""


def complain(kind: Kind, subject: str, reason: str, remedy: str) -> Complaint:
    """Return a complaint that is about no single result."""
    return Complaint(kind=kind, subject=subject, reason=reason, remedy=remedy)


def refusal(run_id: str, targets: tuple[str, ...], reasons: Sequence[str]) -> Decision:
    """Decide on an incomplete run: it is red, since what it lacks might be red."""
    return Decision(
        run_id=run_id,
        targets=targets,
        complaints=tuple(complain(Kind.CUT_SHORT, f"run {run_id}", reason, _AGAIN) for reason in reasons),
    )


def decide(evidence: Evidence, policy: Policy) -> Decision:
    """Decide on a complete run."""
    counted = [each for each in evidence.checked.judgements if _counts(each, evidence, policy)]
    of_clients = [each for each in counted if isinstance(each, ClientResult)]
    of_scenarios = [each for each in counted if not isinstance(each, ClientResult)]
    red: list[Complaint] = []
    passed: list[Complaint] = []
    for complaint, handling in (
        *_of_ending(evidence),
        *_of_results(counted, evidence, policy),
        *_of_indeterminate(of_scenarios, policy),
        *_of_indeterminate(of_clients, policy),
        *_of_numbers(counted, evidence, policy),
        *_of_vanished(evidence, policy),
        *_of_expectations(counted, evidence, policy),
        *evidence.further,
    ):
        (red if handling is Handling.FAIL else passed).append(_placed(complaint, evidence))
    return Decision(
        run_id=evidence.run_id,
        targets=evidence.targets,
        baseline_id=evidence.baseline_id,
        complaints=_in_order(red),
        passed_over=_in_order(passed),
        notes=tuple(_notes(evidence, policy)),
        standings=_standings(counted),
        ran=_tally(counted, evidence, _RAN),
        conforming=_tally(counted, evidence, _CONFORMS),
    )


def _placed(complaint: Complaint, evidence: Evidence) -> Complaint:
    """Return a complaint with what pages and programs get of the result that it is about, if any."""
    judgement = complaint.judgement
    if judgement is None:
        return complaint
    can_be_foreseen = judgement.outcome in (Outcome.DIVERGES, Outcome.INDETERMINATE, Outcome.LENIENT)
    return complaint.model_copy(
        update={
            "scenario_id": judgement.scenario_id,
            "target": judgement.target,
            "signature": judgement.signature,
            "reproduction": _line(judgement, evidence),
            "entry": entry_to_paste(judgement, evidence.infos[judgement.target]) if can_be_foreseen else None,
        }
    )


def _line(judgement: Judgement, evidence: Evidence) -> str:
    if isinstance(judgement, ClientResult):
        return client_repetition(evidence.client_command, judgement)
    oracle = evidence.infos.get(judgement.oracle or "")
    is_measure = oracle is not None and stands_for_reference(oracle.spec, evidence.command)
    return repetition(
        [evidence.infos[judgement.target]],
        judgement.scenario_id,
        command=evidence.command,
        added=[evidence.added.get((judgement.target, judgement.scenario_id), {})],
        against=oracle.spec if oracle is not None and is_measure else None,
    )


_RAN: Final = frozenset(Outcome) - {Outcome.NOT_APPLICABLE}
_CONFORMS: Final = frozenset({Outcome.CONFORMS})


def _in_order(complaints: Sequence[Complaint]) -> tuple[Complaint, ...]:
    return tuple(sorted(complaints, key=lambda each: (tuple(Kind).index(each.kind), each.subject)))


def _standings(judgements: Sequence[Judgement]) -> Mapping[str, Mapping[ResultStatus, int]]:
    found: dict[str, Counter[ResultStatus]] = defaultdict(Counter)
    for each in judgements:
        found[each.target][status_of(each)] += 1
    return found


def _counts(judgement: Judgement, evidence: Evidence, policy: Policy) -> bool:
    """Return whether a result counts.

    The policy's targets do not exclude oracles, because other results are based on theirs.
    """
    is_oracle = judgement.target not in evidence.targets and not isinstance(judgement, ClientResult)
    info = evidence.infos.get(judgement.target)
    return policy.counts.scenario(judgement.scenario_id) and (
        is_oracle or (info is not None and policy.counts.target(info))
    )


def _of_ending(evidence: Evidence) -> Iterator[Weighed]:
    ended = evidence.footer.ended if evidence.footer else ""
    if ended.startswith(TARGET_LOST):
        reported = ended.removeprefix(TARGET_LOST).strip()
        yield complain(Kind.TARGET_LOST, f"run {evidence.run_id}", reported, _LOGS), Handling.FAIL


def _on(judgement: Judgement) -> str:
    if isinstance(judgement, ClientResult):
        return f"{judgement.scenario_id} with {judgement.library} on {judgement.on}"
    return f"{judgement.scenario_id} on {judgement.target}"


def _of_results(counted: Sequence[Judgement], evidence: Evidence, policy: Policy) -> Iterator[Weighed]:
    """Complain of unexpected differences, and of harness errors."""
    only_new = policy.baseline.fail_on is FailOn.NEW
    firsts = {(one.target, one.scenario_id): one for one in evidence.checked.differences if one.ordinal == 0}
    for each in counted:
        how = status_of(each)
        is_lenient = each.outcome == Outcome.LENIENT and each.link is None and policy.counts.lenient
        if how is ResultStatus.ERROR:
            kind = Kind.HARNESS_ERROR
        elif how is ResultStatus.FLAKY:
            kind = Kind.FLAKY
        elif how is ResultStatus.FAILED or (how is ResultStatus.PASSED and is_lenient):
            kind = _OF_DELTAS.get(each.delta, Kind.UNEXPECTED)
        else:
            continue
        first = firsts.get((each.target, each.scenario_id))
        is_mild = first is not None and first.difference_class not in policy.counts.classes
        is_old = only_new and each.delta == Delta.SAME
        is_let_pass = kind is Kind.FLAKY and policy.allow.flaky is Handling.WARN
        passes = kind is not Kind.HARNESS_ERROR and (is_mild or is_old or is_let_pass)
        complaint = Complaint(
            kind=kind,
            subject=_on(each),
            reason=each.reason,
            judgement=each,
            cause=first.cause if first else None,
            difference=shown_difference(first) if first else None,
        )
        yield complaint, Handling.WARN if passes else Handling.FAIL


_OF_DELTAS: Final[Mapping[str, Kind]] = {
    Delta.NEWLY_DIVERGING: Kind.NEW_DIFFERENCE,
    Delta.ADDED: Kind.NEW_DIFFERENCE,
    Delta.CHANGED_SIGNATURE: Kind.CHANGED_DIFFERENCE,
}


def _of_indeterminate(counted: Sequence[Judgement], policy: Policy) -> Iterator[Weighed]:
    """Complain of conversations that broke off, if they exceed the allowed share of those that ran."""
    only_new = policy.baseline.fail_on is FailOn.NEW
    broken = [
        each
        for each in counted
        if status_of(each) is ResultStatus.INDETERMINATE and TARGET_LOST not in each.reason
    ]
    unknown = [each for each in broken if not only_new or each.delta != Delta.SAME]
    ran = sum(each.outcome != Outcome.NOT_APPLICABLE for each in counted)
    allowed = policy.allow.indeterminate_share * ran
    for each in broken:
        is_red = each in unknown and len(unknown) > allowed
        complaint = Complaint(kind=Kind.INDETERMINATE, subject=_on(each), reason=each.reason, judgement=each)
        yield complaint, Handling.FAIL if is_red else Handling.WARN


def _of_numbers(counted: Sequence[Judgement], evidence: Evidence, policy: Policy) -> Iterator[Weighed]:
    """Complain if too little was run to decide anything."""
    ran = _tally(counted, evidence, _RAN)
    if not any(ran.values()):
        reason = "no scenario that counts was run on any target"
        if counted and all(isinstance(each, ClientResult) for each in counted):
            reason = "no client script that counts was run on any target"
        yield complain(Kind.NOTHING_RAN, f"run {evidence.run_id}", reason, _MORE), Handling.FAIL
        return
    for pattern in policy.require.targets:
        ran_with = sorted(name for name, count in ran.items() if count)
        fitting = (evidence.infos[name] for name in ran_with if name in evidence.infos)
        if not any(matches_target(pattern, info) for info in fitting):
            reason = f"nothing was run on a target that fits; there is {', '.join(ran_with)}"
            yield complain(Kind.TARGET_MISSING, pattern, reason, _MORE), Handling.FAIL
    yield from _of_floors(ran, _tally(counted, evidence, _CONFORMS), evidence, policy)


def _of_floors(
    ran: Mapping[str, int], conforming: Mapping[str, int], evidence: Evidence, policy: Policy
) -> Iterator[Weighed]:
    """Complain of targets that count on which too few scenarios were run, or conform."""
    require = policy.require
    for name in evidence.targets:
        info = evidence.infos.get(name)
        if info is None or not policy.counts.target(info):
            continue
        if (count := ran.get(name, 0)) < require.scenario_count_min:
            reason = f"{count} scenarios were run on it; {require.scenario_count_min} are required"
            yield complain(Kind.TOO_FEW, name, reason, _MORE), Handling.FAIL
        if (count := conforming.get(name, 0)) < require.conforming_count_min:
            reason = f"{count} scenarios conform on it; {require.conforming_count_min} are required"
            yield complain(Kind.TOO_FEW_CONFORM, name, reason, _MEND), Handling.FAIL


def _tally(
    counted: Sequence[Judgement], evidence: Evidence, outcomes: Collection[Outcome]
) -> Mapping[str, int]:
    """Count by target what had an outcome: scenarios, or client scripts if no scenario counts."""
    of_scenarios = [each for each in counted if not isinstance(each, ClientResult)]
    ran: dict[str, set[str]] = defaultdict(set)
    for each in of_scenarios or counted:
        info = evidence.infos.get(each.target)
        if info is not None and info.target in evidence.targets:
            ran[info.target] |= {each.scenario_id} if each.outcome in outcomes else set()
    return {name: len(ids) for name, ids in ran.items()}


def _of_vanished(evidence: Evidence, policy: Policy) -> Iterator[Weighed]:
    """Complain of what the baseline ran and this run did not."""
    now = {(each.target, each.scenario_id): each for each in evidence.checked.judgements}
    for before in evidence.baseline:
        if before.outcome == Outcome.NOT_APPLICABLE or not policy.counts.scenario(before.scenario_id):
            continue
        after = now.get((before.target, before.scenario_id))
        if before.target not in evidence.infos:
            continue
        if after is None or after.outcome == Outcome.NOT_APPLICABLE:
            why = "is not in this run" if after is None else f"is not applicable any more: {after.reason}"
            reason = f"it {before.outcome} in the baseline and {why}"
            yield complain(Kind.VANISHED, _on(before), reason, _SAME), policy.baseline.vanished


def _of_expectations(counted: Sequence[Judgement], evidence: Evidence, policy: Policy) -> Iterator[Weighed]:
    """Complain of entries that no longer apply, once for each."""
    stale = [each for each in counted if status_of(each) is ResultStatus.STALE]
    for each in stale:
        # The difference of an expired entry still occurs; that of a stale entry does not.
        is_expired = each.outcome not in (Outcome.CONFORMS, Outcome.LENIENT)
        yield _weighed_entry(_on(each), each.reason, each, policy, is_expired=is_expired)
    for entry in evidence.checked.stale_entries:
        if not any(entry.source in each.reason for each in stale):
            is_expired = entry.why.startswith("expired")
            yield _weighed_entry(
                entry.source, f"{entry.scenario}: {entry.why}", None, policy, is_expired=is_expired
            )


def _weighed_entry(
    subject: str, reason: str, judgement: Judgement | None, policy: Policy, *, is_expired: bool
) -> Weighed:
    complaint = complain(Kind.EXPIRED if is_expired else Kind.STALE, subject, reason, _PRUNE)
    handling = policy.expectations.expired if is_expired else policy.expectations.stale
    return complaint.model_copy(update={"judgement": judgement}), handling


def _notes(evidence: Evidence, policy: Policy) -> Iterator[str]:
    soon = evidence.today + timedelta(days=policy.expectations.warn_before_days)
    for one in evidence.entries:
        expires = one.entry.expires
        if expires is not None and evidence.today <= expires <= soon:
            yield f"{one.source} expires on {expires}"
    results = [(each, evidence.infos) for each in evidence.checked.judgements]
    mended = sorted({scenario_id for one in evidence.entries for scenario_id in one.mended(results)})
    if mended:
        yield (
            f"{len(mended)} covered scenarios conform now, {mended[0]} among them; "
            "`kafka-conformance expect prune` takes them out of their entries"
        )
    gone = sorted({each.target for each in evidence.baseline} - set(evidence.infos))
    if gone:
        yield f"the baseline has targets that this run has not: {', '.join(gone)}"


UPDATE: Final = ("kafka-conformance", "expect", "update")
"""The command that writes entries."""
_REASON_LENGTH_MAX: Final = 300
_FLAKY_MAX: Final = 3
"""The number of flaky results that are named in a decision."""
_PLURALS: Final[Mapping[str, str]] = {
    Kind.NEW_DIFFERENCE: "new differences",
    Kind.CHANGED_DIFFERENCE: "changed differences",
    Kind.UNEXPECTED: "unexpected differences",
    Kind.HARNESS_ERROR: "harness errors",
    Kind.FLAKY: "flaky results",
    Kind.STALE: "stale expectations",
    Kind.EXPIRED: "expired expectations",
    Kind.VANISHED: "vanished scenarios",
}


def three_lines(decision: Decision) -> tuple[str, ...]:
    """Return the decision, the reason, and what to do next, one line each."""
    if decision.is_green:
        return (f"gate: green: {_ran(decision)}{_known(decision)}", *_flaky(decision))
    first = decision.complaints[0]
    return (
        f"gate: red, exit {decision.code.value}: {listed_kinds(decision)} in {_ran(decision)}",
        f"why:  {first.kind}: {first.subject}: {plain(shortened(first.reason, _REASON_LENGTH_MAX))}",
        f"next: {next_step(first)}",
        *_not_compared(decision),
        *_flaky(decision),
    )


def _not_compared(decision: Decision) -> tuple[str, ...]:
    found = not_compared(each.judgement for each in decision.complaints if each.judgement is not None)
    return (f"nobody was compared in: {', '.join(found)}",) if found else ()


def _flaky(decision: Decision) -> tuple[str, ...]:
    """Return a line with the flaky results that the policy lets pass, so that races stay visible."""
    subjects = [each.subject for each in decision.passed_over if each.kind is Kind.FLAKY]
    if not subjects:
        return ()
    rest = len(subjects) - _FLAKY_MAX
    more = f", and {rest} more" if rest > 0 else ""
    return (f"flaky: {', '.join(subjects[:_FLAKY_MAX])}{more}: did not show again",)


def listed_kinds(decision: Decision) -> str:
    """Return the counts of complaints, e.g. `2 unexpected differences, 1 stale expectation`."""
    counts = decision.kinds.items()
    return ", ".join(f"{count} {kind if count == 1 else _PLURALS.get(kind, kind)}" for kind, count in counts)


def _ran(decision: Decision) -> str:
    against = f", baseline {decision.baseline_id}" if decision.baseline_id else ""
    return f"{decision.listed_results} of {', '.join(decision.targets) or 'no target'}{against}"


def _known(decision: Decision) -> str:
    known = sum(counts.get(ResultStatus.KNOWN, 0) for counts in decision.standings.values())
    passed = len(decision.passed_over)
    return (f", {known} of them known differences" if known else "") + (
        f"; {passed} passed over" if passed else ""
    )


def next_step(complaint: Complaint) -> str:
    """Return the remedy, or the command that runs the scenario again."""
    return complaint.remedy or complaint.reproduction or ""


def weights(decision: Decision, judgements: Iterable[Judgement]) -> Mapping[tuple[str, str], str]:
    """Return how a decision weighed each result, by target and scenario id; plain passes are left out."""
    found = {
        (each.target, each.scenario_id): status_of(each).value
        for each in judgements
        if status_of(each) is ResultStatus.KNOWN
    }
    for complaints, manner in ((decision.passed_over, "passed over"), (decision.complaints, "red")):
        for each in complaints:
            if each.target is not None and each.scenario_id is not None:
                found[each.target, each.scenario_id] = f"{manner}: {each.kind}"
    return found


def entry_to_paste(judgement: Judgement, info: TargetInfo) -> str:
    """Return how to list a result as known: the command that writes entries for its causes.

    A result without a cause, or of a race, has a TOML entry; it is refused until it has a reason and a link.
    """
    is_race = judgement.confirmation == Confirmation.FLAKY
    if judgement.causes and info.library is None and not is_race:
        return shlex.join((*UPDATE, judgement.scenario_id, "--target", info.spec))
    return entry_text(judgement, [info.spec], info.library)


def plain(text: str) -> str:
    """Return text from a target as one line, with unprintable characters written as escapes."""
    return in_terminal(" ".join(text.split()))
