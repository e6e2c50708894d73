"""Signals end a command in order, many of them at once, and none with a traceback."""

import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Final

import pytest

from harness.cli import errors
from harness.cli.errors import is_interruption
from harness.report.model.phrases import in_markdown
from harness.results.status import ExitCode
from harness.tests import completed_runs
from harness.tests.completed_runs import command_line, environment
from harness.tests.interruptions import interrupted, is_asked
from harness.tests.lying_broker import says_nothing, serving
from harness.tests.patience import awaited, wait_until
from harness.trace.files import RunFolder

_BETWEEN_S: Final = 0.05


def ended_by(tmp_path: Path, *numbers: signal.Signals) -> tuple[int, str]:
    """Start a run, send it signals as soon as it drives, and return its exit code and what it printed."""
    with serving(says_nothing) as port:
        run = ("run", "--target", f"external:127.0.0.1:{port}", "--no-report", "--run-id", "run")
        with command_line(*run, "classic/heartbeat/*", out=tmp_path) as process:
            wait_until(lambda: is_asked(port), what="the drive")
            for number in numbers:
                if process.poll() is None:
                    process.send_signal(number)
                sleep(_BETWEEN_S)
            awaited(process)
    return process.returncode, (tmp_path / "log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_ends_a_run_in_order(tmp_path: Path, number: signal.Signals) -> None:
    code, reported = ended_by(tmp_path, number)
    assert code == ExitCode.INTERRUPTED, reported
    assert "Traceback" not in reported
    footer = RunFolder(tmp_path / "run").read_footer()
    assert footer is not None
    assert footer.ended == "interrupted"


@pytest.mark.slow
def test_a_job_in_the_background_ignores_ctrl_c_and_ends_in_order_when_terminated(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, reported = ended_by(tmp_path, signal.SIGINT, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == ExitCode.INTERRUPTED, reported
    footer = RunFolder(tmp_path / "run").read_footer()
    assert footer is not None
    assert footer.ended == "interrupted"


@pytest.mark.slow
def test_five_times_ctrl_c_ends_at_once_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The later ones may come between the opening of a file and the block that closes it.
    monkeypatch.setattr(
        completed_runs,
        "environment",
        lambda: {**environment(), "PYTHONWARNINGS": "error,ignore::ResourceWarning"},
    )
    code, reported = ended_by(tmp_path, *[signal.SIGINT] * 5)
    # A shell tells 130 of both: Python gives up its handlers before it has ended.
    assert code in (ExitCode.INTERRUPTED, -signal.SIGINT), reported
    assert "Traceback" not in reported
    assert "Exception ignored" not in reported


def test_an_interruption_is_found_in_a_group() -> None:
    assert is_interruption(BaseExceptionGroup("two", [ValueError(), KeyboardInterrupt()]))
    assert not is_interruption(ExceptionGroup("one", [ValueError()]))


@types.coroutine
def _waiting() -> Iterator[None]:
    yield


async def _ends_late() -> None:
    try:
        await _waiting()
    finally:
        await _waiting()


def test_nothing_is_said_of_what_lost_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    for is_silent, loses in ((False, False), (True, True)):
        if is_silent:
            errors._say_nothing_of_interruptions.__wrapped__()
        abandoned = _ends_late()
        abandoned.send(None)
        del abandoned
        assert bool(reported) is not loses
        reported.clear()


def test_markdown_turns_no_text_around_and_carries_no_control_character() -> None:
    reported = in_markdown("a\u202eb\u2066c\x9b31md\x85e\x1b[2J\u200ff")
    assert reported.isprintable()
    assert "\\\\u202eb\\\\u2066c\\\\x9b31md" in reported


@pytest.mark.slow
@pytest.mark.parametrize("signals", ["SIGHUP", "five times Ctrl-C"])
@pytest.mark.parametrize("command", ["tap, not ready", "tap", "clients", "gate"])
def test_signals_end_what_waits_or_carries_at_once_and_keep_what_came(command: str, signals: str) -> None:
    assert interrupted(command, signals).faults == ()


@pytest.mark.spark
@pytest.mark.parametrize("signals", ["SIGHUP", "five times Ctrl-C"])
def test_signals_end_a_run_of_versions_and_keep_what_came(signals: str) -> None:
    assert interrupted("diff", signals).faults == ()
