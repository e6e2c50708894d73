"""Whole runs as a user starts them: their duration, their brokers, and their red results."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from harness.bench.machine import machine_facts
from harness.diff.model import Judgement
from harness.results.status import ResultStatus, status_of
from harness.targets.base.program import Program
from harness.trace.embedded import drive_times
from harness.trace.files import LATEST, RunFolder, read_records

_SAMPLE_S: Final = 0.1
_JAVA: Final = "java"
_BUSY: Final = "while True: pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRunPlan:
    """The runs to measure."""

    targets: tuple[str, ...]
    """Specs, e.g. `kafka:3.9.2`."""
    scenarios: tuple[str, ...]
    """Ids or globs; all scenarios if there is none."""
    rounds: int
    busy: int
    """The number of processes that each keep a core busy beside each run."""
    with_report: bool
    """Whether Spark, the site and Allure are included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """The results of one run. Grain: round."""

    round: int
    busy: int
    exit_code: int
    total_s: float
    drive_s: Mapping[str, float]
    """By target."""
    jvms_at_once: int
    """The most JVMs of brokers and helpers that were up together, without Spark's."""
    brokers: Mapping[str, int]
    """The number of brokers by target, for targets that start some."""
    results: int
    """The number of results of the targets, without their references."""
    standings: Mapping[str, int]
    red: tuple[str, ...]
    """The results that need attention, as `scenario on target: reason`."""

    def share(self, which: ResultStatus) -> float:
        """Return the share of the results with a status."""
        return self.standings.get(which, 0) / self.results if self.results else 0.0


def run_whole(plan: WholeRunPlan, out: Path, tell: Callable[[str], None]) -> Iterator[WholeRun]:
    """Start the runs one after the other, each in its own process, and yield their results."""
    for number in range(1, plan.rounds + 1):
        tell(f"run {number} of {plan.rounds}, beside {plan.busy} busy processes")
        folder = out / f"round-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        with busy_processes(plan.busy, folder):
            yield _run_once(plan, number, folder)


def _run_once(plan: WholeRunPlan, number: int, folder: Path) -> WholeRun:
    command = [sys.executable, "-m", "harness.cli", "run", *plan.scenarios, "--out", str(folder)]
    command += [word for target in plan.targets for word in ("--target", target)]
    command += [] if plan.with_report else ["--no-report"]
    began_s = time.monotonic()
    with (folder / "output.log").open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            command, stdout=output, stderr=subprocess.STDOUT
        )
        sampler = _Sampler(process)
        sampler.start()
        exit_code = process.wait()
    total_s = time.monotonic() - began_s
    sampler.join()
    return _read(plan, number, folder, exit_code=exit_code, total_s=total_s, jvms_at_once=sampler.most)


def _read(
    plan: WholeRunPlan, number: int, folder: Path, *, exit_code: int, total_s: float, jvms_at_once: int
) -> WholeRun:
    run = RunFolder(folder / LATEST)
    footer = run.read_footer()
    judgements = read_records(Judgement, run.judgements) if run.judgements.is_file() else ()
    of_targets = [each for each in judgements if each.oracle is not None]
    counted = Counter(status_of(each) for each in of_targets)
    drive_ms = drive_times(footer) if footer is not None else {}
    names = dict.fromkeys(each.target for each in of_targets)
    return WholeRun(
        round=number,
        busy=plan.busy,
        exit_code=exit_code,
        total_s=round(total_s, 1),
        drive_s={name: round(drive_ms[name] / 1000, 1) for name in names if name in drive_ms},
        jvms_at_once=jvms_at_once,
        brokers={name: len(run.read_headers(name)) for name in names},
        results=len(of_targets),
        standings={each.value: count for each, count in counted.items()},
        red=tuple(
            f"{each.scenario_id} on {each.target}: {each.reason}"
            for each in judgements
            if status_of(each) in (ResultStatus.FAILED, ResultStatus.ERROR, ResultStatus.STALE)
        ),
    )


@contextmanager
def busy_processes(count: int, directory: Path) -> Iterator[None]:
    """Keep cores busy during the block, as other work on the machine would.

    Args:
        count: the number of processes.
        directory: an existing folder for their output.
    """
    log = directory / "busy.log"
    programs = [Program([sys.executable, "-c", _BUSY], log=log, directory=directory) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()


class _Sampler(threading.Thread):
    """Repeatedly counts the running JVMs that a process has started, until the process ends."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        super().__init__(daemon=True)
        self._process = process
        self.most = 0

    def run(self) -> None:
        while self._process.poll() is None:
            self.most = max(self.most, sum(map(_is_broker_jvm, _children(self._process.pid))))
            time.sleep(_SAMPLE_S)


def _children(pid: int) -> Iterator[int]:
    """Yield the child processes of all threads of a process. Source: Linux, proc_pid_task(5)."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            reported = task.read_text(encoding="ascii")
        except OSError:
            continue
        yield from map(int, reported.split())


def _is_broker_jvm(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(_JAVA.encode()) and not any(b"pyspark" in word for word in words)


def write_whole_runs(plan: WholeRunPlan, runs: Sequence[WholeRun], out: Path) -> Path:
    """Write the measurements; return the path."""
    path = out / "latest.json"
    content = {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": dict(machine_facts()),
        "plan": asdict(plan),
        "runs": [asdict(each) for each in runs],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def print_whole_runs(runs: Sequence[WholeRun], console: Console) -> None:
    """Print a row for each run, and the totals."""
    console.print(", ".join(f"{name}: {text}" for name, text in machine_facts().items()), highlight=False)
    table = Table(box=SIMPLE_HEAD, title="Whole runs")
    for name in ("run", "busy", "exit", "total s", "drive s", "JVMs at once", "brokers", "results"):
        table.add_column(name, justify="right")
    for name in ("red", "flaky", "indeterminate"):
        table.add_column(name, justify="right")
    for each in runs:
        table.add_row(
            str(each.round),
            str(each.busy),
            str(each.exit_code),
            f"{each.total_s:.1f}",
            _by_target(each.drive_s),
            str(each.jvms_at_once),
            _by_target(each.brokers),
            str(each.results),
            str(len(each.red)),
            str(each.standings.get(ResultStatus.FLAKY, 0)),
            f"{each.share(ResultStatus.INDETERMINATE):.2%}",
        )
    console.print(table)
    if runs:
        console.print(
            f"median {median(each.total_s for each in runs):.1f} s, "
            f"red results in {sum(bool(each.red) for each in runs)} of {len(runs)} runs"
        )
    for line in dict.fromkeys(line for each in runs for line in each.red):
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _by_target(figures: Mapping[str, float]) -> str:
    return " / ".join(f"{figure:g}" for figure in figures.values())
