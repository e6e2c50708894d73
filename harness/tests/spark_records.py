"""Records to vary, and files to put them into; for tests of traces and of Spark."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame

from harness.diff.model import Difference, Judgement
from harness.spark.rows import BrokerHeader
from harness.tests.made_events import ANSWER, FOOTER, JUDGEMENT, RUN
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import EventWriter, RunFolder, count_events, write_records

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
    events: Sequence[Event] = (ANSWER,),
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
