"""Conversion of read structures to version-free messages: a message's field is kio's field with that name.

kio's names of durations and times lack the unit. A field that a version lacks gets the message's default.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from reference_coordinator.core.ids import TopicId
from reference_coordinator.wire.reading import ReadEntity

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MessageT = TypeVar("MessageT", bound="DataclassInstance")
_AsRead: TypeAlias = tuple[str, str]
"""The name of a field, and kio's name of it."""
_Converted: TypeAlias = tuple[str, str, Callable[[Any], Any]]
"""Both names, and the function that converts the field's value."""


def message_of(cls: type[MessageT], body: ReadEntity, **given: Any) -> MessageT:
    """Return a structure as a message.

    Args:
        cls: the class of the message, or of a part of one.
        body: the structure that was read.
        given: fields whose values replace those that were read.
    """
    as_read, converted = _fields(cls)
    values = {name: body[kio_name] for name, kio_name in as_read if kio_name in body}
    for name, kio_name, conversion in converted:
        if kio_name in body and name not in given:
            value = body[kio_name]
            values[name] = None if value is None else conversion(value)
    return cls(**(values | given))


@functools.cache
def _fields(cls: "type[DataclassInstance]") -> tuple[tuple[_AsRead, ...], tuple[_Converted, ...]]:
    hints = typing.get_type_hints(cls)
    names = {field.name: field.name.removesuffix("_ms") for field in dataclasses.fields(cls)}
    conversions = {name: _conversion(name, hints[name]) for name in names}
    as_read = [(name, kio_name) for name, kio_name in names.items() if conversions[name] is None]
    converted = [(name, names[name], each) for name, each in conversions.items() if each is not None]
    return tuple(as_read), tuple(converted)


def _conversion(name: str, hint: Any) -> Callable[[Any], Any] | None:
    """Return a function that converts a read value to a field's value; None if they are equal."""
    if typing.get_origin(hint) is UnionType:
        (hint,) = (each for each in typing.get_args(hint) if each is not type(None))
    if name == "topic_id":
        return lambda topic_id: TopicId(str(topic_id))
    if _is_message(hint):
        return functools.partial(message_of, hint)
    part, *_ = typing.get_args(hint) or (None,)
    if _is_message(part):
        return lambda parts: tuple(message_of(part, each) for each in parts)
    return None


def _is_message(hint: Any) -> TypeGuard["type[DataclassInstance]"]:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)
