"""Values: equal by their fields, fit for keys, and not to be changed, which the type checker sees to."""

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from reference_coordinator.core.values import value

ROOT = Path(__file__).parents[3]
CHANGES_A_VALUE = """
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.effects import Respond

respond = Respond(token=ResponseToken(1), response="answer")
respond.token = ResponseToken(2)
"""


@value
class Point:
    x: int
    tags: tuple[str, ...] = ()


def test_what_has_equal_fields_is_the_same() -> None:
    assert Point(x=1) == Point(x=1, tags=())
    assert Point(x=1) != Point(x=2)
    assert {Point(x=1): "found"}[Point(x=1)] == "found"


def test_fields_are_given_by_name_and_no_others_can_be_set() -> None:
    assert [each.name for each in fields(Point)] == ["x", "tags"]
    assert replace(Point(x=1), x=2) == Point(x=2)
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg] # that it is refused is the claim
    with pytest.raises(AttributeError):
        setattr(Point(x=1), "other", 1)  # noqa: B010 - the checker would refuse it otherwise


def test_the_type_checker_refuses_to_change_a_value() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=/dev/null", "-c", CHANGES_A_VALUE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 'Property "token" defined in "Respond" is read-only' in checked.stdout
    assert "Found 1 error" in checked.stdout
