"""A test whether runs detect timers that are 30 % off, even on a busy machine."""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from harness.bench.machine import machine_facts
from harness.bench.slow_timers import SlowTimer, slow_timers
from harness.diff.model import Judgement
from harness.orchestration.confirming import ATTEMPTS
from harness.orchestration.plan import RunPlan, new_run_id, select_scripts
from harness.orchestration.run import orchestrate
from harness.results.exit_code import ENDED_INTERRUPTED
from harness.results.status import ResultStatus, status_of
from harness.runner.watcher import Watcher
from harness.scenario.registry import collect
from harness.scenario.script import Elapse, Receive, Script, StayParked
from harness.targets.reference.tcp import REFERENCE_ROOT, ReferenceTcpTarget

CONFIRM_S: Final = 45.0
"""For how long repeated attempts after one fault may begin: those at the first causes, and more."""
MOST_S: Final = 1200.0
"""The time after which no further fault is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpness:
    """The result of the run with one fault. Grain: fault."""

    fault: str
    was_run: bool
    total_s: float
    red: tuple[str, ...]
    """The scenarios that are red."""
    shown: tuple[str, ...]
    """The red scenarios that showed the difference in each of three attempts."""
    example: str
    """One of the shown scenarios, or else of the red ones, with the reason."""

    @property
    def is_found(self) -> bool:
        """Whether the fault is detected reliably."""
        return bool(self.shown)


def minds_time(script: Script) -> bool:
    """Return whether a script can detect a timer: it lets time pass, or bounds how long an answer takes."""
    return any(
        isinstance(step, Elapse | StayParked)
        or (isinstance(step, Receive) and (step.not_before_ms, step.not_after_ms) != (None, None))
        for step in script.steps
    )


def chosen_scripts(patterns: Sequence[str]) -> Mapping[str, Script]:
    """Return the scripts that can detect a wrong timer, among the named ones or else all."""
    chosen = select_scripts(collect("suites"), patterns)
    return {name: script for name, script in chosen.items() if minds_time(script)}


def try_faults(scripts: Mapping[str, Script], out: Path, watcher: Watcher) -> Iterator[Sharpness]:
    """Run a reference with each fault, one after the other, and yield the results."""
    began_s = time.monotonic()
    for fault in slow_timers():
        if time.monotonic() - began_s < MOST_S:
            yield _tried(fault, scripts, out, watcher)
        else:
            why = f"not run: {MOST_S:.0f} s had passed"
            yield Sharpness(fault=str(fault), was_run=False, total_s=0, red=(), shown=(), example=why)


def _tried(fault: SlowTimer, scripts: Mapping[str, Script], out: Path, watcher: Watcher) -> Sharpness:
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        target = ReferenceTcpTarget(root=fault.write(REFERENCE_ROOT, Path(directory)))
        plan = RunPlan(
            run_id=f"{new_run_id()}-{os.getpid()}",
            scripts=scripts,
            catalogue=frozenset(scripts),
            targets=(target,),
            reports=out / "sharpness",
            command=f"bench-drive --sharpness: {fault}",
            confirm_s=CONFIRM_S,
        )
        completed = orchestrate(plan, watcher)
    if completed.footer.ended.startswith(ENDED_INTERRUPTED):
        raise KeyboardInterrupt  # the interrupt ended that run in order; no other may begin
    judgements = completed.checked.judgements
    red = [
        each for each in judgements if each.target == target.name and status_of(each) is ResultStatus.FAILED
    ]
    shown = [each for each in red if each.shown_count >= ATTEMPTS]
    return Sharpness(
        fault=str(fault),
        was_run=True,
        total_s=round(time.monotonic() - began_s, 1),
        red=tuple(each.scenario_id for each in red),
        shown=tuple(each.scenario_id for each in shown),
        example=_example([*shown, *red]),
    )


def _example(red: Sequence[Judgement]) -> str:
    return f"{red[0].scenario_id}: {red[0].reason}" if red else "NOT NOTICED"


def print_sharpness(tried: Sequence[Sharpness], busy: int, console: Console) -> None:
    """Print a row for each fault, and the totals."""
    table = Table(box=SIMPLE_HEAD, title=f"Timers 30 % off, beside {busy} busy processes")
    for name in ("deadline x factor", "s", "red", f"shown {ATTEMPTS} of {ATTEMPTS}"):
        table.add_column(name, justify="left" if name.startswith("deadline") else "right")
    table.add_column("for example", overflow="fold")
    for each in tried:
        figures = (f"{each.total_s:.0f}", str(len(each.red)), str(len(each.shown)))
        table.add_row(each.fault, *figures, each.example)
    console.print(table)
    red, shown = sum(bool(each.red) for each in tried), sum(each.is_found for each in tried)
    console.print(
        f"{red} of {len(tried)} faults are red, {shown} of them shown {ATTEMPTS} of {ATTEMPTS}; "
        f"{sum(each.total_s for each in tried):.0f} s in all"
    )


def write_sharpness(tried: Sequence[Sharpness], busy: int, out: Path) -> Path:
    """Write the results; return the path."""
    path = out / "sharpness.json"
    content = {
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": dict(machine_facts()),
        "busy": busy,
        "faults": [asdict(each) for each in tried],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
