"""Rounds by their seed, journals that are judged again, and the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.invariants.exchange import Exchange, groups_of
from harness.races.catalogue import RACES, Race, RaceError, select_races
from harness.races.plan import cohorts, make_round
from harness.replay.group import Account, GroupReplay
from harness.replay.history import conversation_of
from harness.scenario.script import Send
from harness.tap.journal import JOURNAL, Journal, Kind, Opening
from harness.tap.run import finish, run_header
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.targets.reference.profile import specification
from harness.tests.made_events import HEADER
from harness.tests.raced import Shuffled, raced
from harness.tests.site_reading import view_of
from harness.trace.events import RunKind
from harness.trace.files import RunFolder
from harness.wire.codec import Fields, encode_request, encode_response
from harness.wire.schema import request_shape

GROUP = "raced"


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


def stored(path: Path, *, profile: str = "4.4", rounds: int = 6) -> RunFolder:
    """Hold a race, and store it as a run of races."""
    folder = RunFolder.create(path, "run")
    header = replace(
        HEADER,
        target="kafka-0.0.0",
        spec="kafka:0.0.0",
        profile=profile,
        broker_config=json.dumps(dict(USUAL_CONFIG)),
    )
    folder.write_run(run_header("run", (header.target,), RunKind.RACES, "kafka-conformance race"))
    folder.write_headers(header.target, [header])
    raced(Shuffled, "4.4", "commit-leave", folder.of_target(header.target) / JOURNAL, rounds=rounds, seed=1)
    return folder


def test_a_stored_run_is_judged_again(tmp_path: Path) -> None:
    folder = finish(stored(tmp_path), ended="complete").folder
    ended = CliRunner().invoke(
        app, ["judge", str(folder.path), "--out", str(tmp_path / "site"), "--json", str(tmp_path / "json")]
    )
    assert ended.exit_code == 0, ended.output
    assert "commit-leave  unknown" in ended.output
    found = json.loads((tmp_path / "json").read_text())
    assert [each["group"] for each in found["groups"]] == [f"race-commit-leave-{n}" for n in range(6)]
    assert all(each["compared"] and not each["findings"] for each in found["groups"])
    assert "Every answer that was compared" in view_of(tmp_path / "site", "judged")


def test_a_run_that_was_stopped_early_is_judged_as_far_as_it_came(tmp_path: Path) -> None:
    folder = stored(tmp_path, rounds=2)
    ended = CliRunner().invoke(app, ["judge", str(folder.path)])
    assert ended.exit_code == 0, ended.output
    assert "this run has not ended in order" in ended.output


@pytest.mark.parametrize(
    ("profile", "deleted_us", "is_explained"), [("3.9", 30, True), ("3.9", 8, False), ("4.4", 30, False)]
)
def test_only_the_scala_coordinator_shows_a_dead_group_and_only_before_it_is_removed(
    profile: str, deleted_us: int, *, is_explained: bool
) -> None:
    part: Fields = {"topics": [{"name": "orders", "partitions": [{"partition_index": 0}]}]}
    committed: Fields = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    commit: Fields = {"group_id": GROUP, "topics": [{"name": "orders", "partitions": [committed]}]}
    written: Fields = {"partition_index": 0, "error_code": "NONE"}
    done: Fields = {"topics": [{"name": "orders", "partitions": [written]}]}
    nobody: Fields = {"generation_id_or_member_epoch": -1, "member_id": "", "retention_time_ms": -1}
    deleted: Fields = {"results": [{"group_id": GROUP, "error_code": "NONE"}], "throttle_time_ms": 0}
    not_found: Fields = {"error_code": "GROUP_ID_NOT_FOUND", "topics": [], "throttle_time_ms": 0}
    beat: Fields = {"group_id": GROUP, "member_id": "human", "generation_id": 1}
    exchanges = (
        _exchange("OffsetCommit", {**commit, **nobody}, done, version=2),
        _exchange("DeleteGroups", {"groups_names": [GROUP]}, deleted, at=(2, deleted_us)),
        _exchange("OffsetDelete", {"group_id": GROUP, **part}, not_found, at=(3, 8)),
        _exchange("Heartbeat", beat, {"error_code": "COORDINATOR_NOT_AVAILABLE"}, at=(10, 20)),
    )
    account = Account(conversation_id="races")
    spec = specification(profile, USUAL_CONFIG)
    group = GroupReplay(group_id=GROUP, spec=spec, account=account, is_whole=True, is_raced=True)
    group.take(conversation_of(exchanges))
    assert (account.findings == []) is is_explained


@pytest.mark.parametrize(
    ("spec", "exit_code", "says"),
    [
        ("kafka:3.9.2", 0, "known: OffsetDelete and DeleteGroups both say NONE"),
        ("kafka:4.1.2", 1, ""),
        ("external:127.0.0.1:9092", 1, ""),
    ],
)
def test_a_finding_that_is_known_of_its_target_is_said_with_its_reason_and_ends_with_0(
    spec: str, exit_code: int, says: str, tmp_path: Path
) -> None:
    group = "race-1-offset-delete-3"
    part: Fields = {"name": "orders", "partitions": [{"partition_index": 0}]}
    committed: Fields = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    of_topic: Fields = {"name": "orders", "partitions": [committed]}
    nobody: Fields = {"generation_id_or_member_epoch": -1, "member_id": "", "retention_time_ms": -1}
    written: Fields = {"name": "orders", "partitions": [{"partition_index": 0, "error_code": "NONE"}]}
    asked: dict[str, tuple[int, Fields, Fields]] = {
        "OffsetCommit": (2, {"group_id": group, "topics": [of_topic], **nobody}, {"topics": [written]}),
        "DeleteGroups": (
            0,
            {"groups_names": [group]},
            {"throttle_time_ms": 0, "results": [{"group_id": group, "error_code": "NONE"}]},
        ),
        "OffsetDelete": (
            0,
            {"group_id": group, "topics": [part]},
            {"error_code": "NONE", "throttle_time_ms": 0, "topics": [written]},
        ),
    }
    folder = RunFolder.create(tmp_path, "run")
    header = replace(
        HEADER, target="broker", spec=spec, profile="3.9", broker_config=json.dumps(dict(USUAL_CONFIG))
    )
    folder.write_run(run_header("run", (header.target,), RunKind.RACES, "kafka-conformance race"))
    folder.write_headers(header.target, [header])
    journal = Journal(folder.of_target(header.target) / JOURNAL, "broker")

    def keeps(kind: Kind, api: str, frame: bytes) -> None:
        journal.keep(kind, [*asked].index(api), len(frame).to_bytes(4, "big") + frame)

    for number in range(len(asked)):
        opening = Opening(conversation="races", client="races", broker="bootstrap", address="broker")
        journal.keep_record(Kind.OPENED, number, opening)
    for together in (["OffsetCommit"], ["DeleteGroups", "OffsetDelete"]):
        for api in together:
            version, request, _ = asked[api]
            frame = encode_request(api, version, correlation_id=0, client_id="bob", fields=request)
            keeps(Kind.REQUEST_BYTES, api, frame)
        for api in together:
            version, _, answer = asked[api]
            keeps(Kind.RESPONSE_BYTES, api, encode_response(api, version, correlation_id=0, fields=answer))
    ended = CliRunner().invoke(app, ["judge", str(finish(folder, ended="complete").folder.path)])
    assert ended.exit_code == exit_code, ended.output
    assert "NONE instead of GROUP_ID_NOT_FOUND" in ended.output
    assert says in " ".join(ended.output.split())
    assert ("known:" in ended.output) is bool(says)


def _exchange(
    api: str, request: Fields, answer: Fields, *, version: int = 0, at: tuple[int, int] = (0, 1)
) -> Exchange:
    asked_ms, answered_ms = at
    return Exchange(
        api=api,
        api_version=version,
        actor="bob",
        request=request,
        groups=groups_of(api, request),
        frame=encode_request(api, version, correlation_id=0, client_id="bob", fields=request),
        asked_ms=asked_ms,
        free_ms=asked_ms,
        asked_at=asked_ms,
        answered_ms=answered_ms,
        answered_at=answered_ms,
        answer=answer,
        connection=api,
    )


@pytest.mark.parametrize("arguments", [["human"], ["-t", "nonsense"]])
def test_a_race_or_target_that_is_not_there_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["race", *arguments]).exit_code == 64


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["reference-tcp:4.4", pytest.param("kafka:3.9.2", marks=pytest.mark.broker)]
)
def test_races_are_run_with_a_target_recorded_and_explained(target: str, tmp_path: Path) -> None:
    arguments = ["race", "delete-left", "join-sync", "-t", target, "--rounds", "40", "--run-id", "run"]
    ended = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    folder = RunFolder(tmp_path / "run")
    (header,) = folder.all_headers()
    assert header.spec == target
    judged = json.loads((folder.path / "judged.json").read_text())
    assert sum("filler" not in each["group"] for each in judged["groups"]) == 80
