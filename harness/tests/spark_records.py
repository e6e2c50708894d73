"""Records to vary, and files to put them into; for tests of traces and of Spark."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from harness.diff.model import Difference, Judgement
from harness.spark.archive_rows import BrokerHeader
from harness.tests.made_events import ANSWER
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import EventWriter, RunFolder, count_events, write_records
from harness.trace.formats import FORMAT_VERSION

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
FOOTER: Final = RunFooter(
    run_id="run-1",
    finished_at="2026-01-02T03:05:05Z",
    ended="complete",
    scenario_count=1,
    drive_ms='{"reference": 12.5, "kafka-3.9.2": 3000}',
    event_counts='{"reference": 2, "kafka-3.9.2": 2}',
)
REFERENCE: Final = BrokerHeader(
    run_id="run-1",
    target="reference",
    spec="reference",
    version=None,
    image=None,
    profile="3.9",
    implementation="the reference",
    bootstrap="in process",
    broker_config="{}",
    config_digest="44136fa355b3",
    api_ranges="{}",
    notes=(),
    oracle=None,
    started_at="2026-01-02T03:04:06Z",
    start_ms=0.0,
    broker_ordinal=0,
)
KAFKA: Final = replace(
    REFERENCE, target="kafka-3.9.2", spec="kafka:3.9.2", oracle="reference", start_ms=4000.0
)
EVENT: Final = ANSWER
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


def rows(frame: DataFrame) -> list[dict[str, object]]:
    return [row.asDict() for row in frame.collect()]


def plain_header(header: TraceHeader) -> TraceHeader:
    """Return the header as a run's folder has it, which knows nothing of archives."""
    return TraceHeader(**{name: getattr(header, name) for name in TraceHeader.__dataclass_fields__})


def write_run(
    reports: Path,
    *,
    run: RunHeader = RUN,
    headers: Sequence[TraceHeader] = (REFERENCE, KAFKA),
    events: Sequence[Event] = (EVENT,),
) -> RunFolder:
    """Write a run as far as one that is killed before it is judged gets."""
    folder = RunFolder.create(reports, run.run_id)
    folder.write_run(run)
    for header in headers:
        folder.write_headers(header.target, [replace(plain_header(header), run_id=run.run_id)])
        with EventWriter(folder.events(header.target)) as writer:
            for event in events:
                if event.target == header.target:
                    writer.write(replace(event, run_id=run.run_id))
    return folder


def finish_run(
    folder: RunFolder,
    *,
    judgements: Sequence[Judgement] = (JUDGEMENT,),
    differences: Sequence[Difference] = (),
) -> RunFolder:
    write_records(folder.judgements, judgements)
    write_records(folder.differences, differences)
    folder.write_footer(footer_of(folder))
    return folder


def footer_of(folder: RunFolder) -> RunFooter:
    """Return the footer of a run that had recorded what is there."""
    counts = {target: count_events(folder.events(target)) for target in folder.targets()}
    return replace(FOOTER, run_id=folder.read_run().run_id, event_counts=json.dumps(counts))
