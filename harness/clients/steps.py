"""The steps of a client script as pure data, the same for every client and every target.

Topics, groups, instance ids and transactional ids are short names; whoever carries a script out gives each
run of it names of its own. A partition is a text, `orders-0`; a record's value is `orders-0#3`, the fourth
that the script had written to that partition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from harness.report.model.clients_facts import phrase

if TYPE_CHECKING:
    # Every client's process reads this module, and is not to load all that targets need for an annotation.
    from harness.targets.base.interface import BrokerAction

Fact: TypeAlias = "str | int | float | bool | Sequence[Fact] | Mapping[str, Fact] | None"
"""What is asked of a client or told by it: JSON."""
Ownership: TypeAlias = Mapping[str, tuple[str, ...]]
"""Clients to their partitions."""


class GroupProtocol(StrEnum):
    """Which protocol the members of a script's groups use: what `group.protocol` is set to."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    """The protocol of KIP-848."""
    SHARE = "share"
    """That of share groups (KIP-932), which is a consumer's of its own and no setting."""
    STREAMS = "streams"
    """That of Kafka Streams (KIP-1071)."""


CONSUMER_SESSION_MS: Final = 10_000
"""How long sessions of the consumer protocol last on brokers of ours: a member has to be back in less."""


class Feature(StrEnum):
    """What a script needs of a client library."""

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
"""What only members of classic groups need: they assign partitions and watch topics by themselves."""


class Verb(StrEnum):
    """What a client can be told to do."""

    SUBSCRIBE = "subscribe"
    SUBSCRIBE_PATTERN = "subscribe to a pattern"
    UNSUBSCRIBE = "unsubscribe"
    ASSIGN = "assign"
    TAKE = "take"
    """Poll until so many records are there, and poll no more."""
    STAND_STILL = "stand still"
    """Poll no more, as an application does that is busy."""
    GO_ON = "go on"
    """Poll again."""
    WORK = "work"
    """Subscribe, and poll, process and commit from then on."""
    PROCESS = "process"
    """Have the effect, once and for all, that processing what was taken has."""
    COMMIT = "commit"
    SEEK = "seek"
    PAUSE = "pause"
    RESUME = "resume"
    POSITIONS = "positions"
    COMMITTED = "committed"
    LOST_COMMITS = "lost commits"
    """Which commits that were acknowledged the group does not have."""
    PRODUCE = "produce"
    BEGIN = "begin a transaction"
    FORWARD = "forward"
    """Write a record for each that was taken, within a transaction."""
    SEND_OFFSETS = "send offsets to the transaction"
    COMMIT_TRANSACTION = "commit the transaction"
    ABORT_TRANSACTION = "abort the transaction"
    DESCRIBE = "describe the group"
    """As an administrator's tool does: state, assignor, members with partitions, offsets with the ends."""
    ACKNOWLEDGE = "acknowledge"
    """Say what became of records of a share group."""
    DESCRIBE_SHARE = "describe the share group"
    """State, members with partitions, start offsets."""
    REWIND_SHARE = "rewind the share group"
    DELETE_SHARE = "delete the share group"
    STREAM = "stream"
    """Number the records of topics, and write them to another."""
    DESCRIBE_STREAMS = "describe the streams group"
    """State, members with numbers of tasks, offsets."""
    DELETE_STREAMS = "delete the streams group"
    CLOSE = "close"


class Callback(StrEnum):
    """What a client library tells its application of partitions."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeTopic:
    """A topic comes to be."""

    topic: str
    partition_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """A topic comes to have more partitions."""

    topic: str
    partition_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureGroup:
    """A group is given a configuration, whether or not it is there yet."""

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
    """A client is told to do something, and answers."""

    client: str
    verb: Verb
    arguments: Mapping[str, Fact] = field(default_factory=dict)
    answers: Fact = None
    """What it must answer; None where that is left to the reference."""
    refused_as: tuple[str, ...] = ()
    """Names of the errors, one of which must refuse it; empty where it must not be refused."""
    may_be_told: tuple[str, ...] = ()
    """Names of errors that it may be told on its own account, from then on."""
    eventually: bool = False
    """Whether it is told again until it answers as it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A client's process is killed; nothing of it says goodbye."""

    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """A group comes to rest: every partition is owned by one of its members."""

    clients: tuple[str, ...]
    """The members."""
    partitions: tuple[str, ...]
    owns: Ownership | None = None
    """Who must own what, where the assignor leaves no choice."""
    sizes: tuple[int, ...] = ()
    """Where it does: how many partitions the members must have, the most first."""
    because: str = ""
    """Why that is free."""
    moved: int | None = None
    """How many partitions must have come from one member to another since the group was last at rest."""
    callbacks: Mapping[str, tuple[tuple[Callback, int], ...]] = field(default_factory=dict)
    """What clients must have been told since the last step that looked, each with a number of partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Records come to those who poll, and none comes twice."""

    clients: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    """Partitions to the values that come of them, in this order."""
    in_order: bool = True
    """Whether the order counts: several members of a share group have one partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A client is told an error, or of partitions, on its own account."""

    client: str
    names: tuple[str, ...]
    """Names of errors, or a `Callback`, any of which will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What became of records is counted up: how often each was processed, by whomever."""

    topic: str
    processed: Mapping[str, int]
    """Values to how often; what is not named must not have been processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    """The partition of `__consumer_offsets` in which a group's commits lie is looked up, and must be one."""

    client: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoToBroker:
    """Something is done to the coordinator's broker from outside."""

    lever: "BrokerAction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Elapse:
    """Time passes."""

    duration_ms: int


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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientScript:
    """What clients are to do, and what must come of it."""

    id: str
    title: str
    """One sentence."""
    notes: str
    """What the docstring says beyond its sentence."""
    source: str
    uses: tuple[Feature, ...]
    steps: tuple[ClientStep, ...]
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    since: tuple[int, int] = (0, 0)
    """The first release whose brokers do what it is about."""
    waits_for_session: bool = False
    """Whether a session of the consumer protocol must end, whose length is the broker's."""
    two_owners_allowed: str = ""
    """Why two clients may think at once that they own a partition; empty where they must not."""
    extra_callbacks_allowed: str = ""
    """Why clients may be told more at the end than the script looked at; empty where they must not."""

    @property
    def broker_actions(self) -> "tuple[BrokerAction, ...]":
        """What is done to its broker; it disturbs everybody else there."""
        return tuple(step.lever for step in self.steps if isinstance(step, DoToBroker))


def step_text(step: ClientStep) -> str:  # noqa: C901, PLR0911, PLR0912 - one flat case a kind of step
    """Say a step in words."""
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


def _named(values: Mapping[str, Fact] | Mapping[str, str | int | bool]) -> str:
    return "".join(f", {name} {phrase(value)}" for name, value in values.items())


def _refusal(step: Command) -> str:
    return f", and is refused as {' or '.join(step.refused_as)}" if step.refused_as else ""


_STORED_NAMES: Final = {"Command": "Tell", "DoToBroker": "Pull"}
"""Steps whose names in stored scripts are older than their classes."""


def step_to_json(step: ClientStep) -> dict[str, Fact]:
    """Write a step as JSON data, for the record of a run."""
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
