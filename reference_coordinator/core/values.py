"""Decorators for the immutable value classes of this package."""

import dataclasses
from typing import TypeVar

from typing_extensions import dataclass_transform

ClassT = TypeVar("ClassT")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def value(cls: type[ClassT]) -> type[ClassT]:
    """Make a class an immutable value, which is compared by its fields.

    The type checker refuses assignments, as for a frozen dataclass. At run time they are not prevented,
    because creating a frozen dataclass takes several times as long, and a request creates many values.
    """
    return dataclasses.dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def whole_value(cls: type[ClassT]) -> type[ClassT]:
    """Make a class a value whose parts are all values too, so that deep copies share it.

    Searches copy the coordinator to try several continuations, and its log is the largest part of it.
    """
    made = value(cls)
    made.__deepcopy__ = lambda self, _: self  # type: ignore[attr-defined] # as `copy` asks for it
    return made
