"""The recordings that `bench-judge` makes of one, and what is found in them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench.judge_data import expected_groups, load_base, multiply, write_giant
from harness.captures.judging import judge_here
from harness.captures.sources import sources_of
from harness.captures.tests.made_captures import terms_of
from harness.tests.in_process import CommandLine
from harness.tests.replayed import Recording, join
from harness.tests.tap_folders import write_journal
from harness.trace.canonical import FieldValue
from harness.trace.schema import TraceError

pytest_plugins = ["harness.tests.command_line_fixture"]

GROUP = "readers-of-orders"


def one_member(group: str = GROUP) -> Recording:
    """Return a recording of a member that joins, lists groups, heartbeats, and leaves."""
    recording = Recording()
    recording.sends("reader", "JoinGroup", 4, join(group_id=group))
    member = str(recording.last("JoinGroup")["member_id"])
    recording.sends("reader", "JoinGroup", 4, join(member, group_id=group))
    recording.passes(10)
    of_member: dict[str, FieldValue] = {"group_id": group, "generation_id": 1, "member_id": member}
    recording.sends("reader", "SyncGroup", 2, {**of_member, "assignments": []})
    recording.sends("reader", "ListGroups", 2, {})
    for _ in range(30):
        recording.passes(500)
        recording.sends("reader", "Heartbeat", 2, of_member)
    recording.sends("reader", "LeaveGroup", 2, {"group_id": group, "member_id": member})
    return recording


def test_copies_have_groups_of_their_own_and_each_planted_lie_is_found(tmp_path: Path) -> None:
    recording = one_member()
    base = load_base(write_journal(tmp_path / "journal.bin", recording.events))

    count = multiply(base, tmp_path / "made", count=10 * base.count, planted_rate=0.5)

    files = sorted((tmp_path / "made").glob("*.bin"))
    found = judge_here(sources_of(files), terms_of(recording))
    assert len(found.groups) == 10
    assert sum(each.replayed.compared for each in found.groups) == count
    planted = expected_groups(tmp_path / "made")
    assert 0 < len(planted) < 10
    assert [each.group for each in found.groups if each.replayed.findings] == planted


def test_the_lowest_rate_plants_one_lie(tmp_path: Path) -> None:
    base = load_base(write_journal(tmp_path / "journal.bin", one_member().events))

    multiply(base, tmp_path / "made", count=3 * base.count, planted_rate=1e-9)
    multiply(base, tmp_path / "true", count=3 * base.count, planted_rate=0.0)

    assert len(expected_groups(tmp_path / "made")) == 1
    assert expected_groups(tmp_path / "true") == []


def test_a_giant_agrees_however_it_is_cut(tmp_path: Path) -> None:
    recording = one_member()
    base = load_base(write_journal(tmp_path / "journal.bin", recording.events))
    write_giant(base, tmp_path / "giant", count=500)

    cut = replace(terms_of(recording), part=40)
    (group,) = judge_here(sources_of([tmp_path / "giant" / "one-group.bin"]), cut).groups

    assert group.replayed.compared >= 500
    assert (group.replayed.not_compared, group.replayed.findings) == ({}, ())


def test_an_id_that_is_too_short_is_refused(tmp_path: Path) -> None:
    path = write_journal(tmp_path / "journal.bin", one_member("readers").events)

    with pytest.raises(TraceError, match="'readers' is too short"):
        load_base(path)


def test_the_command_prints_and_writes_what_it_measured(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    path = write_journal(tmp_path / "journal.bin", one_member().events)

    code = kafka_conformance(
        *("bench-judge", path, "--profile=3.9", "--exchanges=300"),
        *(f"--work={tmp_path / 'work'}", f"--out={tmp_path / 'out'}"),
    )

    assert code == 0
    (size,) = json.loads((tmp_path / "out" / "latest.json").read_text())["sizes"]
    assert size["exchanges"] >= 300
    assert "all, nothing else" in kafka_conformance.out
