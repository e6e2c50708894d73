"""What all values of this package are made with."""

import dataclasses
from typing import TypeVar

from typing_extensions import dataclass_transform

ClassT = TypeVar("ClassT")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def value(cls: type[ClassT]) -> type[ClassT]:
    """Make a class a value: what equals it is the same, and it never changes.

    The type checker refuses assignments, as it does for a frozen dataclass. At run time nothing does,
    since a frozen dataclass takes several times as long to make, and a request makes many.
    """
    return dataclasses.dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def whole_value(cls: type[ClassT]) -> type[ClassT]:
    """Make a class a value of which all parts are values too: deep copies of what has it share it.

    A coordinator's log is most of it, and whoever tries several ways to go on copies the coordinator.
    """
    made = value(cls)
    made.__deepcopy__ = lambda self, _: self  # type: ignore[attr-defined] # as `copy` asks for it
    return made
