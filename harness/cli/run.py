"""`run` and `report`: make a run's folder from a command line, and pages from a run's folder."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import command_line, list_only, refuse_taken, telling_of_interruption
from harness.clients.collect import known_ids
from harness.orchestration.external import announcement
from harness.orchestration.external import dry_run as list_external
from harness.orchestration.judging import Given, judge_run_again, read_expectations
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.orchestration.plan import (
    PlanError,
    RunPlan,
    RunShard,
    expectation_files,
    new_run_id,
    parse_properties,
    parse_targets,
    select_scripts,
)
from harness.orchestration.run import CompletedRun, orchestrate, timed
from harness.orchestration.run import report as make_report
from harness.orchestration.versions import found_newer, judged_as_older
from harness.report.allure.pages import AllureLevel
from harness.report.exports.comparison import print_comparison, write_versions
from harness.report.exports.terminal import print_summary, rate_lines
from harness.report.model.cause_groups import has_verdict
from harness.report.model.changes import versions
from harness.report.model.run_data import Run
from harness.results.client_results import clients_folder, keep_expectations, load_clients
from harness.results.status import ENDED_INTERRUPTED, ExitCode, worst
from harness.results.stored_data import ReportError, is_clients_folder, open_folder
from harness.runner.drive import JOBS, Limits
from harness.scenario.clauses import load_clauses
from harness.scenario.crossings import crossings, load_blanks
from harness.scenario.registry import Catalogue
from harness.scenario.script import Script
from harness.spark.master import LOCAL_MASTER, SparkError
from harness.targets.base.interface import Capability, Lasting, Target
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.stated import Stated, parse_assumed, parse_topics
from harness.targets.external.target import ExternalTarget, UnlistedError, require_stated
from harness.targets.jars.seals import ChangedCacheError
from harness.terminal import ProgressDisplay, Writer
from harness.trace.events import RunKind
from harness.trace.files import LATEST, RunFolder
from harness.trace.schema import TraceError

if TYPE_CHECKING:
    from harness.clients.run import ClientsPlan

_SHOWN: Final = 3


def add_restarts(targets: Sequence[Target], command: str | None, *, on: str | None, is_shared: bool) -> None:
    """Give an external target the command that starts its broker again.

    Raises:
        PlanError: the command concerns no target, or several, or a cluster would run it.
    """
    if command is None:
        if is_shared:
            raise PlanError("--restart-shared has no effect without --restart-command")
        return
    external = [target for target in targets if isinstance(target, ExternalTarget)]
    if len(external) != 1:
        raise PlanError(
            f"--restart-command restarts one external broker, but {len(external)} targets are external: "
            "name one `--target external:HOST:PORT`"
        )
    if on is not None:
        raise PlanError(f"--on {on}: executors do not run --restart-command; run it without --on")
    external[0].restart_command = RestartCommand(text=command)


def refuse_shared(targets: Sequence[Target]) -> None:
    """Check that brokers that will be restarted have no groups but those of runs.

    Raises:
        PlanError: one has, or does not say.
        TargetError: one cannot be asked.
    """
    for target in targets:
        if isinstance(target, ExternalTarget) and target.restart_command is not None:
            try:
                groups = asyncio.run(target.groups_of_others(), debug=False)
            except UnlistedError as error:
                raise _shared(target, f"does not say which groups it has ({error})") from error
            if groups:
                shown = ", ".join(map(repr, groups[:_SHOWN])) + (", …" if len(groups) > _SHOWN else "")
                raise _shared(target, f"has groups that are not the harness's ({shown})")


def _shared(target: ExternalTarget, what: str) -> PlanError:
    return PlanError(
        f"{target.spec} {what}, and --restart-command would cut off those of others: name another broker, "
        "or add --restart-shared"
    )


def restart_announcement(scripts: Mapping[str, Script]) -> str:
    """Return a line that says how many scenarios run only because a command restarts the broker."""
    count = sum(script.needs == (Capability.RESTART.value,) for script in scripts.values())
    return (
        f"--restart-command may end and start the broker at any time; {count} of {len(scripts)} scenarios "
        "need nothing but a broker that restarts, and run last, one at a time"
    )


@ends_with_exit_code
def run(
    scenarios: list[str] | None = None,
    *,
    target: list[str] | None = None,
    profile: str | None = None,
    skip: list[str] | None = None,
    quick: bool = False,
    out: Path = Path("reports"),
    record: Path | None = None,
    run_id: str | None = None,
    jobs: int = JOBS,
    scenario_timeout: float = 60.0,
    run_timeout: float = 600.0,
    repeat: int = 1,
    confirm: bool = True,
    confirm_time: float | None = None,
    expect: list[Path] | None = None,
    baseline: Path | None = None,
    suites: str = "suites",
    allure: AllureLevel = AllureLevel.LOOK,
    spark_master: str | None = None,
    archive: Path | None = None,
    shard: str | None = None,
    broker_property: list[str] | None = None,
    topic: list[str] | None = None,
    assume: list[str] | None = None,
    pack: bool = True,
    clients: bool = False,
    only_drive: bool = False,
    on: str | None = None,
    restart_command: str | None = None,
    restart_shared: bool = False,
    dry_run: bool = False,
) -> ExitCode:
    """Run scenarios on targets, judge the differences, and write a report."""
    stated = Stated(
        topics=parse_topics(topic or []), assumed=parse_assumed(assume or []), may_lack_topics=True
    )
    selection = select_scripts(Catalogue(suites), scenarios or [], skip or [], quick=quick)
    plan = RunPlan(
        run_id=run_id or new_run_id(),
        shard=(part := None if shard is None else RunShard.parse(shard)),
        scripts=selection if part is None else part.part_of(selection),
        selection=selection,
        catalogue=known_ids(suites),
        clauses=tuple(load_clauses(suites).values()),
        crossings=crossings(selection.values(), load_blanks(suites)),
        targets=parse_targets(target or ["reference"], profile=profile, guards_external=True, stated=stated),
        reports=out,
        command=command_line(),
        limits=Limits(scenario_s=scenario_timeout, drive_s=run_timeout, jobs=jobs),
        expectation_files=expectation_files(suites, expect or []),
    )
    plan = replace(plan, broker_properties=parse_properties(broker_property or []), merges_configs=pack)
    plan = replace(
        plan, repeat=repeat, confirms=confirm, confirm_s=confirm_time, baseline=baseline, records=record
    )
    writer = Writer()
    if stated.assumed and not any(each.is_external for each in plan.targets):
        writer.say("--assume has no effect: no target is a broker that runs already (external:)")
    add_restarts(plan.targets, restart_command, on=on, is_shared=restart_shared)
    if dry_run:
        return list_only(plan.targets, partial(list_external, scripts=plan.scripts, run_id=plan.run_id))
    asyncio.run(require_stated(plan.targets))
    if not restart_shared:
        refuse_shared(plan.targets)
    options = ReportOptions(wanted=not only_drive, allure=allure, spark_master=spark_master, archive=archive)
    return carry_out(plan, replace(options, on=on), writer, _beside(plan, profile, suites, wanted=clients))


def _beside(plan: RunPlan, profile: str | None, suites: str, *, wanted: bool) -> "ClientsPlan | None":
    """Plan client scripts on the targets of a run; return None if they are not wanted."""
    if not wanted:
        return None
    # Imported here, as further below, so that runs without client scripts do not wait for their libraries.
    from harness.cli.clients import plan_beside  # noqa: PLC0415 - see above

    specs = [target.spec for target in plan.targets]
    beside = plan_beside(specs, run_id=plan.run_id, profile=profile, suites=suites)
    entries = read_expectations(plan.expectation_files, plan.catalogue)
    return replace(beside, confirms=plan.confirms, entries=entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options for the report of a run, and for the cluster that drives it."""

    wanted: bool = True
    allure: AllureLevel = AllureLevel.LOOK
    spark_master: str | None = None
    """Spark's master; None if Spark is not to count anything."""
    archive: Path | None = None
    on: str | None = None
    """The master of the cluster that drives the run; None for this machine."""
    shows_changes: bool = False
    """Whether the report is of what changes from each target to the next."""


def carry_out(
    plan: RunPlan, options: ReportOptions, writer: Writer, clients: "ClientsPlan | None" = None
) -> ExitCode:
    """Carry out a plan, then client scripts, under a progress display; report, and print the summary."""
    folder = plan.reports / plan.run_id
    is_reported = _announce(plan, options, writer)
    reported: Run | None = None
    with telling_of_interruption(folder, "report"), ProgressDisplay(writer) as display:
        with cluster_of(options.on, plan.reports, display.teller("cluster")) as cluster:
            completed = orchestrate(plan, display, cluster)
        times_s = dict(completed.times_s)
        for line in found_newer(plan.targets, completed.folder):
            writer.say(line)
        is_interrupted = completed.footer.ended.startswith(ENDED_INTERRUPTED)
        if is_reported and is_interrupted:
            writer.say("interrupted; making a report of the recording (press Ctrl-C again to stop)")
        applying = [completed.exit_code]
        if clients is not None and not is_interrupted:
            from harness.cli.clients import drive_beside  # noqa: PLC0415 - see `_beside`

            with timed(times_s, "clients"):
                applying.append(drive_beside(clients, folder, display.target_says))
        if is_reported and not has_verdict(Run.load(folder)):
            is_reported = False
            remedy = f"you can make one with `kafka-conformance report {folder}`"
            writer.say(f"No report: every target was lost; {remedy}")
        if is_reported:
            with timed(times_s, "reported"):
                reported = _report(completed.folder, options, display, writer)
    shows_changes = reported is not None and options.shows_changes
    further = [*_further(plan, completed, writer, shows_changes=shows_changes)]
    print_summary(reported or Run.load(folder), writer, further=further, times=times_s)
    return worst(applying)


def _further(
    plan: RunPlan, completed: CompletedRun, writer: Writer, *, shows_changes: bool
) -> Iterator[str | Text]:
    """Yield what a run has to say besides its summary."""
    folder = completed.folder.path
    if shows_changes:
        run = Run.load(folder)
        for comparison in versions(run):
            yield from writer.lines_of(partial(print_comparison, comparison))
        yield f"What changes: {write_versions(run)}"
    if plan.repeat > 1:
        yield from rate_lines(completed.checked)


def _announce(plan: RunPlan, options: ReportOptions, writer: Writer) -> bool:
    """Print what is about to be done, and return whether a report will be made of it."""
    if options.on is not None:
        refuse_unfit(options.on, plan.targets)
    writer.say(f"run {plan.run_id}  {len(plan.scripts)} scenarios", "bold")
    for target in plan.targets:
        if target.is_external:
            writer.say(announcement(target))
            if Capability.RESTART in target.capabilities:
                writer.say(restart_announcement(plan.scripts))
    for line in judged_as_older(plan.targets):
        writer.say(line)
    return options.wanted


def _report(folder: RunFolder, options: ReportOptions, display: ProgressDisplay, writer: Writer) -> "Run":
    """Make the report of a run and return the run; if that fails, print the verdict before the failure."""
    tell = display.teller("report")
    try:
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
    except (SparkError, ReportError, TraceError, ChangedCacheError, OSError):
        print_summary(Run.load(folder.path), writer)
        raise
    if rendered.allure_problem:
        tell(Lasting(f"Allure's report was not rendered: {rendered.allure_problem}"))
    return rendered.run


@ends_with_exit_code
def report(
    run_folders: list[Path] | None = None,
    *,
    out: Path | None = None,
    expect: list[Path] | None = None,
    baseline: Path | None = None,
    judge: bool = False,
    suites: str = "suites",
    allure: AllureLevel = AllureLevel.LOOK,
    spark_master: str = LOCAL_MASTER,
    archive: Path | None = None,
) -> ExitCode:
    """Apply today's expectations to a stored run, or to shards joined, and make its report again.

    What `run --topic` and `--assume` stated is stored with the run.
    """
    files = expectation_files(suites, expect or [])
    given = Given(expectation_files=files, catalogue=known_ids(suites), baseline=baseline)
    writer = Writer()
    chosen = run_folders or [Path("reports", LATEST)]
    if len(chosen) > 1 or out is not None:
        chosen = [_joined(chosen, out, replace(given, baseline=None), writer)]
    folder = open_folder(chosen[0], RunKind.SUITES, RunKind.CLIENTS, RunKind.TAP)
    from harness.cli.clients import report_of_other_kind  # noqa: PLC0415 - see `_beside`

    _judge_clients_again(folder.path, given)
    other = report_of_other_kind(folder.path, writer)
    if other is not None:
        return other
    if not folder.scripts_json.is_file():
        raise ReportError(f"{chosen[0]} was cut short before its scripts were written: run it again")
    times_s: dict[str, float] = {}
    with ProgressDisplay(writer) as display:
        with timed(times_s, "judged"):
            code = judge_run_again(folder, given, is_from_traces=judge)
        options = ReportOptions(allure=allure, spark_master=spark_master, archive=archive)
        with timed(times_s, "reported"):
            reported = _report(folder, options, display, writer)
    print_summary(reported, writer, times=times_s)
    clients = clients_folder(folder.path)
    return code if clients is None else worst((code, load_clients(clients).exit_code))


def _joined(runs: Sequence[Path], out: Path | None, given: Given, writer: Writer) -> Path:
    """Join the shards of one plan into a new run's folder, and judge it."""
    if out is None:
        raise PlanError("several runs are joined into a new one: name its folder with --out")
    refuse_taken(out)
    from harness.gate.merge import merge, refuse_strangers  # noqa: PLC0415 - only shards need it
    from harness.gate.sides import open_run  # noqa: PLC0415 - likewise

    shards = [open_run(path) for path in runs]
    refuse_strangers(shards)
    given.read()
    folder = RunFolder.create(out.parent, out.name)
    checked = merge(shards, folder, given, command=command_line())
    writer.say(f"{len(shards)} runs joined, {len(checked.judgements)} results: {folder.path}")
    return folder.path


def _judge_clients_again(run_dir: Path, given: Given) -> None:
    """Check client scripts against today's expectations, if a folder has any scripts."""
    clients = run_dir if is_clients_folder(run_dir) else clients_folder(run_dir)
    if clients is not None:
        entries = read_expectations(given.expectation_files, given.catalogue)
        keep_expectations(clients, entries, given.today)
