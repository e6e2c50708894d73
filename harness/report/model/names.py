"""Names that are safe in file names, anchors and class attributes, whatever the name they stand for."""

import hashlib
import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LENGTH_MAX: Final = 120


def slug(name: str) -> str:
    """Return a name for files and anchors; two names never share one."""
    safe = _UNSAFE.sub("-", name.replace("/", "."))[:_LENGTH_MAX].strip(".-")
    if safe.replace(".", "/") == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")


def scenario_page(scenario_id: str) -> str:
    """Return the path of a scenario's page, from the index."""
    return f"scenarios/{slug(scenario_id)}.html"


def conversation_file(scenario_id: str) -> str:
    """Return the path of the data that a scenario's page asks for, from the index."""
    return f"talks/{slug(scenario_id)}.js"


def target_anchor(target: str) -> str:
    """Return the anchor of a target on a scenario's page."""
    return f"target-{_readable(target)}"


def first_difference_anchor(target: str) -> str:
    """Return the anchor of a target's first difference on a scenario's page."""
    return f"first-difference-{_readable(target)}"


def _readable(target: str) -> str:
    """As `slug`, but a dot is harmless in a name that has no slashes."""
    return target if not _UNSAFE.search(target) else slug(target)


def css_name(value: str) -> str:
    """Return the class attribute of one of our own enumerations' values."""
    return value.replace(" ", "-")
