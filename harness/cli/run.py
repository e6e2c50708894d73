"""`run` and `report`: make a run's folder from a command line, and pages from a run's folder."""

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.cli.brokers import BROKER_PROPERTY, print_brokers
from harness.cli.dry_run import DRY_RUN, list_only
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import ON, RUN_ID, telling_of_interruption
from harness.cli.suites_here import SUITES
from harness.clients.known_ids import known_ids
from harness.orchestration.expectation_files import expectation_files
from harness.orchestration.external import announcement
from harness.orchestration.external import dry_run as list_external
from harness.orchestration.judging import judge_run_again, read_expectations
from harness.orchestration.matrix import explain_changes
from harness.orchestration.newer_releases import found_newer, judged_as_older
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.orchestration.plan import (
    RunPlan,
    RunShard,
    new_run_id,
    parse_properties,
    parse_targets,
    select_scripts,
)
from harness.orchestration.progress import ProgressDisplay, plainly
from harness.orchestration.run import orchestrate
from harness.orchestration.run import report as make_report
from harness.report.model.losses import has_verdict
from harness.report.model.without_tables import load_verdict
from harness.report.terminal.rates import print_rates
from harness.report.terminal.summary import print_summary, print_verdict
from harness.results.client_judgements import keep_expectations
from harness.results.client_results import clients_folder, load_clients
from harness.results.errors import ReportError
from harness.results.exit_code import ENDED_INTERRUPTED, ExitCode, worst
from harness.results.run_kinds import is_clients_folder, open_folder
from harness.runner.drive import JOBS, Limits
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import collect
from harness.spark.master import LOCAL_MASTER, SparkError, why_no_spark
from harness.trace.events import RunKind
from harness.trace.files import LATEST, RunFolder
from harness.trace.schema import TraceError

if TYPE_CHECKING:
    from harness.clients.run import ClientsPlan
    from harness.report.model.run_data import Run

_SCENARIOS = typer.Argument(help="Scenario ids or globs; all if none is given.", show_default=False)
_TARGET = typer.Option(
    "--target",
    "-t",
    help="What to run them on, e.g. `reference`, `kafka:3.9.2`, `external:HOST:PORT`; may be repeated.",
)
_PROFILE = typer.Option(
    help="Compare targets with this profile, e.g. `3.9` for a broker that claims to be like it."
)
_SKIP = typer.Option(help="Scenario ids or globs to leave out; may be repeated.")
_QUICK = typer.Option(
    "--quick", help="Leave out what waits for time-outs, or needs a broker action or a broker of its own."
)
_OUT = typer.Option(help="Where to make the run's folder.", file_okay=False)
_EXPECT = typer.Option(help="Another expectation file; may be repeated.", exists=True, dir_okay=False)
_BASELINE = typer.Option(help="The folder of an earlier run to compare outcomes with.")
_ARCHIVE = typer.Option(
    help="The archive of runs, for trends; by default `runs` beside the run folders.",
    file_okay=False,
)
_SHARD = typer.Option(help="Run one part of the selection only, e.g. `1/3`; `merge` joins the parts.")
_ALLURE = typer.Option(help="Write Allure results, and render them if Node is there.")
_NO_REPORT = typer.Option("--no-report", help="Run and judge, but make no report.")
_PACK = typer.Option(
    "--pack/--no-pack",
    help="Let scenarios share brokers that have properties which they did not ask for and do not notice.",
)
_CLIENTS = typer.Option(
    "--clients", help="Also run the client scripts, with real clients, on the same targets."
)
_MASTER = typer.Option(help="Spark's master: `local[*]`, `spark://…`.")
_JOBS = typer.Option(
    "--jobs", "-j", min=1, help="The most scenarios at the same time, on all brokers together."
)
_SCENARIO_TIMEOUT = typer.Option(min=0.1, help="The most seconds for one scenario.")
_REPEAT = typer.Option(min=1, help="Run every scenario this many times, and count its outcomes.")
_CONFIRM = typer.Option(
    help="Run unexpected results again, alone; a difference that does not recur is flaky."
)
_CONFIRM_TIME = typer.Option(
    min=0,
    help="The seconds in which such attempts may begin; by default a fifth of the run, or 60.",
)
_RUN_TIMEOUT = typer.Option(min=1, help="The most seconds for the scenarios of one broker.")


@ends_with_exit_code
def run(
    scenarios: Annotated[list[str] | None, _SCENARIOS] = None,
    *,
    target: Annotated[list[str] | None, _TARGET] = None,
    profile: Annotated[str | None, _PROFILE] = None,
    skip: Annotated[list[str] | None, _SKIP] = None,
    quick: Annotated[bool, _QUICK] = False,
    out: Annotated[Path, _OUT] = Path("reports"),
    run_id: Annotated[str | None, RUN_ID] = None,
    jobs: Annotated[int, _JOBS] = JOBS,
    scenario_timeout: Annotated[float, _SCENARIO_TIMEOUT] = 60.0,
    run_timeout: Annotated[float, _RUN_TIMEOUT] = 600.0,
    repeat: Annotated[int, _REPEAT] = 1,
    confirm: Annotated[bool, _CONFIRM] = True,
    confirm_time: Annotated[float | None, _CONFIRM_TIME] = None,
    expect: Annotated[list[Path] | None, _EXPECT] = None,
    baseline: Annotated[Path | None, _BASELINE] = None,
    suites: Annotated[str, SUITES] = "suites",
    allure: Annotated[bool, _ALLURE] = True,
    spark_master: Annotated[str, _MASTER] = LOCAL_MASTER,
    archive: Annotated[Path | None, _ARCHIVE] = None,
    shard: Annotated[str | None, _SHARD] = None,
    broker_property: Annotated[list[str] | None, BROKER_PROPERTY] = None,
    pack: Annotated[bool, _PACK] = True,
    clients: Annotated[bool, _CLIENTS] = False,
    only_drive: Annotated[bool, _NO_REPORT] = False,
    on: Annotated[str | None, ON] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Run scenarios on targets, judge the differences, and write a report."""
    selection = select_scripts(collect(suites), scenarios or [], skip or [], quick=quick)
    plan = RunPlan(
        run_id=run_id or new_run_id(),
        shard=(part := None if shard is None else RunShard.parse(shard)),
        scripts=selection if part is None else part.part_of(selection),
        selection=selection,
        catalogue=known_ids(suites),
        clauses=tuple(load_clauses(suites).values()),
        targets=parse_targets(target or ["reference"], profile=profile, guards_external=True),
        reports=out,
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        limits=Limits(scenario_s=scenario_timeout, drive_s=run_timeout, jobs=jobs),
        expectation_files=expectation_files(suites, expect or []),
    )
    plan = replace(plan, broker_properties=parse_properties(broker_property or []), merges_configs=pack)
    plan = replace(plan, repeat=repeat, confirms=confirm, confirm_s=confirm_time, baseline=baseline)
    if dry_run:
        return _list_only(plan)
    options = ReportOptions(wanted=not only_drive, allure=allure, spark_master=spark_master, archive=archive)
    return carry_out(plan, replace(options, on=on), _beside(plan, profile, suites, wanted=clients), Console())


def _beside(plan: RunPlan, profile: str | None, suites: str, *, wanted: bool) -> "ClientsPlan | None":
    """Plan client scripts on the targets of a run; return None if they are not wanted."""
    if not wanted:
        return None
    # Imported here, as further below, so that runs without client scripts do not wait for their libraries.
    from harness.cli.clients_beside import plan_beside  # noqa: PLC0415 - see above

    specs = [target.spec for target in plan.targets]
    beside = plan_beside(specs, run_id=plan.run_id, profile=profile, suites=suites, console=Console())
    entries = read_expectations(plan.expectation_files, plan.catalogue)
    return replace(beside, confirms=plan.confirms, entries=entries)


def _list_only(plan: RunPlan) -> ExitCode:
    return list_only(
        plan.targets, Console(), partial(list_external, scripts=plan.scripts, run_id=plan.run_id)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options for the report of a run, and for the cluster that drives it."""

    wanted: bool
    allure: bool
    spark_master: str
    archive: Path | None
    on: str | None = None
    """The master of the cluster that drives the run; None for this machine."""


def carry_out(
    plan: RunPlan, options: ReportOptions, clients: "ClientsPlan | None", console: Console
) -> ExitCode:
    """Carry out a plan, then client scripts, under a progress display; report, and print the summary."""
    say = plainly(console)
    folder = plan.reports / plan.run_id
    is_reported = _announce(plan, options, console)
    reported: Run | None = None
    began_s = time.monotonic()
    with telling_of_interruption(folder, "report"), ProgressDisplay(console) as display:
        with cluster_of(options.on, plan.reports, say) as cluster:
            completed = orchestrate(plan, display, cluster)
        print_brokers(completed.folder, console)
        for line in found_newer(plan.targets, completed.folder):
            say(line)
        is_interrupted = completed.footer.ended.startswith(ENDED_INTERRUPTED)
        if is_reported and is_interrupted:
            say("interrupted; making a report of the recording (press Ctrl-C again to stop)")
        applying = [completed.exit_code]
        if clients is not None and not is_interrupted:
            from harness.cli.clients_beside import drive_beside  # noqa: PLC0415 - see `_beside`

            applying.append(drive_beside(clients, folder, display.target_says))
        if is_reported and not has_verdict(load_verdict(folder)):
            is_reported = False
            say(
                f"No report: every target was lost; you can make one with `kafka-conformance report {folder}`"
            )
        if is_reported:
            explain_changes(completed, display.teller("report"))
            reported = _report_or_explain(completed.folder, options, display, console)
    if reported is not None:
        print_summary(reported, console)
    else:
        print_verdict(folder, console)
    _print_clients(folder, console)
    if plan.repeat > 1:
        print_rates(completed.checked, console)
    console.print(f"[dim]{time.monotonic() - began_s:.1f} s in all[/]", highlight=False)
    return worst(applying)


def _announce(plan: RunPlan, options: ReportOptions, console: Console) -> bool:
    """Print what is about to be done, and return whether a report will be made of it."""
    if options.on is not None:
        refuse_unfit(options.on, plan.targets)
    console.print(f"[bold]run {plan.run_id}[/]  {len(plan.scripts)} scenarios", highlight=False)
    say = plainly(console)
    lacking = why_no_spark(options.spark_master) if options.wanted else None
    if lacking is not None:
        folder = plan.reports / plan.run_id
        say(f"Only a verdict, no report: {lacking}; then `kafka-conformance report {folder}`")
    for target in plan.targets:
        if target.is_external:
            say(announcement(target))
    for line in judged_as_older(plan.targets):
        say(line)
    return options.wanted and lacking is None


def _report_or_explain(
    folder: RunFolder, options: ReportOptions, display: ProgressDisplay, console: Console
) -> "Run":
    """Make the report of a run and return the run; if that fails, print the verdict before the failure."""
    try:
        return _report(folder, options, display)
    except (SparkError, ReportError, TraceError, OSError):
        print_verdict(folder.path, console)
        raise


def _report(folder: RunFolder, options: ReportOptions, display: ProgressDisplay) -> "Run":
    tell = display.teller("report")
    rendered = make_report(
        folder,
        allure=options.allure,
        spark_master=options.spark_master,
        progress=tell,
        archive=options.archive,
    )
    if clients_folder(folder.path) is not None:
        from harness.clients.report import write_conversations_beside  # noqa: PLC0415 - see `_beside`

        write_conversations_beside(folder.path)
    if rendered.allure_problem:
        tell(f"Allure's report was not rendered: {rendered.allure_problem}")
    display.finish("report")
    return rendered.run


def _print_clients(run_dir: Path, console: Console) -> None:
    """Print the results of a run's client scripts, if it has any."""
    if clients_folder(run_dir) is not None:
        from harness.cli.clients_beside import print_clients  # noqa: PLC0415 - see `_beside`

        print_clients(run_dir, console)


@ends_with_exit_code
def report(
    run_folder: Annotated[Path, typer.Argument(help="A run's folder; the newest if none is given.")] = Path(
        "reports", LATEST
    ),
    *,
    expect: Annotated[list[Path] | None, _EXPECT] = None,
    baseline: Annotated[Path | None, _BASELINE] = None,
    suites: Annotated[str, SUITES] = "suites",
    allure: Annotated[
        bool, typer.Option(help="Write Allure results, and render them if Node is there.")
    ] = True,
    spark_master: Annotated[str, _MASTER] = LOCAL_MASTER,
    archive: Annotated[Path | None, _ARCHIVE] = None,
) -> ExitCode:
    """Judge a stored run again with today's expectations, and make its report anew."""
    folder = open_folder(run_folder, RunKind.SUITES, RunKind.CLIENTS, RunKind.SOAK, RunKind.TAP)
    console = Console()
    from harness.cli.report_kinds import report_of_other_kind  # noqa: PLC0415 - see `_beside`

    files, catalogue = expectation_files(suites, expect or []), known_ids(suites)
    _judge_clients_again(folder.path, files, catalogue)
    other = report_of_other_kind(folder.path, console)
    if other is not None:
        return other
    if not folder.scripts_json.is_file():
        raise ReportError(f"{run_folder} was cut short before its scripts were written: run it again")
    with ProgressDisplay(console) as display:
        code = judge_run_again(
            folder,
            expectation_files=files,
            catalogue=catalogue,
            baseline=baseline,
        )
        options = ReportOptions(wanted=True, allure=allure, spark_master=spark_master, archive=archive)
        reported = _report_or_explain(folder, options, display, console)
    print_summary(reported, console)
    _print_clients(folder.path, console)
    clients = clients_folder(folder.path)
    return code if clients is None else worst((code, load_clients(clients).exit_code))


def _judge_clients_again(run_dir: Path, files: Sequence[Path], catalogue: frozenset[str]) -> None:
    """Check client scripts against today's expectations, if a folder has any scripts."""
    clients = run_dir if is_clients_folder(run_dir) else clients_folder(run_dir)
    if clients is not None:
        keep_expectations(clients, read_expectations(files, catalogue), datetime.now(UTC).date())
