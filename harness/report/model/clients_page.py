"""The content of the pages about client scripts, as values that templates can render."""

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Final

from harness.report.model.field_rows import readable
from harness.report.model.matrix import MatrixGroup, laid_out
from harness.report.model.names import css_name, slug, target_anchor
from harness.report.model.phrases import GLYPHS, PROGRAM, given_options
from harness.results.client_judgements import (
    client_judgements,
    column_name,
    first_remark,
    replay_place,
)
from harness.results.client_results import ClientResult, ClientResultKey, ClientsRun
from harness.results.replay_results import ReplayFinding
from harness.results.status import NEEDS_ATTENTION, ResultStatus, mark
from harness.trace.target_record import TargetRecord
from harness.verdict import Outcome

SCRIPTS: Final = "scripts"
CONVERSATIONS: Final = "client-talks"
"""Folders of pages, and of the data that they load, relative to the page of the matrix."""
_PASSED_ON: Final = {each: each for each in ("--suites", "--profile", "--expect")}
NOT_COMPARED: Final = "not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A target with a library."""

    record: TargetRecord
    library: str

    @property
    def name(self) -> str:
        """The key under which the column's data are stored."""
        return column_key(self.record.name, self.library)

    @property
    def anchor(self) -> str:
        """The column's anchor on a script's page."""
        return target_anchor(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """An answer in which the reference differs."""

    place: str
    expected: str
    actual: str
    state: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAttention:
    """A result that needs attention."""

    result: ClientResult
    column: Column
    glyph: str
    outcome: str
    expectation: str
    status: ResultStatus
    href: str
    place: str
    says: str
    reproduction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts of the results of all scripts on one target with one library."""

    column: Column
    counts: Counter[str]
    """By outcome."""
    compared: int
    violations: Counter[str]
    """By who broke the invariant."""
    replayed: int
    """The number of answers in which the reference differs."""


def column_key(target: str, library: str) -> str:
    """Return the key under which data about a target with a library are stored."""
    return f"{target}_{library}"


def script_page(script_id: str) -> str:
    """Return the path of a script's page, relative to the page of the matrix."""
    return f"{SCRIPTS}/{slug(script_id)}.html"


def client_conversation_file(place: ClientResultKey) -> str:
    """Return the path of the data that a script's page loads, relative to the page of the matrix."""
    target, script_id, library = place
    return f"{CONVERSATIONS}/{slug(script_id)}.{column_key(target, library)}.js"


def columns_of(run: ClientsRun) -> tuple[Column, ...]:
    """Return the columns that have results: targets in their order, each with libraries in their order."""
    run_pairs = {(each.target, each.library) for each in run.results}
    return tuple(
        Column(record=record, library=library)
        for record in run.targets
        for library in run.libraries
        if (record.spec, library) in run_pairs
    )


def client_matrix(run: ClientsRun) -> tuple[MatrixGroup, ...]:
    """Return all results, with a row for each script and a column for each target with a library."""
    columns = {column_name(each.record.name, each.library): each.anchor for each in columns_of(run)}
    return laid_out(client_judgements(run), columns, page=script_page)


def is_of(result: ClientResult, column: Column) -> bool:
    """Return whether a result belongs to a column."""
    return (result.target, result.library) == (column.record.spec, column.library)


def client_attention(run: ClientsRun) -> tuple[ClientAttention, ...]:
    """Return the results that need attention, the worst first."""
    concerning = [each for each in run.results if each.status in NEEDS_ATTENTION]
    concerning.sort(key=lambda each: NEEDS_ATTENTION.index(each.status))
    return tuple(_attention(run, each) for each in concerning)


def _attention(run: ClientsRun, result: ClientResult) -> ClientAttention:
    column = Column(record=run.references[result.target], library=result.library)
    place, says = first_remark(result)
    return ClientAttention(
        result=result,
        column=column,
        glyph=GLYPHS[Outcome(result.outcome)],
        outcome=css_name(result.outcome),
        expectation=css_name(mark(result)),
        status=result.status,
        href=f"{script_page(result.script_id)}#{column.anchor}",
        place=place,
        says=says,
        reproduction=client_reproduction(run, result),
    )


def client_reproduction(run: ClientsRun, result: ClientResult) -> str:
    """Return a command line that runs one script again, with the same library on the same target."""
    given = given_options(run.command, _PASSED_ON) if run.command.startswith(PROGRAM) else ()
    # Java's client is stored under `java-3.9.2`, but its name on the command line is `java:3.9.2`.
    library = re.sub(r"^java-", "java:", result.library)
    chosen = ("--target", result.target, "--client", library)
    return shlex.join((PROGRAM, "clients", *chosen, *given, result.script_id))


def tallies(run: ClientsRun) -> tuple[Tally, ...]:
    """Return the counts of the scripts' results, for each column of the matrix."""
    return tuple(_tally_of(run, column) for column in columns_of(run))


def _tally_of(run: ClientsRun, column: Column) -> Tally:
    results = [each for each in run.results if is_of(each, column)]
    return Tally(
        column=column,
        counts=Counter(each.outcome for each in results),
        compared=sum(not each.compared.startswith(NOT_COMPARED) for each in results),
        violations=Counter(broken.party for each in results for broken in each.violations),
        replayed=sum(len(each.replays) for each in results),
    )


def not_compared(run: ClientsRun) -> tuple[tuple[str, int], ...]:
    """Return the counts of results that were not compared with a reference, by reason."""
    reasons = Counter(
        each.compared.removeprefix(f"{NOT_COMPARED}: ")
        for each in run.results
        if each.compared.startswith(NOT_COMPARED)
    )
    return tuple(reasons.most_common())


def replay_row(finding: ReplayFinding) -> ReplayRow:
    """Return a row for an answer in which the reference differs."""
    return ReplayRow(
        place=replay_place(finding),
        expected=readable(finding.expected),
        actual=readable(finding.actual),
        state=finding.state,
        says=finding.says,
    )
