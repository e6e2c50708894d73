"""The interface between a runner and what it runs scripts on: target, broker, broker session, connection.

A *target* is a way to get brokers (a spec such as `kafka:3.9.2`). A *broker* is one that was started,
or found running, with one configuration. A *session* is one scenario's access to it: connections and a
clock of its own. The runner exchanges frames (requests or responses without their length prefix), whose
bytes `harness.wire` encodes and decodes.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NotRequired, Protocol, TypedDict, TypeVar, Unpack

from typing_extensions import override

from harness.targets.base.measured import MeasuredProcess

if TYPE_CHECKING:
    from harness.targets.base.layout import Layout
    from harness.targets.external.run_namespace import RunNamespace
    from harness.wire.log_records import EncodedRecord


class Capability(StrEnum):
    """What a scenario may need from a target beyond answers to requests."""

    BROKER_CONFIG = "broker config"
    """Brokers can be started with a configuration that the scenario chooses."""
    RESTART = "restart"
    """The coordinator's broker can be stopped and started again on its log, optionally reconfigured."""
    KILL = "kill"
    """It can be ended without a clean shutdown; in a cluster, another broker takes over."""
    CLUSTER = "cluster"
    """There are brokers that do not coordinate, and the coordinator can be moved to one of them."""
    SOLE_LEADER = "sole leader"
    """The coordinator's broker also leads new partitions; with several brokers, the leader is random."""
    PAUSE = "pause"
    """The process of the coordinator's broker can be paused and resumed."""
    DISCONNECT = "disconnect"
    """It can be cut off from the network while it runs, so that another takes over, and be reconnected."""
    LONG_LOG = "long log"
    """Its log can be lengthened by so many records that loading it takes a second or more."""
    WRITE_LOG = "write log"
    """External records can be written to its log."""
    PAUSE_AT_LOADING = "pause at loading"
    """The coordinator can be paused while it loads a partition, for as long as a scenario needs."""
    FEATURES = "features"
    """Clusters can be created with a feature (KIP-584) at a level that the scenario chooses."""
    ORDERED_LOADS = "ordered loads"
    """Several partitions are always loaded in the same order."""
    PAUSE_AT_DEAD = "pause at dead"
    """The coordinator can be paused before it removes a group that was marked Dead."""
    PRINCIPALS = "principals"
    """Actors can connect as a principal, whose permissions an authorizer decides."""

    @classmethod
    @override
    def _missing_(cls, value: object) -> "Capability | None":
        """Accept the names that scripts of older runs contain."""
        former = {"hold loading": cls.PAUSE_AT_LOADING, "hold dead": cls.PAUSE_AT_DEAD}
        return former.get(value) if isinstance(value, str) else None


class BrokerAction(StrEnum):
    """What can be done to the coordinator's broker from outside."""

    RESTART = "restart"
    KILL = "kill"
    MOVE = "move"
    """Another broker becomes the coordinator; the former one continues to run."""
    PAUSE = "pause"
    RESUME = "resume"
    DISCONNECT = "disconnect"
    """The broker is cut off from clients and from other brokers; another one takes over."""
    RECONNECT = "reconnect"
    """The disconnected broker gets its network back, and catches up."""
    LENGTHEN = "lengthen"
    """Records of a group that no scenario uses are written to the log, and the next load has to read them."""

    @property
    def needs(self) -> Capability:
        """The capability that a target needs for the action."""
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
        """Whether the action closes all connections to the broker."""
        return self in (BrokerAction.RESTART, BrokerAction.KILL, BrokerAction.DISCONNECT)


class Breakpoint(StrEnum):
    """A place in a coordinator's code where it can be paused."""

    LOADING = "loading"
    """A partition of the log is being loaded."""
    DEAD = "dead"
    """A group is Dead and has not been removed yet."""

    @property
    def needs(self) -> Capability:
        """The capability that a target needs for the breakpoint."""
        return Capability(f"pause at {self.value}")


class Role(StrEnum):
    """Which broker of a cluster a connection goes to, in the state of the cluster when it is opened."""

    COORDINATOR = "coordinator"
    OTHER = "other"
    """A broker that does not coordinate (Capability.CLUSTER)."""
    FORMER = "former"
    """The broker that coordinated before the current coordinator (Capability.CLUSTER)."""


class TargetError(Exception):
    """A target could not be obtained, started, reached or queried.

    The message contains the cause and the remedy, and is shown to the user unchanged.
    """


class NotReadyError(TargetError):
    """A broker did not reach an awaited state in time."""


class NoAnswer(Exception):  # noqa: N818 - a normal observation, not a fault
    """No frame came within the time allowed."""


class ConnectionLost(Exception):  # noqa: N818 - likewise
    """The connection is closed, could not be opened, or carries no more frames; `str()` is the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedValue:
    """Values that a response's field may have, as the reference declares them."""

    field: str
    payloads: tuple[bytes, ...]
    """Frames that differ from the received one in this field only, one for each value."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One response as it was received, without its length prefix."""

    payload: bytes
    permitted: tuple[PermittedValue, ...] = ()
    """Only the in-process reference sets this; a network only transfers bytes."""


class Connection(Protocol):
    """One connection to the broker."""

    async def send(self, payload: bytes) -> None:
        """Send a request frame; raise `ConnectionLost` if that fails."""

    async def receive(self, *, timeout_ms: float) -> Frame:
        """Wait for the next frame; raise `NoAnswer` when time is up, `ConnectionLost` if none can come."""

    async def close(self) -> None:
        """Close the connection as a client that leaves does. Idempotent."""

    @property
    def is_within_frame(self) -> bool:
        """Whether a frame has begun to come that is not whole yet."""
        return False


SETTLE_MS: Final = 100.0
"""Time for a broker in real time to receive a request before another connection sends one."""


class BrokerSession(Protocol):
    """One scenario's access to a broker."""

    @property
    def settle_ms(self) -> float:
        """Time after which the next request surely arrives after the previous one; 0 in virtual time."""

    def now_ms(self) -> float:
        """Return the time of the broker session's clock, which is 0 when the session is opened."""

    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        """Open a connection; raise `ConnectionLost` if there is nothing to connect to.

        Args:
            role: the role of the broker.
            principal: one of `PRINCIPALS`; None to connect without a principal.
        """

    async def elapse(self, duration_ms: float) -> None:
        """Let time pass: jump in virtual time, otherwise wait."""

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Carry out an action on the coordinator's broker; return when it is done, before any recovery.

        Args:
            action: the action; the target has the capability for it.
            broker_config: for a restart, the Kafka properties that change.

        Raises:
            TargetError: the action failed, and the target is no longer usable.
        """

    async def append(self, partition: int, records: "Sequence[EncodedRecord]") -> None:
        """Write records to `__consumer_offsets`, as one batch (Capability.WRITE_LOG).

        Raises:
            TargetError: the broker does not accept them.
        """

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Pause the coordinator when it next reaches a breakpoint, in some partitions or in any."""

    async def resume_from(self, point: Breakpoint) -> None:
        """Resume the coordinator, and stop pausing at this breakpoint."""

    async def close(self) -> None:
        """Release everything that the broker session still uses. Idempotent."""


ClosableT = TypeVar("ClosableT", bound=Connection | BrokerSession)


@asynccontextmanager
async def closing(opened: ClosableT) -> AsyncIterator[ClosableT]:
    """Close a connection or a session at the end of the block."""
    try:
        yield opened
    finally:
        await opened.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    """The versions of one API that a broker advertises, both ends inclusive."""

    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription:
    """A broker as a trace header describes it."""

    spec: str
    profile: str
    """The reference's profile that the broker is compared with, e.g. `3.9`."""
    implementation: str
    """For people: e.g. `Apache Kafka 3.9.2 (local JVM)`."""
    bootstrap: str
    """`host:port`, or `in process`."""
    broker_config: Mapping[str, str]
    """Kafka properties that affect a coordinator, as set or as the broker described them."""
    api_ranges: tuple[ApiRange, ...]
    notes: tuple[str, ...] = field(default=())
    """Notes for readers of the report, e.g. artifacts that were missing."""
    version: str | None = None
    """Kafka's version if it is known, e.g. `3.9.2`."""
    image: str | None = None
    """Name and digest of the container image, if there is one."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Those of the properties that it did not report."""
    lacking_topics: Mapping[str, str] = field(default_factory=dict)
    """Why topics of `CONFORMANCE_TOPICS` are not there, by name."""
    larger_topics: Mapping[str, str] = field(default_factory=dict)
    """What stands in for topics of `CONFORMANCE_TOPICS`, but has more partitions, by name."""


class Passing(str):
    """Progress text that the next one replaces, e.g. a count; displays that cannot replace lines omit it."""

    __slots__ = ()


class Lasting(str):
    """Progress text that stays visible after the work is done, even on a terminal."""

    __slots__ = ()


Progress = Callable[[str], None]
"""Called with a short text about the current step of a slow start."""


class Broker(Protocol):
    """A broker that runs with one configuration."""

    @property
    def description(self) -> BrokerDescription:
        """The broker's description."""

    @property
    def run_namespace(self) -> "RunNamespace | None":
        """The names that a run may use if others use the broker too; None if it was started for the run."""
        return None

    @property
    def shares_coordinator(self) -> bool:
        """Whether all its sessions share one coordinator, so that an action affects all of them."""
        return True

    def open_session(self, scenario_id: str) -> BrokerSession:
        """Open a broker session for one scenario; hundreds may be open at once."""

    async def layout_now(self) -> "Layout | None":
        """Return which broker of a shared cluster coordinates what by now; None if that cannot change."""
        return None

    def measured(self) -> Sequence[MeasuredProcess] | None:
        """Return the current processes whose waiting times this machine can measure.

        None in virtual time, where no process waits; empty where the processes are not visible.
        """
        return ()

    def failure(self) -> str | None:
        """Return why the broker has ended (exit status, last log lines), or None if it has not."""

    async def look(self) -> None:
        """Find out whether the broker still accepts connections, where no process shows it to `failure`."""
        return

    def without_nameless(self) -> AbstractAsyncContextManager[None]:
        """Remove on leaving the group without a name that scenarios made meanwhile. Else a no-op."""
        return nullcontext()

    async def mend(self) -> None:
        """Restart killed brokers of a cluster; the coordinator that took over remains. Else a no-op."""
        return

    async def stop(self) -> None:
        """Stop the broker and everything that was started for it. Idempotent; leaves no process running."""


class Launch(TypedDict):
    """How to start a broker."""

    broker_config: Mapping[str, str]
    """Kafka properties on top of `CONFORMANCE_CONFIG`."""
    directory: Path
    """Exists, is the broker's own, and keeps its logs after the stop."""
    progress: Progress
    """Called with the current step."""
    breakpoints: NotRequired[Collection[Breakpoint]]
    """Where scripts will pause it; they may affect how a broker is started."""
    broker_actions: NotRequired[Collection[BrokerAction]]
    """What will be done to it; likewise."""


class Target(Protocol):
    """A way to get brokers."""

    @property
    def spec(self) -> str:
        """The spec as the user wrote it, e.g. `kafka:3.9.2`."""

    @property
    def name(self) -> str:
        """A form of the spec that is valid as a file name, e.g. `kafka-3.9.2`; unique in a run."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of its brokers."""

    @property
    def foreseen_profile(self) -> str | None:
        """The profile that its brokers will be compared with, if it is known before a broker starts."""
        return None

    @property
    def is_external(self) -> bool:
        """Whether others use its brokers, so that a run may only touch what it created."""
        return False

    def for_run(self, run_id: str) -> None:  # noqa: ARG002 - most targets need not know
        """Set the id of the run, before anything is started."""
        return

    @property
    def process_count(self) -> int:
        """How many processes one broker has, with its helpers; 0 if none is started."""
        return 1

    async def fetch(self, progress: Progress) -> None:  # noqa: ARG002 - most need nothing
        """Download what its brokers need and is missing, so that no start waits for a download.

        Args:
            progress: called with the current step.

        Raises:
            TargetError: it is not available.
        """
        return

    async def start(self, **launch: Unpack[Launch]) -> Broker:
        """Start a broker and wait until it serves groups.

        Raises:
            TargetError: it is not available or does not get ready; nothing is left running.
        """
