"""Dataclasses made from parsed JSON, with each field of its declared type."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Final, TypeVar, get_args, get_origin

from harness.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MadeT = TypeVar("MadeT", bound="DataclassInstance")
_PLAIN: Final = (str, int, bool, bytes, type(None))


def made(cls: type[MadeT], content: Mapping[str, object]) -> MadeT:
    """Return a dataclass with these fields.

    Values and patterns are not checked: `harness.scenario.values` has parsed them.

    Raises:
        ScenarioError: a field's value is not of its declared type.
        TypeError: a field is missing or unknown.
    """
    result = cls(**content)
    for field in fields(cls):
        value = getattr(result, field.name)
        if not _fits(value, field.type):
            raise ScenarioError(f"{cls.__name__}: `{field.name}` cannot be {value!r:.80}")
    return result


def _fits(value: object, hint: object) -> bool:
    if isinstance(hint, type):
        return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
    origin, arguments = _parts(hint)
    if origin is UnionType and all(each in _PLAIN for each in arguments):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(each, arguments[1]) for each in value.values())
    return True


@cache
def _parts(hint: object) -> tuple[object, tuple[object, ...]]:
    return get_origin(hint), get_args(hint)
