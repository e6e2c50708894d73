"""What machines and terminals read: JUnit, Allure, Markdown, a summary."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.expectations import load_expectations
from harness.report.allure.results import write_allure_results
from harness.report.allure.terms import allure_categories
from harness.report.exports.junit import write_junit
from harness.report.exports.markdown import SIZE_MAX, write_summary
from harness.report.model.names import scenario_page, target_anchor
from harness.report.model.phrases import expectation_entry
from harness.report.render import render_all
from harness.tests.fake_java import hide_programs
from harness.tests.report_reading import allure_results, printed
from harness.tests.report_run import (
    FENCED,
    FOOTER,
    HEARTBEAT,
    JAVA,
    REFERENCE,
    SCALA,
    difference,
    judgement,
    small_run,
    summary,
)


@pytest.fixture(name="run_dir")
def _run_dir(tmp_path: Path) -> Path:
    return small_run().write(tmp_path / "run")


def case(run_dir: Path, scenario_id: str) -> ET.Element:
    root = ET.parse(write_junit(run_dir)).getroot()
    found = root.find(f"testsuite[@name='{SCALA}']/testcase[@name='{scenario_id}']")
    assert found is not None
    return found


def test_junit_has_a_suite_a_target_and_counts_that_add_up(run_dir: Path) -> None:
    suites = {suite.get("name"): suite for suite in ET.parse(write_junit(run_dir)).getroot()}
    assert set(suites) == {REFERENCE, SCALA, JAVA}
    scala = suites[SCALA]
    assert [scala.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "2", "0", "2"]
    assert len(scala.findall("testcase")) == 4


@pytest.mark.parametrize(
    ("scenario_id", "element", "kind", "message"),
    [
        (HEARTBEAT, "failure", "unexpected-difference", None),
        ("admin/describe/wording", "failure", "unexpected-pass", None),
        (FENCED, "skipped", None, "expected: known since 3.0 https://example.org/KAFKA-15000"),
        ("loading/join/answered-load", "skipped", None, None),
        ("a/b/broken-off", "error", "inconclusive", "no member id came"),
        ("a/b/wild", "failure", "unexpected-difference", "got \\u0000 and \\u001b[31m <&>"),
    ],
)
def test_junit_tells_results_apart_by_element_and_type_and_says_why(
    tmp_path: Path, scenario_id: str, element: str, kind: str | None, message: str | None
) -> None:
    made = small_run()
    made.add(judgement("a/b/broken-off", SCALA, "indeterminate", reason="no member id came"))
    made.add(judgement("a/b/wild", SCALA, "diverges", reason="got \x00 and \x1b[31m <&>"))
    reported = case(made.write(tmp_path), scenario_id).find(element)
    assert reported is not None
    assert reported.get("type") == kind
    assert message in (None, reported.get("message"))


@pytest.mark.parametrize(
    ("name", "status"),
    [
        (f"{JAVA}: {HEARTBEAT}", "passed"),
        (f"{SCALA}: {HEARTBEAT}", "failed"),
        (f"{SCALA}: static/join/fenced", "passed"),
        (f"{SCALA}: admin/describe/wording", "failed"),
        (f"{SCALA}: loading/join/answered-load", "skipped"),
    ],
)
def test_allure_status_follows_from_the_status(run_dir: Path, name: str, status: str) -> None:
    assert allure_results(run_dir)[name]["status"] == status


def test_a_known_difference_is_known_to_allure(run_dir: Path) -> None:
    known = allure_results(run_dir)[f"{SCALA}: {FENCED}"]
    assert known["statusDetails"]["known"] is True
    assert {"name": "tag", "value": "known-difference"} in known["labels"]


def test_allure_history_ids_are_stable_and_a_targets_own(run_dir: Path) -> None:
    once, again = allure_results(run_dir), allure_results(run_dir)
    assert {name: each["historyId"] for name, each in once.items()} == {
        name: each["historyId"] for name, each in again.items()
    }
    assert len({each["historyId"] for each in once.values()}) == len(once) == 8


def test_allure_history_goes_on_when_the_profile_changes(run_dir: Path) -> None:
    parameters = allure_results(run_dir)[f"{SCALA}: {HEARTBEAT}"]["parameters"]
    excluded = {each["name"]: each.get("excluded", False) for each in parameters}
    assert excluded == {"target": False, "profile": True}


@pytest.mark.parametrize(
    ("changes", "severity", "grade"),
    [
        ({"against": "expectation"}, "critical", "pinned"),
        ({"against": "reference"}, "normal", "as the release"),
        ({"against": "expectation", "is_lenient": True}, "trivial", "lenient"),
        ({"against": "reference", "difference_class": "liveness"}, "blocker", "as the release"),
        ({"difference_class": "encoding", "is_lenient": True}, "trivial", "lenient"),
    ],
)
def test_allure_severity_follows_from_the_grade_and_from_whether_clients_stop(
    tmp_path: Path, changes: dict[str, object], severity: str, grade: str
) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges"), (), difference("a/b", JAVA, **changes))
    labels = allure_results(made.write(tmp_path))[f"{JAVA}: a/b"]["labels"]
    assert {"name": "severity", "value": severity} in labels
    assert {"name": "conformance_grade", "value": grade} in labels


def test_allure_has_a_feature_an_api_and_a_suite_a_target(run_dir: Path) -> None:
    labels = allure_results(run_dir)[f"{SCALA}: {HEARTBEAT}"]["labels"]
    reported = [(each["name"], each["value"]) for each in labels]
    assert [value for name, value in reported if name == "feature"] == ["JoinGroup", "SyncGroup"]
    assert [value for name, value in reported if "suite" in name.lower()] == [SCALA, "classic", "heartbeat"]


def test_allure_has_a_step_a_script_step_with_its_frames_attached(run_dir: Path) -> None:
    failed = allure_results(run_dir)[f"{SCALA}: {HEARTBEAT}"]
    assert failed["links"][0]["url"] == f"../{scenario_page(HEARTBEAT)}#{target_anchor(SCALA)}"
    steps = failed["steps"]
    assert [step["name"][:3] for step in steps] == [f"[{number}]" for number in range(6)]
    assert [step["status"] for step in steps] == ["passed"] * 3 + ["failed"] + ["passed"] * 2
    attached = steps[3]["attachments"]
    assert len(attached) == 4
    assert all((run_dir / "allure-results" / each["source"]).is_file() for each in attached)


def test_allure_has_references_only_where_they_need_a_look_and_says_so(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", REFERENCE, "diverges"), (), difference("a/b", REFERENCE))
    run_dir = made.write(tmp_path)
    assert [name for name in allure_results(run_dir) if name.startswith(REFERENCE)] == [f"{REFERENCE}: a/b"]
    environment = (run_dir / "allure-results" / "environment.properties").read_text()
    assert f"references={REFERENCE}: listed only where they need a look" in environment


def test_allure_counts_no_virtual_time_and_names_it(tmp_path: Path) -> None:
    made = small_run()
    made.summaries = [summary(REFERENCE)]
    made.judgements = [each for each in made.judgements if each.target == REFERENCE]
    made.differences = []
    found = allure_results(made.write(tmp_path))
    assert {name.partition(":")[0] for name in found} == {REFERENCE}
    assert {each["start"] for each in found.values()} == {each["stop"] for each in found.values()}
    assert all("of virtual time" in str(each["description"]) for each in found.values())


def test_every_red_allure_result_falls_into_one_category(run_dir: Path) -> None:
    for each in allure_results(run_dir).values():
        message = each["statusDetails"].get("message", "")
        matching = [
            category["name"]
            for category in allure_categories()
            if each["status"] in category["matchedStatuses"]  # type: ignore[operator] # JSON
            and re.fullmatch(str(category["messageRegex"]), message)
        ]
        assert len(matching) == (1 if message else 0)


def test_allure_environment_has_a_line_a_fact_whatever_is_in_it(tmp_path: Path) -> None:
    made = small_run()
    made.header = replace(made.header, machine="one\ntwo=three")
    lines = (write_allure_results(made.write(tmp_path)) / "environment.properties").read_text().splitlines()
    assert "machine=one two=three" in lines
    assert f"target.{SCALA}=Apache Kafka 3.9.2, profile 3.9.2" in lines


def test_results_of_an_earlier_report_do_not_linger(run_dir: Path) -> None:
    count = len(list(write_allure_results(run_dir).iterdir()))
    assert len(list(write_allure_results(run_dir).iterdir())) == count


@pytest.mark.slow
def test_a_machine_without_node_gets_a_reason_and_everything_else(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_programs(monkeypatch, tmp_path)
    rendered = render_all(run_dir, allure=True)
    assert rendered.allure_index is None
    assert "Node.js" in (rendered.allure_problem or "")
    assert all(path.is_file() for path in (rendered.index, rendered.junit, rendered.summary))


def test_the_summary_has_a_row_a_target_and_the_unexpected_first(run_dir: Path) -> None:
    text = write_summary(run_dir).read_text()
    assert f"| {SCALA} | 1 / 3 | 0 | 2 | 0 | 1 | 0 | 1 | 1 |" in text
    assert text.index(f"### {HEARTBEAT}") < text.index("### admin/describe/wording")
    assert f"    kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}" in text


def test_the_summary_never_outgrows_what_pipelines_take(tmp_path: Path) -> None:
    made = small_run()
    for number in range(900):
        scenario_id = f"a/b/{number}"
        found = difference(scenario_id, JAVA, expected="x" * 5000, actual="\x01é" * 5000)
        made.add(judgement(scenario_id, JAVA, "diverges", title="t" * 500), (), found)
    path = write_summary(made.write(tmp_path))
    assert path.stat().st_size < SIZE_MAX + 100
    assert "more; see the report" in path.read_text()


def test_the_summary_takes_no_markup_from_a_target(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges", reason="<b>x</b>\n# loud | [go](http://x)"))
    assert r"\<b\>x\</b\> \# loud \| \[go\](http://x)" in write_summary(made.write(tmp_path)).read_text()


def test_the_summary_has_nothing_that_turns_text_around_or_that_a_terminal_obeys(tmp_path: Path) -> None:
    wild = "a\u202eb\u2066c\x9b31md\x85e\x1b[2Jf\u200fg"
    made = small_run()
    scenario_id = f"classic/join/{wild}"
    found = difference(scenario_id, JAVA, actual=wild, expected=wild, field=wild, api=wild, cluster="h")
    made.add(judgement(scenario_id, JAVA, "diverges", title=wild, reason=wild), (), found)
    made.add(judgement(f"a/{wild}", JAVA, "indeterminate", title=wild, reason=wild))
    made.header = replace(made.header, command=wild)
    made.footer = replace(FOOTER, ended=wild)

    text = write_summary(made.write(tmp_path)).read_text()

    assert text.count("u202e") >= 6
    assert [line for line in text.split("\n") if not line.isprintable()] == []


def test_the_terminal_shows_what_where_and_how_to_repeat(run_dir: Path) -> None:
    lines = printed(run_dir).splitlines()
    start = lines.index(f"✗ unexpected difference {HEARTBEAT} on {SCALA}")
    assert lines[start + 1] == "  step 3, Heartbeat v3, error_code: expected NONE, got REBALANCE_IN_PROGRESS"
    assert lines[start + 2] == f"  kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}"
    assert lines[-1] == f"Report: {run_dir / 'index.html'}"


def test_the_terminal_shows_ten_results_and_counts_the_others(tmp_path: Path) -> None:
    made = small_run()
    for number in range(15):
        made.add(judgement(f"a/{number}", JAVA, "diverges"))
    text = printed(made.write(tmp_path))
    assert text.count("✗ unexpected difference") == 10
    assert "and 7 more" in text


def test_the_terminal_obeys_nothing_that_a_target_sent(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges", reason="[red]x[/red] \x1b[2J \x07"))
    text = printed(made.write(tmp_path))
    assert r"[red]x[/red] \x1b[2J \x07" in text
    assert "\x1b" not in text


def test_a_column_in_which_nothing_is_counted_is_left_out(run_dir: Path) -> None:
    assert "harness error" not in printed(run_dir)
    assert "stale" in printed(run_dir)


def test_an_expectation_entry_is_right_once_reason_and_link_are_reported(tmp_path: Path) -> None:
    verdict = judgement('a/"b\x7f', SCALA, "diverges", signature="5b0f3a1c9d20")
    text = expectation_entry(verdict, summary(SCALA))
    completed = text.replace('reason = ""', 'reason = "so it is"').replace('link = ""', 'link = "KAFKA-1"')
    path = tmp_path / "known.toml"
    path.write_text(completed)
    (entry,) = load_expectations([path])
    assert (entry.entry.scenario, entry.entry.targets) == (verdict.scenario_id, ["kafka:3.9.2"])
    assert entry.entry.foresaw(verdict)
