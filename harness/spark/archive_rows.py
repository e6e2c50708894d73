"""The rows of an archive that no other record class describes: what is told of a conversation at a glance."""

from dataclasses import dataclass

from harness.trace.clause import Clause
from harness.trace.events import TraceHeader


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
