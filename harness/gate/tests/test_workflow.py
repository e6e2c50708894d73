"""The workflow and the action: YAML, shell and command lines as they should be, and steps that run."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest
import yaml

from harness.cli.commands import load_command
from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.tests.completed_runs import CHECKOUT, reference_server
from harness.tests.workflow_steps import ACTION, Steps, scripts, steps
from harness.trace.files import RunFolder, read_records

FOLDER: Final = CHECKOUT / ".github"
WORKFLOWS: Final = sorted(FOLDER.glob("workflows/*.yml"))
RELEASE: Final = FOLDER / "workflows" / "release.yml"
FAULTY: Final = "classic/heartbeat/before-assignments"
"""What releases before 2.6.1 answer otherwise than 4.4."""
_EXPRESSION: Final = re.compile(r"\$\{\{(.*?)\}\}")
_PINNED: Final = re.compile(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
_STEP: Final = ("id", "if", "name", "run", "shell", "uses", "with", "env")


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_steps_have_keys_that_exist_and_do_one_thing(path: Path) -> None:
    for step in steps(path):
        assert set(step) <= set(_STEP), step
        assert ("run" in step) != ("uses" in step), step
        if path == ACTION and "run" in step:
            assert step["shell"] == "bash"


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_actions_of_others_are_pinned_by_commit_with_their_tag_in_a_comment(path: Path) -> None:
    used = [line.strip() for line in path.read_text().splitlines() if "uses:" in line]

    assert used
    for line in used:
        assert _PINNED.fullmatch(line) or "uses: ./" in line, line


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_shell_is_shell_and_takes_what_users_say_from_its_environment(path: Path) -> None:
    for name, script in scripts(path).items():
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert not _EXPRESSION.search(script), f"{name}: an expression within a script is an injection"


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_every_command_and_option_that_is_used_is_there(path: Path) -> None:
    used = 0
    for script in scripts(path).values():
        text = script.replace("\\\n", " ")
        for verb in re.findall(r"kafka-conformance ([a-z]+)", text):
            known = {
                option for each in load_command(verb).params for option in (*each.opts, *each.secondary_opts)
            }
            assert {"--help", *known} >= set(re.findall(r"(?<=[\s(])--[a-z][a-z-]+", text)), script
            used += 1
    assert used


def test_every_input_is_used_and_every_one_that_is_used_is_declared() -> None:
    text = ACTION.read_text()
    declared = set(yaml.safe_load(text)["inputs"])
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == declared
    for path in WORKFLOWS:
        for step in steps(path):
            given = step.get("with", {})
            if step.get("uses") == "./.github/actions/gate":
                assert isinstance(given, dict)
                assert set(given) <= declared


def test_a_workflow_asks_for_no_more_than_reading() -> None:
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text())
        assert content["permissions"] == {"contents": "read"}
        assert all("timeout-minutes" in job for job in content["jobs"].values())
        # YAML 1.1 takes the key `on` for a truth value.
        assert set(content[True]) == ({"push"} if path == RELEASE else {"pull_request", "push"})


def test_a_release_is_attested_and_besides_only_the_comment_is_written() -> None:
    (job,) = yaml.safe_load(RELEASE.read_text())["jobs"].values()

    assert job["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    assert any("attest-build-provenance" in str(step.get("uses")) for step in job["steps"])
    for path in {*WORKFLOWS} - {RELEASE}:
        for name, each in yaml.safe_load(path.read_text())["jobs"].items():
            comments = {"contents": "read", "pull-requests": "write"} if name == "gate" else None
            assert each.get("permissions") == comments


@pytest.fixture(name="action")
def _action(tmp_path: Path) -> Steps:
    return Steps(tmp_path)


@pytest.mark.slow
def test_the_action_is_green_for_a_coordinator_that_conforms(action: Steps) -> None:
    ran = action(
        "Run the scenarios",
        TARGETS="reference:3.9\nreference\n",
        SCENARIOS="classic/heartbeat/**\nclassic/leave/**\n",
        OUT="out put",
    )
    assert ran == 0, action.printed
    assert action.outputs["run"] == "out put/gate"
    assert action("Decide", RUN=action.outputs["run"]) == ExitCode.EXPECTED
    assert action.outputs["exit-code"] == "0"
    assert action.summary.read_text().startswith("## ✓ ")


@pytest.mark.slow
def test_the_action_is_red_for_a_coordinator_with_a_fault_and_says_what_and_how(action: Steps) -> None:
    with reference_server("2.5", log=action.directory / "server.log") as port:
        target = f"external:127.0.0.1:{port}"
        only = {"TARGETS": target, "PROFILE": "4.4", "SCENARIOS": "classic/heartbeat/**", "OUT": "out"}
        assert action("Run the scenarios", **only) == 0, action.printed
        assert action("Decide", RUN=action.outputs["run"]) == ExitCode.UNEXPECTED
        line = f"kafka-conformance run --target {target} --profile 4.4 {FAULTY}"
        assert f"next: {line}\n" in action.printed
        # What is starved each time decides nothing.
        codes = (action.shell(f"{line} --no-report --out out --run-id again-{number}") for number in range(3))
        code = next((each for each in codes if each != ExitCode.INDETERMINATE), None)
        assert code == ExitCode.UNEXPECTED, "whoever repeats it sees the same"
    assert f"::error title=unexpected difference%3A {FAULTY} on " in action.reported("Decide")
    assert "## ✗ " in action.summary.read_text()
    signatures = {
        each.signature
        for pattern in ("gate", "again-*")
        for run in (action.directory / "out").glob(pattern)
        for each in read_records(Judgement, RunFolder(run).judgements)
        if each.scenario_id == FAULTY and each.outcome == "diverges"
    }
    assert len(signatures) == 1


@pytest.mark.slow
def test_the_action_decides_on_a_run_that_is_there_already(action: Steps) -> None:
    assert action("Run the scenarios", RUN="somewhere/else") == 0
    assert action.outputs["run"] == "somewhere/else"
    assert action("Decide", RUN="somewhere/else") == ExitCode.NO_INPUT
    assert action.outputs["exit-code"] == str(ExitCode.NO_INPUT.value)


def test_the_action_wants_something_to_decide_on(action: Steps) -> None:
    assert action("Run the scenarios") == ExitCode.USAGE


@pytest.mark.slow
def test_a_command_that_makes_no_sense_ends_the_action_with_its_own_code(action: Steps) -> None:
    assert action("Run the scenarios", TARGETS="redpanda:1", OUT="out") == ExitCode.USAGE
    assert "is not a target" in action.printed
