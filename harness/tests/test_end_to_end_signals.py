"""Somebody ends a run before it has come to its end."""

import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import pytest

from harness.cli import main
from harness.diff.model import Judgement
from harness.orchestration.run import report
from harness.report.allure.pages import AllureLevel
from harness.results.status import ExitCode
from harness.tests.completed_runs import command_line, processes_of
from harness.tests.patience import awaited, wait_until
from harness.trace.files import RunFolder, read_events, read_records
from harness.verdict import Outcome

pytestmark = pytest.mark.broker

TARGET: Final = "kafka-3.9.2"
RUN: Final = (
    "run",
    "--target",
    "kafka:3.9.2",
    "--no-report",
    "--run-id",
    "run",
    "--jobs",
    "2",
    "classic/heartbeat",
)
"""Two scenarios at once, so that most wait for their turn when the run is ended."""


def wait_for_events(folder: RunFolder) -> None:
    path = folder.events(TARGET)
    wait_until(lambda: path.exists() and path.stat().st_size, what="the first event")


def wait_for_a_starting_broker(folder: RunFolder) -> None:
    wait_until(lambda: list(folder.logs(TARGET).glob("*/server.log")), what="a broker that starts")


def outcomes_of(folder: RunFolder) -> dict[str, str]:
    judgements = read_records(Judgement, folder.judgements)
    return {each.scenario_id: each.outcome for each in judgements if each.target == TARGET}


def ended_by(process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    process.send_signal(number)
    awaited(process)
    return process.returncode


def test_ctrl_c_in_mid_run_keeps_what_was_recorded_and_leaves_no_process(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    log = tmp_path / "log"
    with command_line(*RUN, out=tmp_path) as process:
        wait_for_events(folder)
        assert processes_of(folder.path)
        assert ended_by(process, signal.SIGINT) == ExitCode.INTERRUPTED, log.read_text()
        assert processes_of(tmp_path) == []

    footer = folder.read_footer()
    assert footer is not None
    assert footer.ended == "interrupted"
    found = outcomes_of(folder)
    assert len(found) == footer.scenario_count
    assert Outcome.INDETERMINATE in found.values()
    assert not {Outcome.DIVERGES, Outcome.HARNESS_ERROR} & set(found.values())
    assert read_events(folder.events(TARGET))
    assert "Traceback" not in log.read_text()

    rendered = report(folder, allure=AllureLevel.OFF, spark_master=None, progress=lambda _: None)
    assert "interrupted" in rendered.index.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_while_a_broker_starts_ends_the_run_as_well(tmp_path: Path, number: signal.Signals) -> None:
    folder = RunFolder(tmp_path / "run")
    log = tmp_path / "log"
    with command_line(*RUN, out=tmp_path) as process:
        wait_for_a_starting_broker(folder)
        assert ended_by(process, number) == ExitCode.INTERRUPTED, log.read_text()
        assert processes_of(tmp_path) == []

    assert set(outcomes_of(folder).values()) == {Outcome.INDETERMINATE}
    assert "Traceback" not in log.read_text()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv here")
def test_a_harness_that_is_killed_leaves_a_readable_trace_and_no_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run")
    with command_line(*RUN, out=tmp_path) as process:
        wait_for_events(folder)
        assert ended_by(process, signal.SIGKILL) == -signal.SIGKILL
        wait_until(lambda: not processes_of(tmp_path), what="the broker is gone with the harness")

    recorded = read_events(folder.events(TARGET))
    assert recorded
    assert folder.read_footer() is None

    monkeypatch.setattr("sys.argv", ["kafka-conformance", "report", "--allure", "off", str(folder.path)])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == ExitCode.BAD_DATA
    assert (folder.path / "index.html").is_file()
    assert "cut short" in capsys.readouterr().out
    assert not {Outcome.DIVERGES, Outcome.HARNESS_ERROR} & set(outcomes_of(folder).values())
