"""Files for pipelines: JUnit XML, and summaries in Markdown, by cause, within the size that they take.

In JUnit a test suite is a target, and a test case a scenario or client script. The element follows from
`ResultStatus`. Unexpected differences and stale expectations are failures, indeterminate results and harness
errors are errors, known differences and inapplicable scenarios are skipped; `type` or message distinguishes
them. A flaky result is a `flakyFailure` or `flakyError`, which Maven's Surefire writes for a test that failed
and then passed: the test case counts as passed. The gate writes its decision with the same elements.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment

from harness.diff.model import Judgement
from harness.report.exports.comparison import markdown
from harness.report.model.cause_groups import (
    CauseGroup,
    cause_groups,
    judgements_shown,
    losses,
    verdict_line,
)
from harness.report.model.changes import versions
from harness.report.model.clients import account
from harness.report.model.phrases import in_xml, instant, says, templates
from harness.report.model.run_data import Run
from harness.report.site.pages import banner
from harness.results.client_impact import impact_of
from harness.results.client_results import ClientResult
from harness.results.status import ResultStatus, shown, status_of
from harness.trace.files import write_whole
from harness.verdict import Outcome

SKIPPED: Final = "skipped"
_ELEMENTS: Final = {
    ResultStatus.FAILED: ("failure", "unexpected-difference"),
    ResultStatus.STALE: ("failure", "unexpected-pass"),
    ResultStatus.INDETERMINATE: ("error", "inconclusive"),
    ResultStatus.ERROR: ("error", "harness-error"),
    ResultStatus.KNOWN: (SKIPPED, ""),
    ResultStatus.SKIPPED: (SKIPPED, ""),
}
"""Element and type by status; a passed result has none, and a flaky result's depends on its outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test case, and the element that it has if it neither passed nor ran alike."""

    name: str
    folder: str
    duration_ms: float = 0.0
    properties: Mapping[str, str] = field(default_factory=dict)
    element: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The results of one target, or of one target with one library."""

    name: str
    cases: Sequence[Case]
    duration_ms: float = 0.0
    timestamp: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


def case_of(judgement: Judgement, text: str = "") -> Case:
    """Return the test case of one result, with a text if it neither passed nor was skipped."""
    how = status_of(judgement)
    element, kind = _ELEMENTS.get(how, ("", ""))
    if how is ResultStatus.FLAKY:
        is_open = judgement.outcome == Outcome.INDETERMINATE
        element, kind = "flakyError" if is_open else "flakyFailure", how.value
    # What its element says is not among them.
    lenient = judgement.outcome if judgement.outcome == Outcome.LENIENT else ""
    properties = {"outcome": lenient, "signature": judgement.signature, "link": judgement.link}
    return Case(
        name=judgement.scenario_id,
        folder=judgement.scenario_id.rpartition("/")[0].partition("/")[0] or "scenario",
        duration_ms=judgement.duration_ms,
        properties={name: value for name, value in properties.items() if value},
        element=element,
        kind=kind,
        message=_message(judgement),
        text=text if kind else "",
    )


def _message(judgement: Judgement) -> str:
    how = status_of(judgement)
    if how is ResultStatus.KNOWN:
        return " ".join(part for part in ("expected:", judgement.reason, judgement.link) if part)
    is_red = how in (ResultStatus.FAILED, ResultStatus.FLAKY)
    cause = judgement.causes[0] if judgement.causes and is_red else judgement.reason
    return cause or how.value


def junit_text(name: str, suites: Sequence[Suite]) -> str:
    """Return test suites as JUnit XML."""
    return _xml().get_template("junit.xml.j2").render(name=name, suites=suites)


@cache
def _xml() -> Environment:
    environment = templates("harness.report.exports")
    environment.filters["xml"] = in_xml
    return environment


def write_junit(run: Run) -> Path:
    """Write the results of a run as JUnit XML, and return the file.

    A reference has a suite only if it needs attention, or if all targets are references.
    """
    path = run.directory / "junit.xml"
    write_whole(path, junit_text("kafka-conformance", tuple(_suites(run))))
    return path


def _suites(run: Run) -> Iterator[Suite]:
    judgements = judgements_shown(run)
    for summary in run.columns:
        theirs = [each for each in judgements if each.target == summary.target]
        if theirs:
            yield Suite(
                name=summary.target,
                cases=[case_of(each, _account(run, each)) for each in theirs],
                duration_ms=summary.drive_ms or 0.0,
                timestamp=instant(run.header.started_at).removesuffix(" UTC").replace(" ", "T"),
                properties={
                    "spec": summary.spec,
                    "profile": summary.profile,
                    "implementation": summary.implementation,
                },
            )


def _account(run: Run, judgement: Judgement) -> str:
    repeat = f"repeat: {run.repetition(judgement)}"
    if isinstance(judgement, ClientResult):
        return "\n".join((*account(judgement), repeat))
    finding = run.first_difference(judgement)
    lines = [judgement.title, f"source: {judgement.source}"]
    if finding:
        lines.append(f"first difference: {says(judgement, finding)}")
    return "\n".join([*lines, *filter(None, [shown(judgement)]), repeat])


SIZE_MAX: Final = 60_000
"""In bytes; GitHub refuses a comment of 64 KiB and a step summary of 1 MiB."""


def write_summary(run: Run) -> Path:
    """Write the summary of a run, and return the file."""
    blocks = [_of_cause(run, group) for group in cause_groups(run, has_lost=False)]
    blocks += [markdown("brief.md.j2", comparison=each) for each in versions(run) if each.changes]
    head = markdown(
        "summary.md.j2",
        run=run,
        incomplete=banner(run.footer),
        sentence=verdict_line(run),
        losses=losses(run),
    )
    path = run.directory / "summary.md"
    write_whole(path, fitted(head, blocks, "see the report").encode(errors="backslashreplace").decode())
    return path


def fitted(head: str, blocks: Sequence[str], where: str) -> str:
    """Return a text with as many of its blocks as fit into `SIZE_MAX`, and where the others are."""
    text, room = head, SIZE_MAX - _size(head)
    for index, block in enumerate(blocks):
        room -= _size(block) + 1
        if room < 0:
            return f"{text}\n\n… and {len(blocks) - index} more; {where}.\n"
        text += f"\n{block}"
    return f"{text}\n"


def _size(text: str) -> int:
    return len(text.encode(errors="backslashreplace"))


def _of_cause(run: Run, group: CauseGroup) -> str:
    judgement, finding = group.first, group.difference
    return markdown(
        "cause.md.j2",
        first=judgement,
        says=says(judgement, finding),
        noticed=impact_of(finding) if finding else "",
        alike=[f"{each.scenario_id} on {each.target}" for each in group.others],
        again=run.repetition(judgement),
    )
