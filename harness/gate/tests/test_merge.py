"""Shards: what one machine would have recorded, three record together; strangers are refused by name."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.gate.tests.small_runs import Driven
from harness.orchestration.plan import PlanError, RunShard
from harness.results.status import ExitCode
from harness.tests.completed_runs import catalogue
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, read_events, read_records

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(name="driven")
def _driven(kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driven:
    # Joined runs are judged without tables.
    monkeypatch.setattr("harness.orchestration.run.why_no_spark", lambda _: "Spark is not needed")
    return Driven(kafka_conformance, tmp_path)


def join(driven: Driven, *runs: Path) -> Path:
    joined = driven.directory / "joined"
    assert driven.command("report", *runs, "--out", joined, "--allure", "off") == ExitCode.EXPECTED
    return joined


def judged(run: Path) -> list[Judgement]:
    """Return what became of a run, without what no two runs have in common."""
    found = read_records(Judgement, RunFolder(run).judgements)
    return sorted(
        (replace(each, run_id="") for each in found), key=lambda each: (each.target, each.scenario_id)
    )


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="write 1/3, 2/3 and 3/3"):
        RunShard.parse(text)


def test_shards_have_each_scenario_once_and_are_alike_in_size() -> None:
    parts = [RunShard(number=number, count=7).part_of(catalogue()) for number in range(1, 8)]
    assert sorted(name for part in parts for name in part) == sorted(catalogue())
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_an_empty_shard_is_refused() -> None:
    two = dict(list(catalogue().items())[:2])
    with pytest.raises(PlanError, match="shard 3/3 is empty: the selection has 2 scenarios"):
        RunShard(number=3, count=3).part_of(two)


def test_shards_joined_are_the_whole_run(driven: Driven) -> None:
    both = ("--target", "reference:3.9", "--target", "reference:4.4")
    whole = driven.run("whole", *both)
    shards = [driven.run(f"shard-{number}", *both, "--shard", f"{number}/3") for number in (1, 2, 3)]
    for number in (0, 2):
        RunFolder(shards[number]).write_suspects({"reference-3.9": [f"of shard {number}"]})
    joined = join(driven, *shards)
    assert judged(joined) == judged(whole)
    assert RunFolder(joined).read_suspects() == {"reference-3.9": ["of shard 0", "of shard 2"]}
    header = RunFolder(joined).read_run()
    assert header.merged_from == ("shard-1", "shard-2", "shard-3")
    assert header.shard is None
    assert header.scenario_digest == RunFolder(whole).read_run().scenario_digest
    assert {event.run_id for event in read_events(RunFolder(joined).events("reference-3.9"))} == {"joined"}
    assert driven.command("gate", joined) == ExitCode.EXPECTED


def test_runs_of_other_targets_join_as_well(driven: Driven) -> None:
    runs = [driven.run(profile, "--target", f"reference:{profile}") for profile in ("3.9", "4.4")]
    assert RunFolder(join(driven, *runs)).read_run().targets == ("reference-3.9", "reference-4.4")


def test_an_oracle_that_two_shards_share_is_kept_once(driven: Driven) -> None:
    suite = "classic/heartbeat/before-assignments"
    one = driven.run("one", "--target", "reference-tcp:3.9", suite=suite)
    other = driven.run("other", "--target", "reference-tcp", "--profile", "3.9", suite=suite)
    both = join(driven, one, other)
    reported, joined = (read_events(RunFolder(run).events("reference-3.9")) for run in (one, both))
    assert [event.sequence for event in joined] == [event.sequence for event in reported]
    assert RunFolder(both).read_run().targets == ("reference-tcp-3.9", "reference-tcp")


def test_what_is_missing_twice_or_cut_short_is_refused_by_name(driven: Driven, tmp_path: Path) -> None:
    one, two = driven.shards()
    out = ("--out", tmp_path / "joined")
    for runs, says in (
        ((one,), "reference: shard 2/2 is missing"),
        ((one, one), "run shard-1 is named 2 times"),
        ((one, two, driven.run("whole")), "scenarios are in more than one run"),
        (
            (one, driven.run("of-all", "--skip", "classic/heartbeat/before-assignments")),
            "digest of the plan's scenarios",
        ),
    ):
        assert driven.command("report", *runs, *out) == ExitCode.BAD_DATA
        assert says in driven.command.err
    RunFolder(two).footer_json.unlink()
    assert driven.command("report", one, two, *out) == ExitCode.BAD_DATA
    assert "shard-2: it has no footer" in driven.command.err
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("harness_version", "9.9", "version of the harness: "),
        ("harness_commit", "0000000", "commit of the harness: "),
        ("scenario_digest", "0000000", "digest of the plan's scenarios: "),
    ],
)
def test_runs_of_another_harness_are_refused_by_what_differs(
    driven: Driven, tmp_path: Path, name: str, value: str, says: str
) -> None:
    one, two = driven.shards()
    content = json.loads(RunFolder(two).run_json.read_text())
    RunFolder(two).run_json.write_text(json.dumps({**content, name: value}))
    assert driven.command("report", one, two, "--out", tmp_path / "joined") == ExitCode.BAD_DATA
    assert says in driven.command.err
    assert value in driven.command.err


def test_targets_of_one_name_that_are_not_the_same_are_refused(driven: Driven, tmp_path: Path) -> None:
    one, two = driven.shards()
    headers = RunFolder(two).read_headers("reference")
    RunFolder(two).write_headers("reference", [replace(each, image="other@sha256:1") for each in headers])
    assert driven.command("report", one, two, "--out", tmp_path / "joined") == ExitCode.BAD_DATA
    assert "image of reference: None in " in driven.command.err
