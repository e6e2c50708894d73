"""A decision in words: three lines, an entry to paste, and a command that runs the scenario again."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import tomlkit

from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.complaint import Complaint, Kind
from harness.gate.decision import Decision
from harness.report.model.gate_data import listed_results
from harness.report.model.phrases import entry_text, not_compared, shortened
from harness.results.status import ResultStatus, status_of
from harness.terminal import in_terminal
from harness.verdict import Confirmation, Outcome

_REASON_LENGTH_MAX: Final = 300
_FLAKY_MAX: Final = 3
"""The number of flaky results that are named in a decision."""
_PLURALS: Final = {
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
    """Return a line with the scenarios in which a reference departs from the script, if there are any."""
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
    counts = Counter(each.kind for each in decision.complaints)
    return ", ".join(
        f"{count} {kind if count == 1 else _PLURALS.get(kind, kind)}" for kind, count in counts.items()
    )


def _ran(decision: Decision) -> str:
    against = f", baseline {decision.baseline_id}" if decision.baseline_id else ""
    results = listed_results(decision.result_count, decision.client_result_count)
    return f"{results} of {', '.join(decision.targets) or 'no target'}{against}"


def _known(decision: Decision) -> str:
    known = sum(counts.get(ResultStatus.KNOWN, 0) for counts in decision.standings.values())
    passed = len(decision.passed_over)
    return (f", {known} of them known differences" if known else "") + (
        f"; {passed} passed over" if passed else ""
    )


def next_step(complaint: Complaint) -> str:
    """Return the remedy, or the command that runs the scenario again."""
    return complaint.remedy or complaint.line


def weights(decision: Decision, judgements: Iterable[Judgement]) -> Mapping[tuple[str, str], str]:
    """Return how a decision weighed each result, by target and scenario id; plain passes are left out."""
    found = {
        (each.target, each.scenario_id): status_of(each).value
        for each in judgements
        if status_of(each) is ResultStatus.KNOWN
    }
    for complaints, manner in ((decision.passed_over, "passed over"), (decision.complaints, "red")):
        for each in complaints:
            scenario_id, on, target = each.subject.rpartition(" on ")
            if on:
                found[target, scenario_id] = f"{manner}: {each.kind}"
    return found


def can_be_foreseen(complaint: Complaint) -> bool:
    """Return whether an expectation entry can list this complaint's difference as known."""
    return complaint.judgement is not None and complaint.judgement.outcome in (
        Outcome.DIVERGES,
        Outcome.INDETERMINATE,
        Outcome.LENIENT,
    )


def entry_to_paste(judgement: Judgement, info: TargetInfo, run: Path | None = None) -> str:
    """Return how to list a result as known: the command that writes entries for its causes.

    A result without a cause, or of a race, has a TOML entry; it is refused until it has a reason and a link.

    Args:
        judgement: the result.
        info: its target.
        run: the run's folder, if the command is used on this machine.
    """
    is_race = judgement.confirmation == Confirmation.FLAKY
    if judgement.causes and info.library is None and not is_race:
        words = ("kafka-conformance", "expect", "update", judgement.scenario_id, "--target", info.spec)
        return shlex.join(words if run is None else (*words, "--run", str(run)))
    return entry_text(judgement, [info.spec], library=info.library)


def cause_text(
    cause: str, beside: Sequence[str], scenario: str, targets: Sequence[str], given: Mapping[str, str]
) -> str:
    """Return a TOML entry for causes; `given` has the reason, the link and other keys."""
    table = tomlkit.table()
    table.add("cause", cause)
    if beside:
        listed = tomlkit.array()
        listed.extend(beside)
        table.add("beside", listed.multiline(multiline=True))
    for key, value in {"scenario": scenario, "targets": list(targets), **given}.items():
        table.add(key, value)
    return f"[[expect]]\n{table.as_string()}"


def plain(text: str) -> str:
    """Return text from a target as one line, with unprintable characters written as escapes."""
    return in_terminal(" ".join(text.split()))
