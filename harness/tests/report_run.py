"""A run folder made up for the reports' tests."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from harness.diff.model import Attempt, Attribution, Difference, Judgement
from harness.diff.raw_difference import cause_of
from harness.report.model.run_data import TargetSummary
from harness.tests import made_events
from harness.tests.made_events import BARE, DIFFERENCE, JUDGEMENT, RUN, write_events
from harness.trace.clause import Clause
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, write_records

RUN_ID = "2026-11-21T14-05-09"
REFERENCE = "reference-4.4"
SCALA = "kafka-3.9.2"
JAVA = "kafka-4.3.1"

HEARTBEAT = "classic/heartbeat/while-completing"
FENCED = "static/join/fenced"
HEADER = replace(
    RUN,
    run_id=RUN_ID,
    started_at="2026-11-21T14:05:09Z",
    harness_commit="4f1d2c9",
    targets=(SCALA, REFERENCE, JAVA),
    machine="4 cores, Linux, OpenJDK 17.0.15",
    command=f"kafka-conformance run --target {REFERENCE} --target kafka:3.9.2 --target kafka:4.3.1",
)
FOOTER = replace(
    made_events.FOOTER,
    run_id=RUN_ID,
    finished_at="2026-11-21T14:05:41Z",
    scenario_count=4,
    drive_ms=json.dumps({REFERENCE: 812.0, SCALA: 14210.5, JAVA: 13333.1}),
    event_counts=json.dumps({REFERENCE: 12, SCALA: 12, JAVA: 12}),
)


def summary(target: str, **changes: object) -> TargetSummary:
    is_reference = target.startswith("reference")
    profile = target.partition("-")[2]
    header = replace(
        made_events.HEADER,
        run_id=RUN_ID,
        target=target,
        spec=target.replace("kafka-", "kafka:").replace("reference-", "reference:"),
        profile=profile,
        implementation="reference coordinator" if is_reference else f"Apache Kafka {profile}",
        oracle=None if is_reference else REFERENCE,
        bootstrap="in process" if is_reference else "127.0.0.1:39092",
        broker_config='{"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}',
        config_digest="c",
        notes=(),
        started_at=HEADER.started_at,
        start_ms=0.4 if is_reference else 2812.0,
    )
    made = TargetSummary(
        **asdict(header),
        drive_ms=812.0 if is_reference else 14210.5,
        counts=Counter(),
    )
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def judgement(scenario_id: str, target: str, outcome: str = "conforms", **changes: object) -> Judgement:
    made = replace(
        JUDGEMENT,
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
        event_count=12,
        duration_ms=41.5,
    )
    observed = {"observed": changes["reason"]} if "reason" in changes else {}
    return replace(made, **observed, **changes)  # type: ignore[arg-type] # the caller names fields


def difference(scenario_id: str, target: str, **changes: object) -> Difference:
    made = replace(
        DIFFERENCE,
        run_id=RUN_ID,
        target=target,
        scenario_id=scenario_id,
        step=3,
        api_version=3,
        expected="NONE",
        actual="REBALANCE_IN_PROGRESS",
        signature="5b0f3a1c9d20",
        cause="",
        event_sequence=3,
    )
    made = replace(made, **changes)  # type: ignore[arg-type] # the caller names fields
    cause = cause_of(made.api, made.difference_class, made.field, made.expected, made.actual)
    return replace(made, cause=made.cause or str(cause))


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


def acted(scenario_id: str, target: str, acts: Sequence[Act]) -> list[Event]:
    """Return what a target recorded; a reference does nothing otherwise."""
    if target.startswith("reference"):
        acts = [replace(act, otherwise=None, other_kind=None) for act in acts]
    return [_acted(scenario_id, target, act, sequence) for sequence, act in enumerate(acts)]


def _acted(scenario_id: str, target: str, act: Act, sequence: int) -> Event:
    raw, fields, canonical = _texts(act.content if act.otherwise is None else act.otherwise)
    return replace(
        BARE,
        run_id=RUN_ID,
        target=target,
        scenario_id=scenario_id,
        sequence=sequence,
        step=act.step,
        kind=act.other_kind or act.kind,
        actor=act.actor,
        api=act.api,
        api_version=act.version,
        at_ms=1.7 * sequence,
        elapsed_ms=0.8 if act.kind == "response" else None,
        raw=raw,
        fields=fields,
        canonical=canonical,
        digest=canonical,
        note=act.note,
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
    differences: list[Difference] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    attributions: list[Attribution] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    scripts: dict[str, object] = field(default_factory=dict)

    def add(self, verdict: Judgement, acts: Sequence[Act] = (), *found: Difference) -> None:
        """Add a scenario's result with one target."""
        if found:
            first = found[0]
            verdict = replace(
                verdict, signature=first.signature, first_step=first.step, difference_count=len(found)
            )
        self.judgements.append(verdict)
        self.events += acted(verdict.scenario_id, verdict.target, acts)
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
        """Write the folder as a run would have."""
        folder = RunFolder(directory)
        folder.write_run(self.header)
        if self.footer:
            folder.write_footer(self.footer)
        folder.write_scripts(self.scripts)
        write_records(folder.judgements, self.judgements)
        write_records(folder.differences, self.differences)
        write_records(folder.attempts, self.attempts)
        write_records(folder.clauses, self.clauses)
        write_records(folder.attributions, self.attributions)
        self._write_traces(folder)
        return directory

    def _write_traces(self, folder: RunFolder) -> None:
        """Write what every target recorded."""
        for made in self.summaries:
            folder.write_headers(made.target, [_header(made)])
        for target in {each.target for each in self.summaries}:
            write_events(folder.events(target), [each for each in self.events if each.target == target])


def _header(made: TargetSummary) -> TraceHeader:
    return TraceHeader(**{each.name: getattr(made, each.name) for each in fields(TraceHeader)})


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
            HEARTBEAT, SCALA, ordinal=1, is_consequence=True, step=5, api="SyncGroup",
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
    return made
