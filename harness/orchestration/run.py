"""A run from its plan to its report, step by step; a later failure loses nothing recorded before it."""

import asyncio
import json
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from harness import __version__
from harness.capacity import machine
from harness.diff.check import CheckedRun, Precedents
from harness.orchestration.attributing import attribute_changes
from harness.orchestration.confirming import Rerun, time_for_confirming
from harness.orchestration.driving import DriveReport, RunDrive
from harness.orchestration.judging import check_judged, ending, judge_folder, judge_run
from harness.orchestration.on_cluster import Cluster
from harness.orchestration.plan import PlanError, RunPlan
from harness.results.client_results import archived_clients
from harness.results.status import ENDED_INTERRUPTED, ExitCode
from harness.runner.drive import Watcher
from harness.scenario.script import script_to_json
from harness.spark.master import why_no_spark
from harness.targets.base.interface import Lasting
from harness.trace.events import RECORD, RunFooter, RunHeader
from harness.trace.files import RunFolder, count_events, write_records
from harness.trace.formats import FORMAT_VERSION
from harness.trace.schema import TraceError

if TYPE_CHECKING:
    from harness.report.allure.pages import AllureLevel
    from harness.report.render import Rendered
    from harness.spark.archive import Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedRun:
    """A run that was driven and judged."""

    folder: RunFolder
    checked: CheckedRun
    footer: RunFooter
    exit_code: ExitCode
    """The exit code for the process that ran it."""
    times_s: Mapping[str, float]
    """The seconds that each part took, by its name."""


def orchestrate(plan: RunPlan, watcher: Watcher, cluster: Cluster | None = None) -> CompletedRun:
    """Drive a plan's targets and judge what was recorded.

    Raises:
        ExpectationError: an expectation file is wrong; nothing was driven.
        ReportError: the baseline is not a judged run; nothing was driven.
        PlanError: there is already a run with that id.
    """
    given = plan.given
    precedents = given.read()
    if (plan.reports / plan.run_id).exists():
        raise PlanError(f"{plan.reports / plan.run_id}: there is a run of that id already")
    folder = RunFolder.create(plan.reports, plan.run_id, plan.records)
    folder.write_run(_header(plan))
    folder.write_scripts({name: script_to_json(script) for name, script in plan.scripts.items()})
    if plan.clauses:
        write_records(folder.clauses, plan.clauses)
    if plan.crossings:
        write_records(folder.crossings, plan.crossings)
    times_s: dict[str, float] = {}
    drive = RunDrive(plan=plan, folder=folder, watcher=watcher, cluster=cluster)
    with timed(times_s, "driven"):
        # Python's development mode debugs every event loop; the delays of a debugged loop spoil verdicts.
        driven = asyncio.run(drive.run(), debug=False)
    # The drive is complete, even if the attempts that follow fail.
    folder.write_footer(_footer(plan, folder, driven))
    checked = None
    if not driven.ended.startswith(ENDED_INTERRUPTED):
        rerun = Rerun(plan=plan, folder=folder, watcher=watcher, cluster=cluster)
        checked, is_whole = _run_again(rerun, precedents, times_s)
        driven = driven if is_whole else replace(driven, ended=ENDED_INTERRUPTED)
    footer = _footer(plan, folder, driven)
    folder.write_footer(footer)
    folder.pack()
    with timed(times_s, "judged"):
        checked = judge_run(folder, given, checked=checked)
    code = ending(checked, catalogue=plan.catalogue, footer=footer)
    return CompletedRun(folder=folder, checked=checked, footer=footer, exit_code=code, times_s=times_s)


@contextmanager
def timed(times_s: dict[str, float], what: str) -> Iterator[None]:
    """Add the seconds that a block takes to those of a part of the work."""
    began_s = time.monotonic()
    try:
        yield
    finally:
        times_s[what] = times_s.get(what, 0.0) + time.monotonic() - began_s


def _run_again(
    rerun: Rerun, precedents: Precedents, times_s: dict[str, float]
) -> tuple[CheckedRun | None, bool]:
    """Run all scenarios again, or those whose result is unexpected; return False if that was interrupted."""
    plan, folder, drive_s = rerun.plan, rerun.folder, times_s["driven"]
    with timed(times_s, "driven"):
        if plan.repeat > 1 and not asyncio.run(rerun.repeat(), debug=False):
            return None, False
    if not plan.confirms:
        return None, True
    with timed(times_s, "judged"):
        judged = judge_folder(folder)
        checked = check_judged(folder, judged, precedents)
    time_s = time_for_confirming(plan, drive_s)
    with timed(times_s, "confirmed"):
        again, is_whole = asyncio.run(rerun.confirm(judged, checked, time_s=time_s), debug=False)
    with timed(times_s, "judged"):
        return (checked if again is judged else check_judged(folder, again, precedents)), is_whole


def report(
    folder: RunFolder,
    *,
    allure: "AllureLevel",
    spark_master: str | None,
    progress: Callable[[str], None],
    archive: Path | None = None,
) -> "Rendered":
    """Attribute a judged run's changes, make its reports beside its tables with Spark, then their views.

    Without Spark those views say what is missing; everything else is there. Without a master Spark is not
    wanted. The archive is by default `runs` beside the run's folder.

    Raises:
        TraceError: a file of the record is damaged; the reports have all that the others have.
    """
    # PySpark and Arrow take most of a second to import, and a verdict needs none of them.
    from harness.report.exports.markdown import write_summary  # noqa: PLC0415 - as said
    from harness.report.render import render_all  # noqa: PLC0415 - likewise
    from harness.report.site.run_site import add_aggregates  # noqa: PLC0415 - likewise
    from harness.spark.rows import ARCHIVE  # noqa: PLC0415 - likewise

    attribute_changes(folder, progress)
    lacking = None if spark_master is None else why_no_spark(spark_master)
    if spark_master is None or lacking is not None:
        rendered = _rendered(render_all(folder.path, allure=allure))
        if lacking is not None:
            again = f"kafka-conformance report {folder.path}"
            progress(Lasting(f"no trend: {lacking}; then `{again}`"))
        return rendered
    from harness.spark.archive import Archive  # noqa: PLC0415 - likewise

    import_module("harness.spark.trend")  # by one thread: of two, one may see it half imported
    root = Archive(root=archive or folder.path.parent / ARCHIVE)
    with _beside(partial(archive_and_build_trend, folder, root, master=spark_master), progress) as trend:
        rendered = _rendered(render_all(folder.path, allure=allure))
        progress(f"{rendered.index} is there; Spark counts the trend for it")
        trend.result()
    add_aggregates(rendered.run)
    write_summary(rendered.run)
    return rendered


def archive_and_build_trend(
    folder: RunFolder, archive: "Archive", *, master: str, progress: Callable[[str], None]
) -> None:
    """Add a run to the archive, and build the tables of its trend; a run that was cut short has none.

    With a damaged archive the run only lacks its history; the progress text names the remedy.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's own files are damaged.
    """
    # Arrow and Spark are extras, and slow to import.
    from harness.report.model.trend import PAGE_TABLES, RUN_COUNT_MAX, TREND_FOLDER  # noqa: PLC0415 - as said
    from harness.spark.archive import ArchiveError, pack  # noqa: PLC0415 - likewise
    from harness.spark.trend import TREND_MARTS, build_trend  # noqa: PLC0415 - likewise

    trend = folder.path / TREND_FOLDER
    # Pages show all tables that exist, so an old trend must not outlive the archive.
    shutil.rmtree(trend, ignore_errors=True)
    if folder.read_footer() is None:
        return
    try:
        pack([folder], archive, clients_of=archived_clients, progress=progress)
        run_ids = archive.newest_up_to(folder.read_run().run_id, RUN_COUNT_MAX)
        archive.check(run_ids)
        marts = {name: TREND_MARTS[name] for name in PAGE_TABLES}
        build_trend(archive, trend, marts=marts, run_ids=run_ids, master=master, progress=progress)
    except ArchiveError as error:
        progress(Lasting(f"no history: {error}"))


def _rendered(rendered: "Rendered") -> "Rendered":
    """Return the reports, unless the run that they are about is damaged."""
    if rendered.run.damage:
        raise TraceError(f"{rendered.run.damage} The report: {rendered.index}")
    return rendered


@contextmanager
def _beside(work: Callable[..., None], progress: Callable[[str], None]) -> Iterator[Future[None]]:
    """Do work in a thread; if the block fails meanwhile, the work ends when it next reports progress."""
    has_failed = Event()

    def tell(text: str) -> None:
        if has_failed.is_set():
            raise CancelledError
        progress(text)

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(work, progress=tell)
        except BaseException:
            has_failed.set()
            raise


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
        machine=(
            f"{platform.system()} {platform.machine()}, {machine().cores} cores, "
            f"Python {platform.python_version()}"
        ),
        command=plan.command,
        record=RECORD if plan.records is None else str(plan.records.absolute() / plan.run_id),
    )


def _footer(plan: RunPlan, folder: RunFolder, driven: DriveReport) -> RunFooter:
    return RunFooter(
        run_id=plan.run_id,
        finished_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ended=driven.ended,
        scenario_count=len(plan.scripts),
        drive_ms=json.dumps(dict(driven.drive_ms)),
        event_counts=json.dumps({name: count_events(folder.events(name)) for name in folder.traces()}),
    )


def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from; None without a checkout or git."""
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
