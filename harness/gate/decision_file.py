"""A decision as files: `gate.json` for programs and pages, Markdown, JUnit XML, and GitHub's annotations."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.gate.decision import listed_kinds, next_step, plain, three_lines
from harness.gate.evaluate import Gated
from harness.gate.policy import FailOn, Handling, Policy
from harness.report.exports.comparison import markdown
from harness.report.exports.markdown import SKIPPED, Case, Suite, case_of, fitted, junit_text
from harness.report.model.gate_data import Complaint, Decision, Kind, Rule, by_cause
from harness.report.model.phrases import counted, in_markdown, shortened
from harness.results.status import RED, status_of
from harness.trace.files import write_whole


def write_decision(gated: Gated, directory: Path, *, policy: Policy) -> Path:
    """Write a decision under a policy as JSON, JUnit XML and Markdown, and return the path of the last."""
    summary = directory / "gate.md"
    data = json.dumps(_data_of(gated, policy), ensure_ascii=False, indent=2)
    write_whole(directory / "gate.json", f"{data}\n")
    write_whole(summary, summary_of(gated.decision))
    write_whole(directory / "gate-junit.xml", junit(gated))
    return summary


def _data_of(gated: Gated, policy: Policy) -> dict[str, object]:
    decision = gated.decision
    whole = decision.model_copy(
        update={
            "lines": three_lines(decision),
            "rules": tuple(rules_of(decision, policy)),
            "baseline": gated.baseline,
        }
    )
    return {
        **whole.model_dump(mode="json"),
        "is_green": decision.is_green,
        "exit_code": decision.code.value,
        "exit_code_name": decision.code.name,
        "result_count": decision.result_count,
        "complaints": [_for_programs(each) for each in decision.complaints],
        "passed_over": [_for_programs(each) for each in decision.passed_over],
    }


def _for_programs(complaint: Complaint) -> dict[str, object]:
    return {**complaint.model_dump(mode="json"), "exit_code": complaint.kind.code.value}


_DIFFERENCES: Final = (Kind.NEW_DIFFERENCE, Kind.CHANGED_DIFFERENCE, Kind.UNEXPECTED)


def rules_of(decision: Decision, policy: Policy) -> Iterator[Rule]:
    """Yield, for every rule, its threshold, the run's value, and whether the rule is kept."""
    red = Counter(each.kind for each in decision.complaints)
    passed = Counter(each.kind for each in decision.passed_over)

    def rule(name: str, threshold: str, *kinds: Kind) -> Rule:
        broken, let_pass = (sum(of[kind] for kind in kinds) for of in (red, passed))
        value = f"{broken}, {let_pass} let pass" if let_pass else str(broken)
        return Rule(rule=name, threshold=threshold, value=value, is_kept=not broken)

    cut_short = bool(red[Kind.CUT_SHORT])
    yield Rule(
        rule="came to its end", threshold="yes", value="no" if cut_short else "yes", is_kept=not cut_short
    )
    yield rule("harness errors", "none", Kind.HARNESS_ERROR)
    yield rule("targets lost", "none", Kind.TARGET_LOST)
    yield rule("unexpected differences", _of_differences(decision, policy), *_DIFFERENCES)
    share = policy.allow.indeterminate_share
    threshold = f"at most {100 * share:g} % of what was run" if share else "none"
    yield rule("indeterminate results", threshold, Kind.INDETERMINATE)
    yield rule("flaky results", _handled(policy.allow.flaky), Kind.FLAKY)
    yield Rule(
        rule="scenarios run on every target",
        threshold=f"at least {policy.require.scenario_count_min}",
        # Scenarios that could not run do not count.
        value=f"{min(decision.ran.values(), default=0)}",
        is_kept=not (red[Kind.NOTHING_RAN] or red[Kind.TOO_FEW]),
    )
    if policy.require.conforming_count_min:
        yield Rule(
            rule="scenarios that conform on every target",
            threshold=f"at least {policy.require.conforming_count_min}",
            value=f"{min(decision.conforming.values(), default=0)}",
            is_kept=not red[Kind.TOO_FEW_CONFORM],
        )
    if policy.require.targets:
        yield rule("required targets", ", ".join(policy.require.targets), Kind.TARGET_MISSING)
    if decision.baseline_id:
        yield rule("vanished scenarios", _handled(policy.baseline.vanished), Kind.VANISHED)
    yield rule("stale expectations", _handled(policy.expectations.stale), Kind.STALE)
    yield rule("expired expectations", _handled(policy.expectations.expired), Kind.EXPIRED)


def _of_differences(decision: Decision, policy: Policy) -> str:
    if decision.baseline_id and policy.baseline.fail_on is FailOn.NEW:
        return f"none that {decision.baseline_id} does not have too"
    return "none"


def _handled(handling: Handling) -> str:
    return "none" if handling is Handling.FAIL else "any, with a warning"


_ERRORS: Final = frozenset((Kind.HARNESS_ERROR, Kind.INDETERMINATE, Kind.CUT_SHORT, Kind.TARGET_LOST))
_GATE: Final = "gate"


def junit(gated: Gated) -> str:
    """Return a decision as JUnit XML; a reference has a suite only if it is red, or was named as a target."""
    decision = gated.decision
    red = {
        (each.target, each.scenario_id): each for each in reversed(decision.complaints) if each.scenario_id
    }
    suites = [
        Suite(
            name=target,
            cases=[
                _case(each, red.get((target, each.scenario_id)))
                for each in gated.judgements
                if each.target == target
            ],
        )
        for target in decision.standings
        if target in decision.targets
        or gated.infos[target].library is not None
        or any(place[0] == target for place in red)
    ]
    return junit_text("kafka-conformance gate", [*suites, Suite(name=_GATE, cases=tuple(_own(gated)))])


def _case(judgement: Judgement, complaint: Complaint | None) -> Case:
    case = case_of(judgement)
    if complaint is not None:
        return _with(case, complaint)
    how = status_of(judgement)
    if how in RED:  # the policy lets it pass
        return replace(case, element=SKIPPED, kind="", message=f"{how}: {judgement.reason}")
    return case


def _own(gated: Gated) -> Iterator[Case]:
    """Yield a case for the run itself, so that a refused run never has a file with only passed cases."""
    complaints: Sequence[Complaint] = [each for each in gated.decision.complaints if each.judgement is None]
    own = Case(name="the run can be decided on", folder=_GATE)
    yield _with(own, complaints[0]) if complaints else own
    for each in complaints[1:]:
        yield _with(Case(name=f"{each.kind}: {each.subject}", folder=_GATE), each)


def _with(case: Case, complaint: Complaint) -> Case:
    lines = [f"{complaint.kind}: {complaint.subject}", complaint.reason, next_step(complaint)]
    if complaint.entry is not None:
        lines += ["", complaint.entry]
    return replace(
        case,
        element="error" if complaint.kind in _ERRORS else "failure",
        kind=complaint.kind.replace(" ", "-"),
        message=complaint.cause or complaint.reason,
        text="\n".join(lines),
    )


def summary_of(decision: Decision) -> str:
    """Return a decision as Markdown; what does not fit is only counted."""
    blocks = [
        markdown("complaint.md.j2", complaint=first, alike=[each.subject for each in others])
        for first, *others in decision.grouped
    ]
    if decision.passed_over:
        blocks.append(markdown("passed_over.md.j2", complaints=decision.passed_over))
    blocks += [f"\n> {in_markdown(note)}" for note in decision.notes]
    head = markdown("gate.md.j2", decision=decision, kinds=listed_kinds(decision))
    return fitted(head, blocks, "`gate.json` has them all")


COUNT_MAX: Final = 10
"""GitHub shows no more annotations of a step."""


def annotations(decision: Decision) -> Iterator[str]:
    """Yield the complaints as errors and, if there is room, what was passed over as notices."""
    reported = [("error", each) for each in by_cause(decision.complaints)]
    reported += [("notice", each) for each in by_cause(decision.passed_over)]
    shown = reported if len(reported) <= COUNT_MAX else reported[: COUNT_MAX - 1]
    for level, cause in shown:
        yield _command(level, cause)
    if rest := reported[len(shown) :]:
        count = sum(len(cause) for _, cause in rest)
        yield f"::{rest[0][0]} title=conformance::{count} more, see the summary"


def _command(level: str, cause: Sequence[Complaint]) -> str:
    complaint, *others = cause
    more = f", and {counted(len(others), 'more result')} alike" if others else ""
    title = _data(plain(f"{complaint.kind}: {complaint.subject}{more}"))
    title = title.replace(":", "%3A").replace(",", "%2C")
    message = f"{plain(shortened(complaint.reason))}\n{next_step(complaint)}"
    return f"::{level} title={title}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
