"""The language of client scripts: topics, commands to clients, and what must be observed of them.

A script is a function that is run once, without any client, and recorded. It cannot branch on what a client
observes, so every client on every target gets the same commands. A script may be for several group protocols:
it is recorded once with each, and can read which protocol it is recorded with.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from harness.clients.names import delivered_as, uncounted
from harness.clients.script_client import TestClient, Topic
from harness.clients.sheet import client_script
from harness.clients.steps import (
    CONSUMER_SESSION_MS,
    Account,
    Callback,
    ClientStep,
    Command,
    ConfigureGroup,
    Deliver,
    DoToBroker,
    Elapse,
    Feature,
    GroupProtocol,
    GrowTopic,
    Launch,
    MakeTopic,
    Ownership,
    Settle,
    Verb,
)
from harness.scenario.errors import ScenarioError
from harness.targets.base.interface import BrokerAction

__all__ = [
    "COOPERATIVE",
    "RANGE",
    "ROUND_ROBIN",
    "STICKY",
    "UNIFORM",
    "ExpectedCallback",
    "Feature",
    "GroupProtocol",
    "Ownership",
    "Play",
    "TestClient",
    "Topic",
    "again",
    "assigned",
    "client_script",
    "lost",
    "revoked",
]
RANGE: Final = "range"
ROUND_ROBIN: Final = "roundrobin"
STICKY: Final = "sticky"
COOPERATIVE: Final = "cooperative-sticky"
UNIFORM: Final = "uniform"
"""The brokers' default assignor for consumer groups."""
_HEARTBEAT_MS: Final = 500
"""Members learn of a rebalance from a heartbeat, so with the default of 3 s every rebalance takes as long."""
_SESSION_OF_BROKER: Final = "session_timeout_ms"
_SETTINGS_OF_CLASSIC_MEMBERS: Final = frozenset({"assignor", "heartbeat_interval_ms", _SESSION_OF_BROKER})
"""Settings that brokers decide in the consumer protocol; librdkafka and Java's client refuse them there."""
_OF_PROTOCOL: Final = {
    GroupProtocol.CONSUMER: Feature.CONSUMER_PROTOCOL,
    GroupProtocol.SHARE: Feature.SHARE_GROUPS,
    GroupProtocol.STREAMS: Feature.STREAMS_GROUPS,
}
_OF_VERB: Final = dict.fromkeys(
    (Verb.DESCRIBE_SHARE, Verb.REWIND_SHARE, Verb.DELETE_SHARE), Feature.SHARE_ADMIN
)
_BY_ASSIGNOR: Final = {
    RANGE: Feature.RANGE,
    ROUND_ROBIN: Feature.ROUND_ROBIN,
    STICKY: Feature.STICKY,
    COOPERATIVE: Feature.COOPERATIVE,
}
ExpectedCallback = tuple[Callback, int]
T = TypeVar("T")


def assigned(count: int) -> ExpectedCallback:
    """Return the callback that assigns this many partitions."""
    return (Callback.ASSIGNED, count)


def revoked(count: int) -> ExpectedCallback:
    """Return the callback that revokes this many partitions."""
    return (Callback.REVOKED, count)


def lost(count: int) -> ExpectedCallback:
    """Return the callback that this many partitions are lost."""
    return (Callback.LOST, count)


def again(values: Mapping[str, Sequence[str]], delivery: int = 2) -> dict[str, tuple[str, ...]]:
    """Return the names of a repeated delivery of a share group's records; `delivery` counts from 1."""
    return {
        partition: tuple(delivered_as(value, delivery) for value in each)
        for partition, each in values.items()
    }


class Play:
    """Records the steps of a script function, which calls its methods."""

    def __init__(self, protocol: GroupProtocol = GroupProtocol.CLASSIC) -> None:
        self.protocol = protocol
        self.steps: list[ClientStep] = []
        self.features: set[Feature] = set()
        self.waits_for_session = False
        self.two_owners_allowed = ""
        self.extra_callbacks_allowed = ""
        self._names: set[str] = set()

    def add(self, step: ClientStep) -> None:
        """Record a step."""
        if isinstance(step, Command) and step.verb in _OF_VERB:
            self.features.add(_OF_VERB[step.verb])
        self.steps.append(step)

    def by_protocol(self, *, classic: T, consumer: T) -> T:
        """Return the value for the protocol that the members use."""
        return classic if self.protocol is GroupProtocol.CLASSIC else consumer

    def topic(self, name: str, *, partitions: int) -> Topic:
        """Create a topic."""
        topic = Topic(name=name, partition_count=partitions)
        self.makes(topic)
        return topic

    def makes(self, topic: Topic) -> None:
        """Create a topic that the script has mentioned before."""
        self.add(MakeTopic(topic=topic.name, partition_count=topic.partition_count))

    def grows(self, topic: Topic, *, partitions: int) -> None:
        """Give a topic more partitions."""
        topic.partition_count = partitions
        self.add(GrowTopic(topic=topic.name, partition_count=partitions))

    def configures(self, group: str, **config: str | int) -> None:
        """Set dynamic configurations of a group, by Kafka's names in snake case."""
        named = {name.replace("_", "."): str(value) for name, value in config.items()}
        self.add(ConfigureGroup(group=group, config=named))

    def client(self, name: str, *, group: str | None = "group", **settings: str | int | bool) -> TestClient:
        """Start a client; its name must be new, and is also the client id.

        Members of classic groups are sorted by their ids, which begin with this name, so that their order is
        not random. In consumer groups ids are random, and static members are sorted by instance id.
        """
        if name in self._names:
            raise ScenarioError(f"there is a client {name} already; name another, or give it an instance id")
        self._names.add(name)
        if group is not None:
            settings = self._of_member(settings) | {"group_id": group}
        if "group_instance_id" in settings:
            self.features.add(Feature.STATIC)
        if "transactional_id" in settings:
            self.features.add(Feature.TRANSACTIONS)
        assignor = settings.get("assignor")
        if assignor is not None:
            self.features.add(_BY_ASSIGNOR[str(assignor)])
        self.add(Launch(client=name, settings=dict(settings)))
        return TestClient(self.add, name, settings)

    def _of_member(self, settings: Mapping[str, str | int | bool]) -> dict[str, str | int | bool]:
        """Return a member's settings: those that its protocol supports, and those that make it quick."""
        if self.protocol is GroupProtocol.CLASSIC:
            known = {name: value for name, value in settings.items() if name != "group_remote_assignor"}
            return {"heartbeat_interval_ms": _HEARTBEAT_MS, **known}
        self.features.add(_OF_PROTOCOL[self.protocol])
        if _SESSION_OF_BROKER in settings and int(settings[_SESSION_OF_BROKER]) <= CONSUMER_SESSION_MS:
            self.waits_for_session = True
        known = {name: settings[name] for name in settings if name not in _SETTINGS_OF_CLASSIC_MEMBERS}
        return {**known, "group_protocol": self.protocol.value}

    def settles(
        self,
        owns: Mapping[TestClient, Iterable[str]],
        *,
        callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None = None,
    ) -> None:
        """Wait until each member owns exactly the given partitions."""
        exact = {client.name: tuple(sorted(partitions)) for client, partitions in owns.items()}
        self.add(
            Settle(
                clients=tuple(exact),
                partitions=tuple(sorted(partition for part in exact.values() for partition in part)),
                owns=exact,
                callbacks=_by_name(callbacks),
            )
        )

    def settles_evenly(
        self,
        clients: Sequence[TestClient],
        *topics: Topic,
        because: str,
        moved: int | None = None,
        callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None = None,
    ) -> None:
        """Wait until members own all partitions of topics as evenly as possible; who owns which is left open.

        Args:
            clients: the members.
            topics: all topics that they subscribe to.
            because: why it is left open who owns which.
            moved: how many partitions must have moved from one member to another.
            callbacks: the callbacks that clients must have had since the last step that examined them.
        """
        partitions = tuple(sorted(partition for topic in topics for partition in topic.partitions))
        least, rest = divmod(len(partitions), len(clients))
        self.add(
            Settle(
                clients=tuple(client.name for client in clients),
                partitions=partitions,
                sizes=tuple(least + (1 if place < rest else 0) for place in range(len(clients))),
                because=because,
                moved=moved,
                callbacks=_by_name(callbacks),
            )
        )

    def delivers(
        self,
        to: Sequence[TestClient],
        values: Mapping[str, Sequence[str]],
        *,
        in_order: bool = True,
        counted: bool = True,
    ) -> None:
        """Wait until clients were delivered these records, each once, in order within each partition.

        Args:
            to: the clients that poll.
            values: the values from each partition; for repeated deliveries of a share group use `again`.
            in_order: False if several clients may be delivered records of one partition.
            counted: False if it may be any repeated delivery of each record.
        """
        name = str if counted else uncounted
        reported = {partition: tuple(map(name, each)) for partition, each in values.items()}
        clients = tuple(client.name for client in to)
        self.add(Deliver(clients=clients, values=reported, in_order=in_order, counted=counted))

    def accounts(self, topic: Topic, processed: Mapping[str, int]) -> None:
        """Count how often each record was processed."""
        self.add(Account(topic=topic.name, processed=dict(processed)))

    def restarts_broker(self) -> None:
        """Restart the coordinator's broker."""
        self.add(DoToBroker(lever=BrokerAction.RESTART))

    def kills_broker(self) -> None:
        """Kill the coordinator's broker; it starts again, or another broker takes over."""
        self.add(DoToBroker(lever=BrokerAction.KILL))

    def moves_coordinator(self) -> None:
        """Make another broker the coordinator; the former one keeps running."""
        self.add(DoToBroker(lever=BrokerAction.MOVE))

    def elapses(self, duration_ms: int) -> None:
        """Let time pass, where there is no event to wait for."""
        self.add(Elapse(duration_ms=duration_ms))

    def allows_two_owners(self, because: str) -> None:
        """Allow two clients to own a partition at once by their callbacks, for this reason."""
        self.two_owners_allowed = because

    def allows_extra_callbacks(self, because: str) -> None:
        """Allow callbacks after the last step that examines them, for this reason."""
        self.extra_callbacks_allowed = because


def _by_name(
    callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None,
) -> dict[str, tuple[ExpectedCallback, ...]]:
    return {client.name: tuple(reported) for client, reported in (callbacks or {}).items()}
