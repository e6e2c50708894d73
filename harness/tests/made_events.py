"""Events, scripts and brokers for tests to vary: `replace(BARE, …)` names what the test is about."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.diff.model import Difference, Judgement
from harness.scenario.script import Script
from harness.targets.base.interface import BrokerDescription
from harness.trace.events import Event, EventKind, RunFooter, RunHeader, TraceHeader
from harness.trace.files import EventWriter
from harness.trace.formats import FORMAT_VERSION

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
BARE_SCRIPT: Final = Script(
    id="classic/heartbeat/works",
    title="It works.",
    source="KIP-848",
    clauses=(),
    needs=(),
    broker_config={},
    actors=(),
    steps=(),
)
"""A script in which nothing is said."""
BARE_BROKER: Final = BrokerDescription(
    spec="kafka:9.9.9",
    profile="4.4",
    implementation="made up",
    bootstrap="127.0.0.1:9092",
    broker_config={},
    api_ranges=(),
)
"""A broker of which nothing is known."""

HEADER: Final = TraceHeader(
    **dict.fromkeys(("run_id", "target", "spec", "implementation", "bootstrap", "config_digest"), "t"),
    version=None,
    image=None,
    profile="4.4",
    broker_config="{}",
    api_ranges="{}",
    notes=(),
    oracle=None,
    started_at="2026-01-01T00:00:00.000+00:00",
    start_ms=0.0,
)
"""The header of a broker that says nothing, to vary."""

RUN: Final = RunHeader(
    run_id="run-1",
    started_at="2026-01-02T03:04:05Z",
    harness_version="0.1.0",
    harness_commit=None,
    format_version=FORMAT_VERSION,
    scenario_digest="d1",
    shard=None,
    merged_from=(),
    targets=("reference", "kafka-3.9.2"),
    machine="a machine",
    command="kafka-conformance run",
)
"""The header of a run of two targets."""
FOOTER: Final = RunFooter(
    run_id="run-1",
    finished_at="2026-01-02T03:05:05Z",
    ended="complete",
    scenario_count=1,
    drive_ms='{"reference": 12.5, "kafka-3.9.2": 3000}',
    event_counts='{"reference": 2, "kafka-3.9.2": 2}',
)
JUDGEMENT: Final = Judgement(
    run_id="run-1",
    target="kafka-3.9.2",
    oracle="reference",
    scenario_id="classic/heartbeat/works",
    title="A heartbeat works.",
    suite="classic",
    apis=("Heartbeat",),
    clauses=(),
    source="GroupMetadataManager#classicGroupHeartbeat",
    outcome="conforms",
    expectation="expected",
    delta="no baseline",
    reason="",
    observed="",
    causes=(),
    link=None,
    signature=None,
    first_step=None,
    difference_count=0,
    event_count=1,
    duration_ms=5.0,
)
"""What conforms."""
DIFFERENCE: Final = Difference(
    run_id="run-1",
    target="kafka-3.9.2",
    scenario_id="classic/heartbeat/works",
    ordinal=0,
    is_consequence=False,
    against="reference",
    step=0,
    api="Heartbeat",
    api_version=4,
    difference_class="error code",
    field="error_code",
    expected='"NONE"',
    actual='"UNKNOWN_MEMBER_ID"',
    signature="s1",
    cause="c1",
    is_lenient=False,
)


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write a trace in the place of one that is there."""
    path.unlink(missing_ok=True)
    with EventWriter(path) as writer:
        for event in events:
            writer.write(event)
