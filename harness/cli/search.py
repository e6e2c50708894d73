"""`search`: make conversations and compare two references on them, in virtual time."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.dry_run import DRY_RUN
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import ON, RUN_ID
from harness.cli.search_beside import BesideRun, write_beside
from harness.cli.search_on import TASKS, ClusterPlan, search_on
from harness.cli.search_target import (
    BATCH,
    JOBS,
    Display,
    TargetPlan,
    dry_run_of_search,
    kept_corpus,
    search_target,
)
from harness.cli.suites_here import package_folder
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import PlanError, new_run_id
from harness.results.exit_code import ExitCode, worst
from harness.search.hunt import Harvest, Hunt, Order
from harness.search.outcome import print_outcome
from harness.search.written import scenario_of, write
from harness.targets.base.interface import TargetError
from harness.targets.reference.target import ReferenceTarget, reference_profile
from harness.targets.reference.variants import VariantTarget, flipped
from harness.targets.spec import parse_target


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
    "mutant as `mutate --list` shows it. Stops where the fault is found."
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
    tasks: Annotated[int | None, TASKS] = None,
    beside: Annotated[Path | None, _BESIDE] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> ExitCode:
    """Make conversations that nobody wrote, and explain what two sides answer differently.

    Exit code 0: every difference has a named behaviour, or the mutant was found. 1: not so.
    """
    run_id = run_id or new_run_id()
    run = BesideRun.read(beside, out / f"{run_id}-coverage")
    if mutant is None and not (is_virtual(target) and (against is None or is_virtual(against))):
        plan = TargetPlan(
            target=target,
            against=against,
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
            beside=run,
        )
        return (dry_run_of_search if dry_run else search_target)(plan, wide_console())
    order = _order(target, against, mutant, profile, steps=steps, seed=seed)
    names, line = _sides(target, against, mutant)
    there = partial(ClusterPlan, on=on or "", tasks=tasks, out=out, corpus=corpus, write_to=write_to)
    plan_there = there(names=names, reproduced=line, beside=run)
    return _search_there(order, plan_there) if on else _search_here(order, plan_there, line(seed, steps))


def _sides(
    target: str, against: str | None, mutant: str | None
) -> tuple[tuple[str, str], Callable[[int, int], str]]:
    """Return the names of both sides, and a function that returns the command to search them again."""
    compared = f"--against {against}" if against else f"--mutant {mutant}"
    line = partial(_reproduced, f"kafka-conformance search --target {target} {compared}")
    return (target, against or f"{target} with {mutant}"), line


def _search_there(order: Order, plan: ClusterPlan) -> ExitCode:
    outcome = search_on(plan, order, wide_console())
    lost = ExitCode.EXPECTED if outcome.losses.lost is None else ExitCode.UNAVAILABLE
    return worst((lost, _exit_code(outcome.harvest, is_mutant=order.stops_at_first)))


def _reproduced(compared: str, seed: int, steps: int) -> str:
    return f"{compared} --seed {seed} --steps {steps}"


def _search_here(made: Order, plan: ClusterPlan, reproduced: str) -> ExitCode:
    order = replace(made, corpus=kept_corpus(plan.corpus))
    console = wide_console()
    hunt = _hunt(order, Display(console, plan.names))
    harvest = asyncio.run(hunt.run())
    print_outcome(harvest, console)
    write_beside(plan.beside, harvest, plan.names, console)
    if plan.write_to is not None:
        asyncio.run(_write(hunt, harvest, plan.write_to, plan.names, reproduced, console))
    # A search stops at the first difference only if it is for a planted fault.
    return _exit_code(harvest, is_mutant=order.stops_at_first)


def _hunt(order: Order, display: Display) -> Hunt:
    try:
        return Hunt(order, display.tell)
    except TargetError as error:
        raise PlanError(str(error)) from error


def _refuse_unfit(profile: str | None, against: str | None, mutant: str | None) -> None:
    if profile is not None:
        raise PlanError("--profile is for a target that is no reference; write reference:PROFILE")
    if (against is None) == (mutant is None):
        raise PlanError("say either --against or --mutant: a search compares two references")


def _exit_code(harvest: Harvest, *, is_mutant: bool) -> ExitCode:
    if is_mutant:
        return ExitCode.EXPECTED if harvest.clusters else ExitCode.UNEXPECTED
    is_explained = all(each.is_explained for each in harvest.clusters)
    return ExitCode.EXPECTED if is_explained else ExitCode.UNEXPECTED


def _order(
    target: str, against: str | None, mutant: str | None, profile: str | None, *, steps: int, seed: int
) -> Order:
    _refuse_unfit(profile, against, mutant)
    one = _reference(target)
    if against is not None:
        return Order(target=one, against=_reference(against), steps=steps, seed=seed)
    assert mutant is not None
    try:
        if ":" not in mutant:
            other = flipped(one, mutant)
            return Order(target=one, against=other, steps=steps, seed=seed, stops_at_first=True)
        return Order(
            target=one,
            against=one,
            mutant=mutant,
            steps=steps,
            seed=seed,
            stops_at_first=True,
        )
    except TargetError as error:
        raise PlanError(str(error)) from error


def _reference(spec: str) -> VariantTarget:
    """Return the reference that a spec names."""
    try:
        target = parse_target(spec)
    except TargetError as error:
        raise PlanError(str(error)) from error
    if not isinstance(target, ReferenceTarget) or target.foreseen_profile is None:
        raise PlanError(f"{spec!r} is no reference in virtual time; write reference:PROFILE")
    return VariantTarget(reference_profile(target.foreseen_profile))


async def _write(
    hunt: Hunt, harvest: Harvest, folder: Path, names: tuple[str, str], reproduction: str, console: Console
) -> None:
    for cluster in harvest.clusters:
        written = scenario_of(
            cluster, names=names, traces=await hunt.traces(cluster), reproduction=reproduction
        )
        path = write(folder, written)
        console.print(f"{written.id}: {path}", soft_wrap=True, highlight=False, markup=False)


def is_virtual(spec: str) -> bool:
    """Return whether a spec names a reference in this process."""
    return spec.partition(":")[0] == "reference"
