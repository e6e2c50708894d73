"""`matrix`: run many versions of Kafka, and show what changed from each to the next."""

import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.brokers import BROKER_PROPERTY
from harness.cli.dry_run import DRY_RUN, list_only
from harness.cli.errors import ends_with_exit_code
from harness.cli.run import ReportOptions
from harness.cli.run_folder import ON, RUN_ID, telling_of_interruption
from harness.cli.suites_here import SUITES
from harness.clients.known_ids import known_ids
from harness.orchestration.expectation_files import expectation_files
from harness.orchestration.external import announcement
from harness.orchestration.external import dry_run as list_external
from harness.orchestration.matrix import explain_changes, matrix_targets
from harness.orchestration.newer_releases import judged_as_older
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.orchestration.plan import RunPlan, new_run_id, parse_properties, select_scripts
from harness.orchestration.progress import ProgressDisplay, plainly
from harness.orchestration.run import orchestrate, report
from harness.report.model.changes import print_changes, write_changes
from harness.report.model.changes_data import write_changes_data
from harness.report.terminal.summary import print_summary
from harness.results.exit_code import ENDED_INTERRUPTED, ExitCode
from harness.runner.drive import JOBS, Limits
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import collect
from harness.spark.master import LOCAL_MASTER, SparkError, why_no_spark

_VERSIONS = typer.Option(
    help="The versions: `2.4.1,3.9.2+java,4.4.0`, a range `2.4..4.4`, `latest-patch`, `latest` or `all`."
)
_AGAINST = typer.Option(
    help="Compare every version with this one, e.g. `3.9.2`, and not with its own profile."
)
_TARGET = typer.Option("--target", "-t", help="Another target after the versions; may be repeated.")
_ARCHIVE = typer.Option(
    help="The archive of runs, for trends; by default `runs` beside the run folders.",
    file_okay=False,
)
_AT_ONCE = typer.Option(
    min=1, help="The number of versions that run at the same time; by default as many as fit."
)
_SKIP = typer.Option(help="Scenario ids or globs to leave out; may be repeated.")
_CONFIRM = typer.Option(
    help="Run unexpected results again, alone; a difference that does not recur is flaky."
)
_JOBS = typer.Option(
    "--jobs", "-j", min=1, help="The most scenarios at the same time, on all brokers together."
)
_SCENARIO_TIMEOUT = typer.Option(min=0.1, help="The most seconds for one scenario.")


@ends_with_exit_code
def matrix(
    scenarios: Annotated[
        list[str] | None, typer.Argument(help="Scenario ids or globs; all if none is given.")
    ] = None,
    *,
    versions: Annotated[str, _VERSIONS] = "latest-patch",
    against: Annotated[str | None, _AGAINST] = None,
    target: Annotated[list[str] | None, _TARGET] = None,
    at_once: Annotated[int | None, _AT_ONCE] = None,
    skip: Annotated[list[str] | None, _SKIP] = None,
    out: Annotated[Path, typer.Option(help="Where to make the run's folder.")] = Path("reports"),
    run_id: Annotated[str | None, RUN_ID] = None,
    jobs: Annotated[int, _JOBS] = JOBS,
    scenario_timeout: Annotated[float, _SCENARIO_TIMEOUT] = 60.0,
    run_timeout: Annotated[float, typer.Option(min=1, help="The most seconds for one target.")] = 600.0,
    expect: Annotated[
        list[Path] | None,
        typer.Option(help="Another expectation file; may be repeated.", exists=True, dir_okay=False),
    ] = None,
    broker_property: Annotated[list[str] | None, BROKER_PROPERTY] = None,
    confirm: Annotated[bool, _CONFIRM] = True,
    suites: Annotated[str, SUITES] = "suites",
    allure: Annotated[bool, typer.Option(help="Also write Allure results.")] = False,
    spark_master: Annotated[str, typer.Option(help="Spark's master.")] = LOCAL_MASTER,
    archive: Annotated[Path | None, _ARCHIVE] = None,
    on: Annotated[str | None, ON] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Run many versions of Kafka, list what changes from each to the next, and explain it."""
    chosen = matrix_targets(versions, further=target or [], against=against)
    scripts = select_scripts(collect(suites), scenarios or [], skip or [])
    plan = RunPlan(
        run_id=run_id or new_run_id(),
        scripts=scripts,
        catalogue=known_ids(suites),
        clauses=tuple(load_clauses(suites).values()),
        targets=chosen.targets,
        reports=out,
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        limits=Limits(scenario_s=scenario_timeout, drive_s=run_timeout, jobs=jobs),
        expectation_files=expectation_files(suites, expect or []),
        confirms=confirm,
        at_once=at_once,
        against=chosen.against,
        broker_properties=parse_properties(broker_property or []),
    )
    if dry_run:
        return list_only(plan.targets, Console(), partial(list_external, scripts=scripts, run_id=plan.run_id))
    options = ReportOptions(wanted=True, allure=allure, spark_master=spark_master, archive=archive, on=on)
    return _carry_out(plan, options)


def _carry_out(plan: RunPlan, options: ReportOptions) -> ExitCode:
    if options.on is not None:
        refuse_unfit(options.on, plan.targets)
    console = Console()
    lacking = why_no_spark(options.spark_master)
    if lacking is not None:
        raise SparkError(f"a matrix needs tables, so nothing was run: {lacking}")
    bound = "" if plan.at_once is None else f", {plan.at_once} at once"
    console.print(
        f"[bold]run {plan.run_id}[/]  {len(plan.scripts)} scenarios, {len(plan.targets)} targets{bound}",
        highlight=False,
    )
    external = [announcement(each) for each in plan.targets if each.is_external]
    for line in (*external, *judged_as_older(plan.targets)):
        plainly(console)(line)
    began_s = time.monotonic()
    with telling_of_interruption(plan.reports / plan.run_id, "report"), ProgressDisplay(console) as display:
        with cluster_of(options.on, plan.reports, plainly(console)) as cluster:
            completed = orchestrate(plan, display, cluster)
        if completed.footer.ended.startswith(ENDED_INTERRUPTED):
            console.print("interrupted; making a report of the recording (press Ctrl-C again to stop)")
        tell = display.teller("report")
        if plan.against is None:
            explain_changes(completed, tell)
        rendered = report(
            completed.folder,
            allure=options.allure,
            spark_master=options.spark_master,
            progress=tell,
            archive=options.archive,
        )
        written = write_changes(completed.folder.path)
        write_changes_data(completed.folder.path)
        display.finish("report")
    print_summary(rendered.run, console)
    print_changes(completed.folder.path, console)
    console.print(f"Matrix: {written}", highlight=False, soft_wrap=True)
    console.print(f"[dim]{time.monotonic() - began_s:.1f} s in all[/]", highlight=False)
    return completed.exit_code
