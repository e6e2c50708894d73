"""A folder of client scripts made up for the reports' tests: files as a run leaves them, and no process."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.clients.steps import Fact
from harness.invariants import AtFault, Invariant, Violation
from harness.results.client_results import (
    ClientObservation,
    ClientResult,
    ClientsFiles,
    Remark,
    ScriptOutcome,
    write_results,
)
from harness.results.replay_results import ReplayFinding
from harness.tap.run import run_header
from harness.tests.made_events import HEADER
from harness.trace.events import RunFooter, RunKind
from harness.trace.files import append_line, write_whole
from harness.verdict import Outcome

EAGER, STATIC = "clients/rebalance/eager", "clients/static/crashes-and-returns"
KAFKA, KAFKA_NAME = "kafka:3.9.2", "kafka-3.9.2"
REFERENCE, REFERENCE_NAME = "reference-tcp:3.9.2", "reference-tcp-3.9.2"
PYTHON, LIBRDKAFKA = "kafka-python", "confluent-kafka"
STEPS = ("topic orders is made", "ana: subscribe", "the group of ana, bob comes to rest")
TITLES = {EAGER: "Everything is revoked.", STATIC: "Nobody else is told."}


def judgement(
    script_id: str,
    library: str,
    outcome: Outcome = Outcome.CONFORMS,
    **changes: Any,  # noqa: ANN401 - as `replace` takes them
) -> ClientResult:
    header = replace(HEADER, run_id="made-up", target=KAFKA_NAME, spec=KAFKA)
    said = ScriptOutcome(
        script_id=script_id, library=library, ended="complete", observations=(), duration_s=1.5
    )
    title = TITLES.get(script_id, "Nobody knows.")
    source = "ConsumerCoordinator#onJoinPrepare"
    usual = ClientResult.of(header, said, outcome, title=title, source=source, compared=REFERENCE)
    return replace(usual, **changes).summed_up()


def mismatch(says: str, step: int = 2) -> Remark:
    return Remark(step=step, text=STEPS[step], says=says, about=says)


def violation(detail: str, script_id: str, library: str, group_id: str = "group") -> Violation:
    return Violation(
        invariant=Invariant.ONE_OWNER,
        party=AtFault.COORDINATOR,
        run_id="made-up",
        target=KAFKA_NAME,
        scenario_id=f"{script_id}/{library}",
        group_id=group_id,
        sequence=17,
        at_ms=12.5,
        detail=detail,
    )


def finding(script_id: str, library: str, **changes: str) -> ReplayFinding:
    usual: dict[str, Any] = {
        "position": 41,
        "at_ms": 12.5,
        "api": "SyncGroup",
        "api_version": 5,
        "actor": "ana",
        "group": "main",
        "field": "error_code",
        "expected": "NONE",
        "actual": "REBALANCE_IN_PROGRESS",
        "state": "",
        "says": "the broker is still rebalancing",
    }
    return ReplayFinding(conversation=f"{script_id}/{library}", **{**usual, **changes})


@dataclass(kw_only=True)
class MadeUpClients:
    """Two scripts with two libraries on Kafka and, to compare with, on the reference."""

    judgements: list[ClientResult] = field(
        default_factory=lambda: [
            judgement(script_id, library) for script_id in (EAGER, STATIC) for library in (PYTHON, LIBRDKAFKA)
        ]
    )
    seen: Fact = "ana: orders-0"
    command: str = f"kafka-conformance clients --target {KAFKA}"
    ended: str = "complete"
    libraries: dict[str, str] = field(default_factory=lambda: {PYTHON: "3.0.12", LIBRDKAFKA: "2.16.1"})

    def write(self, folder: Path) -> Path:
        """Write the files into a folder that is made."""
        folder.mkdir(parents=True)
        scripts = [
            {
                "id": script_id,
                "title": title,
                "notes": "",
                "source": "ConsumerCoordinator#onJoinPrepare",
                "uses": ["range assignor"],
                "steps": [{"text": text} for text in STEPS],
            }
            for script_id, title in TITLES.items()
        ]
        files = ClientsFiles(folder)
        files.write_run(run_header("made-up", (KAFKA_NAME,), RunKind.CLIENTS, self.command))
        planned = {"libraries": self.libraries, "scripts": scripts}
        write_whole(files.clients_json, json.dumps(planned))
        for spec, name in ((KAFKA, KAFKA_NAME), (REFERENCE, REFERENCE_NAME)):
            self._write_target(files, spec, name)
        footer = RunFooter(
            run_id="made-up",
            finished_at="2026-01-01T00:00:00.000+00:00",
            ended=self.ended,
            scenario_count=len(scripts),
            drive_ms="{}",
            event_counts="{}",
        )
        files.write_footer(footer)
        write_results(files, self.judgements)
        return folder

    def _write_target(self, files: ClientsFiles, spec: str, name: str) -> None:
        header = replace(
            HEADER,
            target=name,
            spec=spec,
            implementation=f"what {name} is",
            profile="3.9.2",
            broker_config=json.dumps({"offsets.topic.num.partitions": "8"}),
        )
        files.write_headers(name, [header])
        for each in self.judgements:
            append_line(files.outcomes(name), json.dumps(self._outcome(each)))

    def _outcome(self, judged: ClientResult) -> dict[str, object]:
        seen = [
            ClientObservation(step=0, facts={}, at_ms=1000.0),
            ClientObservation(step=1, facts={}, at_ms=1100.0),
            ClientObservation(step=2, facts={"in time": True, "owns": self.seen}, at_ms=1200.0),
            ClientObservation(step=3, facts={"two owners": [], "errors": {}}, at_ms=2500.0),
        ]
        ran = judged.outcome != Outcome.NOT_APPLICABLE
        result = ScriptOutcome(
            script_id=judged.scenario_id,
            library=judged.library,
            ended="complete" if ran else judged.because,
            observations=tuple(seen) if ran else (),
            duration_s=judged.duration_ms / 1000,
            clock_offset_ms=1e12,
        )
        return result.model_dump()


def red() -> MadeUpClients:
    """One script that diverges with one library, and is not applicable with the other."""
    made = MadeUpClients()
    made.judgements[2] = judgement(
        STATIC,
        PYTHON,
        Outcome.DIVERGES,
        mismatches=(mismatch("ana was told revoked 2 instead of nothing"),),
        differences=(mismatch("callbacks: ana: revoked, on the reference nothing"),),
        violations=(violation("orders-0 belongs to ana and bob", STATIC, PYTHON),),
    )
    made.judgements[3] = judgement(
        STATIC,
        LIBRDKAFKA,
        Outcome.NOT_APPLICABLE,
        because="not run: librdkafka lacks it",
        compared="not compared: on the reference, not run",
    )
    return made
