"""The benchmark's report as a table for people and as JSON for later."""

import dataclasses
import json
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.bench.model import (
    IN_PROCESS,
    BenchReport,
    GoalOutcome,
    Spread,
    SuiteTime,
    Workload,
    goal_outcomes,
    is_client_bound,
    rates,
    ratios,
    spread,
)

LATEST: Final = "latest.json"
_CLIENT_BOUND: Final = " ᶜ"
_CLIENT_BOUND_NOTE: Final = (
    f"{_CLIENT_BOUND.strip()} the client was the limit: the subject is at least as fast"
)


def write_report(report: BenchReport, out: Path) -> Path:
    """Write a report into a folder as the latest; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    outcomes = [dataclasses.asdict(each) | {"is_met": each.is_met} for each in goal_outcomes(report)]
    content = dataclasses.asdict(report) | {"ratios": _ratios_by_name(report), "goals": outcomes}
    path = out / LATEST
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def print_report(report: BenchReport, console: Console) -> None:
    """Print the tables; no text in them is parsed as markup."""
    for name, value in {**report.machine, **report.subjects}.items():
        console.print(Text(f"{name}: {value}"))
    console.print(_rates_table(report))
    console.print(_ratios_table(report))
    if any(_is_noted(report, workload) for workload in report.workloads):
        console.print(Text(_CLIENT_BOUND_NOTE))
    for outcome in goal_outcomes(report):
        console.print(_goal_line(outcome))
    if report.suite_times:
        console.print(_suite_table(report.suite_times))


def _rates_table(report: BenchReport) -> Table:
    table = _table("requests per second", "median of rounds, least to most")
    for subject in report.subjects:
        table.add_column(subject, justify="right")
    for workload in report.workloads:
        cells = (_rate(report, workload, subject) for subject in report.subjects)
        table.add_row(Text(workload.name), *cells)
    return table


def _rate(report: BenchReport, workload: Workload, subject: str) -> Text:
    seen = spread(rates(report, workload.name, subject))
    mark = _CLIENT_BOUND if _marks_client(report, workload, subject) else ""
    return Text(f"{seen.median:,.0f}{mark}  ({seen.least:,.0f}-{seen.most:,.0f})")


def _ratios_table(report: BenchReport) -> Table:
    table = _table(f"times as fast as {report.baseline}", "pair by pair: median, least to most")
    others = [subject for subject in report.subjects if subject != report.baseline]
    for subject in others:
        table.add_column(subject, justify="right")
    for workload in report.workloads:
        cells = (_ratio(spread(ratios(report, workload.name, subject))) for subject in others)
        table.add_row(Text(workload.name), *cells)
    return table


def _ratio(seen: Spread) -> Text:
    return Text(f"{seen.median:.2f}x  ({seen.least:.2f}-{seen.most:.2f})")


def _goal_line(outcome: GoalOutcome) -> Text:
    goal = outcome.goal
    verdict = "goal met   " if outcome.is_met else "goal MISSED"
    reported = f"{outcome.ratio:.2f}x of at least {goal.least:g}x, better {goal.better:g}x"
    return Text(f"{verdict}  {outcome.workload}, {outcome.subject}: {reported}")


def _marks_client(report: BenchReport, workload: Workload, subject: str) -> bool:
    # In process the client is the subject, so that its core is always full.
    return subject != IN_PROCESS and is_client_bound(report, workload.name, subject)


def _is_noted(report: BenchReport, workload: Workload) -> bool:
    return any(_marks_client(report, workload, subject) for subject in report.subjects)


def _suite_table(times: tuple[SuiteTime, ...]) -> Table:
    table = _table("the whole suite, in seconds", "median of rounds, least to most")
    for heading in ("scenarios", "drive", "with start and stop", "longest scenario"):
        table.add_column(heading, justify="right")
    for subject in dict.fromkeys(each.subject for each in times):
        own = [each for each in times if each.subject == subject]
        longest = max(own, key=lambda each: each.longest_s)
        drive, total = spread([each.drive_s for each in own]), spread([each.total_s for each in own])
        table.add_row(
            Text(subject),
            str(own[0].scenarios),
            f"{drive.median:.1f}  ({drive.least:.1f}-{drive.most:.1f})",
            f"{total.median:.1f}  ({total.least:.1f}-{total.most:.1f})",
            Text(f"{longest.longest_scenario}, {longest.longest_s:.1f}"),
        )
    return table


def _table(title: str, caption: str) -> Table:
    table = Table(
        title=title,
        caption=caption,
        box=SIMPLE_HEAD,
        pad_edge=False,
        title_justify="left",
        title_style="bold",
    )
    table.add_column("", no_wrap=True)
    return table


def _ratios_by_name(report: BenchReport) -> dict[str, dict[str, dict[str, float]]]:
    return {
        workload.name: {
            subject: dataclasses.asdict(spread(ratios(report, workload.name, subject)))
            for subject in report.subjects
            if subject != report.baseline
        }
        for workload in report.workloads
    }
