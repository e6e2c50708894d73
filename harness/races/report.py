"""The judge's findings for people: a page, and the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.races.folder import RunRecord
from harness.races.judge import Counterexample, Verdict
from harness.report.site.pages import NavItem, Site


def write_report(path: Path, run: RunRecord, verdicts: Sequence[Verdict]) -> None:
    """Write `index.html` into a run's folder."""
    site = Site(path, run.run_id, nav=(NavItem(view="races", name="Races"),))
    site.view(
        "races",
        "races.html.j2",
        run=run,
        verdicts=verdicts,
        open_count=sum(not each.is_explained for each in verdicts),
        counts=counts,
        again=lambda each, example: reproduction(run, each, example),
    )
    site.finish()


def print_verdicts(console: Console, *, run: RunRecord, verdicts: Sequence[Verdict]) -> None:
    """Print a table of races and targets, and the rounds that no order explains."""
    table = Table("race", "target", "rounds", "judged", box=None)
    for each in verdicts:
        style = None if each.is_explained else "red"
        table.add_row(each.race, each.target, str(each.rounds), counts(each.findings), style=style)
    console.print(table)
    for each in verdicts:
        for example in each.counterexamples:
            for line in ("", *_reported(run, each, example), *example.timeline):
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def counts(of: Mapping[str, int]) -> str:
    """Return counts in one line, e.g. `NONE 8, UNKNOWN_MEMBER_ID 2`."""
    return ", ".join(f"{name} {count}" for name, count in of.items())


def reproduction(run: RunRecord, verdict: Verdict, example: Counterexample) -> str:
    """Return the command that runs the rounds of an example again."""
    return (
        f"kafka-conformance race {example.race} --target {verdict.target} "
        f"--seed {run.seed} --rounds {max(run.round_count, example.round_number + 1)}"
    )


def _reported(run: RunRecord, verdict: Verdict, example: Counterexample) -> tuple[str, ...]:
    title = f"{example.race}, round {example.round_number}, {verdict.target}: {example.finding}"
    return (title, *([example.meaning] if example.meaning else []), reproduction(run, verdict, example))
