"""What is said of a target whose release the reference does not know."""

from pathlib import Path

import pytest
from typing_extensions import override

from harness.orchestration.tests.test_driving import Disguised, driven
from harness.orchestration.versions import found_newer, judged_as_older


class Latest(Disguised):
    """A target whose release is known when it has started, as that of `kafka:latest`."""

    @property
    @override
    def foreseen_profile(self) -> str | None:
        return None


@pytest.mark.parametrize(("profile", "is_newer"), [("4.5.0", True), ("4.4.0", False)])
def test_a_release_that_is_known_only_after_the_start_is_said_too(
    tmp_path: Path, profile: str, *, is_newer: bool
) -> None:
    latest, missing = Latest("latest", profile), Latest("missing", profile)
    _, folder = driven(tmp_path, latest)

    assert list(judged_as_older([latest])) == []
    lines = list(found_newer([latest, missing], folder))
    assert [line.partition(":")[0] for line in lines] == (["disguised"] if is_newer else [])
    assert all(
        f"is judged as 4.4: the reference knows no later release, and {profile}" in each for each in lines
    )
