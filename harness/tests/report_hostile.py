"""Rows of a report to vary, and a script tag wherever a target, or a file beside a run, could put one."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from harness.diff.model import Attribution
from harness.spark.rows import (
    CauseAge,
    FirstChangedVersion,
    FlakeRate,
    RunDelta,
    RunTotal,
    SlowScenario,
    VerdictCell,
)
from harness.tests.parquet_rows import write_rows
from harness.tests.report_run import (
    HEARTBEAT,
    JAVA,
    RUN_ID,
    SCALA,
    Act,
    MadeUpRun,
    acted,
    judgement,
)
from harness.trace.clause import Clause
from harness.trace.schema import ColumnType, columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

HOSTILE = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>"
EARLIER = f"2026-11-20{HOSTILE}"

Row = TypeVar("Row", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A scenario that two targets answer differently at its fifth step."""

    scenario_id: str = HEARTBEAT
    api: str = "Heartbeat"
    actor: str = "ana"
    kinds: tuple[str, str | None] = ("response", "response")
    """None if the conversation had ended by then."""
    raws: tuple[str, str] = ("00000001", "00000002")
    answers: tuple[str, str] = (
        '{"error_code":"NONE","throttle_time_ms":0}',
        '{"error_code":"REBALANCE_IN_PROGRESS","throttle_time_ms":0}',
    )
    outcomes: tuple[str, str] = ("conforms", "conforms")
    behaviours: tuple[str, ...] = ("some_behaviour",)
    sources: tuple[str, ...] = ("KAFKA-12345",)

    def add_to(self, made: MadeUpRun) -> None:
        """Add the conversations of both targets, in place of others, and what the change is attributed to."""
        for target, kind, raw, answer, outcome in zip(
            (SCALA, JAVA), self.kinds, self.raws, self.answers, self.outcomes, strict=True
        ):
            place = (target, self.scenario_id)
            made.judgements = [each for each in made.judgements if (each.target, each.scenario_id) != place]
            made.events = [each for each in made.events if (each.target, each.scenario_id) != place]
            made.add(judgement(self.scenario_id, target, outcome))
            if kind is not None:
                act = Act(step=4, actor=self.actor, kind=kind, api=self.api, version=3, content=None)
                (event,) = acted(self.scenario_id, target, (act,))
                made.events.append(replace(event, raw=raw, canonical=answer, digest=answer))
        oracles = {each.target: each.oracle or "" for each in made.judgements}
        made.attributions.append(
            Attribution(
                run_id=RUN_ID,
                scenario_id=self.scenario_id,
                from_oracle=oracles[SCALA],
                to_oracle=oracles[JAVA],
                step=4,
                behaviours=self.behaviours,
                sources=self.sources,
                decisive=(),
                code="",
            )
        )


def hostile_change(scenario_id: str) -> Changed:
    return Changed(
        scenario_id=scenario_id,
        actor=HOSTILE,
        api=HOSTILE,
        raws=(HOSTILE, HOSTILE),
        answers=('{"a": 1}', '{"a": "<script>document.title=\'taken\'</script>"}'),
        behaviours=(HOSTILE,),
        sources=(HOSTILE,),
    )


def clause(name: str = "HB-01", **changes: object) -> Clause:
    made = Clause(
        id=name,
        section="heartbeat",
        section_title="Heartbeat",
        statement="It works.",
        apis=("Heartbeat",),
        versions=None,
        derived=False,
        exclusion=None,
        reason=None,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def hostile_complaint(scenario_id: str) -> dict[str, object]:
    return {
        "kind": "unexpected difference",
        "exit_code": 1,
        "subject": HOSTILE,
        "reason": HOSTILE,
        "remedy": HOSTILE,
        "scenario_id": scenario_id,
        "target": JAVA,
        "signature": HOSTILE,
        "reproduction": HOSTILE,
        "entry": HOSTILE,
    }


def hostile_decision(scenario_id: str) -> dict[str, object]:
    complaint = hostile_complaint(scenario_id)
    return {
        "run_id": RUN_ID,
        "baseline_id": HOSTILE,
        "targets": [HOSTILE],
        "is_green": False,
        "exit_code": 1,
        "exit_code_name": HOSTILE,
        "lines": [HOSTILE],
        "result_count": 1,
        "standings": {HOSTILE: {"flaky": 1}},
        "complaints": [complaint],
        "passed_over": [complaint],
        "notes": [HOSTILE],
        "baseline": {
            "run_id": HOSTILE,
            "named_by": HOSTILE,
            "pairs": {HOSTILE: HOSTILE},
            "results": [
                {
                    "scenario_id": scenario_id,
                    "target": HOSTILE,
                    "delta": "newly diverging",
                    "outcome": "diverges",
                    "signature": HOSTILE,
                    "prior_outcome": "conforms",
                    "prior_signature": HOSTILE,
                    "weight": HOSTILE,
                }
            ],
        },
    }


def hostile_row(row: type[Row], **said: object) -> Row:
    """Return a row with a script tag for each text that is not said, and with 1 for each number."""
    usual = {
        ColumnType.STRING: HOSTILE,
        ColumnType.INTEGER: 1,
        ColumnType.NUMBER: 1.0,
        ColumnType.BOOLEAN: True,
        ColumnType.STRINGS: (HOSTILE,),
    }
    return row(**{each.name: usual[each.type] for each in columns(row)} | said)


def write_hostile_trend(folder: Path, scenario_id: str) -> None:
    """Write the tables of two runs, the earlier of which is nowhere to be found."""
    (folder / "tables").mkdir(parents=True)
    about = {"target": JAVA, "scenario_id": scenario_id}
    none = dict.fromkeys(
        ("conforms", "not_applicable", "lenient", "indeterminate", "harness_error", "expected", "stale"), 0
    )
    first_run = {"run_id": EARLIER, "started_at": "2026-11-20T00:00:00Z"}
    last_run = {"run_id": RUN_ID, "started_at": "2026-11-21T14:05:09Z"}
    first, last = ({"run_id": each, "first_step": 0, **about} for each in (EARLIER, RUN_ID))
    conforms = {"outcome": "conforms", "expectation": "expected", "confirmation": "not repeated"}
    diverges = {"outcome": "diverges", "expectation": "unexpected", "confirmation": "flaky"}
    delta = {"delta": "newly diverging", "outcome": "diverges", "prior_outcome": "conforms"}
    age = {
        "first_run_id": EARLIER,
        "first_seen_at": first_run["started_at"],
        "last_run_id": RUN_ID,
        "last_seen_at": last_run["started_at"],
        "run_count": 2,
        "age": 2,
        "runs_since": 0,
        "scenario_ids": (scenario_id,),
    }
    rows: list[tuple[str, list[DataclassInstance]]] = [
        ("run_totals", [hostile_row(RunTotal, **none, **each) for each in (first_run, last_run)]),
        (
            "verdict_matrix",
            [
                hostile_row(VerdictCell, **first, **conforms),
                hostile_row(VerdictCell, **last, **diverges, attempt_count=3),
            ],
        ),
        (
            "run_deltas",
            [
                hostile_row(
                    RunDelta, **about, **delta, run_id=RUN_ID, prior_run_id=EARLIER, prior_signature=None
                )
            ],
        ),
        ("flake_rates", [hostile_row(FlakeRate, **about, run_count=2, attempt_count=3)]),
        ("cause_ages", [hostile_row(CauseAge, **age)]),
        (
            "first_changed_versions",
            [hostile_row(FirstChangedVersion, scenario_id=scenario_id, target_count=2)],
        ),
        ("slowest_scenarios", [hostile_row(SlowScenario, scenario_id=scenario_id, run_count=2, max_ms=2.0)]),
    ]
    for table, written in rows:
        write_rows(folder, table, type(written[0]), written)
