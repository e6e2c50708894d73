"""The server killed under writes: whatever it had answered is there when it is started again."""

from pathlib import Path

import pytest

from reference_coordinator.tests.kills import kill_often

pytestmark = pytest.mark.slow

POINTS = 12


@pytest.mark.parametrize("seed", range(2))
def test_what_was_answered_before_a_kill_is_there(seed: int, tmp_path: Path) -> None:
    outcome = kill_often(tmp_path, points=POINTS, seed=seed)
    assert outcome.points == POINTS
    assert outcome.lost == []
    assert outcome.acknowledged > 0
    assert "Traceback" not in outcome.said
