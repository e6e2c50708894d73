"""`search`: make conversations and compare two references on them, in virtual time."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import DRY_RUN, ON, RUN_ID, package_folder
from harness.cli.search_beside import BesideRun, Found, search_on
from harness.cli.search_plan import BATCH, JOBS, SearchPlan
from harness.cli.search_target import dry_run_of_search, search_target
from harness.orchestration.plan import PlanError, new_run_id
from harness.results.exit_code import ExitCode, worst
from harness.search.hunt import Harvest, Hunt, Order
from harness.search.written import scenario_of, write
from harness.targets.base.interface import TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.variants import VariantTarget, flipped, reference_of
from harness.targets.spec import parse_target
from harness.terminal import ProgressDisplay, Writer


def whole_number(text: str) -> int:
    """Return a count, which may be written as `1e6`.

    Raises:
        BadParameter: it is not a whole number from 1 on.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if number < 1 or not number.is_integer():
        raise typer.BadParameter(f"{text} is not a whole number from 1 on, such as 20000 or 1e6")
    return int(number)


_TARGET = typer.Option(
    "--target", "-t", help="A reference in virtual time, e.g. `reference:3.9`, or any target of a run."
)
_AGAINST = typer.Option(
    help="What it is compared with: a reference for a reference, e.g. `reference:4.4`; any other target is "
    "compared with the reference of its profile, or with another such target."
)
_BATCH = typer.Option(min=1, help="How many conversations a round has, on a target that is no reference.")
_JOBS = typer.Option("--jobs", "-j", min=1, help="The most conversations at the same time on such a target.")
_MUTANT = typer.Option(
    help="Compare the target with itself with a fault: a named behaviour that is switched, or the id of a "
    "mutant as `tools/mutate.py --list` shows it. Stops where the fault is found."
)
_PROFILE = typer.Option(
    help="Compare a target that is no reference with this profile, e.g. `4.4` for a broker that claims it."
)
_STEPS = typer.Option(
    parser=whole_number, metavar="NUMBER", help="How many steps to compare, e.g. `20000` or `1e6`."
)
_SEED = typer.Option(help="The seed of all conversations.")
_WRITE = typer.Option(
    "--write",
    file_okay=False,
    callback=package_folder,
    help="Write the shortest conversation of each cluster as a scenario into this folder.",
)
_CORPUS = typer.Option(
    file_okay=False,
    help="Keep conversations that reached something new in this folder, and begin with those that it has. "
    "Usually beside the run; of a search between references nothing is kept.",
)
_BESIDE = typer.Option(
    help="A run. A page in RUN-coverage below --out shows which versions of which API were answered with "
    "which error codes, in the search and in the run's scenarios."
)
_TASKS = typer.Option(
    min=1,
    help="Into how many tasks a search with --on is divided; one a core if nobody says.",
    show_default=False,
)
_OUT = typer.Option(help="Where to make the folder of what was found on such a target.", file_okay=False)
_NO_REPORT = typer.Option("--no-report", help="Confirm what was found, but make no report.")


@ends_with_exit_code
def search(
    *,
    target: Annotated[str, _TARGET] = "reference",
    against: Annotated[str | None, _AGAINST] = None,
    mutant: Annotated[str | None, _MUTANT] = None,
    profile: Annotated[str | None, _PROFILE] = None,
    steps: Annotated[int, _STEPS] = 10_000,
    seed: Annotated[int, _SEED] = 0,
    write_to: Annotated[Path | None, _WRITE] = None,
    corpus: Annotated[Path | None, _CORPUS] = None,
    batch: Annotated[int, _BATCH] = BATCH,
    jobs: Annotated[int, _JOBS] = JOBS,
    out: Annotated[Path, _OUT] = Path("reports"),
    run_id: Annotated[str | None, RUN_ID] = None,
    only_drive: Annotated[bool, _NO_REPORT] = False,
    on: Annotated[str | None, ON] = None,
    tasks: Annotated[int | None, _TASKS] = None,
    beside: Annotated[Path | None, _BESIDE] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Make conversations that nobody wrote, and explain what two sides answer differently.

    Exit code 0: every difference has a named behaviour, or the mutant was found. 1: not so.
    """
    run_id = run_id or new_run_id()
    plan = SearchPlan(
        target=target,
        against=against,
        mutant=mutant,
        profile=profile,
        steps=steps,
        seed=seed,
        batch=batch,
        jobs=jobs,
        out=out,
        run_id=run_id,
        write_to=write_to,
        corpus=corpus,
        wants_report=not only_drive,
        on=on,
        tasks=tasks,
    )
    run = BesideRun.read(beside, out / f"{run_id}-coverage")
    if not plan.is_virtual:
        return dry_run_of_search(plan) if dry_run else search_target(plan, run)
    order = _order(plan)
    if on is None:
        return _search_here(order, plan, run)
    outcome = search_on(plan, on, order, run, Writer())
    lost = ExitCode.EXPECTED if outcome.losses.lost is None else ExitCode.UNAVAILABLE
    return worst((lost, _exit_code(outcome.harvest, is_mutant=order.stops_at_first)))


def _search_here(made: Order, plan: SearchPlan, beside: BesideRun | None) -> ExitCode:
    order = replace(made, corpus=plan.kept_corpus())
    writer = Writer()
    with ProgressDisplay(writer) as display:
        found = Found(writer, display, plan.names)
        hunt = _hunt(order, found)
        harvest = asyncio.run(hunt.run())
    found.say_end(harvest, beside)
    if plan.write_to is not None:
        asyncio.run(_write(hunt, harvest, plan.write_to, plan))
        writer.say(f"{len(harvest.clusters)} scenarios: {plan.write_to}")
    # A search stops at the first difference only if it is for a planted fault.
    return _exit_code(harvest, is_mutant=order.stops_at_first)


def _hunt(order: Order, found: Found) -> Hunt:
    try:
        return Hunt(order, found.tell)
    except TargetError as error:
        raise PlanError(str(error)) from error


def _exit_code(harvest: Harvest, *, is_mutant: bool) -> ExitCode:
    if is_mutant:
        return ExitCode.EXPECTED if harvest.clusters else ExitCode.UNEXPECTED
    is_explained = all(each.is_explained for each in harvest.clusters)
    return ExitCode.EXPECTED if is_explained else ExitCode.UNEXPECTED


def _order(plan: SearchPlan) -> Order:
    if plan.profile is not None:
        raise PlanError("--profile is for a target that is no reference; write reference:PROFILE")
    one = _reference(plan.target)
    order = Order(target=one, against=one, steps=plan.steps, seed=plan.seed)
    match plan.against, plan.mutant:
        case str(against), None:
            return replace(order, against=_reference(against))
        case None, str(mutant) if ":" in mutant:
            return replace(order, mutant=mutant, stops_at_first=True)
        case None, str(mutant):
            try:
                return replace(order, against=flipped(one, mutant), stops_at_first=True)
            except TargetError as error:
                raise PlanError(str(error)) from error
        case _:
            raise PlanError("say either --against or --mutant: a search compares two references")


def _reference(spec: str) -> VariantTarget:
    """Return the reference that a spec names."""
    try:
        target = parse_target(spec)
    except TargetError as error:
        raise PlanError(str(error)) from error
    if not isinstance(target, ReferenceTarget) or target.foreseen_profile is None:
        raise PlanError(f"{spec!r} is no reference in virtual time; write reference:PROFILE")
    return reference_of(target.foreseen_profile)


async def _write(hunt: Hunt, harvest: Harvest, folder: Path, plan: SearchPlan) -> None:
    for cluster in harvest.clusters:
        traces = await hunt.traces(cluster)
        write(folder, scenario_of(cluster, names=plan.names, traces=traces, reproduction=plan.reproduction))
