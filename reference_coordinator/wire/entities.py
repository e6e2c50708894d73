"""The fields of kio's classes, from which code to read and write each class is assembled once.

kio's own readers and writers are not used. Kafka accepts bytes that kio's readers refuse: unknown tagged
fields are skipped (those of JoinGroup are even kept and compared), text that is not UTF-8 is repaired, and
durations may be any number. Also, kio creates an object in either direction, which costs more than the bytes.
Only the field descriptions of kio's classes are used, and its readers of primitives.
"""

import dataclasses
import typing
from types import UnionType
from typing import Any

from reference_coordinator.core.values import value


class MalformedRequestError(Exception):
    """A frame is not a request that this broker serves; Kafka closes the connection on which it came.

    The frame is too short, has null in a field that is not nullable, or has an unknown API or a version that
    is not served. Bytes after the request are not an error: Kafka ignores them.
    """


class UnwritableResponseError(Exception):
    """A response does not fit its fields on the wire, e.g. a text beyond 32767 bytes."""


@value
class FieldShape:
    """One field of one of kio's classes, from its annotation and metadata."""

    name: str
    kafka_type: str
    """Kafka's name of a primitive type; empty for a structure."""
    entity: Any
    """kio's class of a structure, or None."""
    is_array: bool
    is_nullable: bool
    """Whether the value may be null; for an array, whether the array itself may be."""
    tag: int | None
    """The number of a tagged field; None for others."""

    @property
    def is_tagged(self) -> bool:
        """Whether the field is in the section of tagged fields, if present."""
        return self.tag is not None


def field_shapes(entity: Any) -> tuple[FieldShape, ...]:
    """Return the fields of one of kio's classes, in their order on the wire."""
    return tuple(_shape(field) for field in dataclasses.fields(entity))


def describe(entity: Any) -> str:
    """Return the name of one of kio's classes for an error message."""
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
