"""The static site of a run: the matrix, a page for each scenario, and overview pages."""

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.report.model.changes import Changes
from harness.report.model.clients_page import client_attention
from harness.report.model.conversation import target_sections
from harness.report.model.conversation_data import as_script, conversation_data
from harness.report.model.coverage import Coverage, heat_tables, read_coverage
from harness.report.model.history import History
from harness.report.model.losses import verdict_line
from harness.report.model.matrix import (
    attention_groups,
    difference_grid,
    error_code_grid,
    is_large,
    latency_grid,
    matrix_groups,
    shows_references,
    target_counts,
    titles,
)
from harness.report.model.names import conversation_file, scenario_page
from harness.report.model.neighbours import neighbours
from harness.report.model.regression import Regression
from harness.report.model.run_data import Run
from harness.report.model.trend import TREND_FOLDER, Trend
from harness.report.site.clients_site import clients_banner, clients_pages
from harness.report.site.gate_page import gate_page
from harness.report.site.pages import Pages, banner, navigation_of
from harness.results.exit_code import ExitCode, exit_code, worst
from harness.results.status import mark
from harness.verdict import Outcome

CLUSTER_COUNT_MAX: Final = 100
"""The number of clusters that the index lists; the table has all."""


def render_site(run_dir: Path) -> Path:
    """Write the site of a run whose tables were built, and return its index."""
    return site_of(Run.load(run_dir))


def site_of(run: Run) -> Path:
    """Write the site of a run, and return its index."""
    pages = Pages(
        run.directory,
        run.header.run_id,
        banner=banner(run.footer) or (clients_banner(run.clients) if run.clients else ""),
        nav=navigation_of(run.directory),
    )
    trend_dir = run.directory / TREND_FOLDER
    history = History.load(trend_dir, run.directory)
    coverage = read_coverage(run)
    _scenarios(run, pages, history, coverage)
    diverging = {
        (each.target, each.scenario_id) for each in run.judgements if each.outcome == Outcome.DIVERGES
    }
    heat = heat_tables(run.error_codes)
    pages.write("coverage.html", "coverage.html.j2", coverage=coverage, heat=heat, diverging=diverging)
    pages.write("changes.html", "changes.html.j2", changes=Changes.of(run), run=run)
    pages.write("trend.html", "trend.html.j2", trend=Trend.load(trend_dir, history))
    pages.write("regression.html", "regression.html.j2", regression=Regression.of(run, trend_dir, history))
    gate_page(run.directory, pages)
    if run.clients is not None:
        clients_pages(run.clients, pages)
    if is_large(run):
        (run.directory / "data").mkdir(exist_ok=True)
        pages.write_text("data/matrix.js", as_script("data/matrix.js", titles(run)))
    return pages.write("index.html", "index.html.j2", **_index(run))


def _scenarios(run: Run, pages: Pages, history: History, coverage: Coverage) -> None:
    """Write a page for each scenario, and the data that it loads."""
    for name in ("scenarios", "talks"):
        shutil.rmtree(run.directory / name, ignore_errors=True)
        (run.directory / name).mkdir()
    changes, beside = Changes.of(run).by_scenario(), neighbours(run)
    statements = {line.clause: line.statement for line in coverage.lines}
    for scenario_id, members in groupby(run.judgements, key=lambda each: each.scenario_id):
        judgements = tuple(members)
        script = run.scripts.get(scenario_id)
        sections = target_sections(run, scenario_id, judgements, history)
        file = conversation_file(scenario_id)
        pages.write_text(
            file, as_script(file, conversation_data(sections, script, run.sources.get(scenario_id)))
        )
        pages.write(
            scenario_page(scenario_id),
            "scenario.html.j2",
            run=run,
            scenario_id=scenario_id,
            judgement=judgements[0],
            script=script,
            run_with=_run_with(run, judgements),
            changes=changes.get(scenario_id, ()),
            beside=beside[scenario_id],
            statements=statements,
            sections=sections,
            history=history,
            conversation=file,
        )


def _run_with(run: Run, judgements: Iterable[Judgement]) -> Mapping[str, str]:
    """Return, by target, the properties that a scenario's broker had but the scenario did not ask for."""
    reported = {each.target: run.added.get((each.target, each.scenario_id), {}) for each in judgements}
    return {
        target: " ".join(f"{name}={value}" for name, value in sorted(added.items()))
        for target, added in reported.items()
        if added
    }


def _index(run: Run) -> dict[str, object]:
    clusters = [cluster for cluster in run.clusters if run.header.run_id in cluster.run_ids]
    return {
        "run": run,
        "headline": verdict_line(run),
        "exit_code": worst(_codes(run)),
        "client_attention": client_attention(run.clients) if run.clients else (),
        "attention": attention_groups(run),
        "groups": matrix_groups(run),
        "shows_references": shows_references(run),
        "target_counts": target_counts(run),
        "is_lazy": is_large(run),
        "outcome_counts": Counter(each.outcome for each in run.judgements),
        "expectation_counts": Counter(mark(each) for each in run.judgements),
        "differences": difference_grid(run),
        "clusters": clusters[:CLUSTER_COUNT_MAX],
        "cluster_count": len(clusters),
        "latencies": latency_grid(run),
        "error_codes": error_code_grid(run),
        "changes": Changes.of(run),
    }


def _codes(run: Run) -> tuple[ExitCode, ...]:
    """Return the exit code of the scenarios, and of client scripts if the run has any."""
    scenarios = exit_code(run.judgements, run.footer)
    return (scenarios,) if run.clients is None else (scenarios, run.clients.exit_code)
