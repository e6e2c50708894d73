"""What conversations reach: pairs of a state and an answered request, and branches of the reference."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from harness.targets.reference.tcp import REFERENCE_ROOT

NO_GROUP: Final = "no group"
_NO_ERROR: Final = "NONE"
_ERROR_CODE: Final = "error_code"
HAS_BRANCHES: Final = hasattr(sys, "monitoring")
"""Whether this Python tells of branches, as it does from 3.12 on."""
_TOOLS: Final = range(3, 5)
"""Of the ids that programs may use beside debuggers, coverage and profilers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A request that was answered so in such a state."""

    state: str
    """Type and state of the group of all when it was asked."""
    api: str
    outcome: str

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.state}: {self.api} {self.outcome}"


def outcome_of(fields: Mapping[str, object]) -> str:
    """Return an answer's error code; of several the first that is none of success."""
    return next((each for each in _error_codes(fields) if each != _NO_ERROR), _NO_ERROR)


def _error_codes(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        code = value.get(_ERROR_CODE)
        if isinstance(code, str):
            yield code
        for item in value.values():
            if isinstance(item, dict | list):
                yield from _error_codes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _error_codes(item)


class Branches:
    """The branches of the reference that were taken, where Python tells of them.

    Attributes:
        taken: how many there were so far.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._ends: dict[tuple[CodeType, int], set[int]] = {}
        self._folder = str(REFERENCE_ROOT / "reference_coordinator")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch for new branches; without effect before Python 3.12, or where another tool watches."""
        monitoring: Any = getattr(sys, "monitoring", None)
        free = [each for each in _TOOLS if monitoring is not None and monitoring.get_tool(each) is None]
        if not free:
            yield
            return
        tool = free[0]
        monitoring.use_tool_id(tool, "kafka-conformance search")
        monitoring.register_callback(tool, monitoring.events.BRANCH, self._branched)
        monitoring.set_events(tool, monitoring.events.BRANCH)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)

    def _branched(self, code: CodeType, offset: int, destination: int) -> object:
        """Note where a branch went; one that has gone both ways tells nothing any more."""
        monitoring: Any = sys.__dict__["monitoring"]
        disable: object = monitoring.DISABLE
        if not code.co_filename.startswith(self._folder):
            return disable
        ends = self._ends.setdefault((code, offset), set())
        if destination not in ends:
            ends.add(destination)
            self.taken += 1
        return disable if len(ends) > 1 else None
