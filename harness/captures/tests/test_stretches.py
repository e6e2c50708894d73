"""A giant is judged in stretches, each apart from the others, and to the same result as in one piece."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.captures.judging import judge_here, split
from harness.captures.notes import Notes
from harness.captures.parts import Start, stretches_of
from harness.captures.rows import Row, facts_of
from harness.captures.sources import rows_of_captures, sources_of
from harness.captures.tests.made_captures import PORT, terms_of, wire_of, with_forged, write_pcap
from harness.tests.completed_runs import environment
from harness.tests.patience import completed
from harness.tests.replayed import GROUP, TOPIC, Fields, Recording, beat, commit, enters, fetch, join, sync
from harness.tests.replayed_epochs import EpochRecording
from harness.trace.canonical import FieldValue
from harness.trace.events import Event

STRETCH = 30


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Ana and bob share a group for long; bob crashes, and ana goes on alone."""
    made = Recording()
    ana = enters(made, "ana")
    sync(made, "ana", ana, 1, {ana: b"all"})
    bob = enters(made, "bob")
    beat(made, "ana", ana, 1)
    made.sends("ana", "JoinGroup", 5, join(ana))
    sync(made, "bob", bob, 2, {})
    sync(made, "ana", ana, 2, {ana: b"first", bob: b"second"})
    for number in range(25):
        made.passes(500)
        beat(made, "ana", ana, 2)
        beat(made, "bob", bob, 2)
        commit(made, "ana", ana, 2, number)
        made.passes(100)
        made.sends("admin", "ListGroups", 2, {})
    for _ in range(13):
        made.passes(500)
        beat(made, "ana", ana, 2)
    made.sends("ana", "JoinGroup", 5, join(ana))
    made.passes(100)
    sync(made, "ana", ana, 3, {ana: b"all again"})
    for _ in range(40):
        made.passes(500)
        beat(made, "ana", ana, 3)
        fetch(made, "ana")
    return made


def with_denied_member(recording: Recording, events: list[Event]) -> list[Event]:
    return with_forged(events, recording.position("Heartbeat", 45), {"error_code": "UNKNOWN_MEMBER_ID"})


def with_lost_commit(recording: Recording, events: list[Event]) -> list[Event]:
    partition: dict[str, FieldValue] = {
        "partition_index": 0,
        "committed_offset": 3,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": "NONE",
    }
    topics: list[FieldValue] = [{"name": "orders", "partitions": [partition]}]
    return with_forged(events, recording.position("OffsetFetch", -2), {"topics": topics})


Lie = Callable[[Recording, list[Event]], list[Event]]
LIES: dict[str, tuple[Lie, ...]] = {
    "nothing": (),
    "a denied member": (with_denied_member,),
    "a lost commit": (with_lost_commit,),
    "both": (with_denied_member, with_lost_commit),
}


def capture(recording: Recording, path: Path, *lies: Lie) -> Path:
    events = recording.events
    for lie in lies:
        events = lie(recording, events)
    return write_pcap(path, wire_of(events).sent)


def starts(path: Path, *, stretch: int = STRETCH, lacking: bool = False) -> list[Start | None]:
    rows = sorted(rows_of_captures(sources_of([path]), frozenset((PORT,)), Notes()))
    connections, exchanges = split(row for row in rows if row.group)
    if lacking:
        connections = [_with_gap(each) for each in connections]
    facts = facts_of(row for row in rows if not row.group)
    cut = stretches_of(connections, exchanges, facts, is_whole=True, stretch=stretch)
    return [start for start, of_stretch in cut if list(of_stretch)]


def test_a_topic_grows_after_the_last_look_that_did_not_show_it(tmp_path: Path) -> None:
    looks = EpochRecording("4.4")
    for _ in range(3):
        looks.passes(5_000)
        looks.looks_up()
    last_ms = looks.events[-2].at_ms  # when it was asked
    more: Fields = {"name": TOPIC, "count": 6, "assignments": None}
    looks.sends("ana", "CreatePartitions", 3, {"topics": (more,), "timeout_ms": 1_000})
    looks.looks_up()

    path = write_pcap(tmp_path / "c.pcap", wire_of(looks.events).sent)
    rows = rows_of_captures(sources_of([path]), frozenset((PORT,)), Notes())
    (change,) = facts_of(row for row in rows if not row.group).topics.operations
    assert change.asked_ms >= last_ms - looks.events[0].at_ms


def _with_gap(row: Row) -> Row:
    return row._replace(content=(*row.content[:3], ((0.0, 1.0, False),)))


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("stretch", [10, STRETCH, 61])
def test_a_group_judged_in_stretches_is_judged_as_one_that_is_not(
    recording: Recording, tmp_path: Path, lie: str, stretch: int, *, whole: bool
) -> None:
    path = capture(recording, tmp_path / "c.pcap", *LIES[lie])
    in_one = terms_of(recording, is_whole=whole, has_excerpts=True)

    (expected,) = judge_here(sources_of([path]), in_one).groups
    (found,) = judge_here(sources_of([path]), replace(in_one, stretch=stretch)).groups

    assert len(starts(path, stretch=stretch)) > 2
    assert len(found.replayed.findings) == len(LIES[lie])
    assert replace(found, excerpts=()) == replace(expected, excerpts=())
    assert [each.finding for each in found.excerpts] == [each.finding for each in expected.excerpts]


@pytest.mark.parametrize("stretch", [10, 1_000])
def test_a_refusal_is_explained_by_what_came_in_an_earlier_stretch(tmp_path: Path, stretch: int) -> None:
    made = Recording()
    ana = enters(made, "ana")
    sync(made, "ana", ana, 1, {ana: b"all"})
    bob = enters(made, "bob")
    made.sends("ana", "JoinGroup", 5, join(ana))
    made.sends("admin", "LeaveGroup", 3, {"group_id": GROUP, "members": ({"member_id": bob},)})
    made.sends("ana", "JoinGroup", 5, join(ana))
    sync(made, "ana", ana, 3, {ana: b"all again"})
    for _ in range(40):
        made.passes(500)
        beat(made, "ana", ana, 3)
    beat(made, "bob", bob, 2)
    path = write_pcap(tmp_path / "c.pcap", wire_of(made.events).sent)
    terms = replace(terms_of(made), part=10, stretch=stretch)

    (group,) = judge_here(sources_of([path]), terms).groups

    assert "by LeaveGroup of admin" in group.refusals[-1].says


def test_a_stretch_begins_with_all_that_the_recording_tells(recording: Recording, tmp_path: Path) -> None:
    first, *others = starts(capture(recording, tmp_path / "c.pcap"))

    assert first is None
    seeds = [each.seed for each in others if each is not None]
    groups = [each.group for each in seeds if each.group is not None]
    assert [(each.generation_id, len(each.members)) for each in groups[:2]] == [(2, 2), (2, 2)]
    assert (groups[-1].generation_id, len(groups[-1].members)) == (3, 1)
    assert [each.offset for each in seeds[-1].offsets] == [24]


def test_a_group_with_a_connection_that_lacks_something_is_left_whole(
    recording: Recording, tmp_path: Path
) -> None:
    assert starts(capture(recording, tmp_path / "c.pcap"), lacking=True) == [None]


@pytest.mark.spark
@pytest.mark.release
def test_executors_judge_stretches_to_the_same_result(recording: Recording, tmp_path: Path) -> None:
    path = capture(recording, tmp_path / "c.pcap", *LIES["both"])
    code = (
        "import sys; from dataclasses import replace; from pathlib import Path\n"
        "from harness.captures.judging import judge_here\n"
        "from harness.captures.on_spark import judge_on_spark\n"
        "from harness.captures.sources import sources_of\n"
        "from harness.captures.tests.made_captures import terms_of\n"
        "from harness.captures.tests.test_stretches import STRETCH\n"
        "from harness.tests.replayed import Recording\n"
        "sources = sources_of([Path(sys.argv[1])])\n"
        "short = replace(terms_of(Recording(), has_excerpts=True), stretch=STRETCH)\n"
        "here = judge_here(sources, short).groups\n"
        "assert len(here[0].replayed.findings) == 2\n"
        # Events of the reference have no time: NaN, which equals nothing.
        "assert repr(judge_on_spark(sources, short, master='local[2]').groups) == repr(here)\n"
    )

    # A process has one Spark session, and other tests of this one use theirs.
    on_spark = completed([sys.executable, "-c", code, path], env=environment())

    assert on_spark.returncode == 0, on_spark.stderr
