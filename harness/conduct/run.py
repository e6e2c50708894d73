"""A run from its plan to its report, step by step; whatever fails later loses nothing recorded before."""

import asyncio
import json
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness import __version__
from harness.conduct.driving import DriveReport, RunDrive
from harness.conduct.judging import ending, judge_run, read_baseline, read_expectations
from harness.conduct.plan import PlanError, RunPlan
from harness.conduct.reporting import build_page_tables
from harness.diff.check import CheckedRun
from harness.report.client_verdicts import client_verdicts
from harness.report.exit_code import ExitCode
from harness.report.render import Rendered, render_all
from harness.runner.drive import Watcher
from harness.scenario.script import script_to_json
from harness.spark.archive import ARCHIVE, Archive
from harness.spark.packing import pack
from harness.trace.events import RunFooter, RunHeader
from harness.trace.files import RunFolder, count_events, write_records
from harness.trace.formats import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductedRun:
    """What is left of a run that was driven and judged."""

    folder: RunFolder
    checked: CheckedRun
    footer: RunFooter
    catalogue: frozenset[str]

    @property
    def exit_code(self) -> ExitCode:
        """How the process that ran it should end."""
        return ending(self.checked, catalogue=self.catalogue, footer=self.footer)


def conduct(plan: RunPlan, watcher: Watcher) -> ConductedRun:
    """Drive a plan's targets and judge what was recorded.

    Raises:
        ExpectationError: an expectation file is wrong; nothing was driven.
        ReportError: the baseline is no judged run; nothing was driven.
        PlanError: there is a run of that id already.
    """
    read_expectations(plan.expectation_files, plan.catalogue)
    read_baseline(plan.baseline)
    if (plan.reports / plan.run_id).exists():
        raise PlanError(f"{plan.reports / plan.run_id}: there is a run of that id already")
    folder = RunFolder.create(plan.reports, plan.run_id)
    folder.write_run(_header(plan))
    folder.write_scripts({name: script_to_json(script) for name, script in plan.scripts.items()})
    if plan.clauses:
        write_records(folder.clauses, plan.clauses)
    driven = asyncio.run(RunDrive(plan=plan, folder=folder, watcher=watcher).run())
    footer = _footer(plan, folder, driven)
    folder.write_footer(footer)
    checked = judge_run(
        folder,
        expectation_files=plan.expectation_files,
        catalogue=plan.catalogue,
        baseline=plan.baseline,
        today=datetime.now(UTC).date(),
    )
    return ConductedRun(folder=folder, checked=checked, footer=footer, catalogue=plan.catalogue)


def report(
    folder: RunFolder,
    *,
    allure: bool,
    spark_master: str,
    progress: Callable[[str], None],
    archive: Path | None = None,
) -> Rendered:
    """Make a judged run's tables and everything that people and machines read of them.

    Args:
        folder: of the run.
        allure: whether Allure's results are wanted too.
        spark_master: Spark's master.
        progress: told what is being worked on.
        archive: where runs are kept and the trend comes from; `runs` beside the run's folder if not given.
    """
    kept = Archive(root=archive or folder.path.parent / ARCHIVE)
    if folder.read_footer() is not None:
        pack([folder], kept, clients_of=client_verdicts, progress=progress)
    progress("Spark computes the tables")
    build_page_tables(folder, kept, master=spark_master, progress=progress)
    progress("rendering")
    return render_all(folder.path, allure=allure)


def _header(plan: RunPlan) -> RunHeader:
    return RunHeader(
        run_id=plan.run_id,
        format_version=FORMAT_VERSION,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        harness_version=__version__,
        harness_commit=_commit(),
        scenario_digest=plan.scenario_digest,
        shard=None if plan.shard is None else str(plan.shard),
        merged_from=(),
        targets=tuple(target.name for target in plan.targets),
        machine=_machine(),
        command=plan.command,
    )


def _footer(plan: RunPlan, folder: RunFolder, driven: DriveReport) -> RunFooter:
    return RunFooter(
        run_id=plan.run_id,
        finished_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ended=driven.ended,
        scenario_count=len(plan.scripts),
        drive_ms=json.dumps(dict(driven.drive_ms)),
        event_counts=json.dumps({target: count_events(folder.events(target)) for target in folder.targets()}),
    )


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count() or 'unknown'} cores, Python {platform.python_version()}"


def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from, if it does and git is there."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=-changed"],  # noqa: S607 - the user's own git
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return answer.stdout.strip() or None
