"""A text names one of a run's targets."""

import pytest

from harness.diff.target_pattern import named_target

SPECS = {
    "kafka-3.9.1": "kafka:3.9.1",
    "kafka-3.9.10": "kafka:3.9.10",
    "kafka-3.9.2+java": "kafka:3.9.2+java",
    "kafka-4.3.1x3": "kafka:4.3.1*3",
    "reference-3.9": "reference:3.9",
}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("kafka:3.9.1", "kafka-3.9.1"),
        ("kafka-3.9.1", "kafka-3.9.1"),
        ("kafka:3.9", "kafka-3.9.10"),
        ("kafka:3.9+java", "kafka-3.9.2+java"),
        ("kafka:4.3*3", "kafka-4.3.1x3"),
        ("kafka:4.3", None),
        ("kafka:3.90", None),
        ("kafka:3", None),
        ("reference:3.9", "reference-3.9"),
        ("", None),
    ],
)
def test_a_release_names_its_newest_patch_in_the_run(text: str, named: str | None) -> None:
    assert named_target(text, SPECS) == named
