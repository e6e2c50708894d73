"""What a matrix is of, how many of its versions fit on a machine, and what explains its changes."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.diff.alignment import aligned
from harness.diff.model import Attribution, Judgement
from harness.orchestration.attributing import attribute_changes, seen_in, unequal_places
from harness.orchestration.driving import RunDrive
from harness.orchestration.judging import Given, judge_run
from harness.orchestration.plan import PlanError, RunPlan, parse_targets
from harness.orchestration.versions import version_targets
from harness.runner.drive import Limits
from harness.scenario import Conversation, Script, ask, expect, record, scenario, script_to_json
from harness.scenario.messages import ANY
from harness.targets.reference.variants import COORDINATOR, differing, reference_of, variant_of
from harness.tests.made_events import ANSWER, RUN
from harness.tests.patience import FINDS_STARVED
from harness.trace.events import EventKind
from harness.trace.files import RunFolder, read_records

NAME = "unknown_instance_id_refused"


@pytest.mark.parametrize(
    ("versions", "asked", "specs", "against"),
    [
        ("4.0.2,2.4.1", {"further": ["reference:3.9"]}, "kafka:2.4.1 kafka:4.0.2 reference:3.9", None),
        ("4.0.2,2.4.1", {"against": "3.9"}, "kafka:2.4.1 kafka:3.9.2 kafka:4.0.2", "kafka-3.9.2"),
        ("4.0.2", {"against": "reference:3.9"}, "reference:3.9 kafka:4.0.2", "reference-3.9"),
        ("4.0.2,3.9.2", {"against": "kafka:3.9.2"}, "kafka:3.9.2 kafka:4.0.2", "kafka-3.9.2"),
    ],
    ids=[
        "further targets come after versions",
        "the version to compare with takes its place",
        "a target that is no version comes first",
        "what is there already is not added again",
    ],
)
def test_a_matrix_is_of_versions_and_what_they_are_compared_with(
    versions: str, asked: dict[str, Any], specs: str, against: str | None
) -> None:
    targets, compared_with = version_targets(versions, **asked)

    assert [target.spec for target in targets] == specs.split()
    assert compared_with == against


@pytest.mark.parametrize("against", ["2.4..4.0", "3.9.77", "kafak:1"])
def test_what_cannot_be_compared_with_is_refused(against: str) -> None:
    with pytest.raises(PlanError):
        version_targets("4.0.2,3.9.2", against=against)


def test_one_version_makes_no_matrix() -> None:
    with pytest.raises(PlanError, match="at least two"):
        version_targets("4.0.2")


def made(scenario_id: str) -> Script:
    @scenario(scenario_id, source="KAFKA-1")
    def claim(conversation: Conversation) -> None:
        """A member that nobody knows is told so."""
        heartbeat = ask.heartbeat(member_id="nobody", generation_id=1)
        conversation.actor("ana").asks(heartbeat, error_code="UNKNOWN_MEMBER_ID")

    return record(claim)


@scenario("example/leave/unmapped-instance", source="KAFKA-1")
def a_member_leaves_by_another_name(conversation: Conversation) -> None:
    """A member leaves by an instance id that the group does not know."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(members=((ana.member_id, "made-up"),)), expect.leave_group(error_code=ANY))


class Onlooker:
    """Remembers what began and ended, in order."""

    def __init__(self) -> None:
        self.saw: list[str] = []

    def target_says(self, target: str, text: str) -> None: ...

    def drive_begins(self, target: str, scenario_count: int) -> None:
        self.saw.append(f"{target} begins")

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        self.saw.append(f"{target} ends one")


def driven(
    tmp_path: Path,
    *targets: str,
    against: str | None = None,
    at_once: int | None = None,
    onlooker: Onlooker | None = None,
) -> RunFolder:
    """Drive servers of the reference, which are compared with references as brokers are."""
    scripts = {
        script.id: script
        for script in (made("example/heartbeat/nobody"), record(a_member_leaves_by_another_name))
    }
    folder = RunFolder.create(tmp_path, "run-1")
    parsed = parse_targets(targets)
    folder.write_run(replace(RUN, targets=tuple(target.name for target in parsed)))
    folder.write_scripts({name: script_to_json(script) for name, script in scripts.items()})
    plan = RunPlan(
        run_id="run-1",
        scripts=scripts,
        catalogue=frozenset(scripts),
        targets=parsed,
        reports=tmp_path,
        command="",
        limits=Limits(),
        against=against,
        at_once=at_once,
    )
    asyncio.run(RunDrive(plan=plan, folder=folder, watcher=onlooker or Onlooker()).run())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("shared_from", [0, 400], ids=["many processes", "one process"])
def test_a_change_is_attributed_to_the_behaviour_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_from: int
) -> None:
    monkeypatch.setattr("harness.orchestration.attributing._SHARED_COUNT", shared_from)
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "kafka"))
    folder = driven(tmp_path, "reference-tcp:2.8.2", "reference-tcp:3.0.2", at_once=1)
    judge(folder)

    attribute_changes(folder, lambda _: None)

    (found,) = read_records(Attribution, folder.attributions)

    assert found.scenario_id == "example/leave/unmapped-instance"
    assert (found.from_oracle, found.to_oracle) == ("reference-2.8.2", "reference-3.0.2")
    assert found.behaviours == (NAME,)
    assert len(found.sources) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("at_once", "is_in_turn"), [(1, True), (2, False), (None, False)])
def test_no_more_targets_are_driven_at_once_than_were_asked_for(
    tmp_path: Path, at_once: int | None, *, is_in_turn: bool
) -> None:
    onlooker = Onlooker()
    driven(tmp_path, "reference-tcp:2.8.2", "reference-tcp:3.0.2", at_once=at_once, onlooker=onlooker)

    second_begins = onlooker.saw.index("reference-tcp-3.0.2 begins")
    assert ("reference-tcp-2.8.2 ends one" in onlooker.saw[:second_begins]) is is_in_turn


def judge(folder: RunFolder) -> tuple[Judgement, ...]:
    return judge_run(folder, Given(catalogue=frozenset())).judgements


@pytest.mark.slow
def test_compared_with_another_target_a_change_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FINDS_STARVED, lambda *_: None)
    folder = driven(
        tmp_path, "reference-tcp:2.8.2", "reference-tcp:3.0.2", against="reference-tcp-2.8.2", at_once=2
    )
    outcomes = {(each.target, each.scenario_id.rpartition("/")[2]): each.outcome for each in judge(folder)}

    assert folder.targets() == ("reference-tcp-2.8.2", "reference-tcp-3.0.2")
    assert outcomes == {
        ("reference-tcp-2.8.2", "nobody"): "conforms",
        ("reference-tcp-2.8.2", "unmapped-instance"): "conforms",
        ("reference-tcp-3.0.2", "nobody"): "conforms",
        ("reference-tcp-3.0.2", "unmapped-instance"): "diverges",
    }


def test_profiles_of_two_coordinators_differ_in_the_coordinator_too() -> None:
    assert COORDINATOR in differing(reference_of("3.9.2"), reference_of("3.9.2-java"))
    assert differing(reference_of("3.9.2"), reference_of("3.9.2")) == ()


def test_a_variant_differs_in_one_behaviour_alone() -> None:
    usual, changed = (
        target._profile.behaviours
        for target in (
            variant_of(reference_of("3.0.2"), {NAME}, reference_of(of)) for of in ("3.0.2", "2.8.2")
        )
    )

    assert {behaviour.name.lower() for behaviour in usual ^ changed} == {NAME}


def test_events_that_are_no_answers_tell_no_versions_apart() -> None:
    request = replace(ANSWER, kind=EventKind.REQUEST.value, digest="another")

    assert seen_in([request, ANSWER]) == seen_in([ANSWER])


def test_a_place_is_a_step_and_which_of_its_answers() -> None:
    other = replace(ANSWER, digest="other")

    whose = ANSWER.actor, ANSWER.connection
    assert unequal_places(seen_in([ANSWER, ANSWER]), seen_in([ANSWER, other])) == {(0, 1, *whose)}
    assert unequal_places(seen_in([ANSWER]), seen_in([])) == {(0, 0, *whose)}


def test_an_answer_to_somebody_else_is_at_another_place() -> None:
    """As in the alignment that a judgement rests on, equal contents for two actors make no pair."""
    bobs = replace(ANSWER, actor="bob")

    assert unequal_places(seen_in([ANSWER]), seen_in([bobs])) == {
        (0, 0, each.actor, each.connection) for each in (ANSWER, bobs)
    }
    assert [pair.event is None for pair in aligned([ANSWER], [bobs])] == [False, True]
