"""Dataclasses made of what JSON has read: each field of the type that it declares."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Final, TypeVar, get_args, get_origin

from harness.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MadeT = TypeVar("MadeT", bound="DataclassInstance")
_PLAIN: Final = (str, int, bool, bytes, type(None))


def made(cls: type[MadeT], content: Mapping[str, object]) -> MadeT:
    """Return a dataclass with these fields.

    Values and patterns of a request are whatever `harness.scenario.values` has read.

    Raises:
        ScenarioError: a field is of another type than it declares.
        TypeError: a field is missing or unknown.
    """
    result = cls(**content)
    for field in fields(cls):
        value = getattr(result, field.name)
        if not _fits(value, field.type):
            raise ScenarioError(f"{cls.__name__}: `{field.name}` cannot be {value!r:.80}")
    return result


def _fits(value: object, hint: object) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType and all(each in _PLAIN for each in arguments):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(each, arguments[1]) for each in value.values())
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)
