"""Print the outcome of a search for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from harness.scenario.script import step_text
from harness.search.coverage import HAS_BRANCHES
from harness.search.hunt import Cluster, Harvest
from harness.search.target_hunt import Losses, flaky_line

_SHOWN_CHARACTERS = 160


def print_cluster(console: Console, *, cluster: Cluster, names: tuple[str, str]) -> None:
    """Print the shortest conversation of a cluster, and how both sides answer it."""
    found = cluster.difference
    place = "" if found.field is None else f", {found.field}"
    lines = [
        f"{title(cluster)} ({len(cluster.script.steps)} steps, seed {cluster.seed})",
        *(f"  {index:2} {step_text(step)}" for index, step in enumerate(cluster.script.steps)),
        f"  step {found.step}, {found.api} v{found.api_version}{place}:",
        f"    {names[0]}: {found.actual[:_SHOWN_CHARACTERS]}",
        f"    {names[1]}: {found.expected[:_SHOWN_CHARACTERS]}",
    ]
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def print_outcome(harvest: Harvest, console: Console, *, of_time: str = "of a processor's time") -> None:
    """Print a line per cluster, and how much was compared; `of_time` names the time that speed refers to."""
    table = Table("cluster", "behaviour", "found in", "steps", "first seed", "after steps")
    for cluster in sorted(harvest.clusters, key=lambda each: (each.is_explained, -each.count)):
        table.add_row(
            _place(cluster),
            title(cluster),
            str(cluster.count),
            str(len(cluster.script.steps)),
            cluster.seed,
            str(cluster.after_steps),
        )
    console.print(table)
    for line in _summary(harvest, of_time):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def print_losses(losses: Losses, console: Console) -> None:
    """Print the differences and conversations that could not be used, and why the search ended early."""
    lines = [flaky_line(cause, count) for cause, count in losses.flaky.items()]
    lines += [f"{count} conversations broke off: {reason}" for reason, count in losses.broken_off.items()]
    lines += [f"The search ended early: {losses.lost}"] if losses.lost else []
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _summary(harvest: Harvest, of_time: str) -> Sequence[str]:
    unexplained = sum(not each.is_explained for each in harvest.clusters)
    compared = (
        f"{harvest.steps} steps of {harvest.conversations} conversations compared, "
        f"{harvest.steps_a_second:.0f} a second {of_time}; "
        f"{harvest.shrinking_runs} conversations tried to shrink others"
    )
    branches = (
        f"{harvest.branches} branches of the reference"
        if HAS_BRANCHES
        else "before Python 3.12 nobody tells of the reference's branches"
    )
    lines = [
        compared,
        f"{len(harvest.pairs)} pairs of a state and an answered request were reached; {branches}",
        f"{len(harvest.clusters)} clusters, {unexplained} without a named behaviour",
    ]
    if harvest.mixtures:
        lines.append(
            f"{len(harvest.mixtures)} times the reference with behaviours of both releases could not go on: "
            f"{', '.join(sorted({title(each) for each in harvest.mixtures}))}"
        )
    return lines


def title(cluster: Cluster) -> str:
    """Return the behaviours that account for a cluster, in words."""
    return " + ".join(cluster.behaviours) or "no named behaviour"


def _place(cluster: Cluster) -> str:
    found = cluster.difference
    return f"{found.api}: {found.field or found.difference_class}"
