"""A script: the steps of a conversation as pure data, the same for every target.

Scripts are listed, linted, stored beside the trace, replayed and sent to other machines.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Final, TypeAlias

from harness.scenario.errors import ScenarioError
from harness.scenario.log_records import LogRecord, reported
from harness.scenario.typed import made
from harness.scenario.values import GroupRef, Json, Pattern, Value, from_json, phrase, to_json
from harness.targets.base.interface import Breakpoint, BrokerAction


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitMetadata:
    """An actor waits until the coordinator has received every change of topics and configurations so far.

    `harness.runner.metadata_probe` describes the wait. Its requests are in the trace, as polls, and are
    never compared.
    """

    actor: str
    connection: str
    group: GroupRef
    """The group whose configuration the wait changes; no other step names this group."""


MAIN: Final = "main"
ASIDE: Final = "aside"
"""An actor's second connection: a parked request blocks the first."""
ELSEWHERE: Final = "elsewhere"
"""A connection to a broker that does not coordinate."""
FORMERLY: Final = "formerly"
"""A connection to the broker that coordinated before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """An actor sends a request; nothing is awaited."""

    actor: str
    connection: str
    api: str
    api_version: int
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendBytes:
    """An actor sends a frame that need not be a request; no answer is recorded for it."""

    actor: str
    connection: str
    payload: bytes
    says: str
    """A description for people of what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receive:
    """An actor awaits the answer to a request that it sent before."""

    actor: str
    connection: str
    sent_at: int
    """The index of the `Send`."""
    api: str
    api_version: int
    fields: Mapping[str, Pattern]
    """The expected fields of the answer; other fields are left to the reference."""
    within_ms: int
    """After how long from this step on the answer is late."""
    not_before_ms: int | None = None
    """The least time that the answer may take since its request was sent."""
    not_after_ms: int | None = None
    """The longest time that the answer may take since its request was sent."""
    rung: int | None = None
    """Position in a ladder, which tests the order of the checks while several errors are due."""
    is_optional: bool = False
    """Whether releases differ in answering at all, so that the reference determines whether one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StayParked:
    """An actor's request stays without an answer for a while."""

    actor: str
    connection: str
    sent_at: int
    for_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeeClosed:
    """An actor finds its connection closed by the broker."""

    actor: str
    connection: str
    within_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An actor repeats a request until the answer is as expected, or time is over."""

    actor: str
    connection: str
    api: str
    api_version: int
    fields: Mapping[str, Value]
    until: Mapping[str, Pattern]
    every_ms: int
    within_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """An actor closes its connection without a further request."""

    actor: str
    connection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elapse:
    """Time passes."""

    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DoToBroker:
    """Something is done to the coordinator's broker from outside."""

    lever: str
    """A `BrokerAction` by its value."""
    broker_config: Mapping[str, str] = field(default_factory=dict)
    """Kafka properties that change with a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Records are written into the log without the coordinator."""

    group: GroupRef
    """The group whose partition they are written to."""
    records: tuple[LogRecord, ...]
    spoils: bool = False
    """Whether some release can no longer load the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAt:
    """The coordinator is to be paused when it next comes to a point."""

    point: str
    """A `Breakpoint` by its value."""
    of: tuple[GroupRef, ...] = ()
    """The groups in whose partitions it is to be paused; empty for every partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeFrom:
    """The paused coordinator goes on."""

    point: str
    """A `Breakpoint` by its value."""


Step: TypeAlias = (
    Send
    | SendBytes
    | Receive
    | StayParked
    | SeeClosed
    | Repeat
    | Disconnect
    | Elapse
    | AwaitMetadata
    | DoToBroker
    | Append
    | PauseAt
    | ResumeFrom
)
ActorStep: TypeAlias = (
    Send | SendBytes | Receive | StayParked | SeeClosed | Repeat | Disconnect | AwaitMetadata
)
"""A step on a connection of an actor."""
Control: TypeAlias = DoToBroker | Append | PauseAt | ResumeFrom
"""A step that concerns the broker, and with it all its clients."""
_OWN_GROUP: Final = GroupRef("main")
_SAY_SO_EMPTY: Final = ("subscribed_topic_names", "topic_partitions")
"""Fields of a request in which an empty list differs from null."""
_STRUCTURED: Final = ("actors", "steps", "placements")
STEP_TYPES: Final[Mapping[str, type[Step]]] = {
    "Send": Send,
    "SendBytes": SendBytes,
    "Receive": Receive,
    "StayParked": StayParked,
    "SeeClosed": SeeClosed,
    "Repeat": Repeat,
    "Disconnect": Disconnect,
    "Elapse": Elapse,
    "AwaitMetadata": AwaitMetadata,
    "PullLever": DoToBroker,
    "Append": Append,
    "Hold": PauseAt,
    "Release": ResumeFrom,
}
"""Every kind of step by its name in JSON."""
_NAMES: Final = {cls: name for name, cls in STEP_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorSheet:
    """An actor's data: its client id and, for a static member, its instance id."""

    name: str
    client_id: str | None
    group_instance_id: str | None = None
    principal: str | None = None
    """The principal that it connects as, where an authorizer decides on its rights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a group has to be in `__consumer_offsets`."""

    group: str
    """The group's symbolic name; those below are symbolic too."""
    partition: int | None = None
    beside: str | None = None
    """A group that has to be in the same partition."""
    apart_from: str | None = None
    """A group that has to be in another partition."""

    @property
    def others(self) -> tuple[str, ...]:
        """The groups that the placement refers to."""
        return tuple(name for name in (self.beside, self.apart_from) if name is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A scenario as data."""

    id: str
    title: str
    """The scenario's claim, in one sentence."""
    source: str
    clauses: tuple[str, ...]
    needs: tuple[str, ...]
    """Capabilities of a target, by name."""
    broker_config: Mapping[str, str]
    """Kafka properties that must have these values."""
    actors: tuple[ActorSheet, ...]
    steps: tuple[Step, ...]
    notes: str = field(default="")
    """The rest of the docstring after its sentence."""
    placements: tuple[Placement, ...] = ()
    """The placements of groups that must not be in just any partition."""

    def sheet(self, actor: str) -> ActorSheet:
        """Return the data of an actor."""
        return next(each for each in self.actors if each.name == actor)

    @property
    def suite(self) -> str:
        """The first part of the id."""
        return self.id.split("/", 1)[0]

    @property
    def apis(self) -> tuple[str, ...]:
        """The APIs whose requests are sent, in the order of their first use."""
        return tuple(dict.fromkeys(api for api, _ in self.api_versions))

    @property
    def api_versions(self) -> tuple[tuple[str, int], ...]:
        """The APIs with the versions that a target must serve, in the order of their first use."""
        spoken = (step for step in self.steps if isinstance(step, Send | Repeat))
        return tuple(dict.fromkeys((step.api, step.api_version) for step in spoken))

    @property
    def waiting_ms(self) -> int:
        """How long the script waits at least, on the clock of its conversation."""
        return sum(_step_waiting_ms(step) for step in self.steps)

    def digest(self) -> str:
        """Return a hash of everything in the script."""
        text = json.dumps(script_to_json(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _step_waiting_ms(step: Step) -> int:
    match step:
        case Elapse(duration_ms=waited) | StayParked(for_ms=waited):
            return waited
        case _:
            return int(step.not_before_ms or 0) if isinstance(step, Receive) else 0


def script_to_json(script: Script) -> dict[str, Json]:
    """Return a script as JSON data; each step also has a description in words under `text`."""
    return {
        "id": script.id,
        "title": script.title,
        "notes": script.notes,
        "source": script.source,
        "clauses": list(script.clauses),
        "needs": list(script.needs),
        "broker_config": dict(script.broker_config),
        "actors": [
            {name: each for name, each in asdict(a).items() if (name, each) != ("principal", None)}
            for a in script.actors
        ],
        "steps": [step_to_json(step) for step in script.steps],
        **_placements_to_json(script.placements),
    }


def _placements_to_json(placements: tuple[Placement, ...]) -> dict[str, Json]:
    """Return placements as JSON data; nothing if there are none, so that older digests do not change."""
    return {"placements": [asdict(each) for each in placements]} if placements else {}


def script_from_json(data: Mapping[str, Json]) -> Script:
    """Read what `script_to_json` wrote.

    Raises:
        ScenarioError: the data is not a script of this version.
    """
    try:
        plain = {name: from_json(item) for name, item in data.items() if name not in _STRUCTURED}
        structured = {
            "actors": tuple(made(ActorSheet, sheet) for sheet in data["actors"]),  # type: ignore[union-attr,arg-type] # as `made` finds out
            "steps": tuple(_step_from_json(step) for step in data["steps"]),  # type: ignore[union-attr,arg-type] # likewise
            "placements": tuple(made(Placement, each) for each in data.get("placements", ())),  # type: ignore[union-attr,arg-type] # likewise
        }
        return made(Script, {**plain, **structured})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ScenarioError(f"not a script of this version of the harness: {error!r}") from error


def step_to_json(step: Step) -> dict[str, Json]:
    """Return one step of a script as JSON data, with a description in words under `text`."""
    content = {entry.name: to_json(getattr(step, entry.name)) for entry in fields(step)}
    if isinstance(step, PauseAt) and not step.of:
        del content["of"]
    return {"step": _NAMES[type(step)], "text": step_text(step), **content}


def _step_from_json(data: Mapping[str, Json]) -> Step:
    content = {name: from_json(item) for name, item in data.items() if name not in ("step", "text")}
    return made(STEP_TYPES[str(data["step"])], content)


def step_text(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 - one flat case a kind of step
    """Describe a step in words."""
    match step:
        case Send():
            return f"{_who(step)} sends {step.api} v{step.api_version}{_reported(step.fields)}"
        case SendBytes():
            return f"{_who(step)} sends {step.says} ({len(step.payload)} bytes)"
        case Receive():
            verb = "may receive" if step.is_optional else "receives"
            return f"{_who(step)} {verb} {step.api} v{step.api_version}{_named(step.fields)}{_bounds(step)}"
        case StayParked():
            return f"{_who(step)} stays parked for {step.for_ms} ms"
        case SeeClosed():
            return f"{_who(step)} finds the connection closed within {step.within_ms} ms"
        case Repeat():
            request = f"{step.api} v{step.api_version}{_reported(step.fields)}"
            answer = _named(step.until).removeprefix(",")
            return f"{_who(step)} repeats {request} until{answer}"
        case Disconnect():
            return f"{_who(step)} disconnects"
        case Elapse():
            return f"{step.duration_ms} ms pass"
        case AwaitMetadata():
            return f"{_who(step)} waits until the coordinator has seen all changes of metadata"
        case DoToBroker():
            return ACTION_TEXTS[BrokerAction(step.lever)] + _named(step.broker_config)
        case Append():
            return f"written into the log of {phrase(step.group)}: {reported(step.records)}"
        case PauseAt():
            part = f", in the partition of {' and '.join(map(phrase, step.of))}" if step.of else ""
            return f"the coordinator will be paused: {POINT_TEXTS[Breakpoint(step.point)]}{part}"
        case ResumeFrom():
            return f"the paused coordinator goes on: {POINT_TEXTS[Breakpoint(step.point)]}"


def _who(step: ActorStep) -> str:
    return step.actor if step.connection == MAIN else f"{step.actor} ({step.connection})"


def _reported(values: Mapping[str, Value]) -> str:
    """List a request's fields, except uninformative ones: null, no items, the scenario's own group."""
    said = {name: value for name, value in values.items() if value not in (None, _OWN_GROUP)}
    return _named({name: value for name, value in said.items() if value != () or name in _SAY_SO_EMPTY})


def _named(values: Mapping[str, Pattern]) -> str:
    return "".join(f", {name} {phrase(value)}" for name, value in values.items())


def _bounds(step: Receive) -> str:
    least = f" not before {step.not_before_ms} ms" if step.not_before_ms is not None else ""
    most = f" not after {step.not_after_ms} ms" if step.not_after_ms is not None else ""
    return least + most


ACTION_TEXTS: Final[Mapping[BrokerAction, str]] = {
    BrokerAction.RESTART: "the coordinator's broker restarts",
    BrokerAction.KILL: "the coordinator's broker is killed",
    BrokerAction.MOVE: "another broker becomes the coordinator",
    BrokerAction.PAUSE: "the coordinator's broker stands still",
    BrokerAction.RESUME: "the coordinator's broker goes on",
    BrokerAction.DISCONNECT: "the coordinator's broker loses its network",
    BrokerAction.RECONNECT: "the broker that lost its network has it back",
    BrokerAction.LENGTHEN: "the coordinator's log grows long",
}
POINT_TEXTS: Final[Mapping[Breakpoint, str]] = {
    Breakpoint.LOADING: "while it loads its log",
    Breakpoint.DEAD: "between a group's death and its removal",
}
