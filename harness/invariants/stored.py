"""Invariants of stored runs: checked from their traces, with the violations stored beside them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.invariants.checker import Checker
from harness.invariants.violation import Violation
from harness.trace.embedded import broker_properties
from harness.trace.events import Event, TraceHeader
from harness.trace.files import RunFolder, read_events, write_records

VIOLATIONS: Final = "violations.jsonl.zst"
"""Name of the file in a run's record: one `Violation` a line; empty where no invariant is broken."""
_RETENTION: Final = "offsets.retention"
"""Prefix of all properties that let offsets expire within minutes; the default is days."""


def checker_for(headers: Iterable[TraceHeader]) -> Checker:
    """Return a checker for brokers that ran with these configurations."""
    configured = (name for header in headers for name in broker_properties(header))
    return Checker(offsets_expire=any(name.startswith(_RETENTION) for name in configured))


def check_run(folder: RunFolder) -> tuple[Violation, ...]:
    """Check every trace of a run, and write the violations to its folder.

    Raises:
        TraceError: a file of the run is damaged.
    """
    found: list[Violation] = []
    for target in folder.targets():
        checker = checker_for(folder.read_headers(target))
        for event in _in_order(read_events(folder.events(target))):
            found += checker.feed(event)
    keep(folder, found)
    return tuple(found)


def keep(folder: RunFolder, violations: Iterable[Violation]) -> Path:
    """Write violations to a run's folder; return the file's path."""
    path = folder.record / VIOLATIONS
    write_records(path, violations)
    return path


def _in_order(events: Iterable[Event]) -> list[Event]:
    """Sort events by conversation, since concurrent conversations are interleaved in a trace."""
    return sorted(events, key=lambda event: (event.scenario_id, event.sequence))
