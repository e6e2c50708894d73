"""Entries by cause, from `expect update --all` for many differences to the gate on later runs."""

import json
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from harness.diff.expectations import covered_file
from harness.gate.expectation_care import narrowest
from harness.orchestration.run import orchestrate
from harness.orchestration.tests.test_driving import Disguised
from harness.results.status import ExitCode
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, write_whole
from harness.trace.plain_files import read_plain
from reference_coordinator.profile.behaviours import Behaviour

pytest_plugins = ["harness.tests.command_line_fixture"]
pytestmark = pytest.mark.slow

SUITES: Final = ("classic/heartbeat", "classic/leave", "classic/sync", "static_membership")
CHANGED: Final = Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE
GIVEN: Final = ("--reason", "ours does so", "--link", "https://ours.example/1", "--yes")

Causes = dict[str, tuple[str, ...]]
"""By the ids of what diverges."""


class Ours(Disguised):
    """A coordinator that is asked as 3.9, and does in many things as 2.6."""

    def __init__(self, *, is_changed: bool = False, profile: str = "2.6.0") -> None:
        super().__init__("ours", profile, reported="3.9")
        exchanged = frozenset() if is_changed else {CHANGED}
        self._profile = replace(self._profile, behaviours=self._profile.behaviours ^ exchanged)


def driven(directory: Path, run_id: str, target: Disguised, *suites: str) -> tuple[Path, Causes]:
    plan = plan_of(directory, [target], *(suites or SUITES), run_id=run_id)
    run = orchestrate(replace(plan, confirms=False), Quiet())
    causes = {each.scenario_id: each.causes for each in run.checked.judgements if each.causes}
    return run.folder.path, causes


class Owner:
    """Whoever maintains that coordinator, and its file of known differences."""

    def __init__(self, command: CommandLine, directory: Path) -> None:
        self.command = command
        self.directory = directory
        self.known = directory / "known.toml"

    def run(self, run_id: str, target: Disguised, *suites: str) -> tuple[Path, Causes]:
        return driven(self.directory, run_id, target, *suites)

    def __call__(self, *arguments: str | Path) -> int:
        return self.command(*arguments, "--expect", self.known)

    def red(self, run: Path) -> dict[str, str]:
        """Return what the gate finds red, by scenario id, with the reasons."""
        self("gate", run)
        complaints = json.loads((run / "gate.json").read_text())["complaints"]
        return {each["scenario_id"]: each["reason"] for each in complaints}

    @property
    def entries(self) -> list[dict[str, Any]]:
        return list(tomllib.loads(self.known.read_text()).get("expect", []))

    @property
    def covered(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = json.loads(covered_file(self.known).read_text())
        return found


@pytest.fixture(name="owner")
def _owner(kafka_conformance: CommandLine, tmp_path: Path) -> Owner:
    return Owner(kafka_conformance, tmp_path)


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Causes]:
    return driven(tmp_path_factory.mktemp("whole"), "first", Ours())


@pytest.fixture(name="first")
def _first(owner: Owner, whole: tuple[Path, Causes]) -> tuple[Path, Causes]:
    """Return a run whose differences are all listed."""
    recorded, causes = whole
    run = owner.directory / "first"
    shutil.copytree(recorded, run)
    assert owner("expect", "update", "--all", "--run", run, *GIVEN) == ExitCode.EXPECTED
    return run, causes


def test_every_cause_becomes_one_entry_that_covers_its_results(
    owner: Owner, first: tuple[Path, Causes]
) -> None:
    _, causes = first
    by_cause: dict[str, list[str]] = {}
    for scenario_id, found in causes.items():
        for cause in found:
            by_cause.setdefault(cause, []).append(scenario_id)
    assert len(by_cause) < len(causes)
    assert owner.covered == {cause: sorted(ids) for cause, ids in by_cause.items()}
    shared = [(each["cause"], *each.get("beside", ())) for each in owner.entries]
    assert sorted(cause for causes in shared for cause in causes) == sorted(by_cause)
    for entry, causes_of_it in zip(owner.entries, shared, strict=True):
        assert entry["scenario"] == narrowest([each for cause in causes_of_it for each in by_cause[cause]])
    assert {(*each["targets"], each["reason"]) for each in owner.entries} == {
        ("disguised:ours", "ours does so")
    }


def test_the_gate_is_green_on_that_run_and_on_another_of_the_unchanged_target(
    owner: Owner, first: tuple[Path, Causes]
) -> None:
    run, causes = first
    assert owner("gate", run) == ExitCode.EXPECTED
    assert f"{len(causes)} of them known differences" in owner.command.out
    assert owner("gate", owner.run("second", Ours())[0]) == ExitCode.EXPECTED
    assert owner("expect", "lint") == ExitCode.EXPECTED
    assert owner("expect", "update", "--all", "--run", run, *GIVEN) == ExitCode.USAGE
    assert "no unexpected result" in owner.command.err


def test_one_changed_error_code_is_red_with_exactly_its_results(
    owner: Owner, first: tuple[Path, Causes]
) -> None:
    run, now = owner.run("changed", Ours(is_changed=True))
    changed = {name for name, causes in now.items() if not set(causes) <= set(first[1].get(name, ()))}
    assert changed
    assert owner.red(run).keys() == changed
    assert owner("gate", run) == ExitCode.UNEXPECTED


def test_a_known_cause_elsewhere_is_unexpected(owner: Owner, first: tuple[Path, Causes]) -> None:
    run, _ = first
    cause, ids = next((cause, ids) for cause, ids in owner.covered.items() if len(ids) > 1)
    left = {**owner.covered, cause: ids[1:]}
    covered_file(owner.known).write_text(json.dumps(left))
    assert owner.red(run).keys() == {ids[0]}
    before = owner.entries
    again = ("expect", "update", "--all", "--run", run, "--yes")
    assert owner(*again) == ExitCode.EXPECTED
    assert owner.covered[cause] == ids
    assert owner.entries == before


def test_a_result_with_a_further_cause_is_red(owner: Owner, first: tuple[Path, Causes]) -> None:
    folder = RunFolder(first[0])
    chosen, (cause,) = next((name, each) for name, each in first[1].items() if len(each) == 1)
    lines = read_plain(folder.judgements).decode().splitlines()
    for number, line in enumerate(lines):
        content = json.loads(line)
        if content["scenario_id"] == chosen and content["causes"]:
            lines[number] = json.dumps(content | {"causes": [cause, "a new one"]})
    write_whole(folder.judgements, "\n".join(lines) + "\n")
    assert owner.red(folder.path).keys() == {chosen}


def test_what_conforms_now_is_a_note_and_is_pruned_scenario_by_scenario(
    owner: Owner, first: tuple[Path, Causes]
) -> None:
    _, causes = first
    mended, _ = owner.run("mended", Ours(is_changed=True, profile="3.9"), "static_membership")
    assert owner("gate", mended) == ExitCode.EXPECTED
    gone = {name for name in causes if name.startswith("static_membership/")}
    assert f"note: {len(gone)} covered scenarios conform now" in owner.command.out

    before = owner.covered
    assert owner("expect", "prune", mended) == ExitCode.EXPECTED
    assert owner.covered == before
    assert owner("expect", "prune", mended, "--yes") == ExitCode.EXPECTED
    left = {
        cause: kept for cause, ids in before.items() if (kept := [each for each in ids if each not in gone])
    }
    assert owner.covered == left
    assert {each["cause"] for each in owner.entries} == left.keys()
    assert len(left) < len(before)
    assert owner.red(first[0]).keys() == gone


@pytest.mark.parametrize("outcome", ["indeterminate", "not applicable"])
def test_what_did_not_come_to_its_end_is_neither_stale_nor_pruned(
    owner: Owner, first: tuple[Path, Causes], outcome: str
) -> None:
    folder = RunFolder(first[0])
    text = read_plain(folder.judgements).decode().replace('"outcome":"diverges"', f'"outcome":"{outcome}"')
    write_whole(folder.judgements, text)
    before = owner.known.read_text(), owner.covered
    owner("gate", folder.path)
    assert "stale" not in owner.command.out
    assert "conform now" not in owner.command.out
    assert owner("expect", "prune", folder.path, "--yes") == ExitCode.EXPECTED
    assert (owner.known.read_text(), owner.covered) == before


def test_why_and_lint_speak_of_causes(owner: Owner, first: tuple[Path, Causes]) -> None:
    run, causes = first
    chosen, (cause, *_) = next(iter(causes.items()))
    why = ("expect", "why", chosen, "--target", "ours")
    assert owner(*why, "--run", run) == ExitCode.EXPECTED
    assert f"cause: {cause}" in owner.command.out
    assert ": applies" in owner.command.out
    left = {
        each: [name for name in ids if name != chosen] or ["no/such"] for each, ids in owner.covered.items()
    }
    covered_file(owner.known).write_text(json.dumps(left))
    assert owner(*why, "--run", run) == ExitCode.EXPECTED
    assert "does not apply: it does not cover this scenario" in owner.command.out
    if ["no/such"] not in left.values():
        left[cause] = ["no/such"]
        covered_file(owner.known).write_text(json.dumps(left))
    assert owner("expect", "lint") == ExitCode.CONFIGURATION
    assert "covers 'no/such', which is no scenario" in owner.command.out


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (Path.unlink, "has no scenarios in known.covered.json"),
        (lambda path: path.write_text("[]"), "no JSON object of causes"),
        (lambda path: path.write_text('{"a": [1]}'), "no JSON object of causes"),
    ],
    ids=["gone", "a list", "a number"],
)
def test_an_entry_without_its_scenarios_is_refused(
    owner: Owner, first: tuple[Path, Causes], spoil: Callable[[Path], object], says: str
) -> None:
    spoil(covered_file(owner.known))
    assert owner("gate", first[0]) == ExitCode.CONFIGURATION
    assert says in owner.command.err


def test_a_policy_may_require_how_many_scenarios_conform(
    owner: Owner, first: tuple[Path, Causes], tmp_path: Path
) -> None:
    run, _ = first
    lines = read_plain(RunFolder(run).judgements).splitlines()
    results = [json.loads(line) for line in lines]
    conforming = sum(each["target"] == "ours" and each["outcome"] == "conforms" for each in results)
    policy = tmp_path / "gate.toml"
    for floor, code in ((conforming, ExitCode.EXPECTED), (conforming + 1, ExitCode.NOTHING_RAN)):
        policy.write_text(f"[require]\nconforming_count_min = {floor}\n")
        assert owner("gate", run, "--config", policy) == code
    assert f"{conforming} scenarios conform on it; {conforming + 1} are required" in owner.command.out


@pytest.mark.parametrize(
    ("ids", "pattern"),
    [
        (["a/b/c"], "a/b/c"),
        (["a/b/d", "a/b/c"], "a/b/*"),
        (["a/b/c", "a/b/c/d"], "a/b/**"),
        (["a/b/c", "a/x/c"], "a/**"),
        (["a/b/c", "x/b/c"], "**"),
    ],
)
def test_a_pattern_is_the_narrowest(ids: list[str], pattern: str) -> None:
    assert narrowest(ids) == pattern
