"""Whole runs for tests: planned in a line, conducted in this process or in one that can be killed."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.orchestration.plan import RunPlan, expectation_files, parse_targets, select_scripts
from harness.orchestration.run import CompletedRun, orchestrate
from harness.runner.drive import Limits
from harness.scenario.registry import collect
from harness.scenario.script import Script, script_to_json
from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    Target,
)
from harness.tests.patience import wait_until
from harness.trace.files import RunFolder
from harness.trace.plain_files import read_plain
from harness.verdict import Expectation

CHECKOUT: Final = Path(__file__).resolve().parents[2]


class Quiet:
    """Watches a drive and says nothing."""

    def target_says(self, target: str, text: str) -> None:
        return

    def drive_begins(self, target: str, scenario_count: int) -> None:
        return

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        return


@cache
def catalogue() -> Mapping[str, Script]:
    return collect("suites")


def spread(one_of: int) -> list[str]:
    """Return some scenarios of every sub-suite: the first of each, and one of so many after it."""
    by_suite: dict[str, list[str]] = defaultdict(list)
    for scenario_id in sorted(catalogue()):
        by_suite[scenario_id.rpartition("/")[0]].append(scenario_id)
    return [each for suite in by_suite.values() for each in suite[::one_of]]


def left_open() -> list[str]:
    """Return the scenarios whose scripts accept several answers: there only a comparison decides."""
    return [name for name, script in catalogue().items() if '"$one_of"' in json.dumps(script_to_json(script))]


def plan_of(
    reports: Path,
    targets: Sequence[str | Target],
    *patterns: str,
    profile: str | None = None,
    run_id: str = "run",
    limits: Limits | None = None,
    further_expectations: Sequence[Path] = (),
) -> RunPlan:
    """Plan a run; no pattern chooses the whole suite."""
    parsed = [
        parse_targets([target], profile=profile, guards_external=True)[0]
        if isinstance(target, str)
        else target
        for target in targets
    ]
    return RunPlan(
        run_id=run_id,
        scripts=select_scripts(catalogue(), patterns),
        catalogue=frozenset(catalogue()),
        targets=tuple(parsed),
        reports=reports,
        command="a test",
        limits=limits or Limits(),
        expectation_files=expectation_files("suites", further_expectations),
    )


def completed_run(reports: Path, targets: Sequence[str | Target], *patterns: str) -> CompletedRun:
    return orchestrate(plan_of(reports, targets, *patterns), Quiet())


def unexpected(run: CompletedRun) -> list[Judgement]:
    return [each for each in run.checked.judgements if each.expectation != Expectation.EXPECTED]


def outcomes(run: CompletedRun, target: str) -> dict[str, str]:
    return {each.scenario_id: each.outcome for each in run.checked.judgements if each.target == target}


def logs_of(folder: RunFolder) -> Mapping[str, bytes]:
    """Return what a run archived of its brokers' logs, by file."""
    content = io.BytesIO(read_plain(folder.record / "logs.tar.zst"))
    with tarfile.open(fileobj=content) as members:
        return {each.name: file.read() for each in members if (file := members.extractfile(each))}


def environment() -> dict[str, str]:
    """For a process of ours elsewhere: it finds our code, and jars where this process would."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "error"}


@contextmanager
def command_line(*arguments: str | Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `kafka-conformance` in a process of its own; neither it nor what it started outlives the test.

    What it prints is in `out/log`.
    """
    with (out / "log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.cli", *arguments, "--out", out],
            cwd=CHECKOUT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for left_over in processes_of(out):
            with suppress(ProcessLookupError):
                os.kill(left_over, signal.SIGKILL)


@contextmanager
def reference_server(profile: str, *, log: Path) -> Iterator[int]:
    """Run the reference's own server, as a broker that somebody else started, and give its port."""
    configured = [f"--config={name}={value}" for name, value in CONFORMANCE_CONFIG.items()]
    topics = [f"--topic={name}:{count}" for name, count in CONFORMANCE_TOPICS.items()]
    listen = ("--listen=127.0.0.1:0", f"--profile={profile}")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "reference_coordinator", *listen, *configured, *topics],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "listening on" in log.read_text(), what="the reference listens")
        found = re.search(r"listening on \S+:(\d+)", log.read_text())
        assert found is not None
        yield int(found[1])
    finally:
        process.terminate()
        process.wait()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def processes_of(directory: Path) -> list[int]:
    """Return the ids of the running programs whose command line names a directory."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and str(directory) in _command_line(entry)
    ]


def _command_line(entry: Path) -> str:
    """Return what a process was started with; nothing for one that has ended, reaped or not."""
    try:
        return (entry / "cmdline").read_text(errors="replace")
    except OSError:
        return ""
