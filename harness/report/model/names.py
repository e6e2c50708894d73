"""Make arbitrary names safe for use in file names, anchors and class attributes."""

import hashlib
import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LENGTH_MAX: Final = 120


def slug(name: str) -> str:
    """Return a name's form for files and anchors; different names have different forms."""
    safe = _UNSAFE.sub("-", name.replace("/", "."))[:_LENGTH_MAX].strip(".-")
    if safe.replace(".", "/") == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")


def scenario_page(scenario_id: str) -> str:
    """Return the path of a scenario's page, relative to the index."""
    return f"scenarios/{slug(scenario_id)}.html"


def conversation_file(scenario_id: str) -> str:
    """Return the path of the data that a scenario's page loads, relative to the index."""
    return f"talks/{slug(scenario_id)}.js"


def target_anchor(target: str) -> str:
    """Return the anchor of a target on a scenario's page."""
    return f"target-{_readable(target)}"


def first_difference_anchor(target: str) -> str:
    """Return the anchor of a target's first difference on a scenario's page."""
    return f"first-difference-{_readable(target)}"


def _readable(target: str) -> str:
    """Return a target's slug, or its name if that is safe; dots are harmless in names without slashes."""
    return target if not _UNSAFE.search(target) else slug(target)


def css_name(value: str) -> str:
    """Return the class attribute for a value of one of our own enumerations."""
    return value.replace(" ", "-")
