"""Releases that are newer than all that the reference knows."""

from collections.abc import Iterable, Iterator

from harness.targets.base.interface import Target
from harness.targets.jars.resolved import release_of
from harness.targets.reference.target import DEFAULT_PROFILE, NEWEST_RELEASE


def judged_as_older(targets: Iterable[Target]) -> Iterator[str]:
    """Yield a line for each target that is judged as an older release than it is."""
    for target in targets:
        profile = target.foreseen_profile
        if profile is not None and release_of(profile) > NEWEST_RELEASE:
            yield (
                f"{target.spec} is judged as {DEFAULT_PROFILE}: the reference knows no later release, "
                f"and {profile} may differ from it"
            )
