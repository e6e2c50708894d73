"""The comparison of assignors finds a broken one, and nothing where there is nothing."""

import asyncio
from pathlib import Path

import pytest

from harness.targets.base.interface import Target
from harness.targets.reference.target import ReferenceTarget
from harness.tests.assignors_beside import Outcome, outcome_on, report
from harness.tests.broken_assignor import broken_reference


def outcome(target: Target, directory: Path, *, groups: int, kind: str = "consumer") -> Outcome:
    return asyncio.run(outcome_on(target, directory, groups=groups, seed=1, kind=kind))


@pytest.mark.slow
def test_an_assignor_that_moves_a_partition_too_many_is_found(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    target = broken_reference(tmp_path / "code" / "broken")

    found = outcome(target, tmp_path, groups=4)

    assert found.mismatches
    assert "4 groups" in report(target, found, groups=4, took_s=0)
    assert "reference: Answered(" in report(target, found, groups=4, took_s=0)


@pytest.mark.parametrize(
    ("profile", "kind"), [("4.0.2", "consumer"), ("4.1.2", "share"), ("4.4.0", "share"), ("4.4.0", "streams")]
)
def test_references_of_one_release_agree(profile: str, kind: str, tmp_path: Path) -> None:
    found = outcome(ReferenceTarget(profile), tmp_path, groups=5, kind=kind)

    assert found.assignments > 20
    assert not found.mismatches
