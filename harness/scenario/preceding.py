"""A script with other steps before its own."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from harness.scenario.script import Receive, Script, StayParked, Step
from harness.scenario.values import AnswerRef, Containing, InAnyOrder, OneOf, Plus


def preceded(script: Script, steps: Sequence[Step]) -> Script:
    """Return a script with other steps before its own; all indexes of steps are moved accordingly."""
    return replace(script, steps=(*steps, *(_moved(step, len(steps)) for step in script.steps)))


def _moved(step: Step, by: int) -> Step:
    content = {each.name: _referring(getattr(step, each.name), by) for each in fields(step)}
    if isinstance(step, Receive | StayParked):
        content["sent_at"] = step.sent_at + by
    return type(step)(**content)


def _referring(value: Any, by: int) -> Any:  # noqa: ANN401 - any field's value
    match value:
        case AnswerRef():
            return replace(value, step=value.step + by)
        case Plus():
            return replace(value, base=_referring(value.base, by))
        case Mapping():
            return {key: _referring(item, by) for key, item in value.items()}
        case OneOf(items) | InAnyOrder(items) | Containing(items):
            return type(value)(tuple(_referring(item, by) for item in items))
        case tuple() | list():
            return tuple(_referring(item, by) for item in value)
        case _:
            return value
