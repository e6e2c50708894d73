"""The rows of an archive that no other record class describes: what is told of a conversation at a glance."""

from dataclasses import dataclass
from typing import Final

from harness.trace.clause import Clause
from harness.trace.events import TraceHeader
from harness.verdict import Confirmation

ARCHIVE: Final = "runs"
"""Name of the archive's folder, beside those of the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeader(TraceHeader):
    """A trace header and its place among its target's. Grain: run, target, broker configuration."""

    broker_ordinal: int
    """From 0, in the order in which the brokers were started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClause(Clause):
    """A row of the catalogue as a run found it. Grain: run, clause."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One conversation in brief. Grain: run, target, scenario."""

    run_id: str
    target: str
    scenario_id: str
    oracle: str | None
    conversation: str
    """Digest of all answers in their order: equal conversations need no closer look."""
    oracle_conversation: str | None
    """The oracle's in the same run; None without an oracle, or where either could not be asked."""
    is_held: bool
    """Whether there was a conversation: false where the target could not be asked, or we failed."""
    outcome: str | None
    """Of its judgement, as is `signature`; None where it was not judged."""
    signature: str | None
    event_count: int
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What stood where a script awaited something. Grain: conversation, step, occurrence."""

    step: int
    occurrence: int
    """From 0, in the order of the step's answers."""
    actor: str | None
    connection: str | None
    kind: str
    """One of `ANSWER_KINDS`."""
    api: str | None
    api_version: int | None
    error_codes: tuple[str, ...]
    """Every `error_code` in the answer, at whatever depth, each once; Kafka's names in alphabetical order."""
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """How long an answer took that a script bounds. Grain: run, target, scenario, step, bound."""

    run_id: str
    target: str
    scenario_id: str
    step: int
    bound: str
    """`not before` or `not after`."""
    limit_ms: float
    elapsed_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientVerdict:
    """What became of one client script. Grain: run, target, library, script."""

    run_id: str
    """Of the run of wire suites that the scripts stand beside."""
    target: str
    library: str
    library_version: str
    script_id: str
    title: str
    """The script's sentence."""
    outcome: str
    """A `harness.verdict.Outcome`."""
    expectation: str
    """A `harness.verdict.Expectation`; nobody foresees anything of client scripts."""
    reason: str
    """What first is not as it should be, or why the script was not run, or was cut short."""
    signature: str | None
    """Hash of script, library and what first departs, without what is chance: equal in every run."""
    first_step: int | None
    """None where nothing departs, or where it is the wire that tells."""
    mismatch_count: int
    """Against the script."""
    difference_count: int
    """Against the reference."""
    violation_count: int
    """Of invariants, by the coordinator."""
    replay_count: int
    """Answers that the reference gives otherwise when the conversation is replayed to it."""
    compared: str
    """The reference that it was compared with, or `not compared: …`."""
    duration_ms: float
    spec: str
    """Of the target, as is what follows."""
    profile: str
    implementation: str
    broker_config: str
    """Kafka properties, JSON."""
    scripts_digest: str
    """Of all scripts that the run chose: equal where clients were told the same."""
    confirmation: str = Confirmation.NOT_REPEATED.value
    """A `harness.verdict.Confirmation`."""
    shown_count: int = 1
    """In how many attempts it showed."""
    attempt_count: int = 1
    """Of how many."""
