"""The only schema of traces: headers for each target, an event for everything that happens, a footer.

Every other schema (JSON, Parquet, Spark) is derived from these classes by `harness.trace.schema`. Only the
types `str`, `int`, `float`, `bool`, `tuple[str, ...]` and their optional forms are used, because each of the
schemas can express them; structured content is JSON text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TARGET_LOST: Final = "target lost: "
"""The beginning of a footer's end, a note or a reason that reports a lost target; the cause follows."""
BROKER_ENDED: Final = "broker ended: "
"""The beginning of the note of a closed connection where a scenario ended the broker; the cause follows."""
LATE: Final = "late: "
"""The beginning of the note of a response that came after its time; how long clients wait follows."""
LEADERS_MOVED: Final = "leaders moved: "
"""The beginning of a note or a reason of a conversation that was cut by another coordinator taking over."""


RECORD: Final = "record"
"""The name of the folder of what a run recorded, within the run's."""


class RunKind(StrEnum):
    """The kind of a run, in words, as stored in the `run.json` of its folder."""

    SUITES = "run of wire suites"
    CLIENTS = "run of client scripts"
    TAP = "tap"
    RACES = "run of races"


class EventKind(StrEnum):
    """The kind of an event."""

    REQUEST = "request"
    """A request was sent."""
    RESPONSE = "response"
    """The awaited response came and could be decoded."""
    MALFORMED = "malformed"
    """A frame came that cannot be decoded as the awaited response."""
    UNSOLICITED = "unsolicited"
    """A frame came that answers no open request (a wrong correlation id)."""
    NO_ANSWER = "no answer"
    """The awaited response did not come in time."""
    SILENCE = "silence"
    """Nothing came for as long as a request had to stay parked."""
    CLOSED = "closed"
    """The connection was found closed, or could not be opened."""
    DISCONNECTED = "disconnected"
    """The actor closed its connection."""
    ELAPSED = "elapsed"
    """The script let time pass."""
    CONTROL = "control"
    """The script did something to the broker, such as a restart, an append, a pause or its end."""
    STARVED = "starved"
    """The machine kept the harness or the broker from running: a `Starvation`; never compared."""
    POLL = "poll"
    """An answer that did not yet match in a bounded poll, or any answer to a probe of the harness.

    It is never compared, since the number of polls is chance.
    """
    ABANDONED = "abandoned"
    """The conversation could not go on; the note gives the reason."""
    NOT_APPLICABLE = "not applicable"
    """The scenario was not run on this target; the note gives the reason."""
    HARNESS_ERROR = "harness error"
    """The harness failed; the note describes how."""


ANSWER_KINDS: Final = frozenset(
    (
        EventKind.RESPONSE,
        EventKind.MALFORMED,
        EventKind.NO_ANSWER,
        EventKind.SILENCE,
        EventKind.CLOSED,
    )
)
"""The events that can occur where a script awaits something; polls cannot, since their number is chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. Grain: run, target, scenario, sequence."""

    run_id: str
    target: str
    """The target's name, e.g. `kafka-3.9.2`."""
    scenario_id: str
    sequence: int
    """Number from 0 of the event, in the order within its scenario and target."""
    step: int
    """Index of the script's step that the event belongs to; -1 if it belongs to none."""
    kind: str
    """An `EventKind`."""
    actor: str | None
    connection: str | None
    """`main`, or another of the actor's connections: `aside`, `elsewhere` or `formerly`."""
    api: str | None
    api_version: int | None
    correlation_id: int | None
    at_ms: float
    """Time on the broker session's clock, 0 when the conversation began; for a starved stretch, its end."""
    elapsed_ms: float | None
    """Time since the request was sent, time waited, or the length of a starved stretch."""
    raw: str | None
    """The frame without its length prefix, in hexadecimal digits."""
    fields: str | None
    """The decoded fields, JSON; of a starved stretch, its figures."""
    canonical: str | None
    """The fields with chance removed (ids, hosts, orders), JSON; used for comparisons."""
    digest: str | None
    """Hash of kind, API, version and canonical fields: equal digests mean equal answers."""
    reencodes: bool | None
    """Whether encoding the decoded fields again gives the same bytes."""
    permitted: str | None
    """Other values that the reference permits, JSON: a list of `{field, any_of, reason}`, canonical."""
    note: str | None
    """An explanation for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHeader:
    """A broker of a target. Grain: run, target, broker configuration."""

    run_id: str
    target: str
    spec: str
    version: str | None
    """Kafka's version, if it is known, e.g. `3.9.2`."""
    image: str | None
    """Name and digest of the container image that the brokers ran from; None without a container."""
    profile: str
    implementation: str
    bootstrap: str
    broker_config: str
    """Kafka properties, JSON."""
    config_digest: str
    """Hash of these properties: equal digests mean equal configurations."""
    api_ranges: str
    """API name to `[min, max]`, JSON."""
    notes: tuple[str, ...]
    oracle: str | None
    """Name of the target in the same run that this one is compared with; None for a reference."""
    started_at: str
    """ISO 8601 in UTC."""
    start_ms: float
    """How long the broker took to become ready, in milliseconds."""

    @property
    def name(self) -> str:
        """The target's name, as commands call it."""
        return self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """A description of a run. Grain: run."""

    run_id: str
    format_version: int
    """Format of the run's files; `harness.trace.formats` describes each version."""
    started_at: str
    harness_version: str
    harness_commit: str | None
    """Commit of the checkout that the harness ran from, if any; it ends with `-changed` if files were."""
    scenario_digest: str
    """Hash of all scripts of the plan, including those of other shards."""
    shard: str | None
    """The part of the plan's scenarios that this run has, e.g. `1/3`; None for all of them."""
    merged_from: tuple[str, ...]
    """Ids of the runs that this one joins; empty if it was driven itself."""
    targets: tuple[str, ...]
    machine: str
    command: str
    """A command line that repeats the run."""
    kind: str = RunKind.SUITES.value
    """A `RunKind`."""
    record: str = RECORD
    """The folder of what was recorded, absolute or as seen from the run's folder."""


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
    """Target name to the number of events written, JSON: a trace with fewer has lost some."""
