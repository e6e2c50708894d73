"""What machines and terminals read: JUnit, Allure, Markdown, a summary."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.expectations import load_expectations
from harness.report.allure.pages import AllureLevel, allure_categories, listed, write_results
from harness.report.allure.pages import allure_results as all_results
from harness.report.exports.markdown import SIZE_MAX
from harness.report.model.phrases import entry_text, result_address
from harness.report.model.run_data import Run
from harness.report.render import render_all
from harness.tests.fake_java import hide_programs
from harness.tests.report_reading import allure_results, junit_of, printed, summary_of
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
from harness.trace.clause import Clause
from harness.trace.files import RunFolder, write_records


@pytest.fixture(name="run_dir")
def _run_dir(tmp_path: Path) -> Path:
    return small_run().write(tmp_path / "run")


def case(run_dir: Path, scenario_id: str) -> ET.Element:
    root = junit_of(run_dir)
    found = root.find(f"testsuite[@name='{SCALA}']/testcase[@name='{scenario_id}']")
    assert found is not None
    return found


def test_junit_has_a_suite_a_target_and_counts_that_add_up(run_dir: Path) -> None:
    suites = {suite.get("name"): suite for suite in junit_of(run_dir)}
    assert set(suites) == {SCALA, JAVA}
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


def test_junit_says_no_more_of_a_result_than_there_is_to_see(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b/right", SCALA))
    made.add(judgement("a/b/skipped", SCALA, "not applicable", reason="no clock", duration_ms=0.0))
    run_dir = made.write(tmp_path)
    right, skipped = case(run_dir, "a/b/right"), case(run_dir, "a/b/skipped")
    assert (list(right.attrib), len(right)) == (["classname", "name", "time"], 0)
    assert (list(skipped.attrib), [each.tag for each in skipped]) == (["classname", "name"], ["skipped"])


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


def test_allure_ids_are_stable_and_a_targets_own(run_dir: Path) -> None:
    once, again = allure_results(run_dir), allure_results(run_dir)
    assert once == again
    assert len({each["historyId"] for each in once.values()}) == len(once) == 8


@pytest.mark.parametrize(
    ("apis", "severity"),
    [
        (["DescribeGroups", "Heartbeat"], "critical"),
        (["DescribeGroups"], "minor"),
        (["Metadata"], "normal"),
    ],
)
@pytest.mark.parametrize("outcome", ["conforms", "diverges"])
def test_allure_severity_follows_from_the_claim_and_not_from_the_finding(
    tmp_path: Path, apis: list[str], severity: str, outcome: str
) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, outcome, clauses=("HB-01",), apis=("JoinGroup",)))
    run_dir = made.write(tmp_path)
    row = Clause(
        id="HB-01",
        section="s",
        section_title="t",
        statement="It is so.",
        apis=tuple(apis),
        versions=None,
        derived=False,
        exclusion=None,
        reason=None,
    )
    write_records(RunFolder(run_dir).clauses, [row])
    labels = allure_results(run_dir)[f"{JAVA}: a/b"]["labels"]
    assert {"name": "severity", "value": severity} in labels
    assert [each["value"] for each in labels if each["name"] == "feature"] == apis


def test_allure_rolls_up_what_conforms_and_has_a_result_for_what_needs_a_look(tmp_path: Path) -> None:
    made = small_run()
    for name in ("one", "two"):
        made.add(judgement(f"a/b/{name}", JAVA, title=f"It is {name}."))
    made.add(judgement("a/b/three", JAVA, "not applicable", reason="no clock"))
    made.add(judgement("a/b/four", JAVA, "lenient"), (), difference("a/b/four", JAVA, is_lenient=True))
    made.add(judgement("a/b/five", JAVA, "diverges"), (), difference("a/b/five", JAVA))
    found = allure_results(made.write(tmp_path), is_rolled=True)
    here = {name.partition(": ")[2]: each for name, each in found.items() if f"{JAVA}: a/b" in name}
    assert here.keys() == {"a/b/*", "a/b/four", "a/b/five"}
    rolled = here["a/b/*"]
    assert (rolled["name"], rolled["status"]) == ("a/b: 2 conform, 1 not applicable", "passed")
    assert [(each["name"][:5], each["status"]) for each in rolled["steps"]] == [
        ("one: ", "passed"),
        ("two: ", "passed"),
        ("three", "skipped"),
    ]
    assert here["a/b/four"]["statusDetails"]["message"].startswith("lenient: Heartbeat error_code")


def test_allure_has_the_steps_up_to_the_last_that_differs_by_itself_and_says_what_differs(
    run_dir: Path,
) -> None:
    failed = allure_results(run_dir)[f"{SCALA}: {HEARTBEAT}"]
    page = f"index.html{result_address(HEARTBEAT, SCALA)}"
    assert failed["links"][0] == {"type": "link", "url": f"../{page}", "name": f"Conversation: {page}"}
    steps = failed["steps"]
    assert [step["name"][:3] for step in steps] == ["[0]", "[1]", "[2]", "[3]"]
    assert [step["status"] for step in steps] == ["passed"] * 3 + ["failed"]
    (said,) = steps[3]["parameters"]
    assert said["name"] == "step 3, Heartbeat v3, error_code"
    assert said["value"] == "expected NONE, got REBALANCE_IN_PROGRESS"
    assert "attachments" not in json.dumps(failed)


def test_results_of_one_cause_have_one_message(tmp_path: Path) -> None:
    made = small_run()
    for name, step in (("one", 2), ("two", 4)):
        made.add(judgement(f"a/{name}", JAVA, "diverges"), (), difference(f"a/{name}", JAVA, step=step))
    run_dir = made.write(tmp_path)
    found = allure_results(run_dir)
    messages = {found[f"{JAVA}: a/{name}"]["statusDetails"]["message"] for name in ("one", "two")}
    says = "Heartbeat error_code: expected NONE, got REBALANCE_IN_PROGRESS"
    assert messages == {f"[error code] unexpected difference: {says}"}


def test_other_programs_get_references_only_where_they_need_a_look(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", REFERENCE, "diverges"), (), difference("a/b", REFERENCE))
    run_dir = made.write(tmp_path)
    assert [name for name in allure_results(run_dir) if name.startswith(REFERENCE)] == [f"{REFERENCE}: a/b"]
    (suite,) = [each for each in junit_of(run_dir) if each.get("name") == REFERENCE]
    assert [suite.get("tests"), suite.get("failures")] == ["1", "1"]


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


def test_allures_results_are_json_whatever_a_target_sent(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges"))
    run = Run.load(made.write(tmp_path / "run"))
    run = replace(run, judgements=tuple(replace(each, reason="got \udc80") for each in run.judgements))
    results = tuple(all_results(run, listed(run), is_rolled=True))
    write_results(results, tmp_path / "results")
    written = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*-result.json")]
    assert {each["uuid"] for each in written} == {each["uuid"] for each in results}


@pytest.mark.slow
@pytest.mark.parametrize("level", [AllureLevel.LOOK, AllureLevel.ALL])
def test_a_machine_without_node_gets_a_reason_and_everything_else(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: AllureLevel
) -> None:
    hide_programs(monkeypatch, tmp_path)
    rendered = render_all(run_dir, allure=level)
    assert "Node.js" in (rendered.allure_problem or "")
    assert not (run_dir / "allure").exists()
    assert (run_dir / "allure-results").is_dir() is (level is AllureLevel.ALL)
    assert all(path.is_file() for path in (rendered.index, run_dir / "junit.xml", rendered.summary))


def test_the_summary_has_a_row_a_target_and_the_unexpected_first(run_dir: Path) -> None:
    text = summary_of(run_dir)
    assert f"| {SCALA} | 1 / 3 | 0 | 2 | 0 | 1 | 0 | 1 | 1 |" in text
    assert text.index(f"### {HEARTBEAT}") < text.index("### admin/describe/wording")
    assert f"    kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}" in text


@pytest.mark.slow
def test_the_summary_never_outgrows_what_pipelines_take(tmp_path: Path) -> None:
    made = small_run()
    for number in range(900):
        scenario_id = f"a/b/{number}"
        found = difference(scenario_id, JAVA, field=f"f{number}", expected="x" * 5000, actual="\x01é" * 5000)
        made.add(judgement(scenario_id, JAVA, "diverges", title="t" * 500), (), found)
    text = summary_of(made.write(tmp_path))
    assert len(text.encode()) < SIZE_MAX + 100
    assert "more; see the report" in text


def test_the_summary_takes_no_markup_from_a_target(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges", reason="<b>x</b>\n# loud | [go](http://x)"))
    assert r"\<b\>x\</b\> \# loud \| \[go\](http://x)" in summary_of(made.write(tmp_path))


def test_the_summary_has_nothing_that_turns_text_around_or_that_a_terminal_obeys(tmp_path: Path) -> None:
    wild = "a\u202eb\u2066c\x9b31md\x85e\x1b[2Jf\u200fg"
    made = small_run()
    scenario_id = f"classic/join/{wild}"
    found = difference(scenario_id, JAVA, actual=wild, expected=wild, field=wild, api=wild)
    made.add(judgement(scenario_id, JAVA, "diverges", title=wild, reason=wild), (), found)
    made.add(judgement(f"a/{wild}", JAVA, "indeterminate", title=wild, reason=wild))
    made.header = replace(made.header, command=wild)
    made.footer = replace(FOOTER, ended=wild)

    text = summary_of(made.write(tmp_path))

    assert text.count("u202e") >= 6
    assert [line for line in text.split("\n") if not line.isprintable()] == []


def test_the_terminal_shows_what_where_and_how_to_repeat(run_dir: Path) -> None:
    lines = printed(run_dir).splitlines()
    start = lines.index(f"✗ unexpected difference {HEARTBEAT} on {SCALA}")
    assert lines[start + 1] == "  step 3, Heartbeat v3, error_code: expected NONE, got REBALANCE_IN_PROGRESS"
    assert lines[start + 2] == f"  kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}"
    assert lines[-1] == f"Run: {run_dir}"


def test_the_terminal_shows_some_causes_and_counts_the_others(tmp_path: Path) -> None:
    made = small_run()
    for number in range(15):
        made.add(judgement(f"a/{number}", JAVA, "diverges", reason=f"because of {number}"))
    text = printed(made.write(tmp_path))
    shown = text.count("✗ unexpected difference")
    assert shown >= 8
    assert f"and {17 - shown} more causes" in text


def test_the_terminal_obeys_nothing_that_a_target_sent(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "diverges", reason="[red]x[/red] \x1b[2J \x07"))
    text = printed(made.write(tmp_path))
    assert r"[red]x[/red] \x1b[2J \x07" in text
    assert "\x1b" not in text


def test_a_column_in_which_nothing_is_counted_is_left_out(run_dir: Path) -> None:
    assert "harness error" not in printed(run_dir)
    assert "1 stale" in printed(run_dir)


def test_an_expectation_entry_is_right_once_reason_and_link_are_reported(tmp_path: Path) -> None:
    verdict = judgement('a/"b\x7f', SCALA, "diverges", signature="5b0f3a1c9d20")
    text = entry_text(verdict, [summary(SCALA).spec])
    completed = text.replace('reason = ""', 'reason = "so it is"').replace('link = ""', 'link = "KAFKA-1"')
    path = tmp_path / "known.toml"
    path.write_text(completed)
    (entry,) = load_expectations([path])
    assert (entry.entry.scenario, entry.entry.targets) == (verdict.scenario_id, ["kafka:3.9.2"])
    assert entry.entry.foresaw(verdict)
