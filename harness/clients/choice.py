"""Which client libraries a run is carried out with."""

from collections.abc import Sequence
from typing import Final

from harness.clients.java import JAVA, is_java, java_library
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.extras import why_without
from harness.targets.base.interface import Progress, TargetError

LIBRARY_FORMS: Final = (*LIBRARIES, JAVA, f"{JAVA}:VERSION")
"""What a library may be called."""


def is_library(name: str) -> bool:
    """Say whether a library may be called so."""
    return name in LIBRARIES or is_java(name)


async def choose_libraries(names: Sequence[str], progress: Progress) -> tuple[ClientLibrary, ...]:
    """Return the libraries of these names; if there are none, all that can be had.

    Args:
        names: some of those that `is_library` knows.
        progress: told what is going on, and in the end what is left out, with the reason.

    Raises:
        TargetError: what is named, or all, cannot be had; with the remedy.
    """
    # Topics are made with librdkafka, whoever uses them.
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
        progress(f"not run with {JAVA}: {error}")
        return tuple(LIBRARIES.values())
