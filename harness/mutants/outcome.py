"""The outcome of a campaign: the score, the mutants by module and kind, and the survivors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.mutants.campaign import Campaign, Keep
from harness.mutants.model import Fate, Kind, Trial
from harness.trace.files import write_records
from harness.trace.schema import to_json

RECORDS: Final = "mutants.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many of the detectable mutants were detected."""

    killed: int
    all: int
    equivalent: int

    @property
    def percent(self) -> float:
        """The killed share of all but the equivalent ones; 100 if there was none to kill."""
        return 100.0 * self.killed / self.all if self.all else 100.0


def score(trials: Sequence[Trial]) -> Score:
    """Compute the score; a mutant listed as equivalent counts as neither killed nor alive."""
    counted = [each for each in trials if each.equivalent is None]
    return Score(
        killed=sum(each.fate == Fate.KILLED for each in counted),
        all=len(counted),
        equivalent=len(trials) - len(counted),
    )


def wrongly_listed(found: Campaign) -> tuple[str, ...]:
    """Return a message for each entry of the equivalents that is wrong."""
    killed = (
        f"{each.mutant}: {each.scenario} noticed it in {each.profile}: {each.how}"
        for each in found.trials
        if each.equivalent is not None and each.fate == Fate.KILLED
    )
    return (*found.unknown_equivalents, *killed)


@contextmanager
def recording(folder: Path) -> Iterator[Keep]:
    """Provide a function that writes each mutant's record at once, in the order of completion."""
    with (folder / RECORDS).open("w", encoding="utf-8") as file:

        def keep(trial: Trial) -> None:
            file.write(f"{to_json(trial)}\n")
            file.flush()

        yield keep


def write_outcome(found: Campaign, folder: Path) -> Path:
    """Write a record of each mutant, in the order of derivation, and return the path."""
    path = folder / RECORDS
    write_records(path, found.trials)
    return path


def print_outcome(found: Campaign, console: Console) -> None:
    """Print survivors, table and score."""
    for line in _survivors(found.trials):
        console.print(line, highlight=False, soft_wrap=True)
    console.print(_table(found.trials))
    _print_doubts(found, console)
    reached = score(found.trials)
    console.print(
        f"[bold]{reached.killed} of {reached.all} mutants killed: {reached.percent:.1f} %[/], "
        f"{reached.equivalent} equivalent",
        highlight=False,
    )


def _print_doubts(found: Campaign, console: Console) -> None:
    for title, lines in (
        ("The reference itself does not conform, so these measure nothing:", found.unfit),
        ("Listed as equivalent, but:", wrongly_listed(found)),
    ):
        if lines:
            console.print(f"[bold red]{title}[/]")
            for line in lines:
                console.print(Text(f"  {line}"), soft_wrap=True)


def _survivors(trials: Sequence[Trial]) -> Iterator[Text]:
    for each in trials:
        if each.fate == Fate.KILLED or each.equivalent is not None:
            continue
        more = each.reached - len(each.reached_by)
        by = ", ".join(each.reached_by) + (f" and {more} more" if more else "")
        yield Text(f"{each.fate}  {each.mutant}  (line {each.first_line})", style="bold")
        yield Text(f"  - {each.before}", style="red")
        yield Text(f"  + {each.after}", style="green")
        yield Text(f"    executed by {by or 'no scenario'}", style="dim")


def _table(trials: Sequence[Trial]) -> Table:
    table = Table(box=None, pad_edge=False, show_footer=True)
    everything = _of(trials)
    table.add_column("module", footer="all")
    for kind in Kind:
        table.add_column(kind.value, footer=_of([one for one in trials if one.kind == kind]), justify="right")
    table.add_column("all", footer=everything, justify="right")
    for module in sorted({one.module for one in trials}):
        inside = [one for one in trials if one.module == module]
        cells = (_of([one for one in inside if one.kind == kind]) for kind in Kind)
        table.add_row(module, *cells, _of(inside))
    return table


def _of(trials: Sequence[Trial]) -> str:
    """Return `killed/all`, without the equivalent ones in either."""
    counted = Counter(one.fate for one in trials if one.equivalent is None)
    return f"{counted[Fate.KILLED.value]}/{counted.total()}" if trials else ""
