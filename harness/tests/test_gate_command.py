"""`gate` as a pipeline meets it: a run folder in, an exit code, three lines and files out."""

import json
import shlex
import tomllib
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.report.exit_code import ExitCode
from harness.tests.in_process import CommandLine, forget_suites
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry
from harness.trace.files import RunFolder, read_records

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(name="held")
def _held(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> "Held":
    return Held(kafka_conformance, suites, tmp_path)


class Held:
    """Runs of the small package, and the gate on them."""

    def __init__(self, command: CommandLine, suites: Path, directory: Path) -> None:
        self.command = command
        self.known = suites / "expectations" / "known.toml"
        self.scenarios = suites / "small.py"
        self.directory = directory

    def run(self, run_id: str, *arguments: str) -> Path:
        self.command(
            *("run", "--suites", "small_suites", "--no-report", "--out", self.directory / "reports"),
            *("--run-id", run_id, *arguments),
        )
        return self.directory / "reports" / run_id

    def gate(self, run: Path, *arguments: str | Path) -> int:
        return self.command("gate", run, "--suites", "small_suites", *arguments)

    def policy(self, text: str) -> Path:
        path = self.directory / "gate.toml"
        path.write_text(text)
        return path

    @property
    def out(self) -> str:
        return self.command.out

    @property
    def err(self) -> str:
        return self.command.err


def test_a_run_in_which_all_was_expected_is_green(held: Held) -> None:
    run = held.run("run", RIGHT)
    assert held.gate(run) == ExitCode.EXPECTED
    assert held.out.startswith("gate: green: 1 result of reference\n")
    assert json.loads((run / "gate.json").read_text())["is_green"] is True


def test_an_unexpected_difference_is_told_in_three_lines_with_what_to_paste(held: Held) -> None:
    run = held.run("run")
    assert held.gate(run) == ExitCode.UNEXPECTED
    lines = held.out.splitlines()
    assert lines[0] == "gate: red, exit 1: 1 unexpected difference in 3 results of reference"
    assert lines[1].startswith(f"why:  unexpected difference: {WRONG} on reference: step 1 ")
    assert lines[2] == f"next: kafka-conformance run --target reference --suites small_suites {WRONG}"
    pasted = held.out[held.out.index("[[expect]]") : held.out.index("Summary:")]
    (told,) = tomllib.loads(pasted)["expect"]
    assert told["scenario"] == WRONG
    assert told["reason"] == ""


def test_the_entry_to_paste_is_refused_without_a_reason_and_makes_the_gate_green_with_one(held: Held) -> None:
    run = held.run("run")
    held.gate(run)
    pasted = held.out[held.out.index("[[expect]]") : held.out.index("Summary:")]
    held.known.write_text(pasted)
    assert held.gate(run) == ExitCode.CONFIGURATION
    assert "say why the difference is as it is" in held.err
    held.known.write_text(
        pasted.replace('reason = ""', 'reason = "so"').replace('link = ""', 'link = "KIP-1"')
    )
    assert held.gate(run) == ExitCode.EXPECTED
    assert "1 of them known differences" in held.out


def test_the_gate_leaves_the_judgements_on_file_as_they_are(held: Held) -> None:
    run = held.run("run")
    before = (run / "judgements.jsonl").read_bytes()
    held.known.write_text(entry(WRONG))
    assert held.gate(run) == ExitCode.EXPECTED
    assert (run / "judgements.jsonl").read_bytes() == before


def test_an_entry_that_fires_no_more_is_stale_and_has_a_code_of_its_own(held: Held) -> None:
    run = held.run("run", RIGHT)
    held.known.write_text(entry(RIGHT))
    assert held.gate(run) == ExitCode.STALE
    assert "stale expectation" in held.out
    assert held.gate(run, "--config", held.policy('[expectations]\nstale = "warn"\n')) == ExitCode.EXPECTED


def test_an_entry_that_another_one_makes_idle_is_stale(held: Held) -> None:
    run = held.run("run", WRONG)
    held.known.write_text(
        entry(WRONG) + entry(WRONG).replace("outcome", 'signature = "000000000000"\noutcome')
    )
    assert held.gate(run) == ExitCode.STALE
    assert "known.toml, entry 2" in held.out


@pytest.mark.parametrize(("handling", "code"), [("fail", ExitCode.STALE), ("warn", ExitCode.EXPECTED)])
def test_an_expired_entry_is_handled_as_the_policy_says(held: Held, handling: str, code: ExitCode) -> None:
    run = held.run("run", WRONG)
    held.known.write_text(entry(WRONG) + 'expires = "2020-01-01"\n')
    assert held.gate(run, "--config", held.policy(f'[expectations]\nexpired = "{handling}"\n')) == code


def test_an_entry_that_is_about_to_expire_is_noted(held: Held) -> None:
    run = held.run("run", WRONG)
    held.known.write_text(entry(WRONG) + 'expires = "2999-01-01"\n')
    assert held.gate(run, "--config", held.policy("[expectations]\nwarn_before_days = 999999\n")) == 0
    assert "note: known.toml, entry 1 expires on 2999-01-01" in held.out


def test_a_run_in_which_nothing_was_held_is_red(held: Held) -> None:
    run = held.run("run", NEW, "--target", "reference:3.9")
    assert held.gate(run) == ExitCode.NOTHING_RAN
    assert "why:  nothing ran" in held.out


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("footer", "it has no footer"),
        ("ended", "its footer says 'interrupted'"),
        ("events", "of its 4 events"),
    ],
)
def test_a_run_that_was_cut_short_is_refused_with_the_reason(held: Held, damage: str, says: str) -> None:
    folder = RunFolder(held.run("run", RIGHT))
    footer = folder.read_footer()
    assert footer is not None
    if damage == "footer":
        folder.footer_json.unlink()
    elif damage == "ended":
        folder.write_footer(replace(footer, ended="interrupted"))
    else:
        lines = folder.events("reference").read_bytes().splitlines(keepends=True)
        folder.events("reference").write_bytes(b"".join(lines[:-1]))
        folder.write_footer(replace(footer, event_counts='{"reference": 4}'))
    assert held.gate(folder.path) == ExitCode.BAD_DATA
    assert says in held.out
    assert "nothing is decided on a part of a run" in held.out


def test_a_target_that_was_lost_is_red_as_such(held: Held) -> None:
    folder = RunFolder(held.run("run", RIGHT))
    footer = folder.read_footer()
    assert footer is not None
    folder.write_footer(replace(footer, ended="target lost: kafka-3.9.2: it ended with status 137"))
    assert held.gate(folder.path) == ExitCode.UNAVAILABLE
    assert "it ended with status 137" in held.out


def test_a_foreign_folder_is_no_input(held: Held, tmp_path: Path) -> None:
    assert held.gate(tmp_path) == ExitCode.NO_INPUT
    assert "is no run's folder" in held.err


def test_a_folder_whose_header_is_something_else_is_bad_data(held: Held) -> None:
    run = held.run("run", RIGHT)
    (run / "run.json").write_text('{"run_id": 3}')
    assert held.gate(run) == ExitCode.BAD_DATA
    assert "run.json" in held.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[counts", "is no TOML"),
        ("[count]\n", "key 'count': is unknown; close to it: counts"),
        ("[counts]\nscenario = []\n", "key 'counts.scenario': is unknown; close to it: scenarios"),
        ("[counts]\nclasses = ['errors']\n", "key 'counts.classes.0': Input should be 'error code'"),
        ("[allow]\nindeterminate_share = 2\n", "key 'allow.indeterminate_share'"),
        ("[require]\ntargets = [' kafka:*']\n", "is no pattern of targets"),
        ("[expectations]\nstale = 'ignore'\n", "Input should be 'fail' or 'warn'"),
        ("[counts]\nscenarios = ['smal/**']\n", "'smal/**' matches no scenario"),
        ("[counts]\nexcept = ['small/no/**']\n", "'small/no/**' matches no scenario"),
        ("[counts]\ntargets = ['kafka:*']\n", "'kafka:*' matches no target of the run, which has reference"),
    ],
)
def test_a_wrong_policy_is_refused_by_key(held: Held, text: str, says: str) -> None:
    run = held.run("run", RIGHT)
    policy = held.policy(text)
    assert held.gate(run, "--config", policy) == ExitCode.CONFIGURATION
    assert says in held.err
    assert str(policy) in held.err


def test_what_the_policy_excepts_does_not_count(held: Held) -> None:
    run = held.run("run")
    assert held.gate(run, "--config", held.policy(f"[counts]\nexcept = ['{WRONG}']\n")) == ExitCode.EXPECTED
    assert "2 results" in held.out


def test_a_kind_of_difference_that_is_not_severe_is_passed_over_and_told(held: Held) -> None:
    run = held.run("run")
    assert held.gate(run, "--config", held.policy("[counts]\nclasses = ['timing']\n")) == ExitCode.EXPECTED
    assert "1 passed over" in held.out
    assert WRONG.replace("_", r"\_") in (run / "gate.md").read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[require]\nscenario_count_min = 2\n", "1 scenarios were held with it; 2 are required"),
        ("[require]\ntargets = ['kafka:*']\n", "required target missing: kafka:*"),
    ],
)
def test_too_little_is_red(held: Held, text: str, says: str) -> None:
    run = held.run("run", RIGHT)
    assert held.gate(run, "--config", held.policy(text)) == ExitCode.NOTHING_RAN
    assert says in held.out


def test_what_the_baseline_had_too_is_passed_over_unless_all_counts(held: Held) -> None:
    before, after = held.run("before"), held.run("after")
    assert held.gate(after, "--baseline", before) == ExitCode.EXPECTED
    assert "1 passed over" in held.out
    strict = held.policy('[baseline]\nfail_on = "unexpected"\n')
    assert held.gate(after, "--baseline", before, "--config", strict) == ExitCode.UNEXPECTED


def test_the_policy_may_name_the_baseline_from_where_it_lies_and_the_option_comes_first(held: Held) -> None:
    before, after = held.run("before"), held.run("after")
    policy = held.policy('[baseline]\nrun = "reports/before"\n')

    assert held.gate(after, "--config", policy) == ExitCode.EXPECTED
    decided = json.loads((after / "gate.json").read_text())["baseline"]
    assert (decided["run_id"], decided["named_by"]) == ("before", "gate.toml")
    (known,) = decided["results"]
    assert (known["scenario_id"], known["delta"]) == (WRONG, "same")
    assert known["weight"] == "passed over: unexpected difference"
    assert known["signature"] == known["prior_signature"]

    good = held.run("good", RIGHT)
    assert held.gate(after, "--config", policy, "--baseline", good) == ExitCode.UNEXPECTED
    decided = json.loads((after / "gate.json").read_text())["baseline"]
    assert (decided["run_id"], decided["named_by"]) == ("good", "--baseline")
    assert {each["scenario_id"]: each["weight"] for each in decided["results"]} == {
        NEW: "",
        WRONG: "red: new difference",
    }
    assert before.is_dir()


def test_a_difference_that_is_new_since_the_baseline_is_told_as_new(held: Held) -> None:
    before = held.run("before", RIGHT)
    held.scenarios.write_text(held.scenarios.read_text().replace('"INVALID_GROUP_ID"', '"NONE"'))
    forget_suites()
    assert held.gate(held.run("after", RIGHT), "--baseline", before) == ExitCode.UNEXPECTED
    assert f"why:  new difference: {RIGHT} on reference" in held.out


def test_a_scenario_that_vanished_is_red(held: Held) -> None:
    before, after = held.run("before", RIGHT, NEW), held.run("after", RIGHT)
    assert held.gate(after, "--baseline", before) == ExitCode.NOTHING_RAN
    assert (
        f"vanished scenario: {NEW} on reference: it conforms in the baseline and is not in this run"
        in held.out
    )
    lax = held.policy('[baseline]\nvanished = "warn"\n')
    assert held.gate(after, "--baseline", before, "--config", lax) == ExitCode.EXPECTED


def test_a_scenario_that_the_target_cannot_be_asked_any_more_has_vanished(held: Held) -> None:
    before = held.run("before", RIGHT, NEW, "--target", "reference:4.4")
    after = held.run("after", RIGHT, NEW, "--target", "reference:3.9")
    assert held.gate(after, "--baseline", before, "--pair", "reference-3.9=reference-4.4") == 4
    assert "is not applicable any more" in held.out


def test_a_baseline_of_other_targets_wants_to_be_told_which_stands_for_which(held: Held) -> None:
    before, after = held.run("before", RIGHT, "--target", "reference:4.3"), held.run("after", RIGHT)
    assert held.gate(after, "--baseline", before) == ExitCode.CONFIGURATION
    assert "--pair reference=reference-4.3" in held.err
    assert held.gate(after, "--baseline", before, "--pair", "reference=reference-4.3") == ExitCode.EXPECTED
    assert held.gate(after, "--baseline", before, "--pair", "reference=nobody") == ExitCode.CONFIGURATION
    assert held.gate(after, "--pair", "reference=reference-4.3") == ExitCode.CONFIGURATION
    assert "there is no baseline; name one with --baseline RUN" in held.err


def test_a_baseline_that_was_cut_short_is_refused(held: Held) -> None:
    before, after = held.run("before", RIGHT), held.run("after", RIGHT)
    RunFolder(before).footer_json.unlink()
    assert held.gate(after, "--baseline", before) == ExitCode.BAD_DATA
    assert "cannot be the baseline: it has no footer" in held.err


def test_exit_zero_tells_the_same_and_fails_nobody(held: Held) -> None:
    assert held.gate(held.run("run"), "--exit-zero") == ExitCode.EXPECTED
    assert "gate: red, exit 1" in held.out


def test_junit_has_a_case_a_result_and_one_for_the_run(held: Held) -> None:
    run = held.run("run")
    held.gate(run)
    root = ET.parse(run / "gate-junit.xml").getroot()
    assert [suite.get("name") for suite in root] == ["reference", "gate"]
    assert [suite.get("failures") for suite in root] == ["1", "0"]
    failure = root.find(f".//testcase[@name='{WRONG}']/failure")
    assert failure is not None
    assert "[[expect]]" in (failure.text or "")


def test_junit_of_a_refused_run_is_red_although_no_result_is_in_it(held: Held) -> None:
    folder = RunFolder(held.run("run", RIGHT))
    folder.footer_json.unlink()
    held.gate(folder.path)
    root = ET.parse(folder.path / "gate-junit.xml").getroot()
    assert [error.get("type") for error in root.iter("error")] == ["cut-short"]


def test_annotations_are_github_s_workflow_commands(held: Held) -> None:
    held.gate(held.run("run"), "--annotations", "github")
    (line,) = [line for line in held.out.splitlines() if line.startswith("::")]
    assert line.startswith(f"::error title=unexpected difference%3A {WRONG} on reference::step 1")
    assert line.endswith(f"%0Akafka-conformance run --target reference --suites small_suites {WRONG}")


def test_the_files_go_elsewhere_if_that_is_wanted(held: Held, tmp_path: Path) -> None:
    run = held.run("run", RIGHT)
    held.gate(run, "--out", tmp_path / "elsewhere")
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == [
        "gate-junit.xml",
        "gate.html",
        "gate.json",
        "gate.md",
    ]
    assert not (run / "gate.json").exists()


def test_the_command_that_is_told_holds_the_same_scenario_again_when_pasted(held: Held) -> None:
    held.gate(held.run("run", "--expect", str(held.known)))
    (told,) = [line for line in held.out.splitlines() if line.startswith("next: ")]
    program, *arguments = shlex.split(told.removeprefix("next: "))
    assert program == "kafka-conformance"
    elsewhere = ("--no-report", "--out", held.directory / "elsewhere", "--run-id", "again")
    assert held.command(*arguments, *elsewhere) == ExitCode.UNEXPECTED
    before, after = (
        [each for each in read_records(Judgement, RunFolder(path).judgements) if each.signature]
        for path in (held.directory / "reports" / "run", held.directory / "elsewhere" / "again")
    )
    assert [each.signature for each in before] == [each.signature for each in after]
    assert [each.scenario_id for each in after] == [WRONG]
