"""Suggestions for a name that does not exist."""

import difflib
from collections.abc import Iterable
from typing import Final

_COUNT_MAX: Final = 3


def close_to(name: str, names: Iterable[str], *, otherwise: str, cutoff: float = 0.6) -> str:
    """Return a hint for an error message: the names close to this one, or else `otherwise`."""
    close = difflib.get_close_matches(name, list(dict.fromkeys(names)), n=_COUNT_MAX, cutoff=cutoff)
    return f"close to it: {', '.join(close)}" if close else otherwise
