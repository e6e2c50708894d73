"""The steps of a client script as pure data, the same for every client and every target.

Topics, groups, instance ids and transactional ids are short names; the runner gives each run of a script
names of its own. A partition is a text, `orders-0`; a record's value is `orders-0#3`, the fourth record that
the script has written to that partition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from harness.trace.embedded import phrase

if TYPE_CHECKING:
    # Every client's process imports this module, and must not load all that targets need for an annotation.
    from harness.targets.base.interface import BrokerAction

Fact: TypeAlias = "str | int | float | bool | Sequence[Fact] | Mapping[str, Fact] | None"
"""JSON data in a command to a client, or in its answer."""
Ownership: TypeAlias = Mapping[str, tuple[str, ...]]
"""The partitions of each client."""


class GroupProtocol(StrEnum):
    """The protocol that the members of a script's groups use: the value of `group.protocol`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    """The protocol of KIP-848."""
    SHARE = "share"
    """The protocol of share groups (KIP-932): a consumer class of its own, not a value of the setting."""
    STREAMS = "streams"
    """The protocol of Kafka Streams (KIP-1071)."""


CONSUMER_SESSION_MS: Final = 10_000
"""The session timeout of the consumer protocol on our brokers: a member must be back sooner."""


class Feature(StrEnum):
    """A feature that a script needs of a client library."""

    CONSUMER_PROTOCOL = "consumer protocol"
    SHARE_GROUPS = "share consumer"
    SHARE_ADMIN = "administration of share groups"
    STREAMS_GROUPS = "streams protocol"
    RANGE = "range assignor"
    ROUND_ROBIN = "round robin assignor"
    STICKY = "eager sticky assignor"
    COOPERATIVE = "cooperative-sticky assignor"
    STATIC = "static membership"
    TRANSACTIONS = "transactions"
    STAYING = "knowing its topics still when no broker was there for a while"
    OUTLIVING = "a transaction that outlives its coordinator's broker"
    NEXT_TRANSACTION = "another transaction with offsets once the group's coordinator was away"
    UNEQUAL_ROUND_ROBIN = "round robin over unequal subscriptions"
    GROWTH = "rejoining when topics grow, however long that takes"
    REFUSES_MIXING = "refusal of subscribing and assigning at once"


OF_CLASSIC_MEMBERS: Final = frozenset(
    {
        Feature.RANGE,
        Feature.ROUND_ROBIN,
        Feature.STICKY,
        Feature.COOPERATIVE,
        Feature.STAYING,
        Feature.UNEQUAL_ROUND_ROBIN,
        Feature.GROWTH,
    }
)
"""Features that only classic members need, because they assign partitions and watch topics themselves."""


class Verb(StrEnum):
    """A command that a client can carry out."""

    SUBSCRIBE = "subscribe"
    SUBSCRIBE_PATTERN = "subscribe to a pattern"
    UNSUBSCRIBE = "unsubscribe"
    ASSIGN = "assign"
    TAKE = "take"
    """Poll until a number of records was delivered, then stop polling."""
    STAND_STILL = "stand still"
    """Stop polling, like an application that is busy."""
    GO_ON = "go on"
    """Poll again."""
    WORK = "work"
    """Subscribe, and poll, process and commit from then on."""
    PROCESS = "process"
    """Apply the final effect of processing the records that were taken."""
    COMMIT = "commit"
    SEEK = "seek"
    PAUSE = "pause"
    RESUME = "resume"
    POSITIONS = "positions"
    COMMITTED = "committed"
    LOST_COMMITS = "lost commits"
    """Report acknowledged commits that the group does not have."""
    PRODUCE = "produce"
    BEGIN = "begin a transaction"
    FORWARD = "forward"
    """Write a record for each one that was taken, within a transaction."""
    SEND_OFFSETS = "send offsets to the transaction"
    COMMIT_TRANSACTION = "commit the transaction"
    ABORT_TRANSACTION = "abort the transaction"
    DESCRIBE = "describe the group"
    """Use an admin client: state, assignor, members with partitions, committed and end offsets."""
    ACKNOWLEDGE = "acknowledge"
    """Acknowledge records of a share group."""
    DESCRIBE_SHARE = "describe the share group"
    """Report the state, members with partitions, and start offsets."""
    REWIND_SHARE = "rewind the share group"
    DELETE_SHARE = "delete the share group"
    STREAM = "stream"
    """Number the records of topics, and write them to another topic."""
    DESCRIBE_STREAMS = "describe the streams group"
    """Report the state, members with their numbers of tasks, and offsets."""
    DELETE_STREAMS = "delete the streams group"
    CLOSE = "close"


class Callback(StrEnum):
    """A callback about partitions from a client library to its application."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeTopic:
    """A topic is created."""

    topic: str
    partition_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """A topic gets more partitions."""

    topic: str
    partition_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureGroup:
    """A group gets a configuration, whether or not it exists yet."""

    group: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A client starts, in a process of its own."""

    client: str
    settings: Mapping[str, str | int | bool]
    """Kafka's names of client properties, in snake case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A client gets a command, and answers."""

    client: str
    verb: Verb
    arguments: Mapping[str, Fact] = field(default_factory=dict)
    answers: Fact = None
    """The answer that it must give; None if only the reference decides."""
    refused_as: tuple[str, ...] = ()
    """Names of errors, one of which must refuse it; empty if it must not be refused."""
    may_be_told: tuple[str, ...] = ()
    """Names of errors that the client may report by itself from then on."""
    eventually: bool = False
    """Whether the command is repeated until the answer is as it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A client's process is killed; it does not leave its group."""

    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """A group comes to rest: every partition is owned by one of its members."""

    clients: tuple[str, ...]
    """The members."""
    partitions: tuple[str, ...]
    owns: Ownership | None = None
    """The partitions that each member must own, if the assignor leaves no choice."""
    sizes: tuple[int, ...] = ()
    """If the assignor leaves a choice: how many partitions the members must have, the most first."""
    because: str = ""
    """Why there is a choice."""
    moved: int | None = None
    """How many partitions must have moved between members since the group was last at rest."""
    callbacks: Mapping[str, tuple[tuple[Callback, int], ...]] = field(default_factory=dict)
    """Callbacks, with partition counts, that clients must have had since the last step that examined them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Records are delivered to the clients that poll, each once."""

    clients: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    """The values that are delivered from each partition, in this order."""
    in_order: bool = True
    """Whether the order counts; it does not if several members of a share group read one partition."""
    counted: bool = True
    """Whether it counts how often a record was delivered before; otherwise all repetitions are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A client reports an error or a callback by itself."""

    client: str
    names: tuple[str, ...]
    """Names of errors or callbacks, any of which satisfies the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The records are counted: how often each was processed, by any client."""

    topic: str
    processed: Mapping[str, int]
    """How often each value must have been processed; other values must not have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    """The partition of `__consumer_offsets` with a group's commits is looked up; it must be exactly one."""

    client: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoToBroker:
    """An action is carried out on the coordinator's broker."""

    lever: "BrokerAction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Elapse:
    """Time passes."""

    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Endure:
    """A group reads all records while members crash, leave and come: a step of a soak, never of a script."""

    group: str
    duration_s: float
    records_per_s: int


ClientStep: TypeAlias = (
    MakeTopic
    | GrowTopic
    | ConfigureGroup
    | Launch
    | Command
    | Kill
    | Settle
    | Deliver
    | Notice
    | Account
    | FindCoordinator
    | DoToBroker
    | Elapse
    | Endure
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientScript:
    """A script: what clients do, and what must happen."""

    id: str
    title: str
    """The first sentence of the docstring."""
    notes: str
    """The rest of the docstring."""
    source: str
    uses: tuple[Feature, ...]
    steps: tuple[ClientStep, ...]
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    since: tuple[int, int] = (0, 0)
    """The first release whose brokers support the script's subject."""
    waits_for_session: bool = False
    """Whether it waits for a session timeout of the consumer protocol, which the broker decides."""
    two_owners_allowed: str = ""
    """Why two clients may own a partition at once by their callbacks; empty if they must not."""
    extra_callbacks_allowed: str = ""
    """Why clients may have callbacks at the end that no step examined; empty if they must not."""

    @property
    def broker_actions(self) -> "tuple[BrokerAction, ...]":
        """The actions on the script's broker; they disturb all other scripts there."""
        return tuple(step.lever for step in self.steps if isinstance(step, DoToBroker))


def step_text(step: ClientStep) -> str:  # noqa: C901, PLR0911, PLR0912 - one flat case per kind of step
    """Return a step in words."""
    match step:
        case MakeTopic():
            return f"topic {step.topic} is made, with {step.partition_count} partitions"
        case GrowTopic():
            return f"topic {step.topic} grows to {step.partition_count} partitions"
        case ConfigureGroup():
            return f"group {step.group} is configured{_named(step.config)}"
        case Launch():
            return f"{step.client} starts{_named(step.settings)}"
        case Command():
            return f"{step.client}: {step.verb}{_named(step.arguments)}{_refusal(step)}"
        case Kill():
            return f"{step.client} is killed"
        case Settle():
            return (
                f"the group of {', '.join(step.clients)} comes to rest over {len(step.partitions)} partitions"
            )
        case Deliver():
            count = sum(len(values) for values in step.values.values())
            return f"{', '.join(step.clients)} are delivered {count} records"
        case Notice():
            return f"{step.client} is told {' or '.join(step.names)}"
        case Account():
            return f"records of {step.topic} are counted by how often they were processed"
        case FindCoordinator():
            return f"{step.client} looks where the commits of group {step.group} lie"
        case DoToBroker():
            return f"the coordinator's broker: {step.lever}"
        case Elapse():
            return f"{step.duration_ms} ms pass"
        case Endure():
            load = f"at most {step.records_per_s} records a second for {step.duration_s:g} s"
            return f"the {step.group} group reads {load}, while members crash, leave and come"


def _named(values: Mapping[str, Fact] | Mapping[str, str | int | bool]) -> str:
    return "".join(f", {name} {phrase(value)}" for name, value in values.items())


def _refusal(step: Command) -> str:
    return f", and is refused as {' or '.join(step.refused_as)}" if step.refused_as else ""


_STORED_NAMES: Final = {"Command": "Tell", "DoToBroker": "Pull"}
"""Names in stored scripts of steps whose classes were renamed later."""


def step_to_json(step: ClientStep) -> dict[str, Fact]:
    """Return a step as JSON data, for the record of a run."""
    name = type(step).__name__
    content: dict[str, Fact] = {"step": _STORED_NAMES.get(name, name), "text": step_text(step)}
    for entry in fields(step):
        content[entry.name] = _plain(getattr(step, entry.name))
    return content


def _plain(value: object) -> Fact:
    match value:
        case Mapping():
            return {str(name): _plain(item) for name, item in value.items()}
        case tuple() | list():
            return [_plain(item) for item in value]
        case StrEnum():
            return value.value
        case None | str() | int() | float():
            return value
        case _:
            raise AssertionError(f"a step contains {value!r}")
