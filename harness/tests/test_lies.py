"""A sample of the kinds of lies that `harness.tests.lies` has: each ends as documented, others are judged."""

import pytest

from harness.tests.lies import kinds, meet

SAMPLE = (
    "error 35 to ApiVersions",
    "two brokers, port 99999",
    "scenarios' answers: a frame without an end",
    "scenarios' answers: an unknown error code",
    "a number of 5,000 digits",
    "a group of others",
    "scenarios' answers: four billion elements",
    "scenarios' generations of 2^31-1",
    "scenarios' member ids in colour",
    "coordinators that point at each other",
)


def test_there_are_a_hundred_kinds_and_more() -> None:
    assert len(kinds()) > 150


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAMPLE)
def test_a_lie_costs_its_target_alone(kind: str) -> None:
    run, tap = meet(kind, at_once=2)
    assert run.faults == ()
    assert tap.faults == ()
