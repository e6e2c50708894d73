"""Who sends too much for a page has it left out of the page, which says so."""

from dataclasses import replace

import pytest

from harness.diff.alignment import AlignedEvents
from harness.report.model.run_data import PageLimit, for_page
from harness.targets.base.limits import PAGE_BYTES
from harness.tests.made_events import ANSWER
from harness.tests.report_run import difference


def row(size: int, note: str | None = None) -> AlignedEvents:
    event = replace(ANSWER, raw="0" * size, fields=None, canonical=None, note=note)
    return AlignedEvents(step=0, occurrence=0, answer=0, event=event, other=None)


def test_what_has_no_room_is_left_out_and_what_is_smaller_still_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PAGE_BYTES.variable, "100")
    shown = [each.event for each in PageLimit().within([row(60), row(60, "closed"), row(40)]) if each.event]
    assert [len(each.raw or "") for each in shown] == [60, 0, 40]
    assert shown[1].note == (
        "closed; 60 characters are left out: 100 are the most of a page (--page-mib); the trace has them"
    )


def test_a_finding_shows_the_beginning_of_what_is_long() -> None:
    found = for_page(difference("a/b", "kafka", actual="x" * 1_000_000))
    assert found.actual.endswith("… (1000000 characters)")
    assert len(found.actual) < 20_000
