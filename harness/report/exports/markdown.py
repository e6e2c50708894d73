"""Files for pipelines: JUnit XML, and summaries in Markdown, by cause, within the size that they take.

In JUnit a test suite is a target, and a test case a scenario or client script. The element follows from
`ResultStatus`. Unexpected differences and stale expectations are failures, indeterminate results and harness
errors are errors, known differences and inapplicable scenarios are skipped; `type` or message distinguishes
them. A flaky result is a `flakyFailure` or `flakyError`, which Maven's Surefire writes for a test that failed
and then passed: the test case counts as passed. The gate writes its decision with the same elements.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.report.exports.comparison import in_brief
from harness.report.model.cause_groups import (
    CauseGroup,
    cause_groups,
    judgements_shown,
    longest_scenarios,
    losses,
    verdict_line,
)
from harness.report.model.changes import versions
from harness.report.model.clients import (
    ClientAttention,
    account,
    client_attention,
    client_columns,
    client_reproduction,
    not_compared,
    tallies,
)
from harness.report.model.phrases import counted, in_markdown, in_terminal, in_xml, instant, place, shortened
from harness.report.model.run_data import Run, applicable_count
from harness.report.site.pages import banner
from harness.results.client_impact import impact_of
from harness.results.client_results import ClientsRun, column_name
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
    """Return the test case of one result.

    Args:
        judgement: the result.
        text: the text to report if it neither passed nor was skipped.
    """
    how = status_of(judgement)
    element, kind = _ELEMENTS.get(how, ("", ""))
    if how is ResultStatus.FLAKY:
        is_open = judgement.outcome == Outcome.INDETERMINATE
        element, kind = "flakyError" if is_open else "flakyFailure", how.value
    return Case(
        name=judgement.scenario_id,
        folder=judgement.scenario_id.rpartition("/")[0].partition("/")[0] or "scenario",
        duration_ms=judgement.duration_ms,
        properties=_seen(judgement),
        element=element,
        kind=kind,
        message=_message(judgement),
        text=text if kind else "",
    )


def _seen(judgement: Judgement) -> Mapping[str, str]:
    """Return the properties of a result that programs may want; what its element says is not among them."""
    lenient = judgement.outcome if judgement.outcome == Outcome.LENIENT else ""
    properties = {"outcome": lenient, "signature": judgement.signature, "link": judgement.link}
    return {name: value for name, value in properties.items() if value}


def _message(judgement: Judgement) -> str:
    how = status_of(judgement)
    if how is ResultStatus.KNOWN:
        return " ".join(part for part in ("expected:", judgement.reason, judgement.link) if part)
    is_red = how in (ResultStatus.FAILED, ResultStatus.FLAKY)
    cause = judgement.causes[0] if judgement.causes and is_red else judgement.reason
    return cause or how.value


def junit_text(name: str, suites: Sequence[Suite]) -> str:
    """Return test suites as JUnit XML."""
    root = ET.Element("testsuites", name=name)
    root.extend(map(_suite, suites))
    ET.indent(root, space="")
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _suite(suite: Suite) -> ET.Element:
    elements = Counter(each.element for each in suite.cases)
    made = ET.Element(
        "testsuite",
        name=in_xml(suite.name),
        tests=str(len(suite.cases)),
        failures=str(elements["failure"]),
        errors=str(elements["error"]),
        skipped=str(elements[SKIPPED]),
        time=_seconds(suite.duration_ms),
    )
    if suite.timestamp:
        made.set("timestamp", suite.timestamp)
    _properties(made, suite.properties)
    made.extend(map(_case, suite.cases))
    return made


def _case(case: Case) -> ET.Element:
    made = ET.Element("testcase", classname=in_xml(case.folder), name=in_xml(case.name))
    if case.duration_ms:
        made.set("time", _seconds(case.duration_ms))
    _properties(made, case.properties)
    if case.element:
        reported = ET.SubElement(made, case.element, message=in_xml(case.message))
        if case.kind:
            reported.set("type", case.kind)
        if case.text:
            reported.text = in_xml(case.text)
    return made


def _properties(parent: ET.Element, properties: Mapping[str, str]) -> None:
    if properties:
        holder = ET.SubElement(parent, "properties")
        for name, value in properties.items():
            ET.SubElement(holder, "property", name=name, value=in_xml(value))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.3f}"


def write_junit(run: Run) -> Path:
    """Write the results of a run as JUnit XML, and return the file.

    A reference has a suite only if it needs attention, or if all targets are references.
    """
    clients = () if run.clients is None else tuple(_suites_of_clients(run.clients))
    return _junit_in(run.directory, "kafka-conformance", [*_of_targets(run), *clients])


def write_junit_of_clients(run: ClientsRun) -> Path:
    """Write the results of a run of client scripts alone as JUnit XML, and return the file."""
    return _junit_in(run.folder, "kafka-conformance clients", tuple(_suites_of_clients(run)))


def _junit_in(folder: Path, name: str, suites: Sequence[Suite]) -> Path:
    path = folder / "junit.xml"
    write_whole(path, junit_text(name, suites))
    return path


def _of_targets(run: Run) -> Iterator[Suite]:
    judgements = judgements_shown(run)
    for summary in run.targets:
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
    finding = run.first_difference(judgement)
    lines = [judgement.title, f"source: {judgement.source}"]
    if finding:
        lines += [f"first difference: {place(finding)}", run.contrast(finding)]
    return "\n".join([*lines, *filter(None, [shown(judgement)]), f"repeat: {run.repetition(judgement)}"])


def _suites_of_clients(run: ClientsRun) -> Iterator[Suite]:
    """Yield a suite for each target with a library, with a case for each script."""
    for name, record, results in client_columns(run):
        yield Suite(
            name=name,
            cases=[
                case_of(
                    judgement,
                    "\n".join((*account(run, each), f"repeat: {client_reproduction(run, each)}")),
                )
                for judgement, each in results
            ],
            duration_ms=sum(judgement.duration_ms for judgement, _ in results),
            properties={
                "spec": record.spec,
                "profile": record.profile,
                "implementation": record.implementation,
            },
        )


SIZE_MAX: Final = 60_000
"""In bytes; GitHub refuses a comment of 64 KiB and a step summary of 1 MiB."""
_ALIKE_MAX: Final = 20
"""How many other results of a cause are named."""
_OUTCOMES: Final = (
    *(Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE, Outcome.NOT_APPLICABLE),
    Outcome.HARNESS_ERROR,
)


def write_summary(run: Run) -> Path:
    """Write the summary of a run, and return the file."""
    blocks = [_of_cause(run, group) for group in cause_groups(run, has_lost=False)]
    blocks += [in_brief(each) for each in versions(run) if each.changes]
    if run.clients is not None:
        table, *scripts = _of_clients(run.clients)
        blocks += [f"\n## Clients\n\n{table}", *scripts]
    return _written(run.directory, _head(run), blocks)


def write_summary_of_clients(run: ClientsRun) -> Path:
    """Write the summary of a run of client scripts alone, and return the file."""
    head = (f"# Clients {in_markdown(run.run_id)}", "", f"`{run.command.replace('`', ' ')}`", "")
    skipped = Counter(each.because for each in run.results if each.status is ResultStatus.SKIPPED)
    reasons = {"Not applicable": skipped.most_common(), "Not compared with the reference": not_compared(run)}
    counts = [
        "\n".join(
            ("", f"## {title}", "", *(f"- {count} results: {in_markdown(why)}" for why, count in found))
        )
        for title, found in reasons.items()
        if found
    ]
    table, *scripts = _of_clients(run)
    return _written(run.folder, (*head, table), [*counts, *scripts])


def _written(folder: Path, head: Iterable[str], blocks: Sequence[str]) -> Path:
    path = folder / "summary.md"
    text = fitted("\n".join(head), blocks, "see the report")
    write_whole(path, text.encode(errors="backslashreplace").decode())
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


def block(
    heading: str,
    *,
    title: str = "",
    says: str,
    noticed: str = "",
    alike: Sequence[str] = (),
    after: Iterable[str] = (),
) -> str:
    """Return all that is said of one cause.

    Args:
        heading: what the block is about; it is Markdown.
        title: the claim of the first result.
        says: what was found there.
        noticed: what a client notices of it.
        alike: the other results of this cause.
        after: lines of Markdown, such as how to repeat it.
    """
    lines = ["", f"### {heading}", *(("", f"*{in_markdown(title)}*") if title else ())]
    lines += ["", in_markdown(shortened(says))]
    if noticed:
        lines += ["", f"What a client notices: {in_markdown(noticed)}"]
    if alike:
        more = len(alike) - _ALIKE_MAX
        named = [f"- {in_markdown(each)}" for each in alike[:_ALIKE_MAX]]
        named += [f"- and {more} more"] if more > 0 else []
        lines += ["", *folded(f"the same in {counted(len(alike), 'more result')}", named)]
    return "\n".join((*lines, "", *after))


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of Markdown that a reader has to unfold."""
    yield from (f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def _head(run: Run) -> Iterator[str]:
    yield f"# Conformance run {in_markdown(run.header.run_id)}"
    yield ""
    if incomplete := banner(run.footer):
        yield f"> **{in_markdown(incomplete)}**"
        yield ""
    sentence = verdict_line(run)
    yield f"{sentence[0].upper()}{sentence[1:]}."
    yield ""
    for loss in losses(run):
        yield f"- {in_markdown(shortened(str(loss)))}"
        yield from (f"  - {in_markdown(line)}" for line in loss.last_words)
        yield ""
    yield "| target | conforms / applicable | lenient | diverges | indeterminate | not applicable | errors | unexpected | stale | flaky |"  # noqa: E501 - a row of a table is one line
    yield "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    for each in run.targets:
        figures = (
            f"{each.conforms} / {applicable_count(each)}",
            *(each.lenient, each.diverges, each.indeterminate, each.not_applicable),
            *(each.harness_error, each.unexpected, each.stale, each.flaky),
        )
        yield f"| {in_markdown(each.target)} | {' | '.join(str(figure) for figure in figures)} |"
    yield ""
    for target, longest in longest_scenarios(run).items():
        yield f"- Longest on {in_markdown(target)}: {in_markdown(longest)}"


def _of_cause(run: Run, group: CauseGroup) -> str:
    judgement, finding = group.first, group.difference
    where = f"{in_markdown(judgement.scenario_id)} on {in_markdown(judgement.target)}"
    often = f", {reported}" if (reported := shown(judgement)) else ""
    return block(
        f"{where}: {status_of(judgement).value}{often}",
        title=judgement.title,
        says=f"{place(finding)}: {run.contrast(finding)}." if finding else judgement.reason,
        noticed=impact_of(finding) if finding else "",
        alike=[f"{each.scenario_id} on {each.target}" for each in group.others],
        after=[f"    {in_terminal(line)}" for line in run.repetition(judgement).splitlines()],
    )


def _of_clients(run: ClientsRun) -> Iterator[str]:
    """Yield a table of the counts of client scripts' results, and a block for each that needs attention."""
    lines = [
        "| target, library | conforms | diverges | indeterminate | not applicable | errors | compared | violations |",  # noqa: E501 - a row of a table is one line
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in tallies(run):
        figures = (*(each.counts[outcome] for outcome in _OUTCOMES), each.compared, each.violations.total())
        name = in_markdown(column_name(each.column.record.name, each.column.library))
        lines.append(f"| {name} | {' | '.join(str(figure) for figure in figures)} |")
    yield "\n".join(lines)
    yield from (_of_client(run, each) for each in client_attention(run))


def _of_client(run: ClientsRun, item: ClientAttention) -> str:
    where = f"{in_markdown(item.result.script_id)} with {in_markdown(item.column.library)}"
    title, *found = account(run, item.result)
    return block(
        f"{where} on {in_markdown(item.column.record.name)}: {item.result.status.value}",
        title=title,
        says=found[0] if found else item.says,
        after=[
            *(f"- {in_markdown(shortened(line))}" for line in found[1:_ALIKE_MAX]),
            "",
            f"    {' '.join(item.reproduction.splitlines())}",
        ],
    )
