"""Judging keeps few exchanges in memory, and comes to the same result however these are cut and spread."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.captures.judging import judge_here
from harness.captures.notes import Notes
from harness.captures.parts import parts_of
from harness.captures.rows import Row, RowKind, in_order
from harness.captures.sources import rows_of_captures, sources_of
from harness.captures.tests.made_captures import (
    OPTIONS,
    PORT,
    in_halves,
    terms_of,
    wire_of,
    with_forged,
    write_pcap,
)
from harness.tests.completed_runs import environment
from harness.tests.in_process import CommandLine
from harness.tests.patience import completed
from harness.tests.replayed import GROUP, Recording, two_members
from harness.tests.tap_folders import write_journal
from harness.trace.events import EventKind

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Two members, who stay for long afterwards."""
    return two_members()


def lying(recording: Recording, path: Path) -> Path:
    position = recording.position("Heartbeat", -1)
    forged = with_forged(recording.events, position, {"error_code": "UNKNOWN_MEMBER_ID"})
    return write_pcap(path, wire_of(forged).sent)


@pytest.mark.parametrize("part", [1, 5, 20])
@pytest.mark.parametrize("is_lying", [False, True])
def test_a_group_that_is_cut_anywhere_is_judged_as_one_that_is_not(
    recording: Recording, tmp_path: Path, part: int, *, is_lying: bool
) -> None:
    path = tmp_path / "c.pcap"
    path = lying(recording, path) if is_lying else write_pcap(path, wire_of(recording.events).sent)
    whole = terms_of(recording)

    assert judge_here(sources_of([path]), replace(whole, part=part)) == judge_here(sources_of([path]), whole)


def test_a_cut_is_where_nobody_waits_and_members_have_not_changed_just_before() -> None:
    def rows() -> Iterator[Row]:
        yield row(0.0, 100.0, "JoinGroup")
        for at_ms in range(200, 9_000, 100):
            yield row(at_ms, at_ms + (150.0 if at_ms < 6_000 else 50.0), "Heartbeat")

    (first, end_ms), *_, (_, last_ms) = parts_of(rows(), part=10)

    assert end_ms == 6_100.0
    assert len(first) == 60
    assert last_ms == float("inf")


def row(asked_ms: float, answered_ms: float, api: str) -> Row:
    content = (asked_ms, 0, None, asked_ms, answered_ms, api, 3, "ana", b"", b"", True)
    return Row("g", RowKind.EXCHANGE, asked_ms, "c", int(asked_ms), content)


def test_no_part_is_longer_than_twenty_times_what_is_asked_for() -> None:
    busy = (row(float(at_ms), at_ms + 1_000.0, "Heartbeat") for at_ms in range(1_000))

    assert max(len(part) for part, _ in parts_of(busy, part=10)) == 200


def test_rows_on_disk_come_in_order_again(recording: Recording, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "c.pcap", wire_of(recording.events).sent)
    rows = list(rows_of_captures(sources_of([path]), frozenset((PORT,)), Notes()))

    counts: dict[str, int] = {}

    assert list(in_order(reversed(rows), counts)) == sorted(rows)
    assert sum(counts.values()) == len(rows)


def test_a_tap_is_judged_as_a_capture_is(recording: Recording, tmp_path: Path) -> None:
    terms = terms_of(recording)
    path = write_journal(tmp_path / "journal.bin", recording.events)

    (group,) = judge_here(sources_of([tmp_path]), terms).groups
    path.write_bytes(path.read_bytes()[:-3])
    cut_short = judge_here(sources_of([path]), terms)

    answers = sum(each.kind == EventKind.RESPONSE for each in recording.events)
    assert (group.group, group.replayed.compared, group.replayed.findings) == (GROUP, answers, ())
    assert cut_short.groups[0].replayed.compared == answers - 1
    assert "cut short within an entry" in cut_short.notes.damages[0]


def test_a_file_that_is_none_costs_only_itself(recording: Recording, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no capture")
    good = write_pcap(tmp_path / "c.pcap", wire_of(recording.events).sent)
    terms = terms_of(recording)

    found = judge_here(sources_of([tmp_path / "notes.txt", good]), terms)

    assert found.groups == judge_here(sources_of([good]), terms).groups
    assert "notes.txt" in found.notes.damages[0]


def test_findings_that_are_alike_are_one_pattern_with_what_a_client_notices(
    recording: Recording, tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    written = tmp_path / "judged.json"

    kafka_conformance("judge", lying(recording, tmp_path / "c.pcap"), *OPTIONS, "--json", written)

    (pattern,) = json.loads(written.read_text())["patterns"]
    assert pattern["what"] == "Heartbeat: UNKNOWN_MEMBER_ID instead of NONE"
    assert pattern["clients"] == {"made-up 1.2": 1}
    assert pattern["noticed"] in kafka_conformance.out


@pytest.mark.spark
def test_spark_comes_to_the_same_result_to_the_byte(
    recording: Recording, tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    sent = wire_of(recording.events, cut=9).sent
    halves = in_halves(tmp_path, sent)
    halves[1].write_bytes(halves[1].read_bytes()[:-9])
    (tmp_path / "notes.txt").write_text("no capture")
    files = (*halves, lying(recording, tmp_path / "3.pcap"), tmp_path / "notes.txt")
    here, there = tmp_path / "here.json", tmp_path / "there.json"

    judge: tuple[str | Path, ...] = (sys.executable, "-m", "harness.cli", "judge", *files, *OPTIONS)

    code = kafka_conformance("judge", *files, *OPTIONS, "--json", here)
    # A process has one Spark session, and other tests of this one use theirs.
    on_spark = completed([*judge, "--json", there, "--spark-master", "local[2]"], env=environment())

    assert on_spark.returncode == code, on_spark.stderr
    assert here.read_bytes() == there.read_bytes()
    assert json.loads(here.read_text())["groups"]
