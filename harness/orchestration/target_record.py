"""The record of one target of a run: its trace, its brokers, how its drive ended."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from harness.targets.base.interface import BrokerDescription, TargetError
from harness.targets.base.limits import TRACE_BYTES
from harness.trace.events import Event, EventKind, TraceHeader
from harness.trace.files import EventWriter
from harness.trace.formats import config_digest
from harness.wire.schema import API_NAMES

_ENDINGS: Final = frozenset({EventKind.ABANDONED, EventKind.NOT_APPLICABLE, EventKind.HARNESS_ERROR})
"""Events that are written for every scenario, even if the trace is full."""


@dataclass(slots=True, kw_only=True)
class TargetRecord:
    """The data that a run keeps of one target."""

    name: str
    oracle: str | None = None
    headers: list[TraceHeader] = field(default_factory=list)
    descriptions: list[BrokerDescription] = field(default_factory=list)
    drive_ms: float = 0.0
    lost: str | None = None
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


def header_of(run_id: str, name: str, description: BrokerDescription, start_ms: float) -> TraceHeader:
    """Return the trace header that describes one broker of a target."""
    ranges = {
        API_NAMES.get(item.api_key, f"API {item.api_key}"): [item.min_version, item.max_version]
        for item in description.api_ranges
    }
    return TraceHeader(
        run_id=run_id,
        target=name,
        spec=description.spec,
        version=description.version,
        image=description.image,
        profile=description.profile,
        implementation=description.implementation,
        bootstrap=description.bootstrap,
        broker_config=(broker_config := json.dumps(dict(description.broker_config), sort_keys=True)),
        config_digest=config_digest(broker_config),
        api_ranges=json.dumps(ranges),
        notes=description.notes,
        oracle=None,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        start_ms=start_ms,
    )
