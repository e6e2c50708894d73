"""Rows of a report to vary, and a script tag wherever a target, or a file beside a run, could put one."""

from dataclasses import replace
from pathlib import Path

from harness.spark.rows import BehaviourChange, ClauseCoverage
from harness.spark.trend_rows import (
    FirstChangedVersion,
    FlakeRate,
    RunDelta,
    RunTotal,
    SignatureAge,
    SlowScenario,
    VerdictCell,
)
from harness.tests.parquet_rows import write_rows
from harness.tests.report_run import HEARTBEAT, JAVA, RUN_ID, SCALA

HOSTILE = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>"
EARLIER = f"2026-11-20{HOSTILE}"


def change_row(**changes: object) -> BehaviourChange:
    made = BehaviourChange(
        run_id=RUN_ID,
        scenario_id=HEARTBEAT,
        ordinal=0,
        from_target=SCALA,
        to_target=JAVA,
        first_step=4,
        actor="ana",
        api="Heartbeat",
        api_version=3,
        fields=("error_code",),
        from_kind="response",
        to_kind="response",
        from_raw="00000001",
        to_raw="00000002",
        from_canonical='{"error_code":"NONE","throttle_time_ms":0}',
        to_canonical='{"error_code":"REBALANCE_IN_PROGRESS","throttle_time_ms":0}',
        step_count=2,
        from_outcome="conforms",
        to_outcome="conforms",
        is_explained=True,
        behaviours=("some_behaviour",),
        sources=("KAFKA-12345",),
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def clause_row(**changes: object) -> ClauseCoverage:
    made = ClauseCoverage(
        run_id=RUN_ID,
        target=SCALA,
        clause="HB-01",
        section="heartbeat",
        section_title="Heartbeat",
        statement="It works.",
        derived=False,
        exclusion=None,
        reason=None,
        standing="agreed",
        scenario_ids=(HEARTBEAT,),
        agreed_count=1,
        differing_count=0,
        unclear_count=0,
        not_applicable_count=0,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def hostile_change(scenario_id: str) -> BehaviourChange:
    return change_row(
        scenario_id=scenario_id,
        actor=HOSTILE,
        api=HOSTILE,
        fields=(HOSTILE,),
        from_raw=HOSTILE,
        to_raw=HOSTILE,
        from_canonical='{"a": 1}',
        to_canonical='{"a": "<script>document.title=\'taken\'</script>"}',
        behaviours=(HOSTILE,),
        sources=(HOSTILE,),
    )


def hostile_clause(scenario_id: str) -> ClauseCoverage:
    return clause_row(target=JAVA, section_title=HOSTILE, statement=HOSTILE, scenario_ids=(scenario_id,))


def hostile_complaint(scenario_id: str) -> dict[str, object]:
    return {
        "kind": HOSTILE,
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
        "standings": {HOSTILE: {HOSTILE: 1}},
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


def write_hostile_trend(folder: Path, scenario_id: str) -> None:
    """Write the tables of two runs, the earlier of which is nowhere to be found."""
    runs = ((EARLIER, "2026-11-20T00:00:00Z"), (RUN_ID, "2026-11-21T14:05:09Z"))
    tables = folder / "tables"
    tables.mkdir(parents=True)
    write_rows(folder, "run_totals", RunTotal, [_total(*run) for run in runs])
    write_rows(folder, "verdict_matrix", VerdictCell, [_cell(run_id, scenario_id) for run_id, _ in runs])
    write_rows(folder, "run_deltas", RunDelta, [_delta(scenario_id)])
    write_rows(folder, "flake_rates", FlakeRate, [_flake(scenario_id)])
    write_rows(folder, "signature_ages", SignatureAge, [_age(scenario_id)])
    write_rows(folder, "first_changed_versions", FirstChangedVersion, [_changed(scenario_id)])
    write_rows(folder, "slowest_scenarios", SlowScenario, [_slow(scenario_id)])


def _delta(scenario_id: str) -> RunDelta:
    return RunDelta(
        run_id=RUN_ID,
        prior_run_id=EARLIER,
        target=JAVA,
        scenario_id=scenario_id,
        delta="newly diverging",
        is_flaky=True,
        outcome="diverges",
        prior_outcome="conforms",
        signature=HOSTILE,
        prior_signature=None,
    )


def _flake(scenario_id: str) -> FlakeRate:
    return FlakeRate(
        target=JAVA,
        scenario_id=scenario_id,
        run_count=2,
        failing_count=1,
        pair_count=1,
        flip_count=1,
        flake_rate=1.0,
        last_flip_run_id=HOSTILE,
        flaky_count=1,
        shown_count=1,
        attempt_count=3,
    )


def _age(scenario_id: str) -> SignatureAge:
    return SignatureAge(
        cluster=HOSTILE,
        api=HOSTILE,
        api_version=1,
        difference_class=HOSTILE,
        field=HOSTILE,
        expected=HOSTILE,
        actual=HOSTILE,
        first_run_id=EARLIER,
        first_seen_at="2026-11-20T00:00:00Z",
        last_run_id=RUN_ID,
        last_seen_at="2026-11-21T14:05:09Z",
        run_count=2,
        age=2,
        runs_since=0,
        target_count=1,
        scenario_count=1,
        targets=(HOSTILE,),
        scenario_ids=(scenario_id,),
        difference_count=1,
        finding_count=1,
    )


def _changed(scenario_id: str) -> FirstChangedVersion:
    return FirstChangedVersion(
        scenario_id=scenario_id,
        family=HOSTILE,
        oldest_target=HOSTILE,
        last_same_target=HOSTILE,
        first_changed_target=HOSTILE,
        first_changed_run_id=HOSTILE,
        newest_target=HOSTILE,
        target_count=2,
        change_count=1,
    )


def _slow(scenario_id: str) -> SlowScenario:
    return SlowScenario(
        target=HOSTILE,
        place=1,
        scenario_id=scenario_id,
        run_count=2,
        median_ms=1.0,
        max_ms=2.0,
        slowest_run_id=HOSTILE,
    )


def _total(run_id: str, started_at: str) -> RunTotal:
    return RunTotal(
        run_id=run_id,
        started_at=started_at,
        target=HOSTILE,
        harness_version=HOSTILE,
        harness_commit=HOSTILE,
        scenario_digest=HOSTILE,
        ended=HOSTILE,
        scenario_count=1,
        conforms=0,
        not_applicable=0,
        lenient=0,
        indeterminate=0,
        diverges=1,
        harness_error=0,
        expected=0,
        unexpected=1,
        stale=0,
        flaky=1,
        duration_ms=1.0,
    )


def _cell(run_id: str, scenario_id: str) -> VerdictCell:
    return VerdictCell(
        run_id=run_id,
        target=JAVA,
        scenario_id=scenario_id,
        outcome="diverges" if run_id == RUN_ID else "conforms",
        expectation="unexpected" if run_id == RUN_ID else "expected",
        signature=HOSTILE,
        first_step=0,
        difference_count=1,
        duration_ms=1.0,
        confirmation="flaky" if run_id == RUN_ID else "not repeated",
        shown_count=1,
        attempt_count=3 if run_id == RUN_ID else 1,
    )
