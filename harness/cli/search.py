"""`search`: conversations that nobody wrote, on two references in virtual time."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cli.errors import ends_with_exit_code
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import PlanError
from harness.results.exit_code import ExitCode
from harness.search.hunt import Cluster, Harvest, Hunt, Order
from harness.search.mutated import mutated
from harness.search.outcome import print_cluster, print_outcome
from harness.search.written import scenario_of, write
from harness.targets.base.interface import TargetError
from harness.targets.reference.target import ReferenceTarget, reference_profile
from harness.targets.reference.variants import VariantTarget, flipped
from harness.targets.spec import parse_target

_TARGET = typer.Option("--target", "-t", help="A reference, e.g. `reference:3.9`.")
_AGAINST = typer.Option(help="The reference that it is compared with, e.g. `reference:4.4`.")
_MUTANT = typer.Option(
    help="Compare the target with itself with a fault: a named behaviour that is switched, or the id of a "
    "mutant as `mutate --list` shows it. Stops where the fault is found."
)
_STEPS = typer.Option(min=1, help="How many steps to compare.")
_SEED = typer.Option(help="The seed of all conversations.")
_WRITE = typer.Option(
    "--write",
    file_okay=False,
    help="Write the shortest conversation of each cluster as a scenario into this folder.",
)
_PROGRESS_STEPS = 2_000


@ends_with_exit_code
def search(
    *,
    target: Annotated[str, _TARGET] = "reference",
    against: Annotated[str | None, _AGAINST] = None,
    mutant: Annotated[str | None, _MUTANT] = None,
    steps: Annotated[int, _STEPS] = 10_000,
    seed: Annotated[int, _SEED] = 0,
    write_to: Annotated[Path | None, _WRITE] = None,
) -> ExitCode:
    """Make conversations that nobody wrote, and explain what two references answer differently.

    Exit code 0: every difference has a named behaviour, or the mutant was found. 1: not so.
    """
    if (against is None) == (mutant is None):
        raise PlanError("say either --against or --mutant: a search compares two references")
    one = _reference(target)
    order = _order(one, against, mutant, steps=steps, seed=seed)
    names = (target, against or f"{target} with {mutant}")
    console = wide_console()
    display = _Display(console, names)
    hunt = Hunt(order, display.tell)
    harvest = asyncio.run(hunt.run())
    print_outcome(harvest, console)
    if write_to is not None:
        compared = f"--against {against}" if against else f"--mutant {mutant}"
        reproduction = f"kafka-conformance search --target {target} {compared} --seed {seed} --steps {steps}"
        asyncio.run(_write(hunt, harvest, write_to, names, reproduction, console))
    return _exit_code(harvest, is_mutant=mutant is not None)


def _exit_code(harvest: Harvest, *, is_mutant: bool) -> ExitCode:
    if is_mutant:
        return ExitCode.EXPECTED if harvest.clusters else ExitCode.UNEXPECTED
    is_explained = all(each.is_explained for each in harvest.clusters)
    return ExitCode.EXPECTED if is_explained else ExitCode.UNEXPECTED


def _order(one: VariantTarget, against: str | None, mutant: str | None, *, steps: int, seed: int) -> Order:
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
            mutant=mutated(one, mutant),
            steps=steps,
            seed=seed,
            stops_at_first=True,
        )
    except TargetError as error:
        raise PlanError(str(error)) from error


def _reference(spec: str) -> VariantTarget:
    """Return the reference that a spec names; a search of other targets is not there yet."""
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


class _Display:
    """Prints what is found, and every few thousand steps how far a search is."""

    def __init__(self, console: Console, names: tuple[str, str]) -> None:
        self._console = console
        self._names = names
        self._due = _PROGRESS_STEPS

    def tell(self, harvest: Harvest, found: Cluster | None) -> None:
        """Print what is new."""
        if found is not None and not found.is_mixture:
            print_cluster(found, self._console, names=self._names)
        if harvest.steps >= self._due:
            self._due += _PROGRESS_STEPS
            self._console.print(
                f"[dim]{harvest.steps} steps, {len(harvest.clusters)} clusters, "
                f"{harvest.steps_a_second:.0f} steps a second[/]",
                highlight=False,
            )
