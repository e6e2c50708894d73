"""The seam between a runner and whatever it drives: target, broker, broker session, connection.

A *target* is a way to get brokers (a spec such as `kafka:3.9.2`). A *broker* is one that was started,
or found running, with one configuration. A *session* is what one scenario sees of it: connections and a
clock of its own. The runner speaks in frames (a request or response without its length prefix); what
the bytes mean is `harness.wire`'s business.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from harness.targets.base.measured import MeasuredProcess

if TYPE_CHECKING:
    from harness.targets.external.run_namespace import RunNamespace
    from harness.wire.log_records import EncodedRecord


class Capability(StrEnum):
    """What a scenario may need of a target beyond answering requests."""

    BROKER_CONFIG = "broker config"
    """Brokers can be started with a configuration of the scenario's choosing."""
    RESTART = "restart"
    """The coordinator's broker can be stopped and started again over its log, also otherwise configured."""
    KILL = "kill"
    """It can be ended without a chance to say goodbye; in a cluster, another broker takes over."""
    CLUSTER = "cluster"
    """There are brokers that do not coordinate, and the coordinator can be moved to one of them."""
    SOLE_LEADER = "sole leader"
    """Whoever coordinates also leads what is made anew; among several brokers, chance says who does."""
    PAUSE = "pause"
    """The coordinator's broker can be made to stand still, and go on."""
    DISCONNECT = "disconnect"
    """It can lose its network while it runs on, so that another takes over, and have it back."""
    LONG_LOG = "long log"
    """Its log can be given so many records that a load of it takes a second or more."""
    WRITE_LOG = "write log"
    """Records can be written into its log behind its back."""
    PAUSE_AT_LOADING = "pause at loading"
    """The coordinator can be paused while it loads a partition, for as long as a scenario wants."""
    FEATURES = "features"
    """Clusters can be made with a feature (KIP-584) at a level of the scenario's choosing (`FEATURES`)."""
    ORDERED_LOADS = "ordered loads"
    """Several partitions are loaded in an order that does not change."""
    PAUSE_AT_DEAD = "pause at dead"
    """The coordinator can be paused before it removes a group that was marked Dead."""

    PRINCIPALS = "principals"
    """Actors can connect as somebody, of whom an authorizer decides what he may do."""

    @classmethod
    @override
    def _missing_(cls, value: object) -> "Capability | None":
        """Read the names that scripts of older runs have."""
        former = {"hold loading": cls.PAUSE_AT_LOADING, "hold dead": cls.PAUSE_AT_DEAD}
        return former.get(value) if isinstance(value, str) else None


class BrokerAction(StrEnum):
    """What can be done to the coordinator's broker from outside."""

    RESTART = "restart"
    KILL = "kill"
    MOVE = "move"
    """Another broker becomes the coordinator; the former one lives on."""
    PAUSE = "pause"
    RESUME = "resume"
    DISCONNECT = "disconnect"
    """It can be reached no more, neither by clients nor by brokers, nor reach them; another takes over."""
    RECONNECT = "reconnect"
    """The one that was disconnected has its network back, and learns what it missed."""
    LENGTHEN = "lengthen"
    """The log gets records of a group that no scenario knows, which the next load has to read."""

    @property
    def needs(self) -> Capability:
        """What a target must be able to do for it."""
        match self:
            case BrokerAction.RESTART:
                return Capability.RESTART
            case BrokerAction.KILL:
                return Capability.KILL
            case BrokerAction.MOVE:
                return Capability.CLUSTER
            case BrokerAction.PAUSE | BrokerAction.RESUME:
                return Capability.PAUSE
            case BrokerAction.DISCONNECT | BrokerAction.RECONNECT:
                return Capability.DISCONNECT
            case BrokerAction.LENGTHEN:
                return Capability.LONG_LOG

    @property
    def cuts_connections(self) -> bool:
        """Whether nothing is left of the connections to the broker."""
        return self in (BrokerAction.RESTART, BrokerAction.KILL, BrokerAction.DISCONNECT)


class Breakpoint(StrEnum):
    """Where in its code a coordinator can be paused."""

    LOADING = "loading"
    """A partition of the log is being loaded."""
    DEAD = "dead"
    """A group is Dead and not removed yet."""

    @property
    def needs(self) -> Capability:
        """What a target must be able to do for it."""
        return Capability(f"pause at {self.value}")


class Role(StrEnum):
    """Which broker of a cluster a connection goes to, as things stand when it is opened."""

    COORDINATOR = "coordinator"
    OTHER = "other"
    """One that does not coordinate (Capability.CLUSTER)."""
    FORMER = "former"
    """The one that coordinated before the one that does (Capability.CLUSTER)."""


class TargetError(Exception):
    """A target could not be had, started, reached or asked.

    The message names the thing and the remedy; it is shown to the user as it is.
    """


class NoAnswer(Exception):  # noqa: N818 - a normal observation, not a fault
    """No frame came within the time allowed."""


class ConnectionLost(Exception):  # noqa: N818 - likewise
    """The connection is closed, could not be opened, or carries no more frames; `str()` tells how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedValue:
    """Values that may stand in a field of a response, as the reference declares them."""

    field: str
    payloads: tuple[bytes, ...]
    """Frames that differ from the one that came in this field alone, one for each value."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One response as it came, without its length prefix."""

    payload: bytes
    permitted: tuple[PermittedValue, ...] = ()
    """Only the reference in process fills this; a network brings bytes and nothing else."""


class Connection(Protocol):
    """One connection to the broker."""

    async def send(self, payload: bytes) -> None:
        """Send a request frame; `ConnectionLost` when it cannot be."""

    async def receive(self, *, timeout_ms: float) -> Frame:
        """Wait for the next frame; `NoAnswer` when the time is up, `ConnectionLost` when none can come."""

    async def close(self) -> None:
        """Close it, as a client that goes away does. Idempotent."""


SETTLE_MS: Final = 100.0
"""How long a broker in real time is given to take in a request, before another connection sends one."""


class BrokerSession(Protocol):
    """What one scenario sees of a broker."""

    @property
    def settle_ms(self) -> float:
        """How long until a request that is sent surely comes after the one before; 0 in virtual time."""

    def now_ms(self) -> float:
        """Return the broker session's clock, 0 at its opening."""

    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        """Open a connection; `ConnectionLost` when there is nothing to connect to.

        Args:
            role: of the broker.
            principal: who connects, one of `PRINCIPALS`; None for nobody in particular.
        """

    async def elapse(self, duration_ms: float) -> None:
        """Let time pass: a jump in virtual time, a wait otherwise."""

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Do something to the coordinator's broker; returns when it is done, not when it has recovered.

        Args:
            action: what; the target has the capability that it needs.
            broker_config: for a restart, Kafka properties that change with it.

        Raises:
            TargetError: it did not work, and the target is of no more use.
        """

    async def append(self, partition: int, records: "Sequence[EncodedRecord]") -> None:
        """Write records to `__consumer_offsets`, as one batch (Capability.WRITE_LOG).

        Raises:
            TargetError: they are not taken.
        """

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Pause the coordinator when it next comes to a point, in some partitions of its log or in any."""

    async def resume_from(self, point: Breakpoint) -> None:
        """Let it go on, and no longer pause at this point."""

    async def close(self) -> None:
        """Let go of everything that the broker session still has. Idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    """Versions of one API that a broker advertises, both inclusive."""

    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription:
    """What a trace header says of a broker."""

    spec: str
    profile: str
    """The behaviour it is compared with: a profile of the reference, e.g. `3.9`."""
    implementation: str
    """For people: e.g. `Apache Kafka 3.9.2 (local JVM)`."""
    bootstrap: str
    """`host:port`, or `in process`."""
    broker_config: Mapping[str, str]
    """Kafka properties that matter to a coordinator, as set or as the broker told them."""
    api_ranges: tuple[ApiRange, ...]
    notes: tuple[str, ...] = field(default=())
    """What a reader of the report should know, e.g. artifacts that were missing."""
    version: str | None = None
    """Kafka's version, where it is known, e.g. `3.9.2`."""
    image: str | None = None
    """Name and digest of the container image, where there is one."""


class Passing(str):
    """What the next text replaces, such as a count: a display that cannot replace lines leaves it out."""

    __slots__ = ()


class Lasting(str):
    """What stays to be read after the work is done, on a terminal too."""

    __slots__ = ()


Progress = Callable[[str], None]
"""Told, in a few words, what a slow start is busy with."""


class Broker(Protocol):
    """A broker that runs with one configuration."""

    @property
    def description(self) -> BrokerDescription:
        """What it is."""

    @property
    def run_namespace(self) -> "RunNamespace | None":
        """What has to be minded if others use it too; None for a broker that was started for the run."""
        return None

    @property
    def shares_coordinator(self) -> bool:
        """Whether its sessions have one coordinator, so that what is done to one is felt on all."""
        return True

    def open_session(self, scenario_id: str) -> BrokerSession:
        """Open a broker session for one scenario; hundreds may be open at once."""

    def measured(self) -> Sequence[MeasuredProcess] | None:
        """Return the processes, as things stand, of which this machine can tell how long they waited for it.

        None in virtual time, where nobody waits; empty where they are out of sight.
        """
        return ()

    def failure(self) -> str | None:
        """Return why the broker is gone (exit status, last log lines), or None while it is not."""

    async def mend(self) -> None:
        """Start again, in a cluster, what was killed; whoever took over goes on. Nothing else needs it."""
        return

    async def stop(self) -> None:
        """Stop it and everything that was started for it. Idempotent; never leaves a process behind."""


class Target(Protocol):
    """A way to get brokers."""

    @property
    def spec(self) -> str:
        """As the user wrote it, e.g. `kafka:3.9.2`."""

    @property
    def name(self) -> str:
        """A slug of it that is fit for a file name, e.g. `kafka-3.9.2`; unique in a run."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What its brokers can do."""

    @property
    def foreseen_profile(self) -> str | None:
        """The profile that its brokers will be compared with, where that is known before one was started."""
        return None

    @property
    def is_external(self) -> bool:
        """Whether others use its brokers, so that nothing may be touched but what a run made."""
        return False

    def for_run(self, run_id: str) -> None:  # noqa: ARG002 - most targets need not know
        """Hear the name of the run, before anything is started."""
        return

    @property
    def process_count(self) -> int:
        """How many processes one of its brokers is, with what it needs beside it; 0 if it starts none."""
        return 1

    async def fetch(self, progress: Progress) -> None:  # noqa: ARG002 - most need nothing
        """Get what its brokers are made of and is not here yet, so that none of them waits for a download.

        Args:
            progress: told what is going on.

        Raises:
            TargetError: it cannot be had.
        """
        return

    async def start(
        self,
        *,
        broker_config: Mapping[str, str],
        directory: Path,
        progress: Progress,
        breakpoints: Collection[Breakpoint] = (),
        broker_actions: Collection[BrokerAction] = (),
    ) -> Broker:
        """Start a broker and wait until it serves groups.

        Args:
            broker_config: Kafka properties on top of `CONFORMANCE_CONFIG`.
            directory: exists, is the broker's own, and keeps its logs after the stop.
            progress: told what is going on.
            breakpoints: where scripts will pause it; a broker may have to be started otherwise for it.
            broker_actions: what will be done to it; likewise.

        Raises:
            TargetError: it cannot be had or does not get ready; nothing is left running.
        """


CONFORMANCE_CONFIG: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
}
"""What every broker that we start is told, so that suites are quick; a scenario's own come on top."""

QUICK_CONSUMER_GROUPS: Mapping[str, str] = {
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.streams.min.session.timeout.ms": "100",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""What brokers with consumer groups are told beside that. Scenarios configure other times for one group.

Releases before 4.3 have no assignment interval, and ignore it. Those without streams groups ignore theirs.
"""

FEATURES = frozenset({"group.version"})
"""What scenarios set as they set properties (Capability.FEATURES), and clusters have at a level."""
PRINCIPALS: Sequence[str] = ("ana", "bob", "carol", "dora")
"""Who may connect to a broker with an authorizer (Capability.PRINCIPALS)."""

CONFORMANCE_TOPICS: Mapping[str, int] = {"orders": 3, "payments": 2}
"""Topics, with their partition counts, that every broker has before the first scenario."""
