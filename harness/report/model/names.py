"""Names and texts made safe for addresses, file names, anchors, class attributes, XML and Markdown."""

import hashlib
import re
from typing import Final
from urllib.parse import quote

from harness.terminal import in_terminal

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LENGTH_MAX: Final = 120


def slug(name: str) -> str:
    """Return a name's form for files and anchors; different names have different forms."""
    safe = _UNSAFE.sub("-", name.replace("/", "."))[:_LENGTH_MAX].strip(".-")
    if safe.replace(".", "/") == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")


def address(view: str, anchor: str = "") -> str:
    """Return the address of a view or document, e.g. a scenario, within its site's page."""
    return f"#{quote(view, errors='replace')}" + (f":{quote(anchor)}" if anchor else "")


def scenario_page(scenario_id: str, target: str | None = None) -> str:
    """Return the link to a scenario, or to its result on a target, from the folder of its run's site."""
    return f"index.html{address(scenario_id, '' if target is None else target_anchor(target))}"


def target_anchor(target: str) -> str:
    """Return the anchor of a target within a scenario's view."""
    return f"target-{_readable(target)}"


def first_difference_anchor(target: str) -> str:
    """Return the anchor of a target's first difference within a scenario's view."""
    return f"first-difference-{_readable(target)}"


def _readable(target: str) -> str:
    """Return a target's slug, or its name if that is safe; dots are harmless in names without slashes."""
    return target if not _UNSAFE.search(target) else slug(target)


def css_name(value: str) -> str:
    """Return the class attribute for a value of one of our own enumerations."""
    return value.replace(" ", "-")


__all__ = ("in_markdown", "in_terminal", "in_xml")
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain at all, escaped or not."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~&@])")


def in_xml(value: str) -> str:
    """Return a value with the characters that XML cannot contain written as escapes."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", value)


def in_markdown(value: str) -> str:
    """Return a value as Markdown text: no markup, mention, new line, control character or bidi mark."""
    return _MARKDOWN.sub(r"\\\1", in_terminal(" ".join(value.split())))
