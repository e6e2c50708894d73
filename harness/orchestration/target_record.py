"""The record of one target of a run: its trace, its brokers, how its drive ended."""

from dataclasses import dataclass, field
from typing import Final

from harness.runner.suspects import Suspect
from harness.targets.base.interface import BrokerDescription, TargetError
from harness.targets.base.limits import TRACE_BYTES
from harness.trace.events import Event, EventKind, TraceHeader
from harness.trace.files import EventWriter

_ENDINGS: Final = frozenset({EventKind.ABANDONED, EventKind.NOT_APPLICABLE, EventKind.HARNESS_ERROR})
"""Events that are written for every scenario, even if the trace is full."""


@dataclass(slots=True, kw_only=True)
class TargetRecord:
    """The data that a run keeps of one target."""

    name: str
    headers: list[TraceHeader] = field(default_factory=list)
    descriptions: list[BrokerDescription] = field(default_factory=list)
    drive_ms: float = 0.0
    lost: str | None = None
    suspects: tuple[Suspect, ...] = ()
    """Who may have ended a broker of it, if it was lost."""
    not_applicable: set[str] = field(default_factory=set)
    """The ids of the scenarios that were not run on it."""


@dataclass(slots=True, kw_only=True)
class Trace:
    """A trace that is being written, and the scenarios that have events in it."""

    writer: EventWriter
    record: TargetRecord
    bytes_max: int = field(default_factory=TRACE_BYTES.most)
    reported_of: set[str] = field(default_factory=set)
    full: str | None = None
    """Why the trace accepts nothing more, except how scenarios ended."""

    def write(self, event: Event) -> None:
        """Append an event; raises TargetError if the trace is full."""
        self.reported_of.add(event.scenario_id)
        if event.kind == EventKind.NOT_APPLICABLE:
            self.record.not_applicable.add(event.scenario_id)
        if self.writer.size >= self.bytes_max and event.kind not in _ENDINGS:
            self.full = f"its trace is full{TRACE_BYTES.hint(self.writer.size + 1)}"
            raise TargetError(self.full)
        self.writer.write(event)
