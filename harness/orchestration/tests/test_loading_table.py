"""The table of what was answered while coordinators loaded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.orchestration.loading_table import LoadingTable
from harness.scenario.script import DoToBroker, PauseAt, ResumeFrom, Step, step_text
from harness.targets.base.interface import Breakpoint, BrokerAction
from harness.tests.completed_runs import completed_run
from harness.tests.made_events import BARE, write_events
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
_TARGET = "reference-3.9.2"
_PAUSES = PauseAt(point=Breakpoint.LOADING.value)
_RESTARTED = DoToBroker(lever=BrokerAction.RESTART.value)
_RESUMES = ResumeFrom(point=Breakpoint.LOADING.value)
_BLANK = replace(BARE, run_id="run", target="", scenario_id="loading/version/x")


def control(step: Step) -> Event:
    return replace(_BLANK, kind=EventKind.CONTROL.value, note=step_text(step))


def response(api: str, version: int, fields: Mapping[str, object]) -> Event:
    return replace(_BLANK, api=api, api_version=version, fields=json.dumps(fields))


def heartbeat(version: int, error_code: str) -> Event:
    return response("Heartbeat", version, {"throttle_time_ms": 0, "error_code": error_code})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run's folder with a target and what it is compared with, whose traces are still to be written."""
    run = completed_run(
        tmp_path, ["reference:3.9.2", "reference:2.8.2"], "classic/heartbeat/before-assignments"
    )
    folder = run.folder
    headers = [
        replace(header, spec="kafka:3.9.2", oracle="reference-2.8.2")
        for header in folder.read_headers(_TARGET)
    ]
    folder.write_headers(_TARGET, headers)
    # Traces of other lengths are written: the run is as one that was stopped before its end.
    folder.footer_json.unlink()
    return folder


def table_of(folder: RunFolder, said: Sequence[Event], expected: Sequence[Event]) -> LoadingTable:
    for name, events in ((_TARGET, said), ("reference-2.8.2", expected)):
        write_events(folder.events(name), events)
    table = LoadingTable()
    table.add(folder)
    return table


def while_loading(*events: Event) -> list[Event]:
    return [control(_PAUSES), control(_RESTARTED), *events, control(_RESUMES)]


def rows(table: LoadingTable) -> list[str]:
    return [line for line in table.markdown().splitlines() if line.startswith("| ") and "---" not in line][1:]


def test_only_what_is_answered_between_the_restart_and_the_release_counts(folder: RunFolder) -> None:
    events = [
        heartbeat(0, "BEFORE"),
        control(_PAUSES),
        heartbeat(1, "ARMED"),
        control(_RESTARTED),
        heartbeat(2, "NONE"),
        control(_RESUMES),
        heartbeat(3, "AFTER"),
        control(_RESTARTED),
        heartbeat(4, "NOT PAUSED"),
    ]

    assert rows(table_of(folder, events, events)) == ["| Heartbeat v2 | NONE |"]


def test_traces_with_the_former_names_of_the_steps_are_read_alike(folder: RunFolder) -> None:
    """A trace says what a step was in the words of its own time."""
    today = [*while_loading(heartbeat(2, "NONE")), heartbeat(3, "AFTER")]
    former = [
        replace(each, note=(each.note or "").replace("will be paused", "will be held"))
        if each.note != step_text(_RESUMES)
        else replace(each, note=each.note.replace("the paused coordinator", "the coordinator that is held"))
        for each in today
    ]

    assert former != today
    assert rows(table_of(folder, former, former)) == ["| Heartbeat v2 | NONE |"]


def test_versions_that_are_answered_alike_share_a_line_and_codes_say_where_they_stood(
    folder: RunFolder,
) -> None:
    partition = {"partition_index": 0, "error_code": LOADING}
    events = while_loading(
        response("OffsetFetch", 1, {"topics": [{"name": "orders", "partitions": [partition]}]}),
        response("OffsetFetch", 2, {"topics": [], "error_code": LOADING}),
        response("OffsetFetch", 3, {"topics": [], "error_code": LOADING}),
        response("DeleteGroups", 0, {"results": [{"group_id": "g", "error_code": LOADING}]}),
        response("OffsetCommit", 2, {"topics": []}),
    )

    assert rows(table_of(folder, events, events)) == [
        "| OffsetCommit v2 | nothing that could say so |",
        f"| OffsetFetch v1 | {LOADING} per partition |",
        f"| OffsetFetch v2 to v3 | {LOADING} |",
        f"| DeleteGroups v0 | {LOADING} per group |",
    ]


def test_a_cell_that_differs_from_the_reference_names_both(folder: RunFolder) -> None:
    table = table_of(folder, while_loading(heartbeat(4, LOADING)), while_loading(heartbeat(4, "NONE")))

    assert rows(table) == [f"| Heartbeat v4 | {LOADING} (reference: NONE) |"]
    assert table.differing == ["kafka:3.9.2: Heartbeat v4"]
    assert "0 of 1 cells" in table.markdown()


def test_several_runs_add_up(folder: RunFolder) -> None:
    table = table_of(folder, while_loading(heartbeat(4, "NONE")), while_loading(heartbeat(4, "NONE")))
    table.add(folder)

    assert table.markdown().endswith("1 of 1 cells are what the reference answers, over 2 runs.\n")
    assert not table.differing


def test_a_run_that_has_lost_events_is_refused(tmp_path: Path) -> None:
    folder = completed_run(tmp_path, ["reference:3.9.2"], "classic/heartbeat/before-assignments").folder
    trace = folder.events(_TARGET)
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]))

    with pytest.raises(TraceError, match=r"the trace of reference-3\.9\.2 has"):
        LoadingTable().add(folder)
