"""What a site contains, as its page would load it: views, documents, and their conversations."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from harness.report.model.phrases import address
from harness.report.model.run_data import Run
from harness.report.site.pages import DATA, INDEX
from harness.report.site.run_site import site_of

_CALL = re.compile(r'kc\.z\("([^"]+)","([A-Za-z0-9+/=]*)"\);\n')


def rendered(run_dir: Path) -> Path:
    """Write the site of a judged run, and return its page."""
    return site_of(Run.load(run_dir))


class Page(HTMLParser):
    """What a browser would see of a page or a view: tags, ids, links, text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.text = ""
        self._words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.hrefs += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self._words += data.split()
        self.text += data

    @property
    def words(self) -> str:
        """The text with a blank between any two words."""
        return " ".join(self._words)


def data_of(site: Path, name: str) -> Any:  # noqa: ANN401 - JSON, which tests know the shape of
    """Return the data that a file hands over."""
    call = _CALL.fullmatch((site / DATA / f"{name}.js").read_text(encoding="ascii"))
    assert call is not None
    assert call[1] == name
    return json.loads(gzip.decompress(base64.b64decode(call[2])))


def whole(value: Any, shared: list[Any]) -> Any:  # noqa: ANN401 - likewise
    """Return a value with what its file has once in the places where it belongs, as the page would."""
    if isinstance(value, dict):
        if "$" in value:
            return whole(shared[value["$"]], shared)
        return {name: whole(each, shared) for name, each in value.items()}
    return [whole(each, shared) for each in value] if isinstance(value, list) else value


def talks_of(site: Path, name: str) -> dict[str, Any]:
    """Return the conversations of a file by their keys."""
    data = data_of(site, name)
    return {key: whole(talk, data["shared"]) for key, talk in data["talk"].items()}


def view_of(site: Path, name: str) -> str:
    """Return the HTML of a view, or of a document."""
    html: str = (data_of(site, name) if (site / DATA / f"{name}.js").is_file() else document_of(site, name))[
        "html"
    ]
    return html


def documents_of(site: Path) -> dict[str, dict[str, Any]]:
    """Return all documents, by name."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((site / DATA).glob("*-[0-9][0-9][0-9].js")):
        if not path.name.startswith("talks-"):
            talks, html = talks_of(site, path.stem), data_of(site, path.stem)["html"]
            found |= {key: {"html": html[key], "talk": talks[key]} for key in html}
    return found


def document_of(site: Path, name: str) -> dict[str, Any]:
    """Return a document: its HTML, and its conversations as `talk`."""
    return documents_of(site)[name]


def conversation_of(site: Path, name: str, target: str) -> dict[str, Any]:
    """Return the conversation of a document on a target."""
    talk: dict[str, Any] = document_of(site, name)["talk"]["targets"][target]
    return talk


def views_of(site: Path) -> dict[str, str]:
    """Return the HTML of everything that the page can show, by its address."""
    page = (site / INDEX).read_text(encoding="utf-8")
    views = re.findall(r'data-view="([^"]+)"', page)
    found = {address(name): view_of(site, name) for name in views}
    return found | {address(name): each["html"] for name, each in documents_of(site).items()}


def link(site: Path, name: str, anchor: str = "") -> str:
    """Return the link that opens a view or document in a browser."""
    return f"{(site / INDEX).as_uri()}{address(name, anchor)}"
