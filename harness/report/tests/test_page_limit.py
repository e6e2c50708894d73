"""Who sends too much for a page has it left out of the page, which says so."""

from dataclasses import replace

import pytest

from harness.report.model.page_limit import PageLimit, shortened
from harness.spark.rows import AlignedStep
from harness.targets.base.limits import PAGE_BYTES
from harness.tests.report_run import difference
from harness.trace.events import EventKind
from harness.trace.schema import columns

ROW = AlignedStep(
    **{each.name: None if each.nullable else False for each in columns(AlignedStep)}  # type: ignore[arg-type]
)


def row(size: int, note: str | None = None) -> AlignedStep:
    return replace(ROW, target_kind=EventKind.RESPONSE, target_raw="0" * size, target_note=note)


def test_what_has_no_room_is_left_out_and_what_is_smaller_still_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PAGE_BYTES.variable, "100")
    shown = list(PageLimit().within([row(60), row(60, "closed"), row(40)]))
    assert [len(each.target_raw or "") for each in shown] == [60, 0, 40]
    assert shown[1].target_note == (
        "closed; 60 characters are left out: 100 are the most of a page (--page-mib); the trace has them"
    )
    assert shown[1].oracle_note is None


def test_a_finding_shows_the_beginning_of_what_is_long() -> None:
    found = shortened(difference("a/b", "kafka", actual="x" * 1_000_000))
    assert found.actual.endswith("… (1000000 characters)")
    assert len(found.actual) < 20_000
