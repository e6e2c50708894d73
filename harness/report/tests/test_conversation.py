"""At which event of a conversation its page tells a difference."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.diff.model import Difference
from harness.report.model.conversation import EventRow, target_sections
from harness.report.model.run_data import Run
from harness.tests.report_run import (
    REFERENCE,
    SCALA,
    Act,
    MadeUpRun,
    acted,
    conversation,
    difference,
    judgement,
    summary,
)

SCENARIO = "classic/heartbeat/answered-twice"
STEP = 3
AGAIN = replace(conversation()[STEP], kind="unsolicited", note="awaits no answer")
ACTS = (*conversation()[:STEP], AGAIN, *conversation(diverging=True)[STEP:])
"""At one step something comes that nobody asked for, and then another answer than the oracle's."""


def rows(
    tmp_path: Path, *found: Difference, acts: Sequence[Act] = ACTS, lost: int | None = None
) -> list[EventRow]:
    """Return a step's events as the page lays them out; the target may have lost one of its own."""
    made = MadeUpRun(summaries=[summary(REFERENCE), summary(SCALA)])
    made.add(judgement(SCENARIO, SCALA, "diverges"), acts, *found)
    made.events = [each for each in made.events if each.sequence != lost]
    made.events += acted(SCENARIO, REFERENCE, acts)
    run = Run.load(made.write(tmp_path))
    (section,) = target_sections(run, SCENARIO, run.judgements)
    return [row for step in (*section.before, *section.after) if step.step == STEP for row in step.rows]


def reported(row: EventRow) -> tuple[str, list[str]]:
    return (row.target.kind if row.target else "nothing", [each.signature for each in row.findings])


def test_each_difference_of_a_step_is_reported_at_its_own_event(tmp_path: Path) -> None:
    answer = difference(SCENARIO, SCALA, event_sequence=4, signature="answer")
    unasked = difference(
        SCENARIO, SCALA, ordinal=1, event_sequence=3, field=None, signature="unasked", is_consequence=True
    )
    assert [reported(row) for row in rows(tmp_path, answer, unasked)] == [
        ("unsolicited", ["unasked"]),
        ("response", ["answer"]),
    ]


def test_what_the_target_lacks_is_reported_beside_what_the_oracle_has(tmp_path: Path) -> None:
    lacking = difference(SCENARIO, SCALA, event_sequence=-1, field=None, signature="lacking")
    assert [reported(row) for row in rows(tmp_path, lacking, lost=4)] == [
        ("unsolicited", []),
        ("nothing", ["lacking"]),
    ]


def test_what_neither_side_has_is_reported_in_a_row_of_its_own(tmp_path: Path) -> None:
    lacking = difference(SCENARIO, SCALA, event_sequence=-1, field=None, signature="lacking")
    assert [reported(row) for row in rows(tmp_path, lacking, acts=conversation()[:STEP])] == [
        ("nothing", ["lacking"])
    ]
    assert reported(rows(tmp_path, lacking)[-1]) == ("nothing", ["lacking"])


def test_figures_of_a_starved_stretch_that_could_not_be_taken_are_left_out(tmp_path: Path) -> None:
    figures: dict[str, object] = {"run_queue_ms": None, "starved_ms": 8.5}
    starved = Act(step=STEP, actor="ana", kind="starved", api=None, version=None, content=figures)
    (row,) = rows(tmp_path, acts=(*conversation()[:STEP], starved))
    assert [(field.key, field.target) for field in row.fields] == [("starved_ms", "8.5")]


def test_of_the_starved_stretches_of_a_step_the_longest_is_shown(tmp_path: Path) -> None:
    stretches = [
        Act(step=STEP, actor="ana", kind="starved", api=None, version=None, content={"starved_ms": ms})
        for ms in (8.5, 20.0, 5.0)
    ]
    shown = rows(tmp_path, acts=(*conversation()[:STEP], AGAIN, *stretches))
    assert [reported(row)[0] for row in shown] == ["unsolicited", "starved"]
    assert [field.target for field in shown[1].fields] == ["20.0"]
