"""What the pages about client scripts show, as values that templates can write down."""

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
"""Folders of pages, and of what they load, from the page of the matrix."""
_PASSED_ON: Final = {each: each for each in ("--suites", "--profile", "--expect")}
NOT_COMPARED: Final = "not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A target with a library."""

    record: TargetRecord
    library: str

    @property
    def name(self) -> str:
        """What data are filed under."""
        return column_key(self.record.name, self.library)

    @property
    def anchor(self) -> str:
        """Its place on a script's page."""
        return target_anchor(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """An answer that the reference gives otherwise."""

    place: str
    expected: str
    actual: str
    state: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAttention:
    """A result that somebody has to look into."""

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
    """What became of all scripts on one target with one library."""

    column: Column
    counts: Counter[str]
    """By outcome."""
    compared: int
    violations: Counter[str]
    """By party."""
    replayed: int
    """Answers that the reference gives otherwise."""


def column_key(target: str, library: str) -> str:
    """Return what data about a target with a library are filed under."""
    return f"{target}_{library}"


def script_page(script_id: str) -> str:
    """Return the path of a script's page, from the page of the matrix."""
    return f"{SCRIPTS}/{slug(script_id)}.html"


def client_conversation_file(place: ClientResultKey) -> str:
    """Return the path of the data that a script's page asks for, from the page of the matrix."""
    target, script_id, library = place
    return f"{CONVERSATIONS}/{slug(script_id)}.{column_key(target, library)}.js"


def columns_of(run: ClientsRun) -> tuple[Column, ...]:
    """Return what there are results of: targets in their order, with libraries in theirs."""
    run_pairs = {(each.target, each.library) for each in run.results}
    return tuple(
        Column(record=record, library=library)
        for record in run.targets
        for library in run.libraries
        if (record.spec, library) in run_pairs
    )


def client_matrix(run: ClientsRun) -> tuple[MatrixGroup, ...]:
    """Lay out all results, a row a script, a column a target with a library."""
    columns = {column_name(each.record.name, each.library): each.anchor for each in columns_of(run)}
    return laid_out(client_judgements(run), columns, page=script_page)


def is_of(result: ClientResult, column: Column) -> bool:
    """Tell whether a result stands in a column."""
    return (result.target, result.library) == (column.record.spec, column.library)


def client_attention(run: ClientsRun) -> tuple[ClientAttention, ...]:
    """List what somebody has to look into, the worst first."""
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
    """Return a command line that carries one script out again, with the same library on the same target."""
    given = given_options(run.command, _PASSED_ON) if run.command.startswith(PROGRAM) else ()
    # Java's client is filed under `java-3.9.2`, and asked for as `java:3.9.2`.
    library = re.sub(r"^java-", "java:", result.library)
    chosen = ("--target", result.target, "--client", library)
    return shlex.join((PROGRAM, "clients", *chosen, *given, result.script_id))


def tallies(run: ClientsRun) -> tuple[Tally, ...]:
    """Count what became of the scripts, a row a column of the matrix."""
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
    """Count the results that are compared with no reference, by the reason."""
    reasons = Counter(
        each.compared.removeprefix(f"{NOT_COMPARED}: ")
        for each in run.results
        if each.compared.startswith(NOT_COMPARED)
    )
    return tuple(reasons.most_common())


def replay_row(finding: ReplayFinding) -> ReplayRow:
    """Lay out an answer that the reference gives otherwise."""
    return ReplayRow(
        place=replay_place(finding),
        expected=readable(finding.expected),
        actual=readable(finding.actual),
        state=finding.state,
        says=finding.says,
    )
