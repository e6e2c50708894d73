"""`search --on`: search on the executors of a Spark cluster, each with a seed of its own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from harness.cli.search_beside import BesideRun, write_beside
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.orchestration.progress import plainly
from harness.search.hunt import Order
from harness.search.on_cluster import BrokerOrder, ClusterSearch, share_count, shares_of
from harness.search.outcome import print_cluster, print_losses, print_outcome
from harness.search.outcome_file import SearchOutcome
from harness.search.written import write

TASKS = typer.Option(
    min=1,
    help="Into how many tasks a search with --on is divided; one a core if nobody says.",
    show_default=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The parameters of a search on a cluster."""

    on: str
    """Spark's master; empty to search on this machine."""
    tasks: int | None
    out: Path
    """The folder that driver and executors share."""
    corpus: Path | None
    write_to: Path | None
    names: tuple[str, str]
    """The names of both sides."""
    reproduced: Callable[[int, int], str]
    """Returns the command that finds the same on one machine, for a seed and a number of steps."""
    logs: Path = Path()
    """The folder to which the brokers' logs are copied."""
    beside: BesideRun | None = None
    """A run whose scenarios the search is shown beside."""


def search_on(plan: ClusterPlan, order: Order | BrokerOrder, console: Console) -> SearchOutcome:
    """Search on executors; print and write the findings.

    Raises:
        SparkError: there is no cluster.
        PlanError: the cluster, or a target, is of an unsuitable kind.
    """
    refuse_unfit(plan.on, order.targets if isinstance(order, BrokerOrder) else ())
    is_virtual = isinstance(order, Order)
    say = plainly(console)
    with cluster_of(plan.on, plan.out, say) as cluster:
        assert cluster is not None, "there is a master"
        folder = cluster.folder / "search"
        folder.mkdir()
        count = share_count(plan.tasks, cluster.executors.core_count, order)
        shares = shares_of(order, count, names=plan.names, reproduced=plan.reproduced, folder=folder)
        searching = ClusterSearch(cluster, shares, kept=plan.corpus, logs=plan.logs, say=say)
        try:
            # Python's development mode would debug every loop, which makes it late.
            asyncio.run(searching.run(), debug=False)
        finally:
            outcome = searching.outcome
            _print(
                plan,
                outcome,
                console,
                of_time="of a processor's time" if is_virtual else "of a broker's time",
            )
    return outcome


def _print(plan: ClusterPlan, outcome: SearchOutcome, console: Console, *, of_time: str) -> None:
    for each in outcome.findings:
        print_cluster(each.cluster, console, names=plan.names)
        if plan.write_to is not None:
            path = write(plan.write_to, each.written)
            console.print(f"{each.written.id}: {path}", soft_wrap=True, highlight=False, markup=False)
    print_outcome(outcome.harvest, console, of_time=of_time)
    print_losses(outcome.losses, console)
    write_beside(plan.beside, outcome.harvest, plan.names, console)
