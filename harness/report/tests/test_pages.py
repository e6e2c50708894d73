"""What readers do with pages: follow links, press keys, look at them in a narrow window."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.model.names import scenario_page
from harness.report.site.run_site import render_site
from harness.report.tests.test_site import Page, pages_of
from harness.spark.rows import ClauseCoverage, ClauseStatus
from harness.tests.browser import Tab, browser
from harness.tests.report_hostile import clause_row
from harness.tests.report_run import HEARTBEAT, SCALA, conversation, difference, judgement, small_run


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def test_a_scenarios_page_has_its_clauses_and_leads_to_kafkas_source(tmp_path: Path) -> None:
    made = small_run()
    made.coverage = [clause("SG-014", ClauseStatus.AGREED)]
    render_site(made.write(tmp_path))
    page = Page(tmp_path / scenario_page(HEARTBEAT))
    assert "SG-014 What Kafka does." in page.text
    assert [href for href in page.hrefs if href.endswith("/GroupMetadataManager.java")]


def test_the_count_of_differing_rows_leads_to_them_and_to_their_scenarios(tmp_path: Path) -> None:
    made = small_run()
    made.coverage = [clause("SG-014", ClauseStatus.DIFFERS), clause("SG-015", ClauseStatus.AGREED)]
    render_site(made.write(tmp_path))
    page = Page(tmp_path / "coverage.html")
    anchor = f"differs-target-{SCALA}"
    assert page.hrefs.count(f"#{anchor}") == page.ids.count(anchor) == 1
    assert f"{scenario_page(HEARTBEAT)}#target-{SCALA}" in page.hrefs


def clause(name: str, standing: ClauseStatus) -> ClauseCoverage:
    return clause_row(clause=name, statement="What Kafka does.", standing=standing.value)


@pytest.mark.browser
def test_no_page_writes_an_error_to_the_console(tmp_path: Path, tab: Tab) -> None:
    index = render_site(small_run().write(tmp_path))
    tab.errors.clear()
    for path in pages_of(index.parent):
        tab.open(path.as_uri())
        assert tab.errors == [], path


@pytest.mark.browser
def test_on_a_narrow_page_the_matrix_scrolls_in_its_frame_and_the_sides_are_stacked(
    tmp_path: Path, tab: Tab
) -> None:
    made = small_run()
    made.add(judgement("zoo/red/long", SCALA, "diverges", reason=f'groups is ["{"member" * 20}"]'))
    index = render_site(made.write(tmp_path))
    tab.is_as_wide_as(390)
    for path in pages_of(index.parent):
        tab.open(path.as_uri())
        # Headings of findings name error codes.
        tab.read("document.querySelector('h1').append('OFFSET_METADATA_TOO_LARGE'.repeat(2))")
        assert tab.read("document.documentElement.scrollWidth") == 390, path
    tab.open(index.as_uri())
    assert tab.read(
        "document.querySelector('.frame').scrollWidth > document.querySelector('.frame').clientWidth"
    )
    tab.open(f"{(tmp_path / scenario_page(HEARTBEAT)).as_uri()}#first-difference-{SCALA}")
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
    index = render_site(made.write(tmp_path))
    tab.open((index.parent / scenario_page("zoo/red/n0")).as_uri())
    for key, page in (("n", "zoo/red/n0"), ("n", "zoo/red/n1"), ("p", "zoo/red/n0"), ("p", HEARTBEAT)):
        tab.press(key)
        name = scenario_page(page).rpartition("/")[2]
        tab.until(f"location.pathname.endsWith({json.dumps(name)}) && document.readyState === 'complete'")
    tab.press("/")
    assert tab.read("document.activeElement.type") == "search"
    tab.press("Escape")
    assert tab.read("document.activeElement === document.body")
