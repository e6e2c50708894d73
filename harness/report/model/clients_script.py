"""The content of a client script's page for each target and library, as values that a template can render."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.report.model.clients_facts import fact_texts
from harness.report.model.clients_page import (
    Column,
    ReplayRow,
    client_conversation_file,
    client_reproduction,
    column_key,
    columns_of,
    is_of,
    replay_row,
)
from harness.report.model.names import css_name, first_difference_anchor
from harness.report.model.phrases import GLYPHS
from harness.results.client_judgements import first_remark
from harness.results.client_results import (
    ClientAttempt,
    ClientResult,
    ClientResultKey,
    ClientScriptData,
    ClientsRun,
)
from harness.results.status import NEEDS_ATTENTION, ResultStatus, shown
from harness.verdict import Outcome


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
    glyph: str
    outcome: str
    expectation: str
    status: ResultStatus
    shown: str
    """How often the result occurred; empty if it did not have to be confirmed."""
    attempts: tuple[ClientAttempt, ...]
    needs_attention: bool
    is_open: bool
    first_anchor: str
    first_place: str
    """Where the result first departs; empty if it passed."""
    first_says: str
    steps: tuple[ClientStepRow, ...]
    replays: tuple[ReplayRow, ...]
    replayed: str
    """How much of the conversation was compared with the reference, in words; empty if nothing was."""
    reproduction: str
    conversation: str
    reference: str
    """The key of the reference's conversation; empty if nothing differs from it."""
    reference_conversation: str
    log: str
    """The folder of the clients' own files, relative to the run's folder."""


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
    reported_there = reference if result.differences else None
    return ClientSection(
        result=result,
        column=column,
        glyph=GLYPHS[Outcome(result.outcome)],
        outcome=css_name(result.outcome),
        expectation=css_name(result.expectation),
        status=result.status,
        shown=shown(result).capitalize(),
        attempts=result.attempts,
        needs_attention=result.status in NEEDS_ATTENTION,
        is_open=result.status in NEEDS_ATTENTION or bool(result.violations),
        first_anchor=first_difference_anchor(column.name),
        first_place=first_place if result.status is not ResultStatus.PASSED else "",
        first_says=first_says,
        steps=tuple(_steps(run, run.scripts[result.script_id], place, reference, result)),
        replays=tuple(replay_row(each) for each in result.replays),
        replayed=run.replayed.get(place, ""),
        reproduction=client_reproduction(run, result),
        conversation=client_conversation_file(place),
        reference=column_key(reported_there[0], result.library) if reported_there else "",
        reference_conversation=client_conversation_file(reported_there) if reported_there else "",
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
