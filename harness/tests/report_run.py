"""A run folder made up for the reports' tests: the tables that the job would have written, and the files."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.diff.model import Attempt, Difference, Judgement
from harness.results.status import mark
from harness.spark.rows import (
    AlignedStep,
    BehaviourChange,
    ClauseCoverage,
    ClusteredDifference,
    DifferenceCount,
    ErrorCodeCount,
    LatencyQuantile,
    SignatureCluster,
    TargetSummary,
)
from harness.tests.parquet_rows import write_rows
from harness.trace.events import RunFooter, RunHeader
from harness.trace.files import RunFolder

RUN_ID = "2026-11-21T14-05-09"
REFERENCE = "reference-4.4"
SCALA = "kafka-3.9.2"
JAVA = "kafka-4.3.1"

HEARTBEAT = "classic/heartbeat/while-completing"
FENCED = "static/join/fenced"
HEADER = RunHeader(
    run_id=RUN_ID,
    format_version=2,
    started_at="2026-11-21T14:05:09Z",
    harness_version="0.1.0",
    harness_commit="4f1d2c9",
    scenario_digest="9c1e77aa02b4",
    shard=None,
    merged_from=(),
    targets=(SCALA, REFERENCE, JAVA),
    machine="4 cores, Linux, OpenJDK 17.0.15",
    command=f"kafka-conformance run --target {REFERENCE} --target kafka:3.9.2 --target kafka:4.3.1",
)
FOOTER = RunFooter(
    run_id=RUN_ID,
    finished_at="2026-11-21T14:05:41Z",
    ended="complete",
    scenario_count=4,
    drive_ms=json.dumps({REFERENCE: 812.0, SCALA: 14210.5, JAVA: 13333.1}),
    event_counts=json.dumps({REFERENCE: 12, SCALA: 12, JAVA: 12}),
)


def summary(target: str, **changes: object) -> TargetSummary:
    is_reference = target.startswith("reference")
    profile = target.partition("-")[2]
    made = TargetSummary(
        run_id=RUN_ID,
        target=target,
        spec=target.replace("kafka-", "kafka:").replace("reference-", "reference:"),
        profile=profile,
        implementation="reference coordinator" if is_reference else f"Apache Kafka {profile}",
        oracle=None if is_reference else REFERENCE,
        bootstrap="in process" if is_reference else "127.0.0.1:39092",
        broker_config='{"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}',
        notes=(),
        start_ms=0.4 if is_reference else 2812.0,
        drive_ms=812.0 if is_reference else 14210.5,
        scenario_count=0,
        conforms=0,
        not_applicable=0,
        lenient=0,
        indeterminate=0,
        diverges=0,
        harness_error=0,
        expected=0,
        unexpected=0,
        stale=0,
        flaky=0,
        request_count=44,
        response_count=42,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def judgement(scenario_id: str, target: str, outcome: str = "conforms", **changes: object) -> Judgement:
    made = Judgement(
        run_id=RUN_ID,
        target=target,
        oracle=None if target.startswith("reference") else REFERENCE,
        scenario_id=scenario_id,
        title="A member that syncs with the generation before the current one is told ILLEGAL_GENERATION.",
        suite=scenario_id.partition("/")[0],
        apis=("JoinGroup", "SyncGroup"),
        clauses=("SG-014",),
        source="GroupMetadataManager#validateSyncGroup",
        outcome=outcome,
        expectation="expected" if outcome in {"conforms", "not applicable", "lenient"} else "unexpected",
        delta="no baseline",
        reason="",
        link=None,
        signature=None,
        first_step=None,
        difference_count=0,
        event_count=12,
        duration_ms=41.5,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def difference(scenario_id: str, target: str, **changes: object) -> ClusteredDifference:
    made = ClusteredDifference(
        run_id=RUN_ID,
        target=target,
        scenario_id=scenario_id,
        ordinal=0,
        is_consequence=False,
        against="reference",
        step=3,
        api="Heartbeat",
        api_version=3,
        difference_class="error code",
        field="error_code",
        expected="NONE",
        actual="REBALANCE_IN_PROGRESS",
        signature="5b0f3a1c9d20",
        is_lenient=False,
        event_sequence=3,
        cluster="c1",
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One event as it goes with the oracle, and as the target does it where that is not the same."""

    step: int
    actor: str
    kind: str
    api: str | None
    version: int | None
    content: dict[str, object] | None
    otherwise: dict[str, object] | None = None
    other_kind: str | None = None
    note: str | None = None
    text: str = ""


def aligned(scenario_id: str, target: str, acts: Sequence[Act]) -> list[AlignedStep]:
    return [_aligned(scenario_id, target, acts, sequence) for sequence in range(len(acts))]


def _aligned(scenario_id: str, target: str, acts: Sequence[Act], sequence: int) -> AlignedStep:
    act = acts[sequence]
    has_oracle = not target.startswith("reference")
    at_ms = 1.7 * sequence
    elapsed_ms = 0.8 if act.kind == "response" else None
    oracle = _texts(act.content)
    theirs = _texts(act.content if act.otherwise is None else act.otherwise)
    return AlignedStep(
        run_id=RUN_ID,
        target=target,
        oracle=REFERENCE if has_oracle else None,
        scenario_id=scenario_id,
        step=act.step,
        occurrence=sum(each.step == act.step for each in acts[:sequence]),
        answer=None,
        actor=act.actor,
        api=act.api,
        api_version=act.version,
        oracle_sequence=sequence if has_oracle else None,
        oracle_kind=act.kind if has_oracle else None,
        oracle_at_ms=at_ms if has_oracle else None,
        oracle_elapsed_ms=elapsed_ms if has_oracle else None,
        oracle_raw=oracle[0] if has_oracle else None,
        oracle_fields=oracle[1] if has_oracle else None,
        oracle_canonical=oracle[2] if has_oracle else None,
        oracle_digest="d" if has_oracle else None,
        oracle_note=act.note if has_oracle else None,
        target_sequence=sequence,
        target_kind=act.other_kind or act.kind,
        target_at_ms=at_ms + 0.3,
        target_elapsed_ms=elapsed_ms,
        target_raw=theirs[0],
        target_fields=theirs[1],
        target_canonical=theirs[2],
        target_digest="d",
        target_note=act.note,
        is_different=has_oracle and (act.otherwise is not None or act.other_kind is not None),
    )


def _texts(content: dict[str, object] | None) -> tuple[str | None, str | None, str | None]:
    """Return a frame, what it decodes to, and the canonical form of that."""
    if content is None:
        return None, None, None
    canonical = json.dumps(content)
    decoded = canonical.replace("member:ana", "ana-1b2c3d").replace("member:bob", "bob-4e5f60")
    return (b"\0\0\0\x07" + decoded.encode()[:70]).hex(), decoded, canonical


def conversation(*, diverging: bool = False, hostile: str = "") -> tuple[Act, ...]:
    """A rebalance of two members, in which a heartbeat may be answered otherwise than the oracle does."""
    group = hostile or "g-1"
    join = {
        "group_id": group,
        "session_timeout_ms": 30000,
        "rebalance_timeout_ms": 60000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": {"$bytes": "0001"}}],
    }
    joined = {
        "throttle_time_ms": 0,
        "error_code": "NONE",
        "generation_id": 1,
        "protocol_name": "range",
        "leader": "member:ana",
        "member_id": "member:ana",
        "members": [
            {"member_id": "member:ana", "group_instance_id": None, "metadata": {"$bytes": "0001"}},
            {"member_id": "member:bob", "group_instance_id": None, "metadata": {"$bytes": "0001"}},
        ],
    }
    beat = {"group_id": group, "generation_id": 1, "member_id": "member:ana"}
    sync = beat | {"assignments": []}
    otherwise = {"throttle_time_ms": 0, "error_code": "REBALANCE_IN_PROGRESS"} if diverging else None
    after = {"throttle_time_ms": 0, "error_code": "UNKNOWN_MEMBER_ID", "assignment": {"$bytes": ""}}
    return (
        Act(step=0, actor="ana", kind="request", api="JoinGroup", version=5, content=join,
            text='ana sends JoinGroup v5 (group_id="g-1", protocols=[range])'),
        Act(step=1, actor="ana", kind="response", api="JoinGroup", version=5, content=joined,
            text="ana receives JoinGroup (error_code=NONE, generation_id=1)"),
        Act(step=2, actor="ana", kind="request", api="Heartbeat", version=3, content=beat,
            text="ana sends Heartbeat v3 (generation_id=1)"),
        Act(step=3, actor="ana", kind="response", api="Heartbeat", version=3,
            content={"throttle_time_ms": 0, "error_code": "NONE"}, otherwise=otherwise,
            text="ana receives Heartbeat (error_code=NONE)"),
        Act(step=4, actor="bob", kind="request", api="SyncGroup", version=3, content=sync,
            text="bob sends SyncGroup v3 (generation_id=1)"),
        Act(step=5, actor="bob", kind="silence", api="SyncGroup", version=3, content=None,
            other_kind="response" if diverging else None, otherwise=after if diverging else None,
            text="bob's SyncGroup stays parked for 500 ms"),
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class MadeUpRun:
    """The content of a run folder; change it, then write it."""

    header: RunHeader = HEADER
    footer: RunFooter | None = FOOTER
    summaries: list[TargetSummary] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    differences: list[ClusteredDifference] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    steps: list[AlignedStep] = field(default_factory=list)
    latencies: list[LatencyQuantile] = field(default_factory=list)
    error_codes: list[ErrorCodeCount] = field(default_factory=list)
    changes: list[BehaviourChange] = field(default_factory=list)
    coverage: list[ClauseCoverage] = field(default_factory=list)
    scripts: dict[str, object] = field(default_factory=dict)

    def add(self, verdict: Judgement, acts: Sequence[Act] = (), *found: ClusteredDifference) -> None:
        """Add a scenario's result with one target."""
        if found:
            first = found[0]
            verdict = replace(
                verdict, signature=first.signature, first_step=first.step, difference_count=len(found)
            )
        self.judgements.append(verdict)
        self.steps += aligned(verdict.scenario_id, verdict.target, acts)
        self.differences += found
        self.scripts[verdict.scenario_id] = {
            "id": verdict.scenario_id,
            "title": verdict.title,
            "notes": "",
            "source": verdict.source,
            "clauses": list(verdict.clauses),
            "needs": [],
            "broker_config": {},
            "steps": [{"text": act.text} for act in conversation()],
        }

    def write(self, directory: Path) -> Path:
        """Write the folder as a run and the job would have."""
        folder = RunFolder(directory)
        folder.write_run(self.header)
        if self.footer:
            folder.write_footer(self.footer)
        folder.write_scripts(self.scripts)
        write_rows(directory, "target_summary", TargetSummary, [*map(self._count, self.summaries)])
        write_rows(directory, "verdict_matrix", Judgement, self.judgements)
        write_rows(directory, "attempts", Attempt, self.attempts)
        write_rows(directory, "aligned_steps", AlignedStep, self.steps)
        write_rows(directory, "differences", ClusteredDifference, self.differences)
        write_rows(directory, "differences_by_api_and_class", DifferenceCount, self._counts())
        write_rows(directory, "signature_clusters", SignatureCluster, self._clusters())
        write_rows(directory, "latency_quantiles", LatencyQuantile, self.latencies)
        write_rows(directory, "error_codes", ErrorCodeCount, self.error_codes)
        write_rows(directory, "behaviour_changes", BehaviourChange, self.changes)
        write_rows(directory, "clause_coverage", ClauseCoverage, self.coverage)
        return directory

    def _count(self, made: TargetSummary) -> TargetSummary:
        mine = [each for each in self.judgements if each.target == made.target]
        reported = [{one.outcome.replace(" ", "_"), one.expectation, mark(one)} for one in mine]
        return replace(made, scenario_count=len(mine), **Counter(each for one in reported for each in one))  # type: ignore[arg-type] # names of fields that are counts

    def _counts(self) -> list[DifferenceCount]:
        keys = sorted({(each.target, each.api or "", each.difference_class) for each in self.differences})
        return [self._difference_count(*key) for key in keys]

    def _difference_count(self, target: str, api: str, difference_class: str) -> DifferenceCount:
        here = [
            each
            for each in self.differences
            if (each.target, each.api, each.difference_class) == (target, api, difference_class)
        ]
        return DifferenceCount(
            run_id=RUN_ID,
            target=target,
            api=api,
            difference_class=difference_class,
            difference_count=len(here),
            scenario_count=len({each.scenario_id for each in here}),
            finding_count=sum(not each.is_consequence for each in here),
        )

    def _clusters(self) -> list[SignatureCluster]:
        return [self._cluster(name) for name in sorted({each.cluster for each in self.differences})]

    def _cluster(self, name: str) -> SignatureCluster:
        alike = [each for each in self.differences if each.cluster == name]
        first: Difference = alike[0]
        return SignatureCluster(
            cluster=name,
            api=first.api,
            api_version=first.api_version,
            difference_class=first.difference_class,
            field=first.field,
            expected=first.expected,
            actual=first.actual,
            targets=tuple(sorted({each.target for each in alike})),
            scenario_ids=tuple(sorted({each.scenario_id for each in alike})),
            run_ids=(RUN_ID,),
            finding_count=sum(not each.is_consequence for each in alike),
            first_run_id=RUN_ID,
            last_run_id=RUN_ID,
        )


def small_run() -> MadeUpRun:
    """Four scenarios with three targets, in which each standing occurs once at least."""
    made = MadeUpRun(
        summaries=[summary(SCALA, notes=("an older release",)), summary(JAVA), summary(REFERENCE)]
    )
    restart, lenient = "loading/join/answered-load", "admin/describe/wording"
    for scenario_id in (HEARTBEAT, FENCED, restart, lenient):
        made.add(judgement(scenario_id, REFERENCE), conversation())
        made.add(judgement(scenario_id, JAVA), conversation())
    made.add(
        judgement(HEARTBEAT, SCALA, "diverges", reason="Heartbeat v3: error_code is REBALANCE_IN_PROGRESS"),
        conversation(diverging=True),
        difference(HEARTBEAT, SCALA),
        difference(
            HEARTBEAT, SCALA, ordinal=1, is_consequence=True, step=5, api="SyncGroup", cluster="c2",
            difference_class="ordering or barrier", field=None, expected="silence", actual="response",
            signature="77aa",
        ),
    )  # fmt: skip
    made.add(
        judgement(FENCED, SCALA, "diverges", expectation="expected", reason="known since 3.0",
                  link="https://example.org/KAFKA-15000"),
        conversation(diverging=True),
        difference(FENCED, SCALA),
    )  # fmt: skip
    made.add(judgement(restart, SCALA, "not applicable", reason="it lacks the capability restart"))
    made.add(judgement(lenient, SCALA, "conforms", expectation="stale", reason="the entry no longer fires"))
    made.latencies = [_latency(target, 0.4 * (1 + n)) for n, target in enumerate((REFERENCE, SCALA, JAVA))]
    made.error_codes = [ErrorCodeCount(run_id=RUN_ID, target=SCALA, api="Heartbeat", api_version=3,
                                       error_code="NONE", response_count=9)]  # fmt: skip
    return made


def _latency(target: str, p50_ms: float) -> LatencyQuantile:
    return LatencyQuantile(
        run_id=RUN_ID,
        target=target,
        api="Heartbeat",
        api_version=3,
        response_count=9,
        p50_ms=p50_ms,
        p95_ms=p50_ms * 3,
        p99_ms=p50_ms * 4,
        max_ms=p50_ms * 260,
    )
