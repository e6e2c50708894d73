"""The rows of an archive that have no other record class, such as the summary of a conversation."""

from dataclasses import dataclass
from typing import Final

from harness.trace.clause import Clause
from harness.trace.events import TraceHeader
from harness.verdict import Confirmation

ARCHIVE: Final = "runs"
"""Name of the archive's folder, beside those of the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeader(TraceHeader):
    """A trace header and its ordinal among its target's headers. Grain: run, target, broker configuration."""

    broker_ordinal: int
    """From 0, in the order in which the brokers were started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClause(Clause):
    """A row of the catalogue at the time of a run. Grain: run, clause."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The summary of one conversation. Grain: run, target, scenario."""

    run_id: str
    target: str
    scenario_id: str
    oracle: str | None
    conversation: str
    """Digest of all answers in their order; conversations with equal digests need not be compared further."""
    oracle_conversation: str | None
    """The digest of the oracle's in the same run; None without an oracle, or if either did not run."""
    is_held: bool
    """Whether the scenario ran on the target; false if it was not applicable or the harness failed."""
    outcome: str | None
    """From its judgement, as is `signature`; None if it was not judged."""
    signature: str | None
    event_count: int
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came where a script awaited an answer. Grain: conversation, step, occurrence."""

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
    """Every distinct `error_code` in the answer, at any depth; Kafka's names in alphabetical order."""
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """The time of an answer for which a script sets a bound. Grain: run, target, scenario, step, bound."""

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
    """The result of one client script. Grain: run, target, library, script."""

    run_id: str
    """The id of the run of wire suites whose folder contains the scripts' folder."""
    target: str
    library: str
    library_version: str
    script_id: str
    title: str
    """The script's sentence."""
    outcome: str
    """A `harness.verdict.Outcome`."""
    expectation: str
    """A `harness.verdict.Expectation`."""
    reason: str
    """An expectation entry's reason; else the first departure, or why the script did not run to its end."""
    signature: str | None
    """Hash of script, library and first departure, without what varies by chance: equal in every run."""
    first_step: int | None
    """None if nothing departs, or if the departure was found in the recorded bytes."""
    mismatch_count: int
    """Departures from what the script expects."""
    difference_count: int
    """Departures from the reference."""
    violation_count: int
    """Invariants that the coordinator broke."""
    replay_count: int
    """Answers in which the reference differs when the conversation is replayed to it."""
    compared: str
    """The reference that the result was compared with, or `not compared: …`."""
    duration_ms: float
    spec: str
    """The target's, as are the next three fields."""
    profile: str
    implementation: str
    broker_config: str
    """Kafka properties, JSON."""
    scripts_digest: str
    """Digest of all scripts that the run chose; equal if the clients got the same scripts."""
    confirmation: str = Confirmation.NOT_REPEATED.value
    """A `harness.verdict.Confirmation`."""
    shown_count: int = 1
    """The number of attempts in which the result occurred."""
    attempt_count: int = 1
    """The number of attempts."""
