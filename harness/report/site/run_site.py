"""The site of a run: what its record says, and what Spark counted over many runs."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final

from harness.report.model.cause_groups import cause_groups, differences_by_cause, losses, verdict_line
from harness.report.model.changes import by_scenario, how_much, versions
from harness.report.model.clients import client_steps, reference_of
from harness.report.model.comparison import Comparison
from harness.report.model.conversation import conversation_data, target_sections
from harness.report.model.coverage import heat_tables, run_coverage
from harness.report.model.gate_data import read_decision
from harness.report.model.matrix import area_grid, laid_out, neighbours, reason_grid, shows_references, titles
from harness.report.model.phrases import headline
from harness.report.model.regression import Regression
from harness.report.model.run_data import Run, client_columns, error_code_counts
from harness.report.model.trend import TREND_FOLDER, History, Trend, flake_words, has_table
from harness.report.site.pages import INDEX, NAVIGATION, STATIC, Site, banner, has_results, navigation_of
from harness.results.client_results import NOT_COMPARED, ClientResult, ClientsRun
from harness.results.status import NEEDS_ATTENTION, ExitCode, exit_code, mark, status_of, worst
from harness.results.stored_data import is_clients_folder
from harness.spark.master import LOCAL_MASTER, why_no_spark
from harness.trace.canonical import Json
from harness.trace.events import EventKind
from harness.verdict import Outcome

CAUSE_COUNT_MAX: Final = 100
"""The number of causes that the matrix lists; the differences have all."""
_STATIC_COUNT_MAX: Final = 50
"""The number of results that the page without a script shows in full."""


def site_of(run: Run) -> Path:
    """Write the site of a run, and return its page; nothing of it needs Spark.

    Views of tables that were made of the run before are among them. A run of client scripts alone has fewer.
    """
    run.steps.read_all()
    site = _site(run)
    site.clear()
    if is_clients_folder(run.directory):
        clients_views(run, site)
        gate_view(run.directory, site)
        return site.finish()
    _scenarios(run, site)
    site.view("matrix", "index.html.j2", **_index(run))
    site.data("matrix-titles", titles(run.judgements, [each.target for each in run.targets]))
    gate_view(run.directory, site, run)
    if run.clients is not None:
        clients_views(run, site)
    add_aggregates(run, site)
    _static(run, site)
    return site.finish()


def _site(run: Run) -> Site:
    return Site(
        run.directory,
        run.header.run_id,
        banner=banner(run.footer) or (banner(run.clients.footer) if run.clients else "") or run.damage,
        nav=navigation_of(run.directory),
    )


def add_aggregates(run: Run, site: Site | None = None) -> None:
    """Write the views of a run's site that come from tables too, which may be made after the site."""
    site = site or _site(run)
    trend_dir = run.directory / TREND_FOLDER
    history, comparisons = History.load(trend_dir, run.directory), versions(run)
    trend = Trend.load(trend_dir, history)
    site.view("changes", "changes.html.j2", comparisons=comparisons)
    site.view("trend", "trend.html.j2", trend=trend, missing=_missing(run))
    write_regression(run, site)
    site.view(
        "coverage",
        "coverage.html.j2",
        coverage=run_coverage(run),
        crossings={key: tuple(each) for key, each in groupby(run.crossings, key=lambda one: one.table)},
        heat=heat_tables(error_code_counts(run.steps.events())),
        diverging={
            (each.target, each.scenario_id) for each in run.judgements if each.outcome == Outcome.DIVERGES
        },
    )
    site.data("beside", _beside(site, history, comparisons))


def write_regression(run: Run, site: Site) -> None:
    """Write the view of what a run changed.

    Raises:
        ReportError: a table of the trend, or the run's data on a baseline, is damaged.
    """
    trend_dir = run.directory / TREND_FOLDER
    regression = Regression.of(run, trend_dir, History.load(trend_dir, run.directory))
    site.view("regression", "regression.html.j2", regression=regression, missing=_missing(run))


def add_regression(folder: Path) -> None:
    """Write the view again after a gate decided, if the folder has a run's site.

    Raises:
        ReportError: a table of the run, or its data on a baseline, is damaged.
    """
    if has_results(folder) and not is_clients_folder(folder):
        run = Run.load(folder)
        write_regression(run, _site(run))


def _missing(run: Run) -> Mapping[str, str | None] | None:
    """Return what a machine lacks for Spark to count over runs, and the command that has it do so.

    None if it is done, or the run cannot be archived.
    """
    if run.footer is None or has_table(run.directory / TREND_FOLDER, "run_totals"):
        return None
    return {
        "lacking": why_no_spark(LOCAL_MASTER),
        "command": f"kafka-conformance report {run.directory.name}",
    }


def _beside(site: Site, history: History, comparisons: Sequence[Comparison]) -> Json:
    """Return what views of scenarios show of many runs: results, flakiness, and changes between versions."""
    results: dict[str, dict[str, str]] = defaultdict(dict)
    for (target, scenario_id), codes in history.results.items():
        results[target][scenario_id] = codes
    flakes: dict[str, dict[str, str]] = defaultdict(dict)
    for (target, scenario_id), rate in history.flakes.items():
        flakes[target][scenario_id] = flake_words(rate)
    return {
        "sentence": how_much(comparisons),
        "runs": [asdict(each) for each in history.runs],
        "results": results,
        "flakes": flakes,
        "versions": {
            scenario_id: site.rendered("scenario_versions.html.j2", "", found=found)
            for scenario_id, found in by_scenario(comparisons).items()
        },
    }


def _scenarios(run: Run, site: Site) -> None:
    beside, clauses = neighbours(run), run.clauses
    for scenario_id, members in groupby(run.judgements, key=lambda each: each.scenario_id):
        judgements = tuple(members)
        script = run.scripts.get(scenario_id)
        sections = target_sections(run, scenario_id, judgements)
        site.document(
            "scenarios",
            scenario_id,
            "scenario.html.j2",
            talk=conversation_data(sections, script, run.sources.get(scenario_id)),
            run=run,
            scenario_id=scenario_id,
            judgement=judgements[0],
            script=script,
            run_with={
                each.target: added
                for each in judgements
                if (added := run.added.get((each.target, scenario_id)))
            },
            beside=beside[scenario_id],
            clauses=clauses,
            sections=sections,
        )


def _static(run: Run, site: Site) -> None:
    """Write the page without a script: the results to look at in full, one of each cause first."""
    groups = cause_groups(run)
    heads, others = [each.first for each in groups], [one for each in groups for one in each.others]
    found = [each for each in dict.fromkeys((*heads, *others)) if not isinstance(each, ClientResult)]
    shown = found[:_STATIC_COUNT_MAX]
    sections = [section for each in shown for section in target_sections(run, each.scenario_id, [each])]
    values = {"headline": verdict_line(run), "run": run, "sections": sections, "count": len(found)}
    site.page(STATIC, "static.html.j2", **values)


def _index(run: Run) -> dict[str, object]:
    causes = differences_by_cause(run)
    return {
        "run": run,
        "headline": verdict_line(run),
        "losses": losses(run),
        "exit_code": exit_code_of(run),
        "attention": cause_groups(run),
        "groups": laid_out(run.judgements, [each.target for each in run.targets]),
        "shows_references": shows_references(run),
        "took_s": _took_s(run),
        "requests": Counter(each.target for each in run.steps.events() if each.kind == EventKind.REQUEST),
        "outcome_counts": Counter(each.outcome for each in run.judgements),
        "expectation_counts": Counter(mark(each) for each in run.judgements),
        "areas": area_grid(run),
        "not_applicable": reason_grid(run),
        "causes": causes[:CAUSE_COUNT_MAX],
        "cause_count": len(causes),
    }


def _took_s(run: Run) -> float | None:
    """Return how many seconds a run took; None if it was cut short."""
    if run.footer is None:
        return None
    began, ended = (datetime.fromisoformat(each) for each in (run.header.started_at, run.footer.finished_at))
    return (ended - began).total_seconds()


def exit_code_of(run: Run) -> ExitCode:
    """Return the exit code of a process that ran the scenarios and client scripts of a run."""
    scenarios = () if is_clients_folder(run.directory) else (exit_code(run.judgements, run.footer),)
    return worst((*scenarios, *(() if run.clients is None else (run.clients.exit_code,))))


def clients_views(run: Run, site: Site) -> None:
    """Write the views about client scripts; the conversations that they load are written apart."""
    clients = run.clients
    assert clients is not None, "the run has some"
    columns = client_columns(clients)
    names = [each.target for each in columns]
    for script_id, script in sorted(clients.scripts.items()):
        found = [each for each in clients.results if each.scenario_id == script_id]
        results = sorted(found, key=lambda each: names.index(each.target))
        if results:
            site.document(
                "scripts",
                script_id,
                "client_script.html.j2",
                script=script,
                results=results,
                urgent_first=sorted(results, key=lambda each: status_of(each) not in NEEDS_ATTENTION),
                urgent_count=sum(status_of(each) in NEEDS_ATTENTION for each in results),
                run=run,
                clients=clients,
                steps={each.target: tuple(client_steps(clients, each)) for each in results},
                references={each.target: reference_of(clients, each) for each in results},
            )
    attention = [each for each in cause_groups(run) if isinstance(each.first, ClientResult)]
    counts = _of_clients(clients, names)
    site.view("clients", "clients.html.j2", run=run, columns=columns, attention=attention, **counts)
    site.data("clients-titles", titles(clients.results, names))


def _of_clients(run: ClientsRun, names: Sequence[str]) -> dict[str, object]:
    return {
        "clients": run,
        "headline": headline(Counter(status_of(each) for each in run.results)),
        "exit_code": run.exit_code,
        "groups": laid_out(run.results, names),
        "outcome_counts": Counter(each.outcome for each in run.results),
        "expectation_counts": Counter(mark(each) for each in run.results),
        "compared": Counter(each.target for each in run.results if each.is_compared),
        "broken": Counter((each.target, one.party) for each in run.results for one in each.violations),
        "replayed": Counter(each.target for each in run.results for _ in each.replays),
        "not_compared": Counter(
            each.compared.removeprefix(f"{NOT_COMPARED}: ") for each in run.results if not each.is_compared
        ).most_common(),
    }


def gate_view(folder: Path, site: Site, run: Run | None = None) -> None:
    """Write the view of the decision in a folder; without one, it shows the run's own, if there is a run.

    Raises:
        TraceError: the file is not a decision.
    """
    site.view(
        "gate",
        "gate.html.j2",
        decision=read_decision(folder),
        own_code=None if run is None else exit_code_of(run),
        own_sentence="" if run is None else verdict_line(run),
        has_site=has_results(folder) or run is not None,
    )


def add_gate_view(folder: Path, run_id: str) -> str:
    """Write the view of a new decision into the folder's site, or a site of its own; return its address."""
    has_site = has_results(folder)
    site = Site(folder, run_id, nav=navigation_of(folder) if has_site else NAVIGATION[-1:])
    gate_view(folder, site)
    if not has_site:
        site.finish()
    return f"{folder / INDEX}#{NAVIGATION[-1]}"


def render_trend(trend_dir: Path) -> Path:
    """Write the site beside the tables of a trend, and return its page.

    Raises:
        ReportError: a table is missing or damaged.
    """
    history = History.load(trend_dir, trend_dir)
    site = Site(trend_dir, f"{len(history.runs)} runs of an archive", nav=("trend",))
    site.view("trend", "trend.html.j2", trend=Trend.load(trend_dir, history), missing=None)
    return site.finish()
