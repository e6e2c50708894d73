"""Results of client scripts for pages, files and the terminal: the matrix, each script, facts and remarks."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.model import Judgement
from harness.report.model.matrix import MatrixGroup, laid_out, titles
from harness.report.model.phrases import (
    GLYPHS,
    PROGRAM,
    address,
    given_options,
    in_terminal,
    shortened,
    slug,
    target_anchor,
)
from harness.results.client_results import (
    ClientResult,
    ClientResultKey,
    ClientScriptData,
    ClientsRun,
    client_judgements,
    column_name,
    fact_texts,
    first_remark,
    replay_place,
)
from harness.results.status import ENDED_COMPLETE, NEEDS_ATTENTION, ResultStatus, shown
from harness.trace.events import TraceHeader

_PASSED_ON: Final = {each: each for each in ("--suites", "--profile", "--expect")}
NOT_COMPARED: Final = "not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A target with a library."""

    record: TraceHeader
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
class ClientAttention:
    """A result that needs attention."""

    result: ClientResult
    column: Column
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


def client_talks(place: ClientResultKey) -> str:
    """Return the name of the data with the conversations of a script's suite."""
    return f"talks-{slug(place[1].rpartition('/')[0])}"


def client_conversation_key(place: ClientResultKey) -> str:
    """Return the key of a conversation in its data."""
    return " ".join(place)


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
    return laid_out(client_judgements(run), _names(run))


def client_titles(run: ClientsRun) -> dict[str, list[str]]:
    """Return the tooltips of the matrix's cells by script id."""
    return titles(client_judgements(run), _names(run))


def _names(run: ClientsRun) -> list[str]:
    return [column_name(each.record.name, each.library) for each in columns_of(run)]


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
        href=address(result.script_id, column.anchor),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkRow:
    """One departure from what was expected."""

    against: str
    says: str
    is_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStepRow:
    """One step, with its observations on the target and on the reference."""

    index: int
    text: str
    at: str
    """The time since the first step; empty if not recorded."""
    seen: tuple[tuple[str, str], ...]
    reference: tuple[tuple[str, str], ...] | None
    """The reference's observations, which may be equal; None if there are none."""
    is_reached: bool
    remarks: tuple[RemarkRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSection:
    """One script with one library on one target."""

    result: ClientResult
    column: Column
    place: ClientResultKey
    reference: ClientResultKey | None
    """Where the reference did the same; None if nothing differs from it."""
    first_place: str
    """Where the result first departs; empty if it passed."""
    first_says: str
    steps: tuple[ClientStepRow, ...]
    replayed: str
    """How much of the conversation was compared with the reference, in words; empty if nothing was."""
    reproduction: str
    log: str
    """The folder of the clients' own files, relative to the run's folder."""

    @property
    def needs_attention(self) -> bool:
        """Whether the result needs attention."""
        return self.result.status in NEEDS_ATTENTION


def client_sections(run: ClientsRun, script_id: str) -> tuple[ClientSection, ...]:
    """Return the sections of one script, one for each target and library that it was run with."""
    results = [each for each in run.results if each.script_id == script_id]
    return tuple(
        _section(run, column, result)
        for column in columns_of(run)
        for result in results
        if is_of(result, column)
    )


def _section(run: ClientsRun, column: Column, result: ClientResult) -> ClientSection:
    place = run.place(result)
    first_place, first_says = first_remark(result)
    reference = reference_of(run, result)
    return ClientSection(
        result=result,
        column=column,
        place=place,
        reference=reference if result.differences else None,
        first_place=first_place if result.status is not ResultStatus.PASSED else "",
        first_says=first_says,
        steps=tuple(_steps(run, run.scripts[result.script_id], place, reference, result)),
        replayed=run.replayed.get(place, ""),
        reproduction=client_reproduction(run, result),
        log=str(run.files.conversation_dir(*place).relative_to(run.folder)),
    )


def reference_of(run: ClientsRun, result: ClientResult) -> ClientResultKey | None:
    """Return the key of the same script's outcome on the reference; None if it was not compared."""
    record = run.references.get(result.compared)
    return None if record is None else (record.name, result.script_id, result.library)


def _steps(
    run: ClientsRun,
    script: ClientScriptData,
    place: ClientResultKey,
    reference: ClientResultKey | None,
    result: ClientResult,
) -> Iterator[ClientStepRow]:
    here = run.outcomes.get(place)
    there = None if reference is None else run.outcomes.get(reference)
    seen = {each.step: each for each in here.observations} if here else {}
    seen_there = {each.step: each for each in there.observations} if there else {}
    began_ms = min((each.at_ms for each in seen.values() if each.at_ms), default=0.0)
    first_step = min((each.step for each in (*result.mismatches, *result.differences)), default=None)
    for index in range(len(script.steps) + 1):
        is_whole = index == len(script.steps)
        now = seen.get(index)
        before = seen_there.get(index)
        yield ClientStepRow(
            index=index,
            text="the whole, with everything after the last check" if is_whole else script.steps[index].text,
            at=f"{(now.at_ms - began_ms) / 1000:.2f} s" if now and now.at_ms else "",
            seen=fact_texts(now.facts) if now else (),
            reference=fact_texts(before.facts) if before else None,
            is_reached=now is not None,
            remarks=tuple(_remarks(result, index, is_first_step=index == first_step)),
        )


def _remarks(result: ClientResult, index: int, *, is_first_step: bool) -> Iterator[RemarkRow]:
    found = [("script", each) for each in result.mismatches if each.step == index]
    found += [("reference", each) for each in result.differences if each.step == index]
    for number, (against, remark) in enumerate(found):
        yield RemarkRow(against=against, says=remark.says, is_first=is_first_step and number == 0)


_OF_CLIENTS: Final = "clients/"
"""The prefix of client scripts' ids, which no scenario's id has."""


def is_of_clients(scenario_id: str, target: str) -> bool:
    """Return whether a result is of a client script."""
    return scenario_id.startswith(_OF_CLIENTS) and ", " in target


def result_href(scenario_id: str, target: str) -> str:
    """Return the address of the result of a scenario or client script on a target."""
    if not is_of_clients(scenario_id, target):
        return address(scenario_id, target_anchor(target))
    name, _, library = target.rpartition(", ")
    return address(scenario_id, target_anchor(column_key(name, library)))


def links_of_clients(run: ClientsRun) -> Mapping[tuple[str, str], str]:
    """Return the first departure of each client script's result, by its names in the trend."""
    return {
        (column_name(run.name_of(each), each.library), each.script_id): ": ".join(
            part for part in first_remark(each) if part
        )
        for each in run.results
    }


_REPORTED_COUNT_MAX: Final = 100
_BRIEF_COUNT_MAX: Final = 10
_BRIEF_LENGTH_MAX: Final = 160


def client_columns(
    run: ClientsRun,
) -> Iterator[tuple[str, TraceHeader, tuple[tuple[Judgement, ClientResult], ...]]]:
    """Yield each target with a library: its name, the target, and its results, each with its judgement."""
    for column in columns_of(run):
        results = tuple(each for each in run.results if is_of(each, column))
        judged = zip(client_judgements(replace(run, results=results)), results, strict=True)
        yield column_name(column.record.name, column.library), column.record, tuple(judged)


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
        yield f"in the replay, {replay_place(found)}: {found.says}"


def brief_text(run: ClientsRun) -> Iterator[str]:
    """Yield for a terminal one line of counts for each column, and three lines for each result to look at."""
    for each in tallies(run):
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(each.counts.items()))
        yield f"clients, {each.column.record.name}, {each.column.library}: {counts}"
    concerning = client_attention(run)
    for item in concerning[:_BRIEF_COUNT_MAX]:
        where = f"with {item.column.library} on {item.column.record.name}"
        yield f"{GLYPHS[item.result.outcome]} {item.result.script_id} {where}"
        yield in_terminal(f"  {item.place}: {shortened(item.says, _BRIEF_LENGTH_MAX)}".replace("  : ", "  "))
        yield f"  {item.reproduction}"
    if len(concerning) > _BRIEF_COUNT_MAX:
        yield f"… and {len(concerning) - _BRIEF_COUNT_MAX} more; the report has them all."
    if run.ended != ENDED_COMPLETE:
        yield in_terminal(f"clients: {run.ended}")
