"""What all pages of the site share: head, navigation, style, scripts, and the functions for templates.

These pages may show anything that a target sent, so everything is escaped. A content security policy allows
only our scripts and what they load: the data beside the pages, which are JSON passed to a function. The
pages need no other host, and can be opened from disk.
"""

import base64
import hashlib
import shlex
import shutil
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.report.model.codes import glyphs, legend
from harness.report.model.contrasts import contrasted
from harness.report.model.conversation import indented
from harness.report.model.coverage import clause_anchor, coverage_globals
from harness.report.model.field_rows import readable
from harness.report.model.history import History
from harness.report.model.kafka_sources import source_parts
from harness.report.model.names import css_name, scenario_page, target_anchor
from harness.report.model.phrases import GLYPHS, counted, instant, link_address, links_in, shortened
from harness.report.model.result_links import is_of_clients, result_href
from harness.report.model.tables import applicable_count
from harness.report.model.trend import COUNTED
from harness.results.client_results import clients_folder
from harness.results.exit_code import ENDED_COMPLETE
from harness.results.run_kinds import is_clients_folder
from harness.results.status import MARKS
from harness.trace.events import RunFooter
from harness.verdict import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    """One item of the navigation on every page."""

    file: str
    name: str


NAVIGATION: Final = (
    NavItem(file="index.html", name="Matrix"),
    NavItem(file="changes.html", name="Versions"),
    NavItem(file="regression.html", name="Regression"),
    NavItem(file="trend.html", name="Trend"),
    NavItem(file="coverage.html", name="Coverage"),
    NavItem(file="gate.html", name="Gate"),
)
CLIENTS_NAVIGATION: Final = NavItem(file="clients.html", name="Clients")
"""The second item if a run also has client scripts."""
CLIENTS_ALONE: Final = NavItem(file="index.html", name="Clients")
"""The item of a run with client scripts only."""
TREND_NAVIGATION: Final = tuple(item for item in NAVIGATION if item.file in {"regression.html", "trend.html"})
"""The navigation of the pages that `trend` writes, which belong to no single run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    text: Markup
    digest: str


class Pages:
    """Writes pages of one site."""

    def __init__(
        self, directory: Path, run_id: str, *, banner: str = "", nav: tuple[NavItem, ...] = NAVIGATION
    ) -> None:
        self._directory = directory
        self._shared = {
            "run_id": run_id,
            "run_path": _from_here(directory),
            "banner": banner,
            "navigation": nav,
        }

    def write(self, file: str, template: str, **values: object) -> Path:
        """Write a page; what UTF-8 cannot encode (a lone surrogate from a target) is written as an escape."""
        shared = {**self._shared, "file": file, "root": "../" * file.count("/")}
        text = _environment().get_template(template).render(**shared, **values)
        return self.write_text(file, text)

    def fresh_folder(self, name: str) -> None:
        """Make an empty folder, removing any earlier content."""
        shutil.rmtree(self._directory / name, ignore_errors=True)
        (self._directory / name).mkdir(parents=True)

    def write_text(self, file: str, text: str) -> Path:
        """Write a text to a file."""
        path = self._directory / file
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return path


def navigation_of(folder: Path) -> tuple[NavItem, ...]:
    """Return the navigation of a run's pages."""
    if is_clients_folder(folder):
        return (CLIENTS_ALONE, NAVIGATION[-1])
    if clients_folder(folder) is None:
        return NAVIGATION
    return (NAVIGATION[0], CLIENTS_NAVIGATION, *NAVIGATION[1:])


def banner(footer: RunFooter | None) -> str:
    """Return a warning if a run is not complete; empty if it is."""
    if footer is None:
        return "This run was cut short: it has no footer. This page shows what was recorded until then."
    if footer.ended == ENDED_COMPLETE:
        return ""
    return f"This run is not complete: {footer.ended}. This page shows what was recorded until then."


def _from_here(directory: Path) -> str:
    """Return the path of a folder for commands run in the current directory, quoted for a shell."""
    there, here = directory.resolve(), Path.cwd()
    return shlex.quote(str(there.relative_to(here) if there.is_relative_to(here) else there))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("harness.report.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    static = files("harness.report.site") / "static"
    environment.globals.update(
        site_style=Markup((static / "site.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        site_scripts={name: _script(name) for name in ("site", "matrix", "clients", "talk")},
        glyphs=GLYPHS,
        code_legend=legend(),
        counted=COUNTED,
        result_href=result_href,
        is_of_clients=is_of_clients,
        past_runs=_past_runs,
        **coverage_globals(),
        outcomes=tuple(Outcome),
        marks=MARKS,
    )
    environment.filters.update(
        css=css_name,
        page=scenario_page,
        anchor=target_anchor,
        short=shortened,
        readable=readable,
        pretty=indented,
        applicable=applicable_count,
        counted=counted,
        instant=instant,
        address=link_address,
        links=links_in,
        source_parts=source_parts,
        contrasted=contrasted,
        clause_anchor=clause_anchor,
        as_glyphs=glyphs,
    )
    return environment


def _past_runs(history: History) -> list[dict[str, str]]:
    return [asdict(run) for run in history.runs]


def _script(name: str) -> _Script:
    path = files("harness.report.site") / "static" / f"{name}.js"
    text = path.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return _Script(text=Markup(text), digest=digest)  # noqa: S704 - our own file
