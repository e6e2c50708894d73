"""The action's steps and the recipes, carried out in somebody's repository with a coordinator of its own."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest
import yaml

from harness.cli.commands import load_command
from harness.results.status import ExitCode
from harness.tests.completed_runs import CHECKOUT, reference_server
from harness.tests.github import REPOSITORY, GitHub
from harness.tests.in_process import CommandLine
from harness.tests.made_up_clients import red
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry, write_suite
from harness.tests.workflow_steps import Steps, kept, scripts, steps

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.wheel_fixture"]

RECIPES: Final = CHECKOUT / "docs" / "pipelines"
WORKFLOWS: Final = sorted(RECIPES.glob("*.yml"))
JENKINSFILE: Final = RECIPES / "Jenkinsfile"
FAULTY: Final = "classic/heartbeat/before-assignments"
_WELCOME: Final = """
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(group_id="", member_id="m", generation_id=1))
    ana.receives(expect.heartbeat(error_code="NONE"))
"""
_AWAITING: Final = """
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    bob.receives(expect.join_group(error_code="NONE"))
    ana.sends(ask.heartbeat())
    ana.receives(expect.heartbeat(error_code="NONE"))
"""
"""What the coordinator below answers otherwise than the reference, and is known to."""
_SETTINGS: Final = """
[tool.kafka-conformance]
suites = "own_suites"
expect = ["ci/known.toml"]
"""


def shell_of(recipe: Path) -> list[str]:
    """Return the scripts of a recipe, in order."""
    if recipe == JENKINSFILE:
        return re.findall(r"sh '''(.*?)'''", recipe.read_text(), flags=re.DOTALL)
    content = yaml.safe_load(recipe.read_text())
    if "jobs" in content:
        return list(scripts(recipe).values())
    job = content["conformance"]
    return ["\n".join(job["before_script"]), "\n".join(job["script"])]


@pytest.mark.parametrize("recipe", [*WORKFLOWS, JENKINSFILE], ids=lambda path: path.name)
def test_the_shell_of_a_recipe_is_shell_with_commands_and_options_that_exist(recipe: Path) -> None:
    for script in shell_of(recipe):
        subprocess.run(["bash", "-n", "-c", script], check=True)
        for line in re.findall(r"kafka-conformance ((?:run|gate) .*)", script.replace("\\\n", " ")):
            verb, *words = line.replace("||", " ").split()
            known = {option for each in load_command(verb).params for option in each.opts}
            assert {each for each in words if each.startswith("--")} <= known


def test_workflows_give_the_action_only_inputs_that_it_has_and_the_rights_that_these_need() -> None:
    declared = yaml.safe_load((CHECKOUT / ".github/actions/gate/action.yml").read_text())["inputs"]
    used = 0
    for recipe in WORKFLOWS:
        content = yaml.safe_load(recipe.read_text())
        if "jobs" not in content:
            continue
        for step in steps(recipe):
            if "kafka-conformance" in str(step.get("uses")):
                given = step["with"]
                assert isinstance(given, dict)
                assert set(given) <= set(declared)
                right = "issues" if "issue" in given else "pull-requests"
                assert content["permissions"] == {"contents": "read", right: "write"}
                used += 1
    assert used == 2


def posted(action: Steps, run: Path, *, code: int = 0, **inputs: str) -> int:
    """Carry out the action's step that posts a decision on pull request 12."""
    given = {"GH_REPO": REPOSITORY, "PULL_REQUEST": "12", "CODE": str(code), "NAME": "conformance", **inputs}
    return action("Post the decision", RUN=str(run), RUNNER_TEMP=str(action.summary.parent), **given)


class Repository:
    """An empty repository with suites and expectations of its own, and a runner that has the wheel."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.path = folder / "repository"
        (self.path / "ci").mkdir(parents=True)
        (self.path / "pyproject.toml").write_text(_SETTINGS)
        known = entry(WRONG).replace('["*"]', '["external:*"]')
        (self.path / "ci" / "known.toml").write_text(known)
        suite = write_suite(self.path, "own_suites") / "small.py"
        suite.write_text(suite.read_text().replace(_WELCOME, _AWAITING))
        self.steps = Steps(self.path, folder / "runner", installed)

    def decides(self, target: str, out: str, **inputs: str) -> int:
        """Carry out the action's steps that run and decide, and return the code of the decision."""
        given = {"TARGETS": target, "PROFILE": "4.4", "OUT": out, **inputs}
        assert self.steps("Run the scenarios", **given) == 0, self.steps.printed
        run = self.steps.outputs["run"]
        code = self.steps("Decide", RUN=run, SUITES=inputs.get("SUITES", ""))
        assert posted(self.steps, Path(run), code=code) == 0, self.steps.printed
        return code


@pytest.fixture(name="repository")
def _repository(tmp_path: Path, installed: Path) -> Repository:
    return Repository(tmp_path, installed)


@pytest.fixture(name="github")
def _github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    return GitHub(tmp_path / "github", monkeypatch)


@pytest.fixture(name="coordinator")
def _coordinator(tmp_path: Path) -> Iterator[str]:
    """Somebody's coordinator, which answers heartbeats as Kafka 2.5 did."""
    with reference_server("2.5", log=tmp_path / "server.log") as port:
        yield f"external:127.0.0.1:{port}"


def cases(run: Path) -> dict[str, bool]:
    """Return the cases of a JUnit file, and whether each failed on the target or on its reference."""
    found: dict[str, bool] = {}
    for each in ET.parse(run / "gate-junit.xml").iter("testcase"):
        name = each.get("name", "")
        found[name] = found.get(name, False) or each.find("failure") is not None
    return found


@pytest.mark.slow
def test_the_action_judges_with_the_repositorys_own_suites_and_then_ours_and_keeps_one_comment(
    repository: Repository, coordinator: str, github: GitHub
) -> None:
    assert repository.decides(coordinator, "own", REPORT="false") == ExitCode.EXPECTED
    own = repository.path / "own" / "gate"
    assert {RIGHT: False, WRONG: False}.items() <= cases(own).items()
    assert cases(own).get(NEW) is not True
    (comment,) = github.texts("comments")
    assert comment.startswith("<!-- kafka-conformance: conformance -->\n## ✓ ")

    ours = {"SUITES": "suites", "SCENARIOS": "classic/heartbeat/**", "SELECTION": "quick"}
    # An input stands in place of the table: the entry for another suite's scenario would be refused.
    (repository.path / "ci" / "known.toml").write_text("")
    assert repository.decides(coordinator, "ours", REPORT="false", **ours) == ExitCode.UNEXPECTED
    (comment,) = github.texts("comments")
    assert comment.startswith("<!-- kafka-conformance: conformance -->\n## ✗ ")
    assert FAULTY in comment
    failed = [name for name, has_failed in cases(repository.path / "ours" / "gate").items() if has_failed]
    assert failed == [FAULTY]
    summary = repository.steps.summary.read_text()
    assert "## ✓ " in summary
    assert "## ✗ " in summary


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.release
def test_the_action_leaves_a_report_with_the_gates_page(
    repository: Repository, coordinator: str, github: GitHub
) -> None:
    assert repository.decides(coordinator, "out", REPORT="true") == ExitCode.EXPECTED
    run = repository.path / "out" / "gate"
    for name in ("index.html", "data/gate.js", "gate.md", "gate.json", "gate-junit.xml", "junit.xml"):
        assert (run / name).is_file(), name
    assert json.loads((run / "gate.json").read_text())["is_green"] is True
    assert {each.name for each in repository.path.iterdir()} == {"ci", "out", "own_suites", "pyproject.toml"}


def decided(folder: Path, text: str) -> Path:
    """Make the folder of a decision."""
    folder.mkdir(exist_ok=True)
    (folder / "gate.json").write_text("{}")
    (folder / "gate.md").write_text(text)
    return folder


def test_a_comment_is_updated_and_others_comments_are_left_alone(tmp_path: Path, github: GitHub) -> None:
    action, run = Steps(tmp_path), tmp_path / "run"
    mark = "<!-- kafka-conformance: conformance -->"
    forged = {"id": 1, "author": "User", "association": "NONE", "body": mark}
    github.keeps(comments=[forged], issues=[])

    assert posted(action, decided(run, "## first")) == 0, action.printed
    assert posted(action, decided(run, "## second é" + "é" * 60_000)) == 0, action.printed
    kept, ours = github.texts("comments")
    assert kept == mark
    assert ours.startswith(f"{mark}\n## second é")
    assert len(ours) < 65_536


def test_an_issue_is_opened_if_the_decision_is_red_and_updated_later(tmp_path: Path, github: GitHub) -> None:
    action, run = Steps(tmp_path), decided(tmp_path / "run", "## red")
    assert posted(action, run, code=0, ISSUE="It differs") == 0
    assert github.texts("issues") == []
    assert posted(action, run, code=1, ISSUE="It differs") == 0
    assert posted(action, decided(run, "## green"), code=0, ISSUE="It differs") == 0
    (text,) = github.texts("issues")
    assert "## green" in text


def test_a_refusal_is_said_in_the_summary_and_ends_nothing(tmp_path: Path, github: GitHub) -> None:
    action, run = Steps(tmp_path), decided(tmp_path / "run", "## red")
    github.refuses("HTTP 403")
    assert posted(action, run, code=1) == 0
    assert "pull-requests: write" in action.summary.read_text()


def test_a_selection_that_there_is_not_is_refused(tmp_path: Path) -> None:
    action = Steps(tmp_path)
    assert action("Run the scenarios", TARGETS="reference", SELECTION="fast") == ExitCode.USAGE
    assert "selection is quick or full, and not fast" in action.printed


def test_an_earlier_run_is_not_decided_on_in_place_of_this_one(tmp_path: Path) -> None:
    action = Steps(tmp_path)
    (tmp_path / "out" / "gate").mkdir(parents=True)
    (tmp_path / "out" / "gate" / "run.json").write_text("{}")
    assert action("Run the scenarios", TARGETS="reference", OUT="out") == ExitCode.USAGE
    assert "out/gate is there already" in action.printed
    assert "run" not in action.outputs


@pytest.mark.usefixtures("suites")
def test_the_record_is_an_artifact_of_its_own_that_is_a_run(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    command = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "run", RIGHT)
    assert kafka_conformance(*command) == ExitCode.EXPECTED
    run = tmp_path / "run"
    red().write(run / "clients")
    (run / "index.html").touch()
    report, record = kept("Keep the report", run), kept("Keep the record", run)
    assert report | record == {each.relative_to(run) for each in run.rglob("*") if each.is_file()}
    assert report & record == {Path("run.json"), Path("clients", "run.json")}
    for name, files in (("report", report), ("record", record)):
        for each in files:
            (tmp_path / name / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / each, tmp_path / name / each)
    gate = ("gate", "--suites", "small_suites", run, "--baseline")
    assert kafka_conformance(*gate, tmp_path / "record") == kafka_conformance(*gate, run)
    assert kafka_conformance(*gate, tmp_path / "report") == ExitCode.NO_INPUT
    assert "a report without the run's record" in kafka_conformance.err


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [RECIPES / "gitlab-ci.yml", JENKINSFILE], ids=lambda path: path.name)
def test_a_recipe_leaves_junit_and_decides(repository: Repository, coordinator: str, recipe: Path) -> None:
    script = shell_of(recipe)[1].replace("kafka-conformance run", "kafka-conformance run --no-report")
    variables = {"TARGET": coordinator, "PROFILE": "4.4", "CI_MERGE_REQUEST_IID": "3", "CHANGE_ID": "3"}
    assert repository.steps.shell(script, **variables) == ExitCode.EXPECTED, repository.steps.printed
    run = repository.path / "conformance" / "gate"
    assert {RIGHT: False, WRONG: False}.items() <= cases(run).items()
    assert json.loads((run / "run.json").read_text())["command"].count("--quick") == 1
    assert not (run / "record").exists()

    (repository.path / "ci" / "known.toml").write_text("")
    again = script.replace("gate/run.json", "red/run.json").replace("--run-id gate", "--run-id red")
    again = again.replace("conformance/gate", "conformance/red")
    assert repository.steps.shell(again, **variables) == ExitCode.UNEXPECTED, repository.steps.printed
    assert cases(repository.path / "conformance" / "red")[WRONG] is True
    assert (repository.path / "conformance" / "red" / "record" / "footer.json").is_file()
