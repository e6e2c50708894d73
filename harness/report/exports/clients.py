"""Client scripts in files for pipelines: JUnit XML, Markdown, and the text of Allure's results."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.report.exports.junit_elements import case, suite
from harness.report.model.clients_page import (
    Column,
    client_attention,
    client_reproduction,
    columns_of,
    is_of,
    not_compared,
    replay_row,
    tallies,
)
from harness.report.model.escaping import in_markdown, in_terminal
from harness.report.model.phrases import shortened
from harness.results.client_judgements import client_judgements, column_name
from harness.results.client_results import ClientResult, ClientsRun
from harness.results.exit_code import ENDED_COMPLETE
from harness.results.status import ResultStatus, shown
from harness.verdict import Outcome

_REPORTED_COUNT_MAX: Final = 100
_BRIEF_COUNT_MAX: Final = 10
_BRIEF_LENGTH_MAX: Final = 160
_OUTCOMES: Final = (
    *(Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE, Outcome.NOT_APPLICABLE),
    Outcome.HARNESS_ERROR,
)


def write_junit_of_clients(run: ClientsRun) -> Path:
    """Write the results of a run of client scripts alone as JUnit XML, and return the file."""
    root = ET.Element("testsuites", name="kafka-conformance clients")
    root.extend(client_suites(run))
    ET.indent(root)
    path = run.folder / "junit.xml"
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def client_suites(run: ClientsRun) -> Iterator[ET.Element]:
    """Yield a suite for each target with a library, with a case for each script."""
    for column in columns_of(run):
        yield _suite(run, column, [each for each in run.results if is_of(each, column)])


def _suite(run: ClientsRun, column: Column, results: list[ClientResult]) -> ET.Element:
    judgements = client_judgements(replace(run, results=tuple(results)))
    record = column.record
    return suite(
        column_name(record.name, column.library),
        judgements,
        [case(judgement, _report(run, each)) for judgement, each in zip(judgements, results, strict=True)],
        duration_ms=sum(each.duration_ms for each in judgements),
        properties={"spec": record.spec, "profile": record.profile, "implementation": record.implementation},
    )


def _report(run: ClientsRun, result: ClientResult) -> str:
    return "\n".join((*account(run, result), f"repeat: {client_reproduction(run, result)}"))


def account(run: ClientsRun, result: ClientResult) -> Iterator[str]:
    """Yield the title of a script and everything that departs in its result, one line each."""
    yield run.scripts[result.script_id].title
    if result.foreseen:
        yield " ".join(part for part in (result.foreseen, result.link) if part)
    if result.because:
        yield result.because
    if result.attempts:
        yield shown(result)
    for each in result.mismatches:
        yield f"step {each.step}, {each.text}: {each.says}"
    for each in result.differences:
        yield f"against the reference: step {each.step}, {each.text}: {each.says}"
    for broken in result.violations:
        yield f"on the wire, by the {broken.party}: {broken.invariant}: {broken.detail}"
    for found in result.replays[:_REPORTED_COUNT_MAX]:
        yield f"in the replay, {replay_row(found).place}: {found.says}"


def clients_markdown(run: ClientsRun) -> str:
    """Return the summary of a run of client scripts alone."""
    head = [f"# Clients {in_markdown(run.run_id)}", "", f"`{run.command.replace('`', ' ')}`", ""]
    matrix = [
        "",
        "| script | " + " | ".join(_column(each) for each in columns_of(run)) + " |",
        "| --- " * (len(columns_of(run)) + 1) + "|",
        *_rows(run),
    ]
    reasons = [f"- {count} results: {in_markdown(reason)}" for reason, count in not_compared(run)]
    compared = ["", "## Not compared with the reference", "", *reasons] if reasons else []
    skipped = [
        f"- {in_markdown(each.script_id)}, {in_markdown(each.library)}, {in_markdown(each.target)}: "
        f"{in_markdown(each.because)}"
        for each in run.results
        if each.status is ResultStatus.SKIPPED
    ]
    applicable = ["", "## Not applicable", "", *skipped] if skipped else []
    return "\n".join((*head, *client_lines(run), *matrix, *applicable, *compared)) + "\n"


def client_lines(run: ClientsRun) -> Iterator[str]:
    """Yield, as Markdown, the counts of client scripts' results, and those that need attention."""
    yield "| target, library | conforms | diverges | indeterminate | not applicable | errors | compared | violations |"  # noqa: E501 - a row of a table is one line
    yield "| --- | --: | --: | --: | --: | --: | --: | --: |"
    for each in tallies(run):
        figures = (*(each.counts[outcome] for outcome in _OUTCOMES), each.compared, each.violations.total())
        yield f"| {_column(each.column)} | {' | '.join(str(figure) for figure in figures)} |"
    concerning = client_attention(run)
    for item in concerning[:_REPORTED_COUNT_MAX]:
        where = f"{in_markdown(item.result.script_id)} with {in_markdown(item.column.library)}"
        yield ""
        yield f"### {where} on {in_markdown(item.column.record.name)}: {item.status.value}"
        yield ""
        _, *reported = account(run, item.result)
        for line in reported:
            yield f"- {in_markdown(shortened(line))}"
        yield ""
        yield f"    {' '.join(item.reproduction.splitlines())}"
    if len(concerning) > _REPORTED_COUNT_MAX:
        yield ""
        yield f"… and {len(concerning) - _REPORTED_COUNT_MAX} more; see the report."


def brief_text(run: ClientsRun) -> Iterator[str]:
    """Yield for a terminal one line of counts for each column, and three lines for each result to look at."""
    for each in tallies(run):
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(each.counts.items()))
        yield f"clients, {each.column.record.name}, {each.column.library}: {counts}"
    concerning = client_attention(run)
    for item in concerning[:_BRIEF_COUNT_MAX]:
        yield f"{item.glyph} {item.result.script_id} with {item.column.library} on {item.column.record.name}"
        yield in_terminal(f"  {item.place}: {shortened(item.says, _BRIEF_LENGTH_MAX)}".replace("  : ", "  "))
        yield f"  {item.reproduction}"
    if len(concerning) > _BRIEF_COUNT_MAX:
        yield f"… and {len(concerning) - _BRIEF_COUNT_MAX} more; the report has them all."
    if run.ended != ENDED_COMPLETE:
        yield in_terminal(f"clients: {run.ended}")


def _rows(run: ClientsRun) -> Iterator[str]:
    columns = columns_of(run)
    outcomes = {each.place: each.outcome for each in run.results}
    for script_id in dict.fromkeys(each.script_id for each in run.results):
        cells = [outcomes.get((each.record.spec, script_id, each.library), "") for each in columns]
        yield f"| {in_markdown(script_id)} | {' | '.join(cells)} |"


def _column(column: Column) -> str:
    return f"{in_markdown(column.record.name)}, {in_markdown(column.library)}"
