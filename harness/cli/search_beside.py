"""What a search prints of its findings, here and on a cluster, and of its answers beside those of a run."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.cli.search_plan import SearchPlan
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.report.model.run_data import Run
from harness.report.site.answers_page import VIEW, pairs_beside, write_answers
from harness.report.site.pages import NavItem, Site
from harness.results.run_kinds import open_folder
from harness.search.hunt import Cluster, Harvest, Order
from harness.search.on_cluster import ClusterSearch, share_count, shares_of
from harness.search.outcome import print_cluster, print_losses, print_outcome
from harness.search.outcome_file import SearchOutcome
from harness.search.target_hunt import BrokerOrder, Losses
from harness.search.written import write
from harness.terminal import ProgressDisplay, Writer
from harness.trace.events import RunKind

_KEPT: Final = 40
"""Rows that clusters leave to what is printed at the end."""
_LAST: Final = 8
"""Rows for what follows the outcome, such as where the scenarios are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRun:
    """A run whose scenarios a search is shown beside."""

    run: Run
    folder: Path
    """Where the page goes."""

    @classmethod
    def read(cls, run: Path | None, folder: Path) -> "BesideRun | None":
        """Read the run; return None if none is named."""
        if run is None:
            return None
        return cls(run=Run.load(open_folder(run, RunKind.SUITES).path), folder=folder)


class Found:
    """Prints what a search finds, as long as there is room, and its end; everything is in its folders."""

    def __init__(self, writer: Writer, display: ProgressDisplay, names: tuple[str, str]) -> None:
        self._writer = writer
        self._display = display
        self._names = names

    def tell(self, harvest: Harvest, found: Cluster | None) -> None:
        """Show how far a search is, and a new cluster."""
        rate = f"{harvest.steps_a_second:.0f} steps a second"
        so_far = f"{harvest.steps} steps, {len(harvest.clusters)} clusters, {rate}"
        self._display.target_says("search", so_far)
        if found is not None and not found.is_mixture and self._writer.rows_left > _KEPT:
            printing = partial(print_cluster, cluster=found, names=self._names)
            self._writer.say_beginning(printing, rest="its scenario has them all", keep=_KEPT)

    def say_end(
        self,
        harvest: Harvest,
        beside: BesideRun | None,
        losses: Losses | None = None,
        *,
        of_time: str = "of a processor's time",
    ) -> None:
        """Print the clusters, how much was compared, what was lost, and what a run's scenarios have besides.

        Args:
            harvest: what was found.
            beside: the run, if one was named; a page of the search's answers is written beside it.
            losses: what could not be used.
            of_time: the time that speed refers to.
        """

        def printing(console: Console) -> None:
            print_outcome(harvest, console, of_time=of_time)
            if losses is not None:
                print_losses(losses, console)

        rest = "--write FOLDER writes a scenario of each cluster"
        self._writer.say_beginning(printing, rest=rest, keep=_LAST)
        if beside is None:
            return
        beside.folder.mkdir(parents=True, exist_ok=True)
        site = Site(beside.folder, self._names[0], nav=(NavItem(view=VIEW, name="Coverage"),))
        write_answers(site, harvest.answered, beside.run, where="search")
        page = site.finish()
        pairs = pairs_beside(harvest.answered, beside.run.steps.error_codes)
        both, alone = sum(each.is_in_both for each in pairs), sum(each.is_elsewhere_alone for each in pairs)
        self._writer.say(
            f"combinations of API, version and error code: {both} in the search and in the scenarios, "
            f"{alone} in the search alone, {len(pairs) - both - alone} in the scenarios alone: {page}"
        )


def search_on(
    plan: SearchPlan, master: str, order: Order | BrokerOrder, beside: BesideRun | None, writer: Writer
) -> SearchOutcome:
    """Search on the executors of a cluster, each with a seed of its own; print and write the findings.

    Raises:
        SparkError: there is no cluster.
        PlanError: the cluster, or a target, is of an unsuitable kind.
    """
    refuse_unfit(master, order.targets if isinstance(order, BrokerOrder) else ())
    with ProgressDisplay(writer) as display, cluster_of(master, plan.out, writer.say) as cluster:
        found = Found(writer, display, plan.names)
        assert cluster is not None, "there is a master"
        folder = cluster.folder / "search"
        folder.mkdir()
        count = share_count(plan.tasks, cluster.executors.core_count, order)
        shares = shares_of(order, count, names=plan.names, reproduced=plan.reproduced, folder=folder)
        searching = ClusterSearch(
            cluster, shares, kept=plan.corpus_folder, logs=plan.logs, say=display.teller("search")
        )
        try:
            # Python's development mode would debug every loop, which makes it late.
            asyncio.run(searching.run(), debug=False)
        finally:
            outcome = searching.outcome
            written_to = plan.write_to if plan.is_virtual else plan.found_folder
            if written_to is not None:
                for each in outcome.findings:
                    write(written_to, each.written)
            of_time = "of a processor's time" if plan.is_virtual else "of a broker's time"
            found.say_end(outcome.harvest, beside, outcome.losses, of_time=of_time)
    return outcome
