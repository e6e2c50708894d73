"""The versions of Kafka in a matrix, parsed from what a user writes.

    3.9.2           that version
    3.9.2+java      that version with the Java coordinator, which is optional in 3.7 to 3.9
    3.9             the newest patch of that release
    2.4..4.4        the newest patch of every release in that range
    2.6.0..2.8.2    every version in that range
    latest-patch    the newest patch of every release
    latest          the newest available version
    all             every version

Several of them are separated by commas.
"""

import re
from collections.abc import Iterable
from typing import Final

from harness.orchestration.plan import PlanError
from harness.suggestions import close_to
from harness.targets.jars.published import NEWEST_PATCHES, PUBLISHED, TABLE_DATE, newest_patch
from harness.targets.jars.resolved import LATEST

_LATEST_PATCH: Final = "latest-patch"
_ALL: Final = "all"
_FORM: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(\+java)?")

_Key = tuple[int, int, int, bool]


def choose_versions(text: str) -> tuple[str, ...]:
    """Return the versions that a text names, oldest first and each once; `latest` comes last.

    A version that is newer than all in the table is accepted unchecked.

    Raises:
        PlanError: a name is not a version's; the message suggests similar names.
    """
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise PlanError("no version is named; write for instance --versions 3.9.2,4.4.0 or 2.4..4.4")
    return in_order(version for item in items for version in _expanded(item))


def is_version(name: str) -> bool:
    """Return whether a name is a version that `in_order` accepts; a cluster's name, `3.9.2*3`, is not."""
    return name == LATEST or _FORM.fullmatch(name) is not None


def in_order(versions: Iterable[str]) -> tuple[str, ...]:
    """Sort versions, each once: by number, the Scala coordinator before the Java one, `latest` at the end."""
    return tuple(sorted(set(versions), key=lambda name: (name == LATEST, name != LATEST and _key(name))))


def _expanded(item: str) -> Iterable[str]:
    if item == LATEST:
        return (LATEST,)
    if item == _ALL:
        return PUBLISHED
    if item == _LATEST_PATCH:
        return _newest_patches()
    first, dots, last = item.partition("..")
    return _range(item, first, last) if dots else (_one(item),)


def _newest_patches() -> tuple[str, ...]:
    return tuple(f"{major}.{minor}.{patch}" for (major, minor), patch in NEWEST_PATCHES.items())


def _one(name: str) -> str:
    found = _FORM.fullmatch(name)
    if found is None:
        raise _unknown(name)
    if found[3] is None:
        release = (int(found[1]), int(found[2]))
        version = newest_patch(release)
        if version is None:
            raise _unknown(name)
        return f"{version}{found[4] or ''}"
    if name.removesuffix("+java") not in PUBLISHED and _key(name) < _key(PUBLISHED[-1]):
        raise _unknown(name)
    return name


def _range(item: str, first: str, last: str) -> tuple[str, ...]:
    ends = tuple(_FORM.fullmatch(end) for end in (first, last))
    low, high = ends
    if low is None or high is None or low[4] or high[4]:
        raise PlanError(f"{item!r} is not a range of versions; write for instance 2.4..4.4 or 2.6.0..2.8.2")
    by_release = low[3] is None and high[3] is None
    candidates = _newest_patches() if by_release else PUBLISHED
    least = (int(low[1]), int(low[2]), int(low[3] or 0))
    most = (int(high[1]), int(high[2]), int(high[3]) if high[3] else max(NEWEST_PATCHES.values()))
    found = tuple(name for name in candidates if least <= _key(name)[:3] <= most)
    if not found:
        raise PlanError(f"no version lies within {item!r}; there are {PUBLISHED[0]} to {PUBLISHED[-1]}")
    return found


def _unknown(name: str) -> PlanError:
    words = [*PUBLISHED, LATEST, _LATEST_PATCH, _ALL]
    there = f"there are {PUBLISHED[0]} to {PUBLISHED[-1]}"
    hint = close_to(name.removesuffix("+java"), words, otherwise=there, cutoff=0.5)
    return PlanError(f"{name!r} is not a version of Kafka that was known on {TABLE_DATE}; {hint}")


def _key(version: str) -> _Key:
    found = _FORM.fullmatch(version)
    assert found is not None, version
    return (int(found[1]), int(found[2]), int(found[3] or 0), found[4] is not None)
