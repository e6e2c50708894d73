"""Invariants over runs on file: read from their traces, kept beside them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.invariants.checker import Checker
from harness.invariants.violation import Violation
from harness.trace.events import Event, TraceHeader
from harness.trace.files import RunFolder, read_events, write_records
from harness.trace.schema import json_object

VIOLATIONS: Final = "violations.jsonl"
"""Name of the file in a run's folder: a `Violation` a line; empty where no invariant is broken."""
_RETENTION: Final = "offsets.retention"
"""How all properties begin that let offsets expire within minutes; the default is days."""


def checker_for(headers: Iterable[TraceHeader]) -> Checker:
    """Return a checker for what was driven with these configurations."""
    configured = (
        name
        for header in headers
        for name in json_object(header.broker_config, where=f"`broker_config` of {header.target}")
    )
    return Checker(offsets_expire=any(name.startswith(_RETENTION) for name in configured))


def check_run(folder: RunFolder) -> tuple[Violation, ...]:
    """Check every trace of a run, and keep what was found in its folder.

    Raises:
        TraceError: a file of the run is damaged.
    """
    found: list[Violation] = []
    for target in folder.targets():
        checker = checker_for(folder.read_headers(target))
        for event in _in_order(read_events(folder.events(target)).events):
            found += checker.feed(event)
    keep(folder, found)
    return tuple(found)


def keep(folder: RunFolder, violations: Iterable[Violation]) -> Path:
    """Put violations into a run's folder; return where."""
    path = folder.path / VIOLATIONS
    write_records(path, violations)
    return path


def _in_order(events: Iterable[Event]) -> list[Event]:
    """Gather conversations, which are written as they happen: side by side."""
    return sorted(events, key=lambda event: (event.scenario_id, event.sequence))
