"""What readers do with pages: follow links, press keys, look at them in a narrow window."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.model.phrases import address
from harness.scenario.crossings import TABLES, crossings, load_blanks
from harness.tests.browser import Tab, browser
from harness.tests.completed_runs import catalogue
from harness.tests.report_hostile import clause
from harness.tests.report_run import HEARTBEAT, SCALA, conversation, difference, judgement, small_run
from harness.tests.site_reading import Page, link, rendered, view_of, views_of
from harness.trace.files import RunFolder, write_records


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def test_a_scenarios_page_has_its_clauses_and_leads_to_kafkas_source(tmp_path: Path) -> None:
    made = small_run()
    made.clauses = [clause("SG-014", statement="What Kafka does.")]
    rendered(made.write(tmp_path))
    page = Page(view_of(tmp_path, HEARTBEAT))
    assert "SG-014 What Kafka does." in page.text
    assert [href for href in page.hrefs if href.endswith("/GroupMetadataManager.java")]


def test_the_count_of_differing_rows_leads_to_them_and_to_their_scenarios(tmp_path: Path) -> None:
    made = small_run()
    made.clauses = [clause("SG-014", statement="What Kafka does."), clause("SG-015")]
    rendered(made.write(tmp_path))
    page = Page(view_of(tmp_path, "coverage"))
    anchor = f"differs-target-{SCALA}"
    assert page.hrefs.count(f"#coverage:{anchor}") == page.ids.count(anchor) == 1
    assert f"{address(HEARTBEAT)}:target-{SCALA}" in page.hrefs


def test_the_coverage_page_shows_crossings_or_why_there_are_none(tmp_path: Path) -> None:
    folder = small_run().write(tmp_path)
    made = crossings([catalogue()["admin/dead/commit"]], load_blanks())
    write_records(RunFolder(folder).crossings, made)
    rendered(folder)
    page = Page(view_of(tmp_path, "coverage"))
    assert all(
        f"{table} {sum(bool(each.shown_by) for each in made if each.table == table)} of" in page.text
        for table in TABLES
    )
    assert "a share group has no offsets that expire" in view_of(tmp_path, "coverage")


@pytest.mark.browser
def test_no_page_writes_an_error_to_the_console(tmp_path: Path, tab: Tab) -> None:
    index = rendered(small_run().write(tmp_path))
    tab.errors.clear()
    for place in views_of(tmp_path):
        tab.open(f"{index.as_uri()}{place}")
        tab.until("document.querySelector('#view h1')")
        assert tab.errors == [], place


@pytest.mark.browser
def test_on_a_narrow_page_the_matrix_scrolls_in_its_frame_and_the_sides_are_stacked(
    tmp_path: Path, tab: Tab
) -> None:
    made = small_run()
    made.add(judgement("zoo/red/long", SCALA, "diverges", reason=f'groups is ["{"member" * 20}"]'))
    index = rendered(made.write(tmp_path))
    tab.is_as_wide_as(390)
    for place in views_of(tmp_path):
        tab.open(f"{index.as_uri()}{place}")
        tab.until("document.querySelector('#view h1')")
        # Headings of findings name error codes.
        tab.read("document.querySelector('h1').append('OFFSET_METADATA_TOO_LARGE'.repeat(2))")
        assert tab.read("document.documentElement.scrollWidth") == 390, place
    tab.open(index.as_uri())
    tab.until("document.querySelector('tr.row')")
    tab.read("document.getElementById('matrix').scrollIntoView()")
    tab.until("document.querySelector('tr.row .worst.diverges')")
    worst = "document.querySelector('tr.row .worst.diverges').getBoundingClientRect()"
    assert tab.read(f"{worst}.width > 0 && {worst}.right < 60")
    assert tab.read(
        "document.querySelector('.frame').scrollWidth > document.querySelector('.frame').clientWidth"
    )
    tab.open(link(tmp_path, HEARTBEAT, f"first-difference-{SCALA}"))
    tab.until(f"document.getElementById('first-difference-{SCALA}')")
    sides = (
        "[...document.querySelector('tr.field.differs').cells].map((cell) => cell.getBoundingClientRect())"
    )
    assert tab.read(f"(([one, other]) => one.bottom <= other.top && one.left === other.left)({sides})")
    assert tab.read("getComputedStyle(document.querySelector('tr.alike').cells[0]).display") == "none"
    tab.is_as_wide_as(1500)
    assert tab.read(f"(([one, other]) => one.right <= other.left && one.top === other.top)({sides})")


@pytest.mark.browser
def test_keys_lead_from_one_scenario_to_look_at_to_the_next_and_escape_leaves_the_search(
    tmp_path: Path, tab: Tab
) -> None:
    made = small_run()
    for number in range(2):
        scenario_id = f"zoo/red/n{number}"
        made.add(judgement(scenario_id, SCALA, "diverges"), conversation(), difference(scenario_id, SCALA))
    rendered(made.write(tmp_path))
    tab.open(link(tmp_path, "zoo/red/n0"))
    tab.until("document.querySelector('table.talk')")
    for key, page in (("n", "zoo/red/n0"), ("n", "zoo/red/n1"), ("p", "zoo/red/n0"), ("p", HEARTBEAT)):
        tab.press(key)
        tab.until(f"document.querySelector('h1.id')?.textContent === {json.dumps(page)}")
        tab.until("document.querySelector('table.talk')")
    tab.press("/")
    assert tab.read("document.activeElement.type") == "search"
    tab.press("Escape")
    assert tab.read("document.activeElement === document.body")
