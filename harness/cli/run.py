"""`run` and `report`: from a command line to a run folder, or from a run folder to its pages."""

import shlex
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.clients_beside import drive_beside, plan_beside, print_clients
from harness.cli.errors import ends_with_exit_code
from harness.cli.report_kinds import report_of_other_kind
from harness.cli.run_folder import RUN_ID, telling_of_interruption
from harness.clients.report import write_talks_beside
from harness.clients.run import ClientsPlan
from harness.conduct.expectation_files import expectation_files
from harness.conduct.judging import judge_run_again
from harness.conduct.plan import RunPlan, Shard, new_run_id, parse_targets, select_scripts
from harness.conduct.progress import ProgressDisplay
from harness.conduct.run import ConductedRun, conduct
from harness.conduct.run import report as make_report
from harness.report.clients_data import clients_folder, load_clients
from harness.report.errors import ReportError
from harness.report.exit_code import ENDED_INTERRUPTED, ExitCode, worst
from harness.report.run_kinds import RunKind, open_folder
from harness.report.terminal import RESULT_COUNT_MAX, print_summary
from harness.runner.drive import JOBS, Limits
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import collect
from harness.spark.session import LOCAL_MASTER
from harness.trace.events import TARGET_LOST
from harness.trace.files import LATEST, RunFolder
from harness.verdict import Expectation

_SCENARIOS = typer.Argument(help="Scenario ids or globs; all if none is given.", show_default=False)
_TARGET = typer.Option(
    "--target",
    "-t",
    help="What to drive; may be repeated. `reference`, `kafka:3.9.2`, `external:HOST:PORT` …",
)
_PROFILE = typer.Option(
    help="Hold targets against this profile, e.g. `3.9` for a broker that claims to be like it."
)
_SKIP = typer.Option(help="Leave these out; id or glob, may be repeated.")
_OUT = typer.Option(help="Where run folders are made.", file_okay=False)
_EXPECT = typer.Option(help="A further expectation file; may be repeated.", exists=True, dir_okay=False)
_BASELINE = typer.Option(help="A run folder to compare outcomes with.")
_SUITES = typer.Option(help="The Python package that holds the scenarios.")
_ARCHIVE = typer.Option(
    help="Where runs are kept, and the trend comes from; `runs` beside the run folders if not given.",
    file_okay=False,
)
_SHARD = typer.Option(help="Hold one part of the selection only, e.g. `1/3`; `merge` joins the parts.")
_CLIENTS = typer.Option(
    "--clients", help="Have real clients carry their scripts out too, on the same targets."
)
_MASTER = typer.Option(help="Spark's master: `local[*]`, `spark://…`.")
_JOBS = typer.Option("--jobs", "-j", min=1, help="Scenarios at once, on all brokers.")
_SCENARIO_TIMEOUT = typer.Option(min=0.1, help="Seconds for one scenario.")
_RUN_TIMEOUT = typer.Option(min=1, help="Seconds for the scenarios of one broker.")


@ends_with_exit_code
def run(
    scenarios: Annotated[list[str] | None, _SCENARIOS] = None,
    *,
    target: Annotated[list[str] | None, _TARGET] = None,
    profile: Annotated[str | None, _PROFILE] = None,
    skip: Annotated[list[str] | None, _SKIP] = None,
    out: Annotated[Path, _OUT] = Path("reports"),
    run_id: Annotated[str | None, RUN_ID] = None,
    jobs: Annotated[int, _JOBS] = JOBS,
    scenario_timeout: Annotated[float, _SCENARIO_TIMEOUT] = 60.0,
    run_timeout: Annotated[float, _RUN_TIMEOUT] = 600.0,
    expect: Annotated[list[Path] | None, _EXPECT] = None,
    baseline: Annotated[Path | None, _BASELINE] = None,
    suites: Annotated[str, _SUITES] = "suites",
    allure: Annotated[
        bool, typer.Option(help="Write Allure results, and render them if Node is there.")
    ] = True,
    spark_master: Annotated[str, _MASTER] = LOCAL_MASTER,
    archive: Annotated[Path | None, _ARCHIVE] = None,
    shard: Annotated[str | None, _SHARD] = None,
    clients: Annotated[bool, _CLIENTS] = False,
    only_drive: Annotated[
        bool, typer.Option("--no-report", help="Drive and judge, but make no report.")
    ] = False,
) -> ExitCode:
    """Hold scenarios with targets, judge what differs, and write a report."""
    catalogue = collect(suites)
    selection = select_scripts(catalogue, scenarios or [], skip or [])
    part = None if shard is None else Shard.parse(shard)
    plan = RunPlan(
        run_id=run_id or new_run_id(),
        scripts=selection if part is None else part.part_of(selection),
        shard=part,
        selection=selection,
        catalogue=frozenset(catalogue),
        clauses=tuple(load_clauses(suites).values()),
        targets=parse_targets(target or ["reference"], profile=profile),
        reports=out,
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        limits=Limits(scenario_s=scenario_timeout, drive_s=run_timeout, jobs=jobs),
        expectation_files=expectation_files(suites, expect or []),
        baseline=baseline,
    )
    options = ReportOptions(wanted=not only_drive, allure=allure, spark_master=spark_master, archive=archive)
    console = Console()
    beside = None
    if clients:
        specs = target or ["reference"]
        beside = plan_beside(specs, run_id=plan.run_id, profile=profile, suites=suites, console=console)
    return carry_out(plan, options, beside, console)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What is to be made of a run."""

    wanted: bool
    allure: bool
    spark_master: str
    archive: Path | None


def carry_out(
    plan: RunPlan, options: ReportOptions, clients: ClientsPlan | None, console: Console
) -> ExitCode:
    """Conduct a plan, and client scripts after it, under a progress display; report, print the summary."""
    console.print(f"[bold]run {plan.run_id}[/]  {len(plan.scripts)} scenarios", highlight=False)
    began_s = time.monotonic()
    with telling_of_interruption(plan.reports / plan.run_id, "report"), ProgressDisplay(console) as display:
        conducted = conduct(plan, display)
        is_interrupted = conducted.footer.ended.startswith(ENDED_INTERRUPTED)
        if options.wanted and is_interrupted:
            console.print("interrupted; a report is made of what was recorded, unless Ctrl-C comes again")
        applying = [conducted.exit_code]
        if clients is not None and not is_interrupted:
            applying.append(drive_beside(clients, conducted.folder.path, display.of_targets()))
        if options.wanted:
            _report(conducted.folder, options, display)
    if options.wanted:
        print_summary(conducted.folder.path, console)
    else:
        _print_brief(conducted, console)
    print_clients(conducted.folder.path, console)
    console.print(f"[dim]{time.monotonic() - began_s:.1f} s in all[/]", highlight=False)
    return worst(applying)


def _print_brief(conducted: ConductedRun, console: Console) -> None:
    """Print what can be said without a report: how it ended, and the outcomes of each target."""
    outcomes = Counter((each.target, each.outcome) for each in conducted.checked.judgements)
    lines = [f"{target}: {count} {outcome}" for (target, outcome), count in sorted(outcomes.items())]
    unexpected = [
        f"{each.outcome}, {each.expectation}: {each.scenario_id} on {each.target}: {each.reason}"
        for each in conducted.checked.judgements
        if each.expectation != Expectation.EXPECTED and TARGET_LOST not in each.reason
    ]
    rest = len(unexpected) - RESULT_COUNT_MAX
    more = [f"… and {rest} more; judgements.jsonl has them all"] if rest > 0 else []
    told = (*lines, *unexpected[:RESULT_COUNT_MAX], *more)
    for line in (*told, f"ended: {conducted.footer.ended}", f"Run: {conducted.folder.path}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _report(folder: RunFolder, options: ReportOptions, display: ProgressDisplay) -> None:
    tell = display.teller("report")
    rendered = make_report(
        folder,
        allure=options.allure,
        spark_master=options.spark_master,
        progress=tell,
        archive=options.archive,
    )
    write_talks_beside(folder.path)
    if rendered.allure_problem:
        tell(f"Allure's report was not rendered: {rendered.allure_problem}")
    display.finish("report")


@ends_with_exit_code
def report(
    run_folder: Annotated[Path, typer.Argument(help="A run's folder; the newest if none is given.")] = Path(
        "reports", LATEST
    ),
    *,
    expect: Annotated[list[Path] | None, _EXPECT] = None,
    baseline: Annotated[Path | None, _BASELINE] = None,
    suites: Annotated[str, _SUITES] = "suites",
    allure: Annotated[
        bool, typer.Option(help="Write Allure results, and render them if Node is there.")
    ] = True,
    spark_master: Annotated[str, _MASTER] = LOCAL_MASTER,
    archive: Annotated[Path | None, _ARCHIVE] = None,
) -> ExitCode:
    """Judge a stored run again, with today's expectations, and make its report anew."""
    folder = open_folder(run_folder, RunKind.SUITES, RunKind.CLIENTS, RunKind.SOAK, RunKind.TAP)
    console = Console()
    other = report_of_other_kind(folder.path, console)
    if other is not None:
        return other
    if not folder.scripts_json.is_file():
        raise ReportError(f"{run_folder} was cut short before its scripts were written: hold it again")
    with ProgressDisplay(console) as display:
        code = judge_run_again(
            folder,
            expectation_files=expectation_files(suites, expect or []),
            catalogue=frozenset(collect(suites)),
            baseline=baseline,
        )
        options = ReportOptions(wanted=True, allure=allure, spark_master=spark_master, archive=archive)
        _report(folder, options, display)
    print_summary(folder.path, console)
    print_clients(folder.path, console)
    clients = clients_folder(folder.path)
    return code if clients is None else worst((code, load_clients(clients).exit_code))
