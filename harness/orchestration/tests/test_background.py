"""Work in a process of its own, beside what must not wait for it."""

import asyncio
import multiprocessing
import os
import signal
import time
from functools import partial
from multiprocessing import resource_tracker, util
from pathlib import Path
from typing import Any, Final

import pytest

from harness.orchestration.background import BackgroundError, in_background
from harness.orchestration.driving import RunDrive
from harness.results.status import ENDED_COMPLETE
from harness.targets.base.interface import TargetError
from harness.tests.completed_runs import Quiet, plan_of
from harness.trace.files import RunFolder, read_events

_FAR_MORE_THAN_A_PIPE_TAKES: Final = 10_000_000


def _fails() -> None:
    raise TargetError("there is no such profile")


def _dies() -> None:
    os._exit(3)


@pytest.mark.slow
def test_what_a_process_returns_and_raises_reaches_the_caller() -> None:
    assert asyncio.run(in_background(partial(divmod, 7, 3))) == (2, 1)
    with pytest.raises(TargetError, match="no such profile"):
        asyncio.run(in_background(_fails))


@pytest.mark.slow
def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(BackgroundError):
        asyncio.run(in_background(_dies))


def test_a_process_that_dies_before_it_has_read_its_work_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = util.spawnv_passfds

    def spawn_and_kill(*arguments: Any) -> int:  # noqa: ANN401 - as the function is called
        pid = spawn(*arguments)
        os.kill(pid, signal.SIGKILL)
        return pid

    resource_tracker.ensure_running()
    monkeypatch.setattr(util, "spawnv_passfds", spawn_and_kill)
    with pytest.raises(BackgroundError):
        asyncio.run(in_background(partial(len, bytes(_FAR_MORE_THAN_A_PIPE_TAKES))))


@pytest.mark.parametrize("is_there", [False, True], ids=["as it starts", "when it is there"])
async def test_who_is_interrupted_leaves_no_process(*, is_there: bool) -> None:
    task = asyncio.create_task(in_background(partial(time.sleep, 600)))
    await asyncio.sleep(0)
    while is_there and not multiprocessing.active_children():  # noqa: ASYNC110 - a process tells nobody that it is there
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_references_that_run_in_the_background_leave_the_same_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = []
    for scenarios_from in (1, 10_000):
        monkeypatch.setattr("harness.orchestration.driving._BACKGROUND_FROM", scenarios_from)
        plan = plan_of(tmp_path / str(scenarios_from), ["reference", "reference-tcp"], "classic/heartbeat/*")
        folder = RunFolder.create(plan.reports, plan.run_id)
        report = asyncio.run(RunDrive(plan=plan, folder=folder, watcher=Quiet()).run())
        assert report.ended == ENDED_COMPLETE
        assert folder.read_headers("reference-tcp")[0].oracle == "reference"
        events = read_events(folder.events("reference"))
        traces.append([(each.scenario_id, each.sequence, each.kind) for each in events])
    background_trace, own_trace = traces
    assert len(own_trace) > 10
    assert sorted(background_trace) == sorted(own_trace)
