"""Events for tests to vary: `replace(BARE, …)` names what the test is about, and nothing else."""

from dataclasses import replace
from typing import Final

from harness.trace.events import Event, EventKind

BARE: Final = Event(
    run_id="run-1",
    target="kafka-3.9.2",
    scenario_id="classic/heartbeat/works",
    sequence=0,
    step=0,
    kind=EventKind.RESPONSE.value,
    actor="ana",
    connection="main",
    api=None,
    api_version=None,
    correlation_id=None,
    at_ms=0.0,
    elapsed_ms=None,
    raw=None,
    fields=None,
    canonical=None,
    digest=None,
    reencodes=None,
    permitted=None,
    note=None,
)
"""An answer with nothing in it."""
ANSWER: Final = replace(
    BARE,
    api="Heartbeat",
    api_version=4,
    correlation_id=1,
    at_ms=5.0,
    elapsed_ms=2.0,
    raw="0000",
    fields='{"error_code":"NONE"}',
    canonical='{"error_code":"NONE"}',
    digest="same",
    reencodes=True,
)
"""A heartbeat was answered."""
