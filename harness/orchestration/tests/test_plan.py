"""What a run is to do, from what a user writes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.orchestration.plan import PlanError, new_run_id, parse_targets, select_scripts
from harness.orchestration.run import orchestrate
from harness.targets.external.stated import Stated
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.made_events import BARE_SCRIPT

SCRIPTS = {
    name: replace(BARE_SCRIPT, id=name)
    for name in ("classic/join/first", "classic/join/second", "classic/joining/first", "admin/list/all")
}


@pytest.mark.parametrize(
    ("patterns", "skipped", "chosen"),
    [
        ((), (), set(SCRIPTS)),
        (("classic/join/first",), (), {"classic/join/first"}),
        (("classic/join",), (), {"classic/join/first", "classic/join/second"}),
        (("classic/join/",), (), {"classic/join/first", "classic/join/second"}),
        (("classic/*/first",), (), {"classic/join/first", "classic/joining/first"}),
        (("**/first", "admin"), (), {"classic/join/first", "classic/joining/first", "admin/list/all"}),
        ((), ("classic",), {"admin/list/all"}),
        (("classic/join",), ("**/second",), {"classic/join/first"}),
    ],
)
def test_scenarios_are_chosen_by_id_beginning_or_glob(
    patterns: tuple[str, ...], skipped: tuple[str, ...], chosen: set[str]
) -> None:
    assert select_scripts(SCRIPTS, patterns, skipped).keys() == chosen


@pytest.mark.parametrize(("patterns", "skipped"), [(("clasic",), ()), ((), ("no/such/one",))])
def test_a_pattern_that_matches_nothing_is_refused_wherever_it_stands(
    patterns: tuple[str, ...], skipped: tuple[str, ...]
) -> None:
    with pytest.raises(PlanError, match="no scenario matches"):
        select_scripts(SCRIPTS, patterns, skipped)


def test_run_ids_sort_by_time_and_are_never_the_same() -> None:
    now = datetime.now(UTC)
    earlier, later = new_run_id(now), new_run_id(now + timedelta(seconds=1))
    assert earlier < later
    assert new_run_id(now) != earlier


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "../a", ".hidden", "latest", "two words"])
def test_a_run_id_that_is_no_name_of_a_folder_of_its_own_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(PlanError, match="a run cannot be called"):
        plan_of(tmp_path, ["reference"], run_id=run_id)


def test_a_profile_is_for_targets_that_name_none_of_their_own() -> None:
    reference, broker = parse_targets(
        ["reference:2.6.0", "external:127.0.0.1:1"], profile="3.9", guards_external=True
    )
    assert reference.name == "reference-2.6.0"
    assert broker.spec == "external:127.0.0.1:1"


@pytest.mark.parametrize("spec", ["reference", "reference-tcp"])
def test_a_reference_that_names_no_profile_takes_the_one_given(tmp_path: Path, spec: str) -> None:
    plan = plan_of(tmp_path, [spec], "classic/heartbeat/before-assignments", profile="2.8")
    run = orchestrate(plan, Quiet())
    assert {header.profile for header in run.folder.read_headers(spec)} == {"2.8"}


def test_a_profile_that_nobody_takes_is_refused() -> None:
    with pytest.raises(PlanError, match=r"--profile 3\.9 has no effect"):
        parse_targets(["reference:2.6.0", "reference-tcp:2.8"], profile="3.9")


def test_two_targets_of_one_name_are_refused() -> None:
    with pytest.raises(PlanError, match=r"given twice: reference-4\.4"):
        parse_targets(["reference:4.4", "kafka:4.4.0", "reference:4.4"])


def test_a_broker_that_runs_already_gets_no_property_but_can_be_stated_to_have_one(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ["external:127.0.0.1:9092"], "classic/heartbeat/empty-group-id")
    with pytest.raises(PlanError, match=r"external:127.0.0.1:9092 runs already: .* --assume PROPERTY=VALUE"):
        replace(plan, broker_properties={"group.max.size": "2"})


def test_what_is_stated_of_a_broker_needs_one_that_runs_already() -> None:
    with pytest.raises(PlanError, match="--topic is for a broker that runs already"):
        parse_targets(["kafka:3.9.2"], stated=Stated(topics={"orders": "t1"}))


def test_a_broker_of_others_is_no_target_of_what_guards_nothing() -> None:
    with pytest.raises(PlanError, match="has others' things, which nothing guards here"):
        parse_targets(["external:h:1"], profile=None)
