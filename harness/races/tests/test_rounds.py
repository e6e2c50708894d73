"""Rounds by their seed, histories on file, what is counted, and the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.races.catalogue import RACES, Race, RaceError, select_races
from harness.races.folder import RacesFolder, RunRecord
from harness.races.history import GROUP, History, RacedExchange, history_to_json, in_order, read_histories
from harness.races.judge import judge, known_finding
from harness.races.plan import cohorts, make_round
from harness.races.search import SearchOutcome, explain
from harness.races.specification import ReferenceSpecification
from harness.scenario.script import Send
from harness.targets.reference.usual import USUAL_CONFIG
from harness.tests.made_events import HEADER
from harness.tests.raced import Shuffled, raced
from harness.tests.site_reading import view_of
from harness.trace.files import append_line
from harness.trace.schema import TraceError
from harness.wire.codec import Fields, FieldValue
from harness.wire.schema import request_shape


def specification(profile: str) -> ReferenceSpecification:
    return ReferenceSpecification(profile, USUAL_CONFIG)


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_a_round_is_the_same_for_the_same_seed_and_another_for_another(race: Race) -> None:
    rounds = [tuple(cohorts(race, round_count=30, seed=seed)) for seed in (1, 1, 2)]
    assert rounds[0] == rounds[1] != rounds[2]
    assert [each.number for cohort in rounds[0] for each in cohort.rounds] == list(range(30))


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_every_request_of_a_race_can_be_written(race: Race) -> None:
    for number in range(40):
        for step in make_round(race, number=number, seed=5).steps:
            if isinstance(step, Send):
                assert set(step.fields) <= set(request_shape(step.api, step.api_version).fields)


def test_names_of_races_are_unique_and_globs_choose_among_them() -> None:
    assert len({race.name for race in RACES}) == len(RACES)
    assert all(race.deletes for race in select_races(["delete-*"]))
    with pytest.raises(RaceError, match=r"no race matches 'human'; there is delete-offsets, "):
        select_races(["human"])


@pytest.mark.parametrize(("profile", "race"), [("3.9", "join-sync"), ("4.4", "consumer-beats")])
def test_histories_come_back_from_file_as_they_were(tmp_path: Path, profile: str, race: str) -> None:
    histories = raced(Shuffled, profile, race, rounds=5, seed=1)
    assert any("topic:payments" in history_to_json(each) for each in histories) is (profile == "4.4")
    path = tmp_path / "histories.jsonl"
    path.write_text("".join(f"{history_to_json(each)}\n" for each in histories))
    read = read_histories(path)
    assert [each.shape() for each in read] == [each.shape() for each in histories]
    assert [history_to_json(each) for each in read] == [history_to_json(each) for each in histories]


def test_a_line_that_was_cut_short_is_left_out_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    (history,) = raced(Shuffled, "3.9", "commit-leave", rounds=1, seed=1)
    path = tmp_path / "histories.jsonl"
    line = history_to_json(history)
    path.write_text(f"{line}\n{line[:100]}")
    assert len(read_histories(path)) == 1
    path.write_text(f"{line[:100]}\n{line}\n")
    with pytest.raises(TraceError, match=r"histories\.jsonl:1: no JSON"):
        read_histories(path)
    with pytest.raises(TraceError, match="No such file"):
        read_histories(tmp_path / "nowhere")


def test_ids_of_a_history_are_named_after_their_actors() -> None:
    (history,) = raced(Shuffled, "4.4", "join-sync", rounds=1, seed=2)
    written = history_to_json(history)
    assert "member:ana" in written
    assert "group:main" in written
    assert "race-" not in written.replace('"race":"join-sync"', "")


def test_a_judgement_counts_what_became_of_each_rival() -> None:
    histories = raced(Shuffled, "3.9", "delete-leave", rounds=30, seed=4)
    (verdict,) = judge(histories, specification("3.9"), target="x")
    assert verdict.is_explained
    assert verdict.rounds == sum(verdict.findings.values()) == 30
    assert sum(verdict.outcomes["DeleteGroups"].values()) == 30


def _reported(
    api: str, request: Fields, answer: Fields, *, version: int = 0, at: tuple[int, int] = (0, 1)
) -> RacedExchange:
    asked_ms, answered_ms = at
    return RacedExchange(
        actor="bob",
        api=api,
        api_version=version,
        request=request,
        asked_ms=asked_ms,
        answered_ms=answered_ms,
        answer=answer,
        is_rival=True,
    )


def test_a_known_finding_is_reported_by_its_answers_and_its_coordinator() -> None:
    answer: Fields = {"results": [{"group_id": "group:main", "error_code": "NOT_COORDINATOR"}]}
    history = History(race="x", round_number=0, operations=(_reported("DeleteGroups", {}, answer),))
    found = known_finding(history, {0}, "scala")
    assert found is not None
    assert "GroupMetadataManager#groupNotExists" in found.source
    assert known_finding(history, {0}, "java") is None
    assert known_finding(history, (), "scala") is None


@pytest.mark.parametrize(
    ("profile", "deleted_us", "finding"),
    [
        ("3.9", 30, SearchOutcome.EXPLAINED),
        ("3.9", 8, SearchOutcome.UNEXPLAINED),
        ("4.4", 30, SearchOutcome.UNEXPLAINED),
    ],
)
def test_only_the_scala_coordinator_shows_a_dead_group_and_only_before_it_is_removed(
    profile: str, deleted_us: int, finding: SearchOutcome
) -> None:
    def of_partition(**fields: FieldValue) -> Fields:
        return {"topics": [{"name": "orders", "partitions": [{"partition_index": 0, **fields}]}]}

    commit, asked = (
        {"group_id": GROUP, **of_partition(committed_offset=1)},
        {"group_id": GROUP, **of_partition()},
    )
    deleted: Fields = {"results": [{"group_id": GROUP, "error_code": "NONE"}], "throttle_time_ms": 0}
    not_found: Fields = {"error_code": "GROUP_ID_NOT_FOUND", "topics": [], "throttle_time_ms": 0}
    beat: Fields = {"group_id": GROUP, "member_id": "human", "generation_id": 1}
    operations = (
        _reported("OffsetCommit", commit, of_partition(error_code="NONE"), version=2),
        _reported("DeleteGroups", {"groups_names": [GROUP]}, deleted, at=(2, deleted_us)),
        _reported("OffsetDelete", asked, not_found, at=(3, 8)),
        _reported("Heartbeat", beat, {"error_code": "COORDINATOR_NOT_AVAILABLE"}, at=(10, 20)),
    )
    history = History(race="delete-offsets", round_number=0, operations=in_order(operations))
    assert explain(history, specification(profile)).finding is finding


def stored(path: Path, *, profile: str, histories: list[History]) -> RacesFolder:
    folder = RacesFolder(path)
    folder.write_plan(RunRecord(run_id="r", seed=1, round_count=1, races=("commit-leave",), command="c"))
    header = replace(
        HEADER,
        target="kafka-0.0.0",
        spec="kafka:0.0.0",
        profile=profile,
        broker_config=json.dumps(dict(USUAL_CONFIG)),
    )
    folder.write_headers(header.target, [header])
    for history in histories:
        folder.append("kafka-0.0.0", history)
    return folder


def test_a_stored_run_is_judged_again(tmp_path: Path) -> None:
    histories = raced(Shuffled, "4.4", "commit-leave", rounds=6, seed=1)
    folder = stored(tmp_path / "run", profile="4.4", histories=histories)
    ended = CliRunner().invoke(app, ["race", "--judge", str(folder.path)])
    assert ended.exit_code == 0, ended.output
    assert "cut short" not in ended.output
    (verdict,) = json.loads(folder.judgement_json.read_text())
    assert verdict["findings"] == {"explained": 6}
    assert "commit-leave" in view_of(folder.path, "races")


def test_a_run_that_was_stopped_before_its_last_round_is_judged_and_said_to_be_cut_short(
    tmp_path: Path,
) -> None:
    histories = raced(Shuffled, "4.4", "commit-leave", rounds=2, seed=1)
    folder = stored(tmp_path / "run", profile="4.4", histories=histories)
    run = replace(folder.read_plan(), round_count=5, races=("commit-leave", "join-sync"))
    folder.write_plan(run)
    ended = CliRunner().invoke(app, ["race", "--judge", str(folder.path)])
    assert ended.exit_code == 65, ended.output
    assert "explained 2" in ended.output
    assert "kafka:0.0.0: commit-leave: cut short, 2 of 5 rounds" in ended.output
    assert "kafka:0.0.0: join-sync: cut short, 0 of 5 rounds" in ended.output


@pytest.mark.slow
def test_an_answer_that_no_order_explains_ends_with_1_and_is_drawn(tmp_path: Path) -> None:
    histories = raced(Shuffled, "4.4", "commit-leave", rounds=1, seed=1)
    wrong = history_to_json(histories[0]).replace('"group_state":"Empty"', '"group_state":"Stable"')
    folder = stored(tmp_path / "run", profile="4.4", histories=[])
    append_line(folder.of_target("kafka-0.0.0") / "histories.jsonl.zst", wrong)
    ended = CliRunner().invoke(app, ["race", "--judge", str(folder.path)])
    assert ended.exit_code == 1, ended.output
    assert "DescribeGroups: Stable" in ended.output
    assert "kafka-conformance race commit-leave --target kafka:0.0.0 --seed 1" in ended.output


@pytest.mark.parametrize("arguments", [["human"], ["-t", "nonsense"]])
def test_a_race_or_target_that_is_not_there_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["race", *arguments]).exit_code == 64


def test_a_folder_without_races_is_refused(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["race", "--judge", str(tmp_path)]).exit_code == 66


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["reference-tcp:4.4", pytest.param("kafka:3.9.2", marks=pytest.mark.broker)]
)
def test_races_are_run_with_a_target_recorded_and_explained(target: str, tmp_path: Path) -> None:
    arguments = ["race", "delete-left", "join-sync", "-t", target, "--rounds", "40", "--run-id", "run"]
    ended = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    folder = RacesFolder(tmp_path / "run")
    (record,) = folder.all_headers()
    assert record.spec == target
    assert len(folder.histories(record.name)) == 80
