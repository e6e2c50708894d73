"""The trace's one schema: a header a target, an event for each thing that happened, a footer at the end.

Every other schema (JSON, Parquet, Spark) is derived from these classes by `harness.trace.schema`. Only the
types `str`, `int`, `float`, `bool`, `tuple[str, ...]` and their optional forms occur, so that each of them
can express it; structured content is JSON text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TARGET_LOST: Final = "target lost: "
"""How a footer, a note or a reason begins that tells of a target that is gone; why follows."""


class RunKind(StrEnum):
    """What was run, in words; each folder says it in its `run.json`."""

    SUITES = "run of wire suites"
    CLIENTS = "run of client scripts"
    SOAK = "soak"
    TAP = "tap"
    RACES = "run of races"


class EventKind(StrEnum):
    """What happened."""

    REQUEST = "request"
    """A request was sent."""
    RESPONSE = "response"
    """The awaited response came and could be read."""
    MALFORMED = "malformed"
    """A frame came that cannot be read as the awaited response."""
    UNSOLICITED = "unsolicited"
    """A frame came that answers nothing that was asked (a wrong correlation id)."""
    NO_ANSWER = "no answer"
    """The awaited response did not come in time."""
    SILENCE = "silence"
    """Nothing came for as long as a request had to stay parked."""
    CLOSED = "closed"
    """The connection was found closed, or could not be opened."""
    DISCONNECTED = "disconnected"
    """The actor closed its connection."""
    ELAPSED = "elapsed"
    """Time was let pass."""
    CONTROL = "control"
    """The coordinator was restarted, or a paused load released."""
    STARVED = "starved"
    """The machine kept the harness or the broker from running: a `Starvation`; never compared."""
    POLL = "poll"
    """An answer that did not yet satisfy a bounded poll, or any answer to a probe of the harness.

    It is never compared, since the number of polls is chance.
    """
    ABANDONED = "abandoned"
    """The conversation could not go on; the note tells why."""
    NOT_APPLICABLE = "not applicable"
    """The scenario was not run on this target; the note tells why."""
    HARNESS_ERROR = "harness error"
    """We failed; the note tells how."""


ANSWER_KINDS: Final = frozenset(
    (
        EventKind.RESPONSE,
        EventKind.MALFORMED,
        EventKind.NO_ANSWER,
        EventKind.SILENCE,
        EventKind.CLOSED,
    )
)
"""What can stand where a script awaits something; polls cannot, for their number is chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. Grain: run, target, scenario, sequence."""

    run_id: str
    target: str
    """The target's name, e.g. `kafka-3.9.2`."""
    scenario_id: str
    sequence: int
    """From 0, in the order of happening within its scenario and target."""
    step: int
    """Index of the script's step that this belongs to; -1 for what belongs to none."""
    kind: str
    """An `EventKind`."""
    actor: str | None
    connection: str | None
    """`main`, or `aside` for the actor's second connection."""
    api: str | None
    api_version: int | None
    correlation_id: int | None
    at_ms: float
    """On the broker session's clock, 0 when the conversation began; of a starved stretch, its end."""
    elapsed_ms: float | None
    """Since its request was sent, or for as long as was waited, or how long a starved stretch lasted."""
    raw: str | None
    """The frame without its length prefix, in hexadecimal digits."""
    fields: str | None
    """The decoded fields, JSON; of a starved stretch, its figures."""
    canonical: str | None
    """The fields with chance removed (ids, hosts, orders), JSON; what comparisons look at."""
    digest: str | None
    """Of kind, API, version and canonical fields: equal digests need no closer look."""
    reencodes: bool | None
    """Whether writing the decoded fields again gives the same bytes."""
    permitted: str | None
    """What else the reference declares right, JSON: a list of `{field, any_of, reason}`, canonical."""
    note: str | None
    """An explanation for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """What was driven. Grain: run, target, broker configuration."""

    run_id: str
    target: str
    spec: str
    version: str | None
    """Kafka's version, where it is known, e.g. `3.9.2`."""
    image: str | None
    """Name and digest of the container image that the brokers ran from; None where there was none."""
    profile: str
    implementation: str
    bootstrap: str
    broker_config: str
    """Kafka properties, JSON."""
    config_digest: str
    """Of these properties: equal digests are equal configurations."""
    api_ranges: str
    """API name to `[min, max]`, JSON."""
    notes: tuple[str, ...]
    oracle: str | None
    """Name of the target in the same run that this one is compared with; None for a reference."""
    started_at: str
    """ISO 8601 in UTC."""
    start_ms: float
    """How long the broker took to get ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """What a run was. Grain: run."""

    run_id: str
    format_version: int
    """Of a run's files: `harness.trace.formats` tells what each version had."""
    started_at: str
    harness_version: str
    harness_commit: str | None
    """Of the checkout that the harness ran from, if it did; `-changed` behind it where files were changed."""
    scenario_digest: str
    """Of all scripts of the plan, those of other shards among them."""
    shard: str | None
    """Which part of the plan's scenarios this run has, e.g. `1/3`; None for all of them."""
    merged_from: tuple[str, ...]
    """Ids of the runs that this one joins; empty where it was driven itself."""
    targets: tuple[str, ...]
    machine: str
    command: str
    """A command line that repeats the run."""
    kind: str = RunKind.SUITES.value
    """A `RunKind`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFooter:
    """How a run ended; a run without one was cut short. Grain: run."""

    run_id: str
    finished_at: str
    ended: str
    """`complete`, `interrupted`, or `target lost: …`."""
    scenario_count: int
    drive_ms: str
    """Target name to milliseconds spent driving it, JSON."""
    event_counts: str
    """Target name to the number of events on file, JSON: fewer are a trace that lost some."""
