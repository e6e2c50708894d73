"""Kafka's published versions, and the newest patch of each release."""

from typing import Final

TABLE_DATE: Final = "2026-11-21"
"""The day on which `PUBLISHED` matched Maven Central."""
NEWEST_PATCHES: Final[dict[tuple[int, int], int]] = {
    (2, 4): 1,
    (2, 5): 1,
    (2, 6): 3,
    (2, 7): 2,
    (2, 8): 2,
    (3, 0): 2,
    (3, 1): 2,
    (3, 2): 3,
    (3, 3): 2,
    (3, 4): 1,
    (3, 5): 2,
    (3, 6): 2,
    (3, 7): 2,
    (3, 8): 1,
    (3, 9): 2,
    (4, 0): 2,
    (4, 1): 2,
    (4, 2): 1,
    (4, 3): 1,
    (4, 4): 0,
}
"""The newest patch of each release; every patch from 0 on was published."""
PUBLISHED: Final = tuple(
    f"{major}.{minor}.{patch}"
    for (major, minor), newest in NEWEST_PATCHES.items()
    for patch in range(newest + 1)
)
"""Every version since 2.4, oldest first."""


def newest_patch(release: tuple[int, int]) -> str | None:
    """Return the newest published version of a release, or None for an unknown release."""
    patch = NEWEST_PATCHES.get(release)
    return None if patch is None else f"{release[0]}.{release[1]}.{patch}"
