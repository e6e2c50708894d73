"""The static site: an index with the matrix, a page a scenario, and one that lays out the coverage.

Whatever a target sent may stand on these pages, so everything is escaped, and a content security policy lets
no script run but ours. The pages need nothing beside themselves and open from disk.
"""

import base64
import hashlib
from collections import Counter
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.report.changes import Changes
from harness.report.conversation import indented, target_sections
from harness.report.coverage import clause_anchor, coverage_globals, heat_tables, read_coverage
from harness.report.exit_code import ENDED_COMPLETE, exit_code
from harness.report.field_rows import readable
from harness.report.matrix import (
    attention_list,
    difference_grid,
    error_code_grid,
    latency_grid,
    matrix_groups,
)
from harness.report.names import css_name, scenario_page, target_anchor
from harness.report.phrases import GLYPHS, headline, instant, link_address, links_in, shortened
from harness.report.run_data import Run
from harness.report.standing import standing
from harness.report.tables import applicable_count
from harness.trace.events import RunFooter
from harness.verdict import Expectation, Outcome

CLUSTER_COUNT_MAX: Final = 100
"""How many clusters the index lists; the table has all."""


def render_site(run_dir: Path) -> Path:
    """Write the site of a run whose tables were built, and return its index."""
    run = Run.load(run_dir)
    environment = _environment()
    (run_dir / "scenarios").mkdir(exist_ok=True)
    for scenario_id, members in groupby(run.judgements, key=lambda each: each.scenario_id):
        judgements = tuple(members)
        page = environment.get_template("scenario.html.j2").render(
            run=run,
            scenario_id=scenario_id,
            judgement=judgements[0],
            script=run.scripts.get(scenario_id),
            sections=target_sections(run, scenario_id, judgements),
            banner=banner(run.footer),
        )
        _write(run_dir / scenario_page(scenario_id), page)
    _write(run_dir / "coverage.html", _coverage(run, environment))
    index = run_dir / "index.html"
    _write(index, _index(run, environment))
    return index


def banner(footer: RunFooter | None) -> str:
    """Say that a run is not whole; nothing where it is."""
    if footer is None:
        return "This run was cut short: it has no footer. What follows is what had been recorded by then."
    if footer.ended == ENDED_COMPLETE:
        return ""
    return f"This run is not complete: {footer.ended}. What follows is what had been recorded by then."


def _index(run: Run, environment: Environment) -> str:
    clusters = [cluster for cluster in run.clusters if run.header.run_id in cluster.run_ids]
    return environment.get_template("index.html.j2").render(
        run=run,
        banner=banner(run.footer),
        headline=headline(Counter(standing(each) for each in run.judgements)),
        exit_code=exit_code(run.judgements, run.footer),
        attention=attention_list(run),
        groups=matrix_groups(run),
        outcome_counts=Counter(each.outcome for each in run.judgements),
        expectation_counts=Counter(each.expectation for each in run.judgements),
        differences=difference_grid(run),
        clusters=clusters[:CLUSTER_COUNT_MAX],
        cluster_count=len(clusters),
        latencies=latency_grid(run),
        error_codes=error_code_grid(run),
        changes=Changes.of(run),
    )


def _coverage(run: Run, environment: Environment) -> str:
    return environment.get_template("coverage.html.j2").render(
        run=run,
        banner=banner(run.footer),
        coverage=read_coverage(run),
        heat=heat_tables(run.error_codes),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("harness.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    static = files("harness.report") / "static"
    script = (static / "site.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals.update(
        site_style=Markup((static / "site.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        site_script=Markup(script),  # noqa: S704 - our own file
        site_script_digest=digest,
        glyphs=GLYPHS,
        **coverage_globals(),
        outcomes=tuple(Outcome),
        expectations=tuple(Expectation),
    )
    environment.filters.update(
        css=css_name,
        page=scenario_page,
        anchor=target_anchor,
        short=shortened,
        readable=readable,
        pretty=indented,
        applicable=applicable_count,
        instant=instant,
        address=link_address,
        links=links_in,
        clause_anchor=clause_anchor,
    )
    return environment


def _write(path: Path, text: str) -> None:
    """Write a page; what UTF-8 cannot hold (half a surrogate pair that a target sent) is spelt out."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
