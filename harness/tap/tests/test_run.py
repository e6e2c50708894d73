"""The command `tap` from its start to its run folder, ended well and badly, and `invariants` over it."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.results.status import ExitCode
from harness.tap.journal import JOURNAL
from harness.tests.completed_runs import CHECKOUT
from harness.tests.in_process import CommandLine
from harness.tests.patience import awaited
from harness.tests.replayed import join
from harness.tests.tapped import PATIENCE_S, Line, connected
from harness.trace.events import EventKind
from harness.trace.files import RunFolder, read_events
from harness.wire.codec import Fields

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]

RUN = "tapped"
TARGET = "reference-tcp"
ADDRESS = re.compile(r"clients find it at (\S+)")


@contextmanager
def tapping(out: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; yields its process and where clients find the target."""
    command = ["tap", "--target", TARGET, "--out", str(out), "--run-id", RUN, *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *command], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process, next(found[1] for line in process.stdout if (found := ADDRESS.search(line)))
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def ended(process: subprocess.Popen[str], how: signal.Signals) -> tuple[int, str]:
    process.send_signal(how)
    said, _ = awaited(process)
    return process.returncode, said


def joined_and_synced(client: Line) -> None:
    client.ask("FindCoordinator", 3, {"key": "g", "key_type": 0})
    member_id = client.ask("JoinGroup", 5, join(group_id="g"))["member_id"]
    joined = client.ask("JoinGroup", 5, join(str(member_id), group_id="g"))
    assert joined["error_code"] == "NONE"
    member: Fields = {"group_id": "g", "member_id": member_id, "generation_id": joined["generation_id"]}
    client.ask("SyncGroup", 3, {**member, "assignments": []})


def test_a_tap_ends_with_a_run_folder_like_any_other(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    with tapping(tmp_path, "--check") as (process, address), connected(address) as client:
        joined_and_synced(client)
        status, said = ended(process, signal.SIGINT)
    folder = RunFolder(tmp_path / RUN)
    events = read_events(folder.events(TARGET))

    # The only member leads and assigns itself nothing, which is found twice: at once, and in the end.
    assert status == ExitCode.UNEXPECTED
    assert said.count("the leader sent no assignment for") == 2
    footer = folder.read_footer()
    assert footer is not None
    assert footer.ended == "complete"
    assert json.loads(footer.event_counts) == {TARGET: len(events)}
    answers = [event.api for event in events if event.kind == EventKind.RESPONSE]
    assert answers == ["FindCoordinator", *["JoinGroup"] * 2, "SyncGroup"]
    (header,) = folder.read_headers(TARGET)
    assert header.spec == TARGET
    assert folder.read_run().targets == (TARGET,)
    assert kafka_conformance("judge", folder.path) == ExitCode.UNEXPECTED
    assert "all are assigned [clients]" in kafka_conformance.out


def test_a_tap_that_is_killed_is_finished_later(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    with tapping(tmp_path) as (process, address), connected(address) as client:
        client.ask("ApiVersions", 0, {})
        client.ask("ApiVersions", 0, {})
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        assert client.receive(1) == b""
    folder = RunFolder(tmp_path / RUN)
    assert folder.read_footer() is None

    assert kafka_conformance("tap", "--finish", folder.path) == ExitCode.EXPECTED
    footer = folder.read_footer()
    assert footer is not None
    assert footer.ended.startswith("interrupted")
    answers = [event for event in read_events(folder.events(TARGET)) if event.kind == EventKind.RESPONSE]
    assert [event.api for event in answers] == ["ApiVersions"] * 2
    folder.write_footer(dataclasses.replace(footer, ended="complete", drive_ms='{"reference-tcp": 7.0}'))
    before = folder.footer_json.read_bytes()
    assert kafka_conformance("tap", "--finish", folder.path) == ExitCode.EXPECTED
    assert "2 requests" in kafka_conformance.out
    assert folder.footer_json.read_bytes() == before


def test_a_tap_that_nobody_used_says_that_nothing_ran(tmp_path: Path) -> None:
    with tapping(tmp_path) as (process, _):
        status, said = ended(process, signal.SIGTERM)

    assert status == ExitCode.NOTHING_RAN
    assert "0 requests" in said


def test_what_cannot_be_tapped_is_refused(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    out = ("--out", tmp_path)
    assert kafka_conformance("tap", *out) == ExitCode.USAGE
    assert "name a --target" in kafka_conformance.err
    assert kafka_conformance("tap", "--target", "reference", *out) == ExitCode.UNAVAILABLE
    assert "listens nowhere" in kafka_conformance.err


def test_a_run_that_was_not_tapped_cannot_be_finished(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    with tapping(tmp_path) as (process, _):
        ended(process, signal.SIGTERM)
    (tmp_path / RUN / "record" / "traces" / TARGET / JOURNAL).unlink()

    assert kafka_conformance("tap", "--finish", tmp_path / RUN) == ExitCode.BAD_DATA
    assert f"no {JOURNAL}" in kafka_conformance.err
