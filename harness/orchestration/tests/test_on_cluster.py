"""Runs whose brokers are executors', on a Spark cluster of this machine."""

import os
import signal
from pathlib import Path
from typing import Final

import pytest

from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.tests.cluster_processes import a_share, commands, executor_above, signed
from harness.tests.completed_runs import command_line, completed_run, outcomes
from harness.tests.patience import awaited, wait_until
from harness.trace.files import RunFolder, read_records

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SELECTION: Final = "classic/heartbeat"
TARGETS: Final = ("reference-tcp", "reference-tcp:3.9")
RUN: Final = (
    *("run", "--on", "local-cluster[2,1,1024]", "--no-report", "--run-id", "on-cluster"),
    *(word for target in TARGETS for word in ("--target", target)),
    SELECTION,
)


@pytest.fixture
def sign(monkeypatch: pytest.MonkeyPatch) -> str:
    return signed(monkeypatch)


def wait_for_shares(reports: Path) -> None:
    wait_until(
        lambda: any(
            each.stat().st_size for each in reports.glob(".shares-*/reference-tcp*/attempt-0/events.*")
        ),
        what="the first event",
    )


def test_a_run_of_which_an_executor_is_killed_ends_as_one_on_this_machine(tmp_path: Path, sign: str) -> None:
    with command_line(*RUN, out=tmp_path) as process:
        wait_for_shares(tmp_path)
        running = commands(sign)
        share = a_share(running)
        os.kill(executor_above(share, running), signal.SIGKILL)
        wait_until(lambda: share not in commands(sign), what="the share ends with its executor")
        awaited(process)
        log = (tmp_path / "log").read_text()
        assert process.returncode == ExitCode.EXPECTED, log
        assert "began 2 times" in log
        wait_until(lambda: not commands(sign), what="nothing of the run is left")

    here = completed_run(tmp_path, TARGETS, SELECTION)
    folder = RunFolder(tmp_path / "on-cluster")
    footer = folder.read_footer()
    assert footer is not None
    assert footer.ended == "complete"
    judged = read_records(Judgement, folder.judgements)
    for target in {each.target for each in judged}:
        on_cluster = {each.scenario_id: each.outcome for each in judged if each.target == target}
        assert on_cluster == outcomes(here, target)
    assert {each.target for each in judged} == {each.target for each in here.checked.judgements}
    assert not list(tmp_path.glob(".shares-*"))


def test_ctrl_c_stops_the_brokers_of_executors_and_keeps_what_was_recorded(tmp_path: Path, sign: str) -> None:
    with command_line(*RUN, out=tmp_path) as process:
        wait_for_shares(tmp_path)
        process.send_signal(signal.SIGINT)
        awaited(process)
        log = (tmp_path / "log").read_text()
        assert process.returncode == ExitCode.INTERRUPTED, log
        assert "Traceback" not in log
        wait_until(lambda: not commands(sign), what="nothing of the run is left")

    folder = RunFolder(tmp_path / "on-cluster")
    footer = folder.read_footer()
    assert footer is not None
    assert footer.ended == "interrupted"
    judged = read_records(Judgement, folder.judgements)
    assert len(judged) >= footer.scenario_count
    assert any(folder.events(target).stat().st_size for target in folder.targets())
    assert not list(tmp_path.glob(".shares-*"))
