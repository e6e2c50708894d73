"""kio's classes read and written field by field, each class by code that is put together once.

Neither is left to kio. Kafka accepts what kio's readers refuse: a tagged field that no schema knows is
skipped (JoinGroup's are even kept and compared), text that is not UTF-8 is mended, and durations may be
any number. And kio makes an object of its own on either way, which costs more than the bytes do. What
kio's classes say of the fields is all that is taken from them, with its readers of primitives.
"""

import dataclasses
import typing
from types import UnionType
from typing import Any

from reference_coordinator.core.values import value


class MalformedRequestError(Exception):
    """A frame is no request that this broker serves; Kafka closes the connection that brought it.

    Too short, null where nothing may be null, an unknown API, or a version that is not served. Bytes
    beyond the request are no fault: Kafka does not look at them.
    """


class UnwritableResponseError(Exception):
    """A response does not fit its fields on the wire, e.g. a text beyond 32767 bytes."""


@value
class FieldShape:
    """One field of one of kio's classes, as its annotation and metadata tell it."""

    name: str
    kafka_type: str
    """Kafka's name of a primitive; empty for a structure."""
    entity: Any
    """kio's class of a structure, or None."""
    is_array: bool
    is_nullable: bool
    """Whether there may be nothing; of an array, whether the array itself may be missing."""
    tag: int | None
    """The number of a tagged field; None of others."""

    @property
    def is_tagged(self) -> bool:
        """Whether it comes after the others, if at all."""
        return self.tag is not None


def field_shapes(entity: Any) -> tuple[FieldShape, ...]:
    """Return the fields of one of kio's classes, in their order on the wire."""
    return tuple(_shape(field) for field in dataclasses.fields(entity))


def describe(entity: Any) -> str:
    """Name one of kio's classes for an error message."""
    return f"{entity.__name__} v{entity.__version__}"


def _shape(field: dataclasses.Field[Any]) -> FieldShape:
    annotation: Any = field.type
    is_nullable = typing.get_origin(annotation) is UnionType
    if is_nullable:
        (annotation,) = (each for each in typing.get_args(annotation) if each is not type(None))
    is_array = typing.get_origin(annotation) is tuple
    inner = typing.get_args(annotation)[0] if is_array else annotation
    return FieldShape(
        name=field.name,
        kafka_type=field.metadata.get("kafka_type", ""),
        entity=inner if dataclasses.is_dataclass(inner) else None,
        is_array=is_array,
        is_nullable=is_nullable,
        tag=field.metadata.get("tag"),
    )
