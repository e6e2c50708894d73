"""`gate` as a pipeline meets it: a run folder in, an exit code, three lines and files out."""

import json
import shlex
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.diff.model import Judgement
from harness.gate.tests.small_runs import Ran
from harness.results.status import ExitCode
from harness.tests.damaged import rewrite, without_last_line
from harness.tests.in_process import CommandLine, forget_suites
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry
from harness.trace.files import RunFolder, read_records

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(name="ran")
def _ran(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> Ran:
    return Ran(kafka_conformance, suites, tmp_path)


HINT: Final = f"kafka-conformance expect update {WRONG} --target reference"


def test_a_run_in_which_all_was_expected_is_green(ran: Ran) -> None:
    run = ran.run("run", RIGHT)
    assert ran.gate(run) == ExitCode.EXPECTED
    assert ran.out.startswith("gate: green: 1 result of reference\n")
    assert json.loads((run / "gate.json").read_text())["is_green"] is True


def test_an_unexpected_difference_is_reported_in_three_lines_with_what_to_paste(ran: Ran) -> None:
    run = ran.run("run")
    assert ran.gate(run) == ExitCode.UNEXPECTED
    lines = ran.out.splitlines()
    assert lines[0] == "gate: red, exit 1: 1 unexpected difference in 3 results of reference"
    assert lines[1].startswith(f"why:  unexpected difference: {WRONG} on reference: step 1 ")
    assert lines[2] == f"next: kafka-conformance run --target reference --suites small_suites {WRONG}"
    assert f"  {HINT} --run {run}" in lines


def test_the_command_that_the_gate_names_lists_the_cause_and_makes_it_green(ran: Ran) -> None:
    run = ran.run("run")
    ran.gate(run)
    _, _, *words = shlex.split(HINT)
    assert ran.expect(*words, "--run", run, "--reason", "so", "--link", "KIP-1", "--yes") == ExitCode.EXPECTED
    (entry_written,) = tomllib.loads(ran.known.read_text())["expect"]
    assert entry_written["cause"]
    assert ran.gate(run) == ExitCode.EXPECTED
    assert "1 of them known differences" in ran.out


@pytest.mark.slow
def test_a_reference_that_nobody_can_be_compared_with_fails_whatever_is_expected(ran: Ran) -> None:
    run = ran.run("run", "--target", "reference-tcp")
    assert f"Nobody was compared in 1 scenario: {WRONG}" in ran.out
    ran.known.write_text(entry(WRONG) + entry(WRONG, "indeterminate"))
    counted = ran.policy('[counts]\ntargets = ["reference-tcp*"]\n')
    assert ran.gate(run, "--config", counted) == ExitCode.HARNESS_ERROR
    assert f"nobody was compared in: {WRONG}\n" in ran.out


def test_the_gate_leaves_the_judgements_on_file_as_they_are(ran: Ran) -> None:
    run = ran.run("run")
    before = RunFolder(run).judgements.read_bytes()
    ran.known.write_text(entry(WRONG))
    assert ran.gate(run) == ExitCode.EXPECTED
    assert RunFolder(run).judgements.read_bytes() == before


def test_an_entry_that_fires_no_more_is_stale_and_has_a_code_of_its_own(ran: Ran) -> None:
    run = ran.run("run", RIGHT)
    ran.known.write_text(entry(RIGHT))
    assert ran.gate(run) == ExitCode.STALE
    assert "stale expectation" in ran.out
    assert ran.gate(run, "--config", ran.policy('[expectations]\nstale = "warn"\n')) == ExitCode.EXPECTED


def test_an_entry_that_another_one_makes_idle_is_stale(ran: Ran) -> None:
    run = ran.run("run", WRONG)
    ran.known.write_text(
        entry(WRONG) + entry(WRONG).replace("outcome", 'signature = "000000000000"\noutcome')
    )
    assert ran.gate(run) == ExitCode.STALE
    assert "known.toml, entry 2" in ran.out


@pytest.mark.parametrize(("handling", "code"), [("fail", ExitCode.STALE), ("warn", ExitCode.EXPECTED)])
def test_an_expired_entry_is_handled_as_the_policy_says(ran: Ran, handling: str, code: ExitCode) -> None:
    run = ran.run("run", WRONG)
    ran.known.write_text(entry(WRONG) + 'expires = "2020-01-01"\n')
    assert ran.gate(run, "--config", ran.policy(f'[expectations]\nexpired = "{handling}"\n')) == code


def test_an_entry_that_is_about_to_expire_is_noted(ran: Ran) -> None:
    run = ran.run("run", WRONG)
    ran.known.write_text(entry(WRONG) + 'expires = "2999-01-01"\n')
    assert ran.gate(run, "--config", ran.policy("[expectations]\nwarn_before_days = 999999\n")) == 0
    assert "note: known.toml, entry 1 expires on 2999-01-01" in ran.out


def test_a_run_in_which_nothing_was_run_is_red(ran: Ran) -> None:
    run = ran.run("run", NEW, "--target", "reference:3.9")
    assert ran.gate(run) == ExitCode.NOTHING_RAN
    assert "why:  nothing ran" in ran.out


@pytest.mark.parametrize(
    ("ended", "code", "says"),
    [
        (None, ExitCode.BAD_DATA, "it has no footer"),
        ("interrupted", ExitCode.BAD_DATA, "its footer says 'interrupted'"),
        ("complete", ExitCode.BAD_DATA, "of its 4 events"),
        ("target lost: kafka-3.9.2: it ended with status 137", ExitCode.UNAVAILABLE, "with status 137"),
    ],
    ids=["no footer", "interrupted", "an event less", "a lost target"],
)
def test_a_run_that_did_not_come_to_its_end_is_red_with_the_reason(
    ran: Ran, ended: str | None, code: ExitCode, says: str
) -> None:
    folder = RunFolder(ran.run("run", RIGHT))
    footer = folder.read_footer()
    assert footer is not None
    folder.write_footer(replace(footer, ended=ended or ""))
    if ended is None:
        folder.footer_json.unlink()
    if ended == "complete":
        rewrite(folder.events("reference"), without_last_line)
        folder.write_footer(replace(footer, event_counts='{"reference": 4}'))
    assert ran.gate(folder.path) == code
    assert says in ran.out
    assert ("the gate decides only on complete runs" in ran.out) is (code == ExitCode.BAD_DATA)


def test_a_external_folder_is_no_input(ran: Ran, tmp_path: Path) -> None:
    assert ran.gate(tmp_path) == ExitCode.NO_INPUT
    assert "is not a run's folder" in ran.err


def test_a_folder_whose_header_is_something_else_is_bad_data(ran: Ran) -> None:
    run = ran.run("run", RIGHT)
    (run / "run.json").write_text('{"run_id": 3}')
    assert ran.gate(run) == ExitCode.BAD_DATA
    assert "run.json" in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[counts", "is not TOML"),
        ("[count]\n", "key 'count': is unknown; close to it: counts"),
        ("[counts]\nscenario = []\n", "key 'counts.scenario': is unknown; close to it: scenarios"),
        ("[counts]\nclasses = ['errors']\n", "key 'counts.classes.0': Input should be 'error code'"),
        ("[allow]\nindeterminate_share = 2\n", "key 'allow.indeterminate_share'"),
        ("[require]\ntargets = [' kafka:*']\n", "is not a pattern of targets"),
        ("[expectations]\nstale = 'ignore'\n", "Input should be 'fail' or 'warn'"),
        ("[counts]\nscenarios = ['smal/**']\n", "'smal/**' matches no scenario"),
        ("[counts]\nexcept = ['small/no/**']\n", "'small/no/**' matches no scenario"),
        ("[counts]\ntargets = ['kafka:*']\n", "'kafka:*' matches no target of the run, which has reference"),
    ],
)
def test_a_wrong_policy_is_refused_by_key(ran: Ran, text: str, says: str) -> None:
    run = ran.run("run", RIGHT)
    policy = ran.policy(text)
    assert ran.gate(run, "--config", policy) == ExitCode.CONFIGURATION
    assert says in ran.err
    assert str(policy) in ran.err


def test_a_kind_of_difference_that_is_not_severe_is_passed_over_and_reported(ran: Ran) -> None:
    run = ran.run("run")
    assert ran.gate(run, "--config", ran.policy("[counts]\nclasses = ['timing']\n")) == ExitCode.EXPECTED
    assert "1 passed over" in ran.out
    assert WRONG.replace("_", r"\_") in (run / "gate.md").read_text()


@pytest.mark.parametrize(
    ("chosen", "text", "code", "says"),
    [
        ((), f"[counts]\nexcept = ['{WRONG}']\n", ExitCode.EXPECTED, "2 results"),
        (
            (RIGHT,),
            "[require]\nscenario_count_min = 2\n",
            ExitCode.NOTHING_RAN,
            "1 scenarios were run on it; 2 are required",
        ),
        (
            (RIGHT,),
            "[require]\ntargets = ['kafka:*']\n",
            ExitCode.NOTHING_RAN,
            "required target missing: kafka:*",
        ),
    ],
    ids=["what is excepted does not count", "too few", "a target is missing"],
)
def test_a_policy_has_its_say(
    ran: Ran, chosen: tuple[str, ...], text: str, code: ExitCode, says: str
) -> None:
    assert ran.gate(ran.run("run", *chosen), "--config", ran.policy(text)) == code
    assert says in ran.out


def test_what_the_baseline_had_too_is_passed_over_unless_all_counts(ran: Ran) -> None:
    before, after = ran.run("before"), ran.run("after")
    assert ran.gate(after, "--baseline", before) == ExitCode.EXPECTED
    assert "1 passed over" in ran.out
    strict = ran.policy('[baseline]\nfail_on = "unexpected"\n')
    assert ran.gate(after, "--baseline", before, "--config", strict) == ExitCode.UNEXPECTED


def test_the_policy_may_name_the_baseline_from_where_it_lies_and_the_option_comes_first(ran: Ran) -> None:
    before, after = ran.run("before"), ran.run("after")
    policy = ran.policy('[baseline]\nrun = "reports/before"\n')

    assert ran.gate(after, "--config", policy) == ExitCode.EXPECTED
    decided = json.loads((after / "gate.json").read_text())["baseline"]
    assert (decided["run_id"], decided["named_by"]) == ("before", "gate.toml")
    (known,) = decided["results"]
    assert (known["scenario_id"], known["delta"]) == (WRONG, "same")
    assert known["weight"] == "passed over: unexpected difference"
    assert known["signature"] == known["prior_signature"]

    good = ran.run("good", RIGHT)
    assert ran.gate(after, "--config", policy, "--baseline", good) == ExitCode.UNEXPECTED
    decided = json.loads((after / "gate.json").read_text())["baseline"]
    assert (decided["run_id"], decided["named_by"]) == ("good", "--baseline")
    weights = {each["scenario_id"]: each["weight"] for each in decided["results"]}
    assert weights == {NEW: "", WRONG: "red: new difference"}
    assert before.is_dir()


def test_a_difference_that_is_new_since_the_baseline_is_reported_as_new(ran: Ran) -> None:
    before = ran.run("before", RIGHT)
    ran.scenarios.write_text(ran.scenarios.read_text().replace('"INVALID_GROUP_ID"', '"NONE"'))
    forget_suites()
    assert ran.gate(ran.run("after", RIGHT), "--baseline", before) == ExitCode.UNEXPECTED
    assert f"why:  new difference: {RIGHT} on reference" in ran.out


def test_a_scenario_that_vanished_is_red(ran: Ran) -> None:
    before, after = ran.run("before", RIGHT, NEW), ran.run("after", RIGHT)
    assert ran.gate(after, "--baseline", before) == ExitCode.NOTHING_RAN
    assert (
        f"vanished scenario: {NEW} on reference: it conforms in the baseline and is not in this run"
        in ran.out
    )
    lax = ran.policy('[baseline]\nvanished = "warn"\n')
    assert ran.gate(after, "--baseline", before, "--config", lax) == ExitCode.EXPECTED


def test_a_scenario_that_the_target_cannot_be_asked_any_more_has_vanished(ran: Ran) -> None:
    before = ran.run("before", RIGHT, NEW, "--target", "reference:4.4")
    after = ran.run("after", RIGHT, NEW, "--target", "reference:3.9")
    assert ran.gate(after, "--baseline", before, "--pair", "reference-3.9=reference-4.4") == 4
    assert "is not applicable any more" in ran.out


def test_a_baseline_of_other_targets_wants_to_know_which_stands_for_which(ran: Ran) -> None:
    before, after = ran.run("before", RIGHT, "--target", "reference:4.3"), ran.run("after", RIGHT)
    assert ran.gate(after, "--baseline", before) == ExitCode.CONFIGURATION
    assert "--pair reference=reference-4.3" in ran.err
    assert ran.gate(after, "--baseline", before, "--pair", "reference=reference-4.3") == ExitCode.EXPECTED
    assert ran.gate(after, "--baseline", before, "--pair", "reference=nobody") == ExitCode.CONFIGURATION
    assert ran.gate(after, "--pair", "reference=reference-4.3") == ExitCode.CONFIGURATION
    assert "there is no baseline; name one with --baseline RUN" in ran.err


def test_a_baseline_that_was_cut_short_is_refused(ran: Ran) -> None:
    before, after = ran.run("before", RIGHT), ran.run("after", RIGHT)
    RunFolder(before).footer_json.unlink()
    assert ran.gate(after, "--baseline", before) == ExitCode.BAD_DATA
    assert "cannot be the baseline: it has no footer" in ran.err


def test_exit_zero_tells_the_same_and_fails_nobody(ran: Ran) -> None:
    assert ran.gate(ran.run("run"), "--exit-zero") == ExitCode.EXPECTED
    assert "gate: red, exit 1" in ran.out


def test_junit_has_a_case_a_result_and_one_for_the_run(ran: Ran) -> None:
    run = ran.run("run")
    ran.gate(run)
    root = ET.parse(run / "gate-junit.xml").getroot()
    assert [suite.get("name") for suite in root] == ["reference", "gate"]
    assert [suite.get("failures") for suite in root] == ["1", "0"]
    failure = root.find(f".//testcase[@name='{WRONG}']/failure")
    assert failure is not None
    assert HINT in (failure.text or "")


def test_junit_of_a_refused_run_is_red_although_no_result_is_in_it(ran: Ran) -> None:
    folder = RunFolder(ran.run("run", RIGHT))
    folder.footer_json.unlink()
    ran.gate(folder.path)
    root = ET.parse(folder.path / "gate-junit.xml").getroot()
    assert [error.get("type") for error in root.iter("error")] == ["cut-short"]


def test_annotations_are_github_s_workflow_commands(ran: Ran) -> None:
    ran.gate(ran.run("run"), "--annotations", "github")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert line.startswith(f"::error title=unexpected difference%3A {WRONG} on reference::step 1")
    assert line.endswith(f"%0Akafka-conformance run --target reference --suites small_suites {WRONG}")


def test_the_files_go_elsewhere_if_that_is_wanted(ran: Ran, tmp_path: Path) -> None:
    run = ran.run("run", RIGHT)
    ran.gate(run, "--out", tmp_path / "elsewhere")
    written = {path.name for path in (tmp_path / "elsewhere").iterdir()}
    assert written == {"data", "gate-junit.xml", "gate.json", "gate.md", "index.html", "site.css", "site.js"}
    assert not (run / "gate.json").exists()


def test_the_reported_command_runs_the_same_scenario_again_when_pasted(ran: Ran) -> None:
    ran.gate(ran.run("run", "--expect", str(ran.known)))
    (reported,) = [line for line in ran.out.splitlines() if line.startswith("next: ")]
    program, *arguments = shlex.split(reported.removeprefix("next: "))
    assert program == "kafka-conformance"
    elsewhere = ("--no-report", "--out", ran.directory / "elsewhere", "--run-id", "again")
    assert ran.command(*arguments, *elsewhere) == ExitCode.UNEXPECTED
    before, after = (
        [each for each in read_records(Judgement, RunFolder(path).judgements) if each.signature]
        for path in (ran.directory / "reports" / "run", ran.directory / "elsewhere" / "again")
    )
    assert [each.signature for each in before] == [each.signature for each in after]
    assert [each.scenario_id for each in after] == [WRONG]
