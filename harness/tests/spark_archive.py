"""Runs of two conversations to vary and to pack; for tests of archives and of trends."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from harness.diff.model import Difference, Judgement
from harness.results.client_results import archived_clients
from harness.spark.archive import Archive, pack
from harness.spark.trend import TREND_MARTS, Archived
from harness.tests.made_events import ANSWER, JUDGEMENT, RUN
from harness.tests.spark_records import footer_of, rows, write_run
from harness.trace.events import Event
from harness.trace.files import RunFolder, write_records

OTHER: Final = "classic/join/works"


def theirs(event: Event) -> Event:
    """Let the reference have done it."""
    return replace(event, target="reference")


ANSWERS: Final = tuple(
    replace(ANSWER, scenario_id=scenario_id, sequence=step, step=step, digest=f"{scenario_id}-{step}")
    for scenario_id in (ANSWER.scenario_id, OTHER)
    for step in range(3)
)
"""What the target answers: three times in each of two scenarios."""
AGREED: Final = (*ANSWERS, *(theirs(event) for event in ANSWERS))
JUDGEMENTS: Final = tuple(
    replace(JUDGEMENT, scenario_id=scenario_id, target=target, clauses=("HB-01",))
    for scenario_id in (ANSWER.scenario_id, OTHER)
    for target in ("kafka-3.9.2", "reference")
)


def failing(judgement: Judgement, signature: str = "s1") -> Judgement:
    return replace(judgement, outcome="diverges", signature=signature, difference_count=1)


def finished(
    reports: Path,
    number: int,
    *,
    events: Sequence[Event] = AGREED,
    judgements: Sequence[Judgement] = JUDGEMENTS,
    differences: Sequence[Difference] = (),
    scenario_digest: str = "d1",
) -> RunFolder:
    """Write a finished and judged run; runs start in the order of their numbers."""
    run = replace(
        RUN,
        run_id=f"run-{number}",
        started_at=f"2026-01-{number:02d}T00:00:00Z",
        scenario_digest=scenario_digest,
    )
    folder = write_run(reports, run=run, events=events)
    judge(folder, judgements, differences)
    folder.write_footer(footer_of(folder))
    scripts = {ANSWER.scenario_id: {"steps": [{"not_after_ms": 10}, {}, {}]}}
    folder.write_scripts(scripts if any(each.scenario_id in scripts for each in judgements) else {})
    return folder


def judge(folder: RunFolder, judgements: Sequence[Judgement], differences: Sequence[Difference] = ()) -> None:
    run_id = folder.read_run().run_id
    write_records(folder.judgements, [replace(each, run_id=run_id) for each in judgements])
    write_records(folder.differences, [replace(each, run_id=run_id) for each in differences])


def changed(step: int, scenario_id: str = ANSWER.scenario_id) -> tuple[Event, ...]:
    """Let the target answer otherwise at one step."""
    return tuple(
        replace(event, digest="other", canonical=json.dumps({"error_code": "UNKNOWN_MEMBER_ID"}))
        if (event.target, event.step, event.scenario_id) == ("kafka-3.9.2", step, scenario_id)
        else event
        for event in AGREED
    )


def packed(tmp_path: Path, *folders: RunFolder) -> Archive:
    archive = Archive(root=tmp_path / "archive")
    pack(folders, archive, clients_of=archived_clients)
    return archive


def table(spark: SparkSession, archive: Archive, name: str) -> list[dict[str, object]]:
    return rows(TREND_MARTS[name].of(name, Archived(spark, archive)))
