"""What changed between versions, on the terminal, in Markdown and on the site."""

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.report.exports.comparison import print_comparison, write_versions
from harness.report.model.changes import versions
from harness.report.model.run_data import Run
from harness.tests.browser import browser
from harness.tests.report_hostile import Changed
from harness.tests.report_reading import printed, summary_of
from harness.tests.report_run import (
    FENCED,
    HEARTBEAT,
    JAVA,
    SCALA,
    MadeUpRun,
    difference,
    judgement,
    small_run,
)
from harness.tests.site_reading import data_of, link, rendered, view_of

CHANGE = Changed()
AGAIN = f"kafka-conformance run --target kafka:3.9.2 --target kafka:4.3.1 {HEARTBEAT}"
UNEXPLAINED = Changed(outcomes=("conforms", "diverges"), behaviours=(), sources=())


def changed_run(*changes: Changed) -> MadeUpRun:
    """Return a run in which nothing else changes from one target to the next."""
    run = small_run()
    run.judgements = [each for each in run.judgements if each.target != SCALA]
    run.events = [each for each in run.events if each.target != SCALA]
    run.differences = []
    for each in changes:
        each.add_to(run)
    return run


def with_changes(tmp_path: Path, *changes: Changed) -> Path:
    return changed_run(*changes).write(tmp_path / "run")


def written(run_dir: Path) -> str:
    return write_versions(Run.load(run_dir)).read_text()


def reported(run_dir: Path) -> str:
    output = StringIO()
    for each in versions(Run.load(run_dir)):
        print_comparison(each, Console(file=output, width=200))
    return output.getvalue()


def test_a_change_is_reported_with_both_values_and_what_explains_it(tmp_path: Path) -> None:
    text = written(with_changes(tmp_path, CHANGE))

    assert r"some\_behaviour: " in text
    assert "step 4, Heartbeat v3" in text
    assert r"error\_code: NONE → REBALANCE\_IN\_PROGRESS" in text
    assert "throttle" not in text


def test_the_terminal_counts_by_version_and_names_the_behaviour(tmp_path: Path) -> None:
    text = reported(with_changes(tmp_path, CHANGE))

    assert "some_behaviour" in text
    assert "Answers changed in 1 of 1 scenarios, none of them for an unknown cause." in text
    assert f"See one again: {AGAIN}\n" in text


def blind(tmp_path: Path) -> Path:
    """Write a run in which the older target was compared with the newer one, and differs from it."""
    run = changed_run(replace(UNEXPLAINED, outcomes=("diverges", "conforms")))
    run.differences.append(difference(HEARTBEAT, SCALA))
    scala, java, reference = run.summaries
    run.summaries = [replace(scala, oracle=JAVA), replace(java, oracle=None), reference]
    run.header = replace(run.header, command="kafka-conformance diff --against 4.3.1 --suites own")
    return run.write(tmp_path / "run")


def test_the_rows_of_a_step_are_written_for_programs(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path, CHANGE)
    written(run_dir)
    (comparison,) = json.loads((run_dir / "matrix.json").read_text())
    (row,) = (each for each in comparison["rows"] if each["changes"])
    assert (row["cause"], row["changes"]) == ("some_behaviour", [HEARTBEAT])


def test_the_summary_says_of_each_step_what_it_does_to_clients(tmp_path: Path) -> None:
    text = summary_of(with_changes(tmp_path, CHANGE))

    (row,) = (line for line in text.splitlines() if line.startswith("- **Behaves differently**"))
    assert "joins again and keeps its member id" in row
    assert "in classic groups" in row


def test_what_stops_clients_comes_before_what_more_results_show_to_tools(tmp_path: Path) -> None:
    made = small_run()
    fenced = {"api": "InitProducerId", "actual": "PRODUCER_FENCED"}
    state = {"api": "DescribeGroups", "field": "groups[0].group_state", "expected": "Dead", "actual": "Empty"}
    for scenario_id, changes in (("a/b", state), ("c/d", state), ("e/f", fenced)):
        found = difference(scenario_id, JAVA, **changes)
        made.add(judgement(scenario_id, JAVA, "diverges"), (), found)
    text = summary_of(made.write(tmp_path / "run"))

    assert text.index("### e/f") < text.index("### a/b")


def test_every_change_has_a_line_that_shows_it_again(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path, CHANGE)
    rendered(run_dir)

    versions = data_of(run_dir, "beside")["versions"]
    for html in (view_of(run_dir, "changes"), versions[HEARTBEAT]):
        assert f'<code class="line">{AGAIN}</code>' in html


def test_what_differs_from_the_target_that_all_are_compared_with_is_repeated_against_it(
    tmp_path: Path,
) -> None:
    run_dir = blind(tmp_path)
    rendered(run_dir)
    again = f"kafka-conformance diff --versions 3.9.2 --against 4.3.1 --suites own {HEARTBEAT}"
    _, _, compared_with = written(run_dir).partition(f"# {JAVA} → {SCALA}")
    assert f"`{again}`" in compared_with
    for view in ("changes", "matrix", HEARTBEAT):
        assert f'<code class="line">{again}</code>' in view_of(run_dir, view)
    assert again in summary_of(run_dir)
    assert again in printed(run_dir)


@pytest.mark.parametrize(
    ("after", "words"),
    [("no answer", "an answer → no answer"), (None, "an answer → nothing, since the conversation had ended")],
)
def test_an_answer_that_is_missing_is_reported_in_words(
    tmp_path: Path, after: str | None, words: str
) -> None:
    silent = replace(CHANGE, kinds=("response", after))

    assert words in written(with_changes(tmp_path, silent))


def test_versions_that_a_release_advertises_are_reported_by_the_names_of_apis(tmp_path: Path) -> None:
    row = Changed(
        api="ApiVersions",
        answers=(
            '{"api_keys":[{"api_key":11,"max_version":7}]}',
            '{"api_keys":[{"api_key":11,"max_version":9}]}',
        ),
        behaviours=(),
        sources=(),
    )
    text = written(with_changes(tmp_path, row))

    assert r"api\_keys\[JoinGroup\].max\_version: 7 → 9" in text
    assert "advertised versions: " in text


def test_the_page_counts_the_scenarios_of_each_cause(tmp_path: Path) -> None:
    named, sources = ("and_another", "some_behaviour"), ("KIP-1", "KAFKA-12345")
    both = Changed(scenario_id=FENCED, behaviours=named, sources=sources)
    run_dir = with_changes(tmp_path, CHANGE, both)
    rendered(run_dir)

    page = view_of(run_dir, "changes")
    rows = re.findall(r"<tr><th[^>]*><a[^>]*>(.*?)</a>.*?<b>(\d+)</b></td></tr>", page)
    assert rows == [("some_behaviour (KAFKA-12345)", "2"), ("and_another (KIP-1)", "1")]


@pytest.mark.browser
def test_a_cause_leads_to_its_changes_and_the_address_remembers_them(tmp_path: Path) -> None:
    another = Changed(scenario_id=FENCED, behaviours=("and_another",), sources=("KIP-1",))
    run_dir = with_changes(tmp_path, CHANGE, another)
    rendered(run_dir)

    rows = "[...document.querySelectorAll('details.delta tbody tr')].filter((row) => row.offsetParent)"
    with browser(tmp_path / "profile") as tab:
        tab.open(link(run_dir, "changes"))
        tab.until(f"{rows}.length === 2")
        tab.click("table.causes a[href*=and_another]")
        tab.until(f"{rows}.length === 1")
        assert "static/join/fenced" in str(tab.read(f"{rows}[0].textContent"))
        assert tab.read("document.querySelector('table.causes').offsetParent") is None
        address = str(tab.read("location.href"))
        tab.open(address)
        tab.until(f"{rows}.length === 1")
        tab.open(link(run_dir, "changes"))
        tab.click("details.delta > summary")
        tab.until("location.hash === '#changes:t=0'")


def test_what_a_target_sent_makes_no_markup(tmp_path: Path) -> None:
    hostile = '{"error_code":"<script>alert(1)</script> [x](y)\\n# title","throttle_time_ms":0}'
    run_dir = with_changes(tmp_path, replace(CHANGE, answers=(CHANGE.answers[0], hostile)))

    assert "\n# title" not in written(run_dir)
    rendered(run_dir)
    assert "<script>alert(1)" not in view_of(run_dir, "changes")
    assert "[x](y)" not in written(run_dir)


def test_the_site_has_a_view_of_changes(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path, CHANGE)
    rendered(run_dir)
    page = view_of(run_dir, "changes")

    assert "1 change in all" in data_of(run_dir, "beside")["sentence"]
    assert f"{SCALA} → {JAVA}" in page
    assert "some_behaviour (KAFKA-12345)" in page


def test_the_page_says_where_nothing_changed(tmp_path: Path) -> None:
    run_dir = with_changes(tmp_path)
    rendered(run_dir)

    assert data_of(run_dir, "beside")["sentence"] == ""
    assert "No scenario's answers changed" in view_of(run_dir, "changes")
