"""A site: one page that loads its views, and the documents that it leads to, from packed files beside it.

`index.html` is the frame of every view; `site.js` and `site.css` are beside it. `data/NAME.js` hands over a
view, or some documents, as JSON, compressed and in base64. A script is the only thing that a page from disk
may load. A file that is damaged or missing makes the page say so in place of that view.

These views may show anything that a target sent, so everything is escaped. A content security policy allows
only our script and what it loads. The page needs no other host, and can be opened from disk.
"""

import base64
import gzip
import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from harness.report.model.changes import by_cause, how_much, notes, rows
from harness.report.model.clients import client_conversation_key, client_talks
from harness.report.model.conversation import ARROWS, indented
from harness.report.model.coverage import STATUS_MARKS
from harness.report.model.field_rows import readable
from harness.report.model.matrix import legend
from harness.report.model.phrases import (
    GLYPHS,
    address,
    counted,
    css_name,
    disagreement,
    first_difference_anchor,
    instant,
    link_address,
    links_in,
    says,
    shortened,
    source_parts,
    target_anchor,
    templates,
)
from harness.report.model.run_data import applicable_count
from harness.report.model.trend import COUNTED
from harness.results.client_results import clients_folder, first_remark, replay_place
from harness.results.status import ENDED_COMPLETE, MARKS, mark, shown, status_of
from harness.results.stored_data import is_clients_folder
from harness.trace.canonical import Json
from harness.trace.events import RunFooter
from harness.trace.files import write_whole
from harness.verdict import Outcome

INDEX: Final = "index.html"
DATA: Final = "data"
STATIC: Final = "static.html"
"""The page that needs no script; only the site of a run has it."""
_CHUNK_LENGTH_MAX: Final = 1 << 21
"""In characters of JSON: from this length on, further documents go into another file."""
_SHARED_LENGTH_MIN: Final = 16
"""The length of a text from which on a file has it once, however many of its documents have it."""


NAVIGATION: Final = ("matrix", "changes", "regression", "trend", "coverage", "gate")
"""The views of a run of scenarios, in the order of the navigation."""
_CLIENTS: Final = "clients"
"""The second view if a run also has client scripts; the first if it has nothing else."""


_SCALARS: Final = frozenset((int, float, bool, type(None)))


def _is_plain(value: object) -> bool:
    """Return whether a value is written as it is: a number, or a short text."""
    return type(value) in _SCALARS or (type(value) is str and len(value) < _SHARED_LENGTH_MIN)


_as_json: Final = json.JSONEncoder(separators=(",", ":")).encode


class _Chunk:
    """A file of documents that is being filled; what they share, it has once.

    Deflate finds what repeats within 32 KiB, which is less than a document. So long texts, and tuples, which
    are the fields of events, go into a list. A document has `{"$": INDEX}` in their place.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.length = 0
        self._html: list[str] = []
        self._conversations: list[str] = []
        self._shared: list[str] = []
        self._places: dict[object, int] = {}

    def add(self, key: str, html: str, talk: Json) -> None:
        """Add a document."""
        before, name = len(self._shared), _as_json(key)
        self._html.append(f"{name}:{_as_json(html)}")
        self._conversations.append(f"{name}:{_as_json(self._packed(talk))}")
        added = (self._html[-1], self._conversations[-1], *self._shared[before:])
        self.length += sum(map(len, added))

    def content(self) -> str:
        """Return the documents as JSON in the form that `static/site.js` reads."""
        html, talks, shared = (",".join(each) for each in (self._html, self._conversations, self._shared))
        return f'{{"html":{{{html}}},"talk":{{{talks}}},"shared":[{shared}]}}'

    def _packed(self, value: Json) -> Json:
        if isinstance(value, str):
            return value if len(value) < _SHARED_LENGTH_MIN else self._reference(value)
        if type(value) is tuple:
            return self._reference(value)
        if isinstance(value, tuple | list):
            return [each if _is_plain(each) else self._packed(each) for each in value]
        if isinstance(value, Mapping):
            return {name: self._packed(each) for name, each in value.items()}
        return value

    def _reference(self, value: str | tuple[Json, ...]) -> Json:
        if value not in self._places:
            packed = value if isinstance(value, str) else [self._packed(each) for each in value]
            self._places[value] = len(self._shared)
            self._shared.append(_as_json(packed))
        return {"$": self._places[value]}


class Site:
    """Writes one site: views at once, documents and conversations when their file is full."""

    def __init__(
        self, directory: Path, run_id: str, *, nav: Sequence[str] = NAVIGATION, banner: str = ""
    ) -> None:
        """Take the site's folder; files of an earlier site in it stay until they are written again."""
        self._directory = directory
        self._nav = tuple(nav)
        self._files: dict[str, list[tuple[str, str]]] = {}
        self._filling: dict[str, _Chunk] = {}
        self._shared = {
            "run_id": run_id,
            "run_path": _from_here(directory),
            "banner": banner,
            "views": frozenset(self._nav),
        }

    def clear(self) -> None:
        """Remove the data of an earlier site."""
        shutil.rmtree(self._directory / DATA, ignore_errors=True)

    def rendered(self, template: str, view: str, **values: object) -> str:
        """Return the HTML of a template, for a view or a document."""
        return _environment().get_template(template).render(**self._shared, view=view, **values)

    def view(self, name: str, template: str, **values: object) -> None:
        """Write a view."""
        self.data(name, {"html": self.rendered(template, address(name)[1:], **values)})

    def document(self, kind: str, name: str, template: str, talk: Json = None, **values: object) -> None:
        """Add a document with its conversations; those of a kind come in the order of their names."""
        html = self.rendered(template, address(name)[1:], **values)
        self._add(kind, name, html, talk)

    def talk(self, key: str, data: Json) -> str:
        """Add a conversation, and return the name of the data that has it under its key."""
        return self._add("talks", key, "", data)

    def talks(self, name: str, talks: Mapping[str, Json]) -> None:
        """Write conversations, which have a file to themselves, by their keys."""
        chunk = _Chunk(name)
        for key, data in talks.items():
            chunk.add(key, "", data)
        self._write(name, chunk.content())

    def data(self, name: str, content: Json) -> None:
        """Write data that the page loads by name."""
        self._write(name, _as_json(content))

    def _write(self, name: str, content: str) -> None:
        packed = content.encode()
        packed = base64.b64encode(gzip.compress(packed, 6, mtime=0))
        write_whole(self._directory / DATA / f"{name}.js", f'kc.z("{name}","{packed.decode()}");\n')

    def finish(self) -> Path:
        """Write what is not full yet, and the page itself; return the page."""
        for chunk in self._filling.values():
            self._write(chunk.name, chunk.content())
        static = files("harness.report.site") / "static"
        for name in ("site.css", "site.js"):
            write_whole(self._directory / name, (static / name).read_text(encoding="utf-8"))
        loader = (static / "loader.js").read_text(encoding="utf-8").strip()
        facts = {
            "first": self._nav[0],
            "views": self._nav,
            "documents": list(self._files.values()),
            "legend": legend(),
            "arrows": {css_name(kind): arrow for kind, arrow in ARROWS.items()},
        }
        text = (
            _environment()
            .get_template("frame.html.j2")
            .render(
                **self._shared,
                navigation=self._nav,
                loader=Markup(loader),  # noqa: S704 - our own file
                digest=base64.b64encode(hashlib.sha256(loader.encode()).digest()).decode(),
                facts=facts,
                has_static=(self._directory / STATIC).is_file(),
            )
        )
        write_whole(self._directory / INDEX, text)
        return self._directory / INDEX

    def page(self, file: str, template: str, **values: object) -> Path:
        """Write a page that needs no script."""
        write_whole(self._directory / file, self.rendered(template, "", **values))
        return self._directory / file

    def _add(self, kind: str, key: str, html: str, talk: Json) -> str:
        """Add an entry to a file of its kind, which is written when it is full; return the file's name."""
        files = self._files.setdefault(kind, [])
        if kind not in self._filling:
            self._filling[kind] = _Chunk(f"{kind}-{len(files) + 1:03}")
            files.append((key, self._filling[kind].name))
        chunk = self._filling[kind]
        chunk.add(key, html, talk)
        if chunk.length >= _CHUNK_LENGTH_MAX:
            self._write(chunk.name, self._filling.pop(kind).content())
        return chunk.name


def has_results(folder: Path) -> bool:
    """Return whether a folder has the site of a run, which gates add their views to."""
    return any((folder / DATA / f"{view}.js").is_file() for view in ("matrix", "clients"))


def navigation_of(folder: Path) -> Sequence[str]:
    """Return the navigation of a run's site."""
    if is_clients_folder(folder):
        return (_CLIENTS, NAVIGATION[-1])
    if clients_folder(folder) is None:
        return NAVIGATION
    return (NAVIGATION[0], _CLIENTS, *NAVIGATION[1:])


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
    environment = templates("harness.report.site")
    environment.globals.update(
        glyphs=GLYPHS,
        counted=COUNTED,
        status_marks=STATUS_MARKS,
        outcomes=tuple(Outcome),
        marks=MARKS,
    )
    environment.filters.update(
        css=css_name,
        page=address,
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
        first_anchor=first_difference_anchor,
        says=says,
        replay_place=replay_place,
        client_talks=client_talks,
        conversation_key=client_conversation_key,
        first_remark=first_remark,
        advice=disagreement,
        shown=shown,
        standing=mark,
        status=status_of,
        rows=rows,
        notes=notes,
        by_cause=by_cause,
        how_much=how_much,
    )
    return environment
