"""The versions of Kafka that `diff --versions` runs, in the forms that `docs/matrix.md` lists."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from harness.orchestration.plan import PlanError, parse_targets
from harness.suggestions import close_to
from harness.targets.base.interface import Target
from harness.targets.external.stated import Stated
from harness.targets.jars.repository import NEWEST_PATCHES, PUBLISHED, TABLE_DATE, newest_patch
from harness.targets.jars.resolved import LATEST, release_of
from harness.targets.reference.target import DEFAULT_PROFILE, NEWEST_RELEASE
from harness.trace.files import RunFolder

_KAFKA: Final = "kafka:"
_LATEST_PATCH: Final = "latest-patch"
_ALL: Final = "all"
_FORM: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(\+java)?")


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
    low, high = _FORM.fullmatch(first), _FORM.fullmatch(last)
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


def _key(version: str) -> tuple[int, int, int, bool]:
    found = _FORM.fullmatch(version)
    assert found is not None, version
    return (int(found[1]), int(found[2]), int(found[3] or 0), found[4] is not None)


def version_targets(
    versions: str, *, further: Sequence[str] = (), against: str | None = None
) -> tuple[tuple[Target, ...], str | None]:
    """Return the targets of a run of versions, and the name of the one that all others are compared with.

    Further targets come after all versions; without a kind, `against` is a version of Kafka.

    Raises:
        PlanError: a name is neither a version nor a target, or fewer than two targets are left to compare.
    """
    chosen = choose_versions(versions) if versions.strip() else ()
    specs = [f"{_KAFKA}{version}" for version in chosen]
    named = None if against is None else _spec_of(against)
    if named is not None and named not in (*specs, *further):
        version = named.removeprefix(_KAFKA)
        with_it = in_order((*chosen, version)) if version != named and is_version(version) else ()
        specs = [f"{_KAFKA}{each}" for each in with_it] or [named, *specs]
    targets = parse_targets([*specs, *further], guards_external=True, stated=Stated(may_lack_topics=True))
    if len(targets) < 2:
        raise PlanError("at least two versions are compared; write for instance --versions 3.9.2,4.4.0")
    name = next((target.name for target in targets if target.spec == named), None)
    return targets, name


def _spec_of(against: str) -> str:
    """Return a target's spec; a name without a kind is a version of Kafka."""
    return against if ":" in against or against.startswith("reference") else f"{_KAFKA}{_only(against)}"


def _only(version: str) -> str:
    found = choose_versions(version)
    if len(found) > 1:
        raise PlanError(f"--against {version}: that is {len(found)} versions; name one to compare with")
    return found[0]


def judged_as_older(targets: Iterable[Target]) -> Iterator[str]:
    """Yield a line for each target that is judged as an older release than its own."""
    for target in targets:
        if target.foreseen_profile is not None:
            yield from _line(target.spec, target.foreseen_profile)


def found_newer(targets: Iterable[Target], folder: RunFolder) -> Iterator[str]:
    """Yield the same line for each target whose release was unknown before it ran, such as `kafka:latest`."""
    ran = folder.targets()
    for target in targets:
        if target.foreseen_profile is None and target.name in ran:
            for header in folder.read_headers(target.name)[:1]:
                yield from _line(target.spec, header.profile)


def _line(spec: str, profile: str) -> Iterator[str]:
    if release_of(profile) > NEWEST_RELEASE:
        yield (
            f"{spec} is judged as {DEFAULT_PROFILE}: the reference knows no later release, "
            f"and {profile} may differ from it"
        )
