"""The archive of runs, as whoever packs and reads it sees it; no Spark."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest

from harness.diff.alignment import answers_by_position
from harness.results.client_results import archived_clients
from harness.spark.archive import KINDS, Archive, pack
from harness.tests.damaged import rewrite
from harness.tests.made_events import ANSWER
from harness.tests.spark_archive import (
    JUDGEMENTS,
    changed,
    failing,
    finished,
    judge,
    packed,
    theirs,
)
from harness.tests.spark_records import write_run
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError


def rows(archive: Archive, kind: str) -> list[dict[str, object]]:
    return [row for file in archive.files(kind) for row in pq.read_table(file).to_pylist()]


def conversation(tmp_path: Path, *events: Event) -> object:
    archive = packed(tmp_path, finished(tmp_path / "reports", 1, events=events))
    return rows(archive, "traces")[0]["conversation"]


def test_a_packed_run_has_all_its_records(tmp_path: Path) -> None:
    archive = packed(tmp_path, finished(tmp_path / "reports", 1))

    assert {kind: len(rows(archive, kind)) for kind in KINDS} == {
        "runs": 1,
        "footers": 1,
        "headers": 2,
        "events": 12,
        "traces": 4,
        "judgements": 4,
        "differences": 0,
        "clauses": 0,
    }


def test_a_run_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cut short"):
        packed(tmp_path, write_run(tmp_path / "reports"))


def test_a_run_that_has_lost_events_or_a_judgement_is_refused(tmp_path: Path) -> None:
    for number, lost in enumerate(("events", "judgement"), start=1):
        folder = finished(tmp_path / "reports", number)
        path = folder.judgements if lost == "judgement" else folder.events("reference")
        rewrite(path, lambda old: old.partition(b"\n")[2])
        with pytest.raises(TraceError, match=r"5 of its 6 events|there is no judgement of"):
            packed(tmp_path, folder)


def test_answers_are_numbered_as_they_are_aligned(tmp_path: Path) -> None:
    poll = replace(ANSWER, sequence=1, kind=EventKind.POLL.value)
    again = replace(ANSWER, sequence=2, actor="bob")
    archive = packed(tmp_path, finished(tmp_path / "reports", 1, events=(ANSWER, poll, again)))

    kept = [row for file in archive.conversation_files() for row in pq.read_table(file).to_pylist()]
    assert {
        (each["step"], each["occurrence"], each["actor"], each["connection"])
        for conversation in kept
        for each in conversation["answers"]
    } == answers_by_position([ANSWER, poll, again]).keys()


def test_a_run_is_packed_once_and_again_when_it_was_judged_anew(tmp_path: Path) -> None:
    folder = finished(tmp_path / "reports", 1)
    archive = packed(tmp_path, folder)
    assert pack([folder], archive, clients_of=archived_clients) == 0

    judge(folder, [failing(each) for each in JUDGEMENTS])
    assert pack([folder], archive, clients_of=archived_clients) == 1
    assert [row["outcome"] for row in rows(archive, "judgements")] == ["diverges"] * 4


@pytest.mark.slow
def test_volumes_are_merged_without_loss_and_a_merged_run_can_be_replaced(tmp_path: Path) -> None:
    folders = [finished(tmp_path / "reports", number) for number in range(1, 33)]
    archive = packed(tmp_path, *folders)

    assert len(archive.volumes()) == 1
    assert len(rows(archive, "judgements")) == 32 * 4
    judge(folders[3], [failing(each) for each in JUDGEMENTS])
    pack([folders[3]], archive, clients_of=archived_clients)
    assert len(archive.run_ids()) == 32
    outcomes = {(row["run_id"], row["outcome"]) for row in rows(archive, "judgements")}
    assert len(rows(archive, "judgements")) == 32 * 4
    assert ("run-4", "diverges") in outcomes
    assert ("run-4", "conforms") not in outcomes
    assert len(list((archive.root / "events").iterdir())) == len(archive.volumes())


def test_conversations_that_went_alike_are_kept_once(tmp_path: Path) -> None:
    archive = packed(tmp_path, *[finished(tmp_path / "reports", number) for number in (1, 2)])
    kept = [row for file in archive.conversation_files() for row in pq.read_table(file).to_pylist()]

    assert len(kept) == 2


def test_when_an_answer_came_is_no_part_of_a_conversation(tmp_path: Path) -> None:
    slower = replace(ANSWER, elapsed_ms=99.0, at_ms=99.0)

    assert conversation(tmp_path / "a", ANSWER) == conversation(tmp_path / "b", slower)


def test_polls_are_no_part_of_a_conversation(tmp_path: Path) -> None:
    poll = replace(ANSWER, kind=EventKind.POLL.value, digest="another")
    later = replace(ANSWER, sequence=1)

    assert conversation(tmp_path / "a", ANSWER) == conversation(tmp_path / "b", poll, later)


def test_the_order_of_answers_is_part_of_a_conversation(tmp_path: Path) -> None:
    one, two = ANSWER, replace(ANSWER, sequence=1, digest="another")
    turned = (replace(one, sequence=1), replace(two, sequence=0))

    assert conversation(tmp_path / "a", one, two) != conversation(tmp_path / "b", *turned)


def test_a_scenario_that_could_not_be_run_has_no_conversation_to_compare(tmp_path: Path) -> None:
    refusal = replace(ANSWER, kind=EventKind.NOT_APPLICABLE.value, step=-1)
    archive = packed(tmp_path, finished(tmp_path / "reports", 1, events=[refusal, theirs(ANSWER)]))
    found = {row["target"]: (row["is_held"], row["oracle_conversation"]) for row in rows(archive, "traces")}

    assert found == {"kafka-3.9.2": (False, None), "reference": (True, None)}


def test_traces_tell_of_their_oracle_and_their_judgement(tmp_path: Path) -> None:
    judgements = [failing(JUDGEMENTS[0]), *JUDGEMENTS[1:]]
    archive = packed(tmp_path, finished(tmp_path / "reports", 1, events=changed(1), judgements=judgements))
    ours = next(row for row in rows(archive, "traces") if row["outcome"] == "diverges")
    oracle = next(
        row
        for row in rows(archive, "traces")
        if (row["target"], row["scenario_id"]) == ("reference", ANSWER.scenario_id)
    )

    assert ours["oracle_conversation"] == oracle["conversation"] != ours["conversation"]
