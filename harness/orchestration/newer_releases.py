"""Notices about releases that are newer than every release of the reference."""

from collections.abc import Iterable, Iterator

from harness.targets.base.interface import Target
from harness.targets.jars.resolved import release_of
from harness.targets.reference.target import DEFAULT_PROFILE, NEWEST_RELEASE
from harness.trace.files import RunFolder


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
