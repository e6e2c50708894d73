"""A sample of the damaged folders that `harness.tests.damage` has: each verb reads the whole, or refuses."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.invariants.checker import VIOLATIONS
from harness.races.tests.test_rounds import stored
from harness.results.status import ExitCode
from harness.scenario.errors import ScenarioError
from harness.scenario.script import ActorSheet, Elapse, script_from_json, script_to_json
from harness.tap.tests.test_run import RUN
from harness.tests.damage import CAPTURED, SCENARIO, VERBS, called, examine, folders
from harness.tests.damaged import rewrite, without_last_line
from harness.tests.made_events import BARE_SCRIPT
from harness.trace.files import RunFolder
from harness.trace.plain_files import read_plain

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.slow

SAMPLE = {
    "judge a run": 30,
    "diff from": 30,
    "diff to": 30,
    "expect prune": 30,
    "tap: judge": 30,
    "tap: report": 8,
    "judge": 30,
}
"""How many damaged folders each verb gets; a report takes some seconds for each."""
SCRIPT = replace(
    BARE_SCRIPT, actors=(ActorSheet(name="ana", client_id="ana"),), steps=(Elapse(duration_ms=1),)
)


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    folders(directory, frozenset({RUN, CAPTURED}))
    return directory


@pytest.fixture(name="tapped")
def _tapped(whole: Path) -> Iterator[RunFolder]:
    """Give the run of a tap, and take back what a test does to its files."""
    files = {each: each.read_bytes() for each in (whole / RUN).rglob("*.json*")}
    files |= {each: each.read_bytes() for each in (whole / RUN).rglob("journal*")}
    yield RunFolder(whole / RUN)
    for path, content in files.items():
        path.write_bytes(content)


@pytest.mark.parametrize(("verb", "count"), SAMPLE.items(), ids=SAMPLE)
def test_no_damage_ends_in_a_traceback_or_is_accepted_in_silence(whole: Path, verb: str, count: int) -> None:
    row = examine(verb, whole, seed=1, count=count)
    assert (row.tracebacks, row.accepted) == ([], [])
    assert row.codes[ExitCode.BAD_DATA] > 0


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_tables_of_damaged_archives_and_runs_are_made_or_refused(tmp_path: Path) -> None:
    folders(tmp_path, frozenset({"shard-1", "runs"}))
    trend, matrix = (examine(verb, tmp_path, seed=1, count=1) for verb in ("trend", "archive: diff"))
    assert [(row.tracebacks, row.accepted) for row in (trend, matrix)] == [([], []), ([], [])]
    assert set(matrix.codes) == {ExitCode.EXPECTED}


def test_every_verb_that_reads_a_run_is_among_them(tmp_path: Path) -> None:
    lines = [verb.line(tmp_path, tmp_path) for verb in VERBS.values()]
    assert {line[0] for line in lines} >= {
        *("diff", "gate", "run", "list", "report", "trend"),
        *("tap", "judge", "expect"),
    }


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("brokers.json", {"reference": 1}),
        ("brokers.json", {"reference": {"brokers": [{"broker_config": [], "cohorts": []}], "unpacked": 1}}),
        ("scripts.json.zst", {SCENARIO: {"steps": [], "broker_config": []}}),
        ("scripts.json.zst", {SCENARIO: {"steps": [1]}}),
    ],
)
def test_what_lies_beside_the_traces_is_refused_where_readers_could_not_use_it(
    whole: Path, file: str, content: object
) -> None:
    path = whole / "shard-1" / "record" / file
    before = path.read_bytes()
    rewrite(path, lambda _: json.dumps(content).encode())
    code, said = called("diff", whole / "shard-1", whole / "shard-2")
    path.write_bytes(before)
    assert (code, f"{file}: reference" in said or f"{file}: {SCENARIO}" in said) == (ExitCode.BAD_DATA, True)


@pytest.mark.parametrize(
    "change", [{"steps": [{"duration_ms": "x"}]}, {"needs": [1]}, {"title": None}, {"id": 0.5}]
)
def test_a_field_of_a_script_that_is_of_another_type_is_refused(change: dict[str, Any]) -> None:
    content: dict[str, Any] = script_to_json(SCRIPT)
    assert script_from_json(content) == SCRIPT
    steps = [{**content["steps"][0], **each} for each in change.get("steps", [])]
    with pytest.raises(ScenarioError):
        script_from_json({**content, **change, **({"steps": steps} if steps else {})})


def test_a_report_of_a_tap_refuses_a_trace_that_lost_events(tapped: RunFolder) -> None:
    events = tapped.events(tapped.targets()[0])
    rewrite(events, without_last_line)
    code, said = called("report", tapped.path)
    assert (code, "of its" in said) == (ExitCode.BAD_DATA, True)


def test_a_report_of_a_tap_finds_broken_invariants_that_were_lost(tapped: RunFolder) -> None:
    violations = tapped.record / VIOLATIONS
    before = read_plain(violations)
    violations.unlink()
    assert called("report", tapped.path)[0] == ExitCode.EXPECTED
    assert read_plain(violations) == before != b""


def test_a_tap_that_ended_in_order_is_not_finished_from_half_a_journal(tapped: RunFolder) -> None:
    events = tapped.events(tapped.targets()[0])
    before, journal = events.read_bytes(), events.with_name("journal.bin")
    journal.write_bytes(journal.read_bytes()[: journal.stat().st_size // 2])
    assert called("tap", "--finish", tapped.path)[0] == ExitCode.BAD_DATA
    assert events.read_bytes() == before


@pytest.mark.parametrize("verb", ["judge", "report"])
def test_a_tap_whose_header_lost_what_it_is_about_is_refused(tapped: RunFolder, verb: str) -> None:
    target = tapped.targets()[0]
    (header,) = tapped.read_headers(target)
    config = json.dumps({"group.min.session.timeout.ms": "x"})
    headers = [] if verb == "report" else [replace(header, broker_config=config)]
    tapped.write_headers(target, headers)
    assert called(verb, tapped.path)[0] == ExitCode.BAD_DATA


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("header.json", r"session.timeout.ms\": \"100\"", r"session.timeout.ms\": \"x\""),
        ("header.json", '"profile"', '"prophile"'),
        ("journal.bin", "kafka-conformance tap 1", "kafka-conformance tap 2"),
    ],
)
def test_races_on_file_that_could_not_have_been_run_are_refused(
    tmp_path: Path, file: str, old: str, new: str
) -> None:
    folder = stored(tmp_path, rounds=2)
    path = folder.of_target("kafka-0.0.0") / file
    assert old.encode() in path.read_bytes()
    rewrite(path, lambda content: content.replace(old.encode(), new.encode()))
    assert called("judge", folder.path)[0] == ExitCode.BAD_DATA
