"""Choose the client libraries of a run."""

from collections.abc import Sequence
from typing import Final

from harness.clients.java import JAVA, is_java, java_library
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.extras import why_without
from harness.targets.base.interface import Lasting, Progress, TargetError

LIBRARY_FORMS: Final = (*LIBRARIES, JAVA, f"{JAVA}:VERSION")
"""The forms of a library's name."""


def is_library(name: str) -> bool:
    """Return whether a library has this name."""
    return name in LIBRARIES or is_java(name)


async def choose_libraries(names: Sequence[str], progress: Progress) -> tuple[ClientLibrary, ...]:
    """Return the libraries with these names; if none are given, all available ones.

    Args:
        names: names that `is_library` accepts.
        progress: called with what is going on, and with the library that is left out and the reason.

    Raises:
        TargetError: a named library, or any at all, is not available; the message contains the remedy.
    """
    # Topics are created with librdkafka, whichever library uses them.
    if (lacking := why_without("clients")) is not None:
        raise TargetError(lacking)
    if names:
        chosen = dict.fromkeys(names)
        return tuple(
            [LIBRARIES[name] if name in LIBRARIES else await java_library(name, progress) for name in chosen]
        )
    try:
        return (*LIBRARIES.values(), await java_library(JAVA, progress))
    except TargetError as error:
        progress(Lasting(f"not run with {JAVA}: {error}"))
        return tuple(LIBRARIES.values())
