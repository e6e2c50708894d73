"""`mutate`: check whether the suites would detect faults in the reference."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from harness.capacity import machine
from harness.cli.errors import ends_with_exit_code
from harness.cli.run_folder import make_place
from harness.cli.suites_here import SUITES
from harness.mutants.campaign import DEFAULT_PROFILES, Campaign, Keep, Order, campaign, chosen_mutants
from harness.mutants.equivalents import read_equivalents
from harness.mutants.outcome import (
    RECORDS,
    print_outcome,
    recording,
    score,
    write_outcome,
    wrongly_listed,
)
from harness.orchestration.plan import PlanError, select_scripts
from harness.orchestration.progress import Bars
from harness.results.exit_code import ExitCode
from harness.scenario.packages import packages_of
from harness.scenario.registry import collect
from harness.targets.base.interface import TargetError
from harness.targets.reference.target import reference_profile

_LINES: Final = 10
"""How many lines tell of a part's progress on a pipe."""
_SCENARIOS = typer.Argument(help="Scenario ids or globs; all if none is given.", show_default=False)
_PROFILE = typer.Option(
    "--profile",
    "-p",
    help=f"Profile to try mutants in; may be repeated. Default: {' '.join(DEFAULT_PROFILES)}.",
)
_ONLY = typer.Option(help="Try only mutants whose id matches, e.g. `classic.sync:*`; may be repeated.")
_SAMPLE = typer.Option(min=1, help="Try only this many mutants, drawn at random.")
_SEED = typer.Option(help="The seed of the sample.")
_LIST = typer.Option("--list", help="List the mutants and try none.")
_JOBS = typer.Option("--jobs", "-j", min=1, help="The number of processes; by default one for each core.")
_OUT = typer.Option(help="Where to write the record of each mutant.")
_MINIMUM = typer.Option(min=0, max=100, help="The lowest score, in percent, with which the command succeeds.")
_EQUIVALENTS = typer.Option(
    help="The list of mutants that nobody can notice; by default `equivalent_mutants.toml` of the suites.",
    dir_okay=False,
)


@ends_with_exit_code
def mutate(
    scenarios: Annotated[list[str] | None, _SCENARIOS] = None,
    *,
    profile: Annotated[list[str] | None, _PROFILE] = None,
    only: Annotated[list[str] | None, _ONLY] = None,
    sample: Annotated[int | None, _SAMPLE] = None,
    seed: Annotated[int, _SEED] = 0,
    list_them: Annotated[bool, _LIST] = False,
    jobs: Annotated[int | None, _JOBS] = None,
    out: Annotated[Path | None, _OUT] = None,
    minimum: Annotated[float, _MINIMUM] = 95.0,
    equivalents: Annotated[Path | None, _EQUIVALENTS] = None,
    suites: Annotated[str, SUITES] = "suites",
) -> ExitCode:
    """Put one fault at a time into the reference, and check that a scenario finds it."""
    order = Order(
        scripts=select_scripts(collect(suites), scenarios or []),
        profiles=tuple(profile or DEFAULT_PROFILES),
        only=tuple(only or ()),
        sample=sample,
        seed=seed,
        jobs=jobs or machine().jobs(),
        equivalents=read_equivalents(equivalents or _beside(suites)),
    )
    _refuse_nonsense(order)
    if list_them:
        return _listed(order)
    return _carried_out(order, out=out, minimum=minimum)


def _refuse_nonsense(order: Order) -> None:
    """Refuse an order that cannot be tried, before an hour is spent on it."""
    for name in order.profiles:
        try:
            reference_profile(name)
        except TargetError as error:
            raise PlanError(str(error)) from error
    for glob in order.only:
        if not chosen_mutants(replace(order, only=(glob,))):
            raise PlanError(
                f"no mutant matches {glob!r}; `kafka-conformance mutate --list` shows all of them"
            )


def _beside(suites: str) -> Path:
    return Path(next(iter(import_module(packages_of(suites)[0]).__path__))) / "equivalent_mutants.toml"


def _listed(order: Order) -> ExitCode:
    mutants = chosen_mutants(order)
    for mutant in mutants:
        typer.echo(f"{mutant.id}\n    {mutant.change}")
    typer.echo(f"{len(mutants)} mutants")
    return ExitCode.EXPECTED


def _carried_out(order: Order, *, out: Path | None, minimum: float) -> ExitCode:
    console = Console()
    began_s = time.monotonic()
    if out is not None:
        make_place(out)
    with _Display(console) as display, _recorded(out) as keep:
        found = campaign(order, display.tell, keep)
    print_outcome(found, console)
    if out is not None:
        console.print(f"a record of each: {write_outcome(found, out)}", highlight=False)
    console.print(f"[dim]{time.monotonic() - began_s:.1f} s in all[/]", highlight=False)
    return _exit_code(found, minimum)


@contextmanager
def _recorded(out: Path | None) -> Iterator[Keep]:
    """Provide what keeps each result, and say after an interruption where the results are."""
    if out is None:
        yield lambda _: None
        return
    try:
        with recording(out) as keep:
            yield keep
    except KeyboardInterrupt:
        typer.echo(f"kafka-conformance: interrupted; what was tried is in {out / RECORDS}", err=True)
        raise


def _exit_code(found: Campaign, minimum: float) -> ExitCode:
    is_enough = score(found.trials).percent >= minimum
    return ExitCode.EXPECTED if is_enough and not wrongly_listed(found) else ExitCode.UNEXPECTED


class _Display(Bars):
    """Shows the progress of a campaign; on a pipe, prints a line after each tenth of a part."""

    def tell(self, what: str, through: int, total: int) -> None:
        """Update the progress of a part."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._tasks[what], completed=through)
        is_tenth = through * _LINES // total > (through - 1) * _LINES // total
        if is_tenth and not self._console.is_terminal:
            self._console.print(f"{what}: {through} of {total}", highlight=False)
