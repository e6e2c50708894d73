"""The rates of each scenario's outcomes, if a run made several attempts at all scenarios."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.diff.check import CheckedRun
from harness.diff.model import Attempt
from harness.report.model.escaping import in_terminal
from harness.report.model.phrases import counted
from harness.verdict import OUTCOME_ORDER, Outcome

_ROW_COUNT_MAX: Final = 50


def print_rates(checked: CheckedRun, console: Console) -> None:
    """Print the scenarios whose results varied between attempts, and how many did not vary."""
    found: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for each in checked.attempts:
        if each.was_run:
            found[each.target, each.scenario_id].append(each)
    varying = {place: attempts for place, attempts in found.items() if not _is_steady(attempts)}
    if varying:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("scenario", "target", "rates"):
            table.add_column(heading, overflow="fold")
        for (target, scenario_id), attempts in list(varying.items())[:_ROW_COUNT_MAX]:
            cells = (in_terminal(scenario_id), in_terminal(target), rates(attempts))
            table.add_row(*(Text(cell) for cell in cells))
        console.print(table)
    if len(varying) > _ROW_COUNT_MAX:
        console.print(f"… and {len(varying) - _ROW_COUNT_MAX} more; attempts.jsonl has them all")
    steady = Counter(len(attempts) for place, attempts in found.items() if place not in varying)
    for attempt_count, count in sorted(steady.items()):
        console.print(f"{counted(count, 'result')} the same in all {attempt_count} attempts", highlight=False)


def rates(attempts: Sequence[Attempt]) -> str:
    """Return the rates of a scenario's outcomes, the worst first: `diverges 1 of 5, conforms 4 of 5`."""
    counts = Counter(Outcome(each.outcome) for each in attempts)
    worst_first = sorted(counts, key=OUTCOME_ORDER.index, reverse=True)
    return ", ".join(f"{outcome} {counts[outcome]} of {len(attempts)}" for outcome in worst_first)


def _is_steady(attempts: Sequence[Attempt]) -> bool:
    return all(each.shows for each in attempts)
