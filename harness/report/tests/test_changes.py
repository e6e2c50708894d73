"""What changed between versions, on the terminal, in Markdown and on the site."""

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.report.exports.markdown import write_summary
from harness.report.model.changes import print_changes, write_changes
from harness.report.model.changes_data import write_changes_data
from harness.report.model.names import scenario_page
from harness.report.site.run_site import render_site
from harness.spark.rows import BehaviourChange
from harness.tests.browser import browser
from harness.tests.report_hostile import change_row
from harness.tests.report_reading import printed
from harness.tests.report_run import FENCED, HEARTBEAT, JAVA, SCALA, small_run

CHANGE = change_row()
AGAIN = f"kafka-conformance matrix --versions 3.9.2,4.3.1 {HEARTBEAT}"
UNEXPLAINED = replace(CHANGE, is_explained=False, to_outcome="diverges", behaviours=(), sources=())


def with_changes(tmp_path: Path, *changes: BehaviourChange) -> Path:
    run = small_run()
    run.changes = list(changes)
    return run.write(tmp_path / "run")


def reported(run_dir: Path) -> str:
    output = StringIO()
    print_changes(run_dir, Console(file=output, width=200))
    return output.getvalue()


def test_a_change_is_reported_with_both_values_and_what_explains_it(tmp_path: Path) -> None:
    text = write_changes(with_changes(tmp_path, CHANGE)).read_text()

    assert r"at step 4, Heartbeat v3, 2 answers in all; some\_behaviour (KAFKA-12345)" in text
    assert r"error\_code: NONE → REBALANCE\_IN\_PROGRESS" in text
    assert "throttle" not in text


def test_an_unexplained_change_comes_first_with_its_bytes(tmp_path: Path) -> None:
    text = write_changes(with_changes(tmp_path, UNEXPLAINED)).read_text()
    unexplained, _, _ = text.partition("## By scenario")

    assert f"{SCALA} conforms, {JAVA} diverges" in unexplained
    assert "`00000001`" in unexplained
    assert "`00000002`" in unexplained


def test_the_terminal_counts_by_version_and_names_the_behaviour(tmp_path: Path) -> None:
    text = reported(with_changes(tmp_path, CHANGE))

    assert "some_behaviour" in text
    assert "1 of 4 scenarios changed with some version, 1 change in all, none of them unexplained." in text


def test_the_terminal_tells_an_unexplained_change_whole_and_how_to_see_it_again(tmp_path: Path) -> None:
    text = reported(with_changes(tmp_path, UNEXPLAINED))

    assert f"✗ {HEARTBEAT}: {SCALA} → {JAVA}, step 4, Heartbeat v3; unexplained" in text
    assert "error_code: NONE → REBALANCE_IN_PROGRESS" in text
    assert f"\n    {AGAIN}\n" in text


def blind(tmp_path: Path) -> Path:
    """Write a run in which the older target was compared with the newer one, and differs from it."""
    run = small_run()
    run.changes = [replace(UNEXPLAINED, from_outcome="diverges")]
    scala, java, reference = run.summaries
    run.summaries = [replace(scala, oracle=JAVA), replace(java, oracle=None), reference]
    run.header = replace(run.header, command="kafka-conformance matrix --against 4.3.1 --suites own")
    return run.write(tmp_path / "run")


def test_every_change_has_a_line_that_shows_it_again(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path, CHANGE)
    render_site(run_dir)

    assert f"again: `{AGAIN}`" in write_changes(run_dir).read_text()
    for page in ("changes.html", scenario_page(HEARTBEAT)):
        assert f'<code class="line">{AGAIN}</code>' in (run_dir / page).read_text()
    (change,) = json.loads(write_changes_data(run_dir).read_text())["changes"]
    assert change["reproduction"] == AGAIN


def test_what_differs_from_the_target_that_all_are_compared_with_is_repeated_against_it(
    tmp_path: Path,
) -> None:
    run_dir = blind(tmp_path)
    render_site(run_dir)
    again = f"kafka-conformance matrix --versions 3.9.2 --against 4.3.1 --suites own {HEARTBEAT}"
    data = json.loads(write_changes_data(run_dir).read_text())
    of_change = f"kafka-conformance matrix --versions 3.9.2,4.3.1 --against 4.3.1 --suites own {HEARTBEAT}"

    assert data["against"] == JAVA
    assert {each["reproduction"] for each in data["findings"] if each["scenario_id"] == HEARTBEAT} == {again}
    assert {each["target"] for each in data["findings"]} == {SCALA}
    assert data["changes"][0]["reproduction"] == of_change
    _, _, compared_with = write_changes(run_dir).read_text().partition(f"## Compared with {JAVA}")
    assert f"again: `{again}`" in compared_with
    for page in ("changes.html", "index.html", scenario_page(HEARTBEAT)):
        assert f'<code class="line">{again}</code>' in (run_dir / page).read_text()
    assert again in write_summary(run_dir).read_text()
    assert again in printed(run_dir)


def test_with_profiles_nothing_hears_of_a_target_that_all_are_compared_with(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path, CHANGE)
    data = json.loads(write_changes_data(run_dir).read_text())

    assert (data["against"], data["findings"]) == (None, [])
    assert "Compared with" not in write_changes(run_dir).read_text()


@pytest.mark.parametrize(
    ("after", "words"),
    [("no answer", "response → no answer"), (None, "response → nothing, since the conversation had ended")],
)
def test_an_answer_that_is_missing_is_reported_in_words(
    tmp_path: Path, after: str | None, words: str
) -> None:
    silent = replace(CHANGE, to_kind=after, to_canonical=None, to_raw=None, fields=())

    assert words in write_changes(with_changes(tmp_path, silent)).read_text()


def test_versions_that_a_release_advertises_are_reported_by_the_names_of_apis(tmp_path: Path) -> None:
    row = change_row(
        api="ApiVersions",
        from_canonical='{"api_keys":[{"api_key":11,"max_version":7}]}',
        to_canonical='{"api_keys":[{"api_key":11,"max_version":9}]}',
        behaviours=(),
        sources=(),
    )
    text = write_changes(with_changes(tmp_path, row)).read_text()

    assert r"api\_keys\[JoinGroup\].max\_version: 7 → 9" in text
    assert "each advertises the versions that its release serves" in text


def test_the_page_counts_the_scenarios_of_each_cause(tmp_path: Path) -> None:
    causes = {"behaviours": ("some_behaviour", "and_another"), "sources": ("KAFKA-12345", "KIP-1")}
    run_dir = with_changes(tmp_path, CHANGE, change_row(scenario_id=FENCED, **causes))
    render_site(run_dir)

    page = (run_dir / "changes.html").read_text()
    rows = re.findall(r"<tr><th[^>]*><a[^>]*>(.*?)</a>.*?<b>(\d+)</b></td></tr>", page)
    assert rows == [("some_behaviour (KAFKA-12345)", "2"), ("and_another (KIP-1)", "1")]


@pytest.mark.browser
def test_a_cause_leads_to_its_changes_and_the_address_remembers_them(tmp_path: Path) -> None:
    another = change_row(scenario_id=FENCED, behaviours=("and_another",), sources=("KIP-1",))
    run_dir = with_changes(tmp_path, CHANGE, another)
    render_site(run_dir)

    rows = "[...document.querySelectorAll('details.delta tbody tr')].filter((row) => row.offsetParent)"
    with browser(tmp_path / "profile") as tab:
        tab.open((run_dir / "changes.html").as_uri())
        assert tab.read(f"{rows}.length") == 2
        tab.click("table.causes a[href*=and_another]")
        tab.until(f"{rows}.length === 1")
        assert "static/join/fenced" in str(tab.read(f"{rows}[0].textContent"))
        assert tab.read("document.querySelector('table.causes').offsetParent") is None
        address = str(tab.read("location.href"))
        tab.open(address)
        assert tab.read(f"{rows}.length") == 1
        tab.read("history.replaceState(null, '', location.pathname)")
        tab.open((run_dir / "changes.html").as_uri())
        tab.click("details.delta > summary")
        tab.until("location.hash === '#t=0'")


def test_what_a_target_sent_makes_no_markup(tmp_path: Path) -> None:
    hostile = '{"error_code":"<script>alert(1)</script> [x](y)\\n# title","throttle_time_ms":0}'
    run_dir = with_changes(tmp_path, replace(CHANGE, to_canonical=hostile))

    assert "\n# title" not in write_changes(run_dir).read_text()
    render_site(run_dir)
    assert "<script>alert(1)" not in (run_dir / "changes.html").read_text()
    assert "[x](y)" not in write_changes(run_dir).read_text()


def test_the_site_has_a_page_of_changes(tmp_path: Path) -> None:
    index = render_site(with_changes(tmp_path, CHANGE))
    page = (index.parent / "changes.html").read_text()

    assert "1 change in all" in index.read_text()
    assert f"{SCALA} → {JAVA}" in page
    assert "some_behaviour (KAFKA-12345)" in page


def test_the_page_says_where_nothing_changed(tmp_path: Path) -> None:
    index = render_site(with_changes(tmp_path))

    assert " in all, " not in index.read_text()
    assert "No scenario's answers changed" in (index.parent / "changes.html").read_text()
