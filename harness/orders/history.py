"""The operations of a history: requests to a coordinator, with its answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from harness.apis.descriptor import ApiDescriptor
from harness.apis.table import descriptor

Fields: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A request, with its answer if one came, on the clock of the recorder."""

    index: int = -1
    """Its place in its history."""
    actor: str | None
    """The client id."""
    api: str
    api_version: int
    request: Fields
    frame: bytes = b""
    """The request as it was sent; empty where the fields are all that was kept."""
    asked_ms: float
    """When it was sent."""
    answered_ms: float = inf
    """When its answer had arrived; infinite if none came."""
    answer: Fields | None = None
    answer_frame: bytes = b""
    """The answer as it came; empty where the fields are all that was kept."""

    @property
    def descriptor(self) -> ApiDescriptor:
        """The descriptor of its API."""
        return descriptor(self.api)

    @property
    def is_compared(self) -> bool:
        """Whether it has an answer that is to be compared."""
        return self.answer is not None

    def precedes(self, other: "Operation") -> bool:
        """Whether it was over before the other was sent."""
        return self.answered_ms < other.asked_ms
