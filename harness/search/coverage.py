"""Coverage of conversations: pairs of a state and an answered request, and branches of the reference."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from harness.targets.reference.tcp import REFERENCE_ROOT
from harness.trace.canonical import error_codes_in

NO_GROUP: Final = "no group"
_NO_ERROR: Final = "NONE"
HAS_BRANCHES: Final = hasattr(sys, "monitoring")
"""Whether this Python reports branches, as it does from 3.12 on."""
_TOOLS: Final = range(3, 5)
"""Tool ids that are not reserved for debuggers, coverage or profilers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A state of the group, and a request in it with the outcome of its answer."""

    state: str
    """Type and state of the main group when the request was sent."""
    api: str
    outcome: str

    def __str__(self) -> str:
        """Return the pair as a line of text."""
        return f"{self.state}: {self.api} {self.outcome}"


def outcome_of(fields: Mapping[str, object]) -> str:
    """Return an answer's error code; of several, the first that is not NONE."""
    return next((each for each in error_codes_in(fields) if each != _NO_ERROR), _NO_ERROR)


class Branches:
    """The branches of the reference that were taken, if Python reports them.

    Attributes:
        taken: how many branches were taken so far.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._ends: dict[tuple[CodeType, int], set[int]] = {}
        self._folder = str(REFERENCE_ROOT / "reference_coordinator")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch for new branches; does nothing before Python 3.12, or if no tool id is free."""
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
        """Record the destination of a branch; stop watching one that has gone both ways."""
        monitoring: Any = sys.__dict__["monitoring"]
        disable: object = monitoring.DISABLE
        if not code.co_filename.startswith(self._folder):
            return disable
        ends = self._ends.setdefault((code, offset), set())
        if destination not in ends:
            ends.add(destination)
            self.taken += 1
        return disable if len(ends) > 1 else None
