"""The configuration of a local broker, as files for Kafka and ZooKeeper."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, QUICK_CONSUMER_GROUPS, principals_properties
from harness.targets.jars.resolved import release_of

KRAFT_SINCE: Final = (3, 3)
NODE_ID: Final = 1
"""The id of a single broker, and of the first of several."""
CONTROLLER_ID: Final = 100
"""The id of the separate controller of a cluster, which allows any of its brokers to end."""
HOST: Final = "127.0.0.1"
_BACKLOG_SINCE: Final = (3, 2)
_LINGER_SINCE: Final = (4, 0)
_CONTROLLER_TELLS_SINCE: Final = (3, 9)
_TOPICS: Final[Mapping[str, str]] = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "min.insync.replicas": "1",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
}
_REPLICATED: Final = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
    "default.replication.factor",
)
_ALONE_WITH_ZOOKEEPER: Final[Mapping[str, str]] = {"controlled.shutdown.enable": "false"}
"""There is no other broker to hand over to, and the attempt takes seconds."""
_SEVERAL_WITH_CONTROLLER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "300",
}
"""Decides how soon the loss of a killed broker is detected."""
_MISSED_BY_ZOOKEEPER: Final[Mapping[str, str]] = {"zookeeper.session.timeout.ms": "4000"}
"""Decides how soon a disconnected broker is detected: two ticks of ZooKeeper, which is its minimum."""
_CONTROLLER_AT_ONCE: Final[Mapping[str, str]] = {"controller.quorum.append.linger.ms": "0"}
"""A broker sends one request at a time to the controller, which would delay each by 25 ms to batch them.

Source: NodeToControllerChannelManagerImpl#buildNetworkClient (4.3.1), QuorumConfig (4.3.1).
"""
AFTER_KILL: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "200",
}
"""For a single broker that was killed: it cannot register again before its former session has expired."""
_ALONE_WITH_CONTROLLER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "200",
}
"""The default session, but heartbeats ten times as often: with one, a broker requests its shutdown.

Source: KRaftConfigs (3.9.2), BrokerLifecycleManager#beginControlledShutdown.
"""
_REMEMBERS_WHO_SHUT_DOWN: Final = (4, 0)
_LEAN: Final[Mapping[str, str]] = {
    "log.cleaner.enable": "false",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
}
PAUSED_THREADS: Final[Mapping[str, str]] = {"num.io.threads": "32"}
"""For a broker whose threads are paused, each with one request, until it is resumed."""
_GROUP_PROTOCOLS_SINCE: Final = (4, 0)
_SHARE_PREVIEW: Final = (4, 0)
_UNKNOWN: Final = (0, 0)
FEATURES: Final = frozenset({"group.version", "share.version", "streams.version"})
"""Features that scenarios set like properties (Capability.FEATURES), and that clusters have at a level."""
_COORDINATOR_PREFIXES: Final = (
    *("errors.deadletterqueue.", "group.", "offset.", "offsets.", "unstable."),
    *("message.max.bytes", "num.partitions", "transaction.max.timeout.ms"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Free ports of the loopback interface."""

    broker: int
    controller: int
    """The port of the KRaft controller, or ZooKeeper."""
    reserved_port: int | None = None
    """The advertised port, if it is not the broker's own (`harness.targets.kafka.network`)."""
    principals: int | None = None
    """The port of a listener that authenticates clients; None if there is none."""


def after_shutdown(version: str | None) -> Mapping[str, str]:
    """Return the properties that a single broker needs to come back soon after a shutdown.

    A controller of 4.0 refuses it (DUPLICATE_BROKER_REGISTRATION) until its former session has expired, after
    9 s by default, as if it had been killed; measured on 4.0.2, but not on 3.9.2 or 4.1.2. Other releases get
    their default session again: with the short one of a killed broker, a busy machine or a pause would have
    the broker fenced.
    """
    if version is None or not uses_kraft(version):
        return {}
    return (
        _SEVERAL_WITH_CONTROLLER
        if release_of(version) == _REMEMBERS_WHO_SHUT_DOWN
        else _ALONE_WITH_CONTROLLER
    )


def uses_kraft(version: str) -> bool:
    """Return whether a version runs without ZooKeeper."""
    return release_of(version) >= KRAFT_SINCE


def chooses_features(version: str) -> bool:
    """Return whether a version supports chosen feature levels; an unknown one counts as the newest."""
    return release_of(version) >= _GROUP_PROTOCOLS_SINCE or release_of(version) == _UNKNOWN


def features_of(broker_config: Mapping[str, str]) -> Mapping[str, str]:
    """Return the levels of features among a scenario's properties."""
    return {name: level for name, level in broker_config.items() if name in FEATURES}


def matters_to_a_coordinator(name: str) -> bool:
    """Return whether a property is one of the coordinators' or limits what they accept, by its name."""
    return name.startswith(_COORDINATOR_PREFIXES)


def coordinator_properties(version: str, broker_config: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a broker that matter to its coordinator or to the scenario."""
    release = release_of(version)
    quick = {"group.coordinator.append.linger.ms": "0"} if release >= _LINGER_SINCE else {}
    consumers = QUICK_CONSUMER_GROUPS if release >= _GROUP_PROTOCOLS_SINCE else {}
    usual = {**quick, **consumers, **CONFORMANCE_CONFIG}
    if release == _SHARE_PREVIEW:
        # In 4.0 it would enable half of a preview: a coordinator, and no API.
        usual.pop("group.share.enable", None)
    return {**usual, **broker_config}


def broker_properties(
    version: str,
    broker_config: Mapping[str, str],
    *,
    ports: Ports,
    storage: Path,
    node_id: int = NODE_ID,
    node_count: int = 1,
) -> dict[str, str]:
    """Return the whole configuration of a broker, alone or one of several.

    A scenario may set any property except the broker's listeners and storage.
    """
    backlog = {"socket.listen.backlog.size": "2000"} if release_of(version) >= _BACKLOG_SINCE else {}
    settings = {
        **_LEAN,
        **backlog,
        **_TOPICS,
        **dict.fromkeys(_REPLICATED, str(node_count)),
        **coordinator_properties(version, broker_config),
        **_membership(version, ports, node_id=node_id, is_alone=node_count == 1),
        "log.dirs": str(storage),
    }
    return {name: value for name, value in settings.items() if name not in FEATURES}


def _membership(version: str, ports: Ports, *, node_id: int, is_alone: bool) -> dict[str, str]:
    if not uses_kraft(version):
        return {**_zookeeper(ports, node_id), **(_ALONE_WITH_ZOOKEEPER if is_alone else {})}
    return _both_roles(ports) if is_alone else {**_broker_role(ports, node_id), **_SEVERAL_WITH_CONTROLLER}


def _both_roles(ports: Ports) -> dict[str, str]:
    properties = _broker_role(ports, NODE_ID)
    return {
        **properties,
        **_ALONE_WITH_CONTROLLER,
        **_CONTROLLER_AT_ONCE,
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"{NODE_ID}@{HOST}:{ports.controller}",
        "listeners": f"{properties['listeners']},CONTROLLER://{HOST}:{ports.controller}",
    }


def _broker_role(ports: Ports, node_id: int) -> dict[str, str]:
    return {
        "process.roles": "broker",
        "node.id": str(node_id),
        "controller.quorum.voters": f"{CONTROLLER_ID}@{HOST}:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        **_listeners(ports),
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _listeners(ports: Ports) -> dict[str, str]:
    own = {
        "listeners": f"PLAINTEXT://{HOST}:{ports.broker}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{ports.reserved_port or ports.broker}",
    }
    if ports.principals is None:
        return own
    further = principals_properties(HOST, ports.principals)
    return further | {name: f"{text},{further[name]}" for name, text in own.items()}


def controller_properties(
    version: str, *, port: int, storage: Path, node_count: int, reserved_port: int | None = None
) -> dict[str, str]:
    """Return the configuration of a KRaft controller that serves no clients.

    It has the bounds of group configurations that brokers have, since it checks changes to them. Since 3.9 it
    advertises its address to brokers (KIP-853); before, brokers use the configured one.
    """
    tells = reserved_port is not None and release_of(version) >= _CONTROLLER_TELLS_SINCE
    advertised = {"advertised.listeners": f"CONTROLLER://{HOST}:{reserved_port}"} if tells else {}
    return {
        **advertised,
        **coordinator_properties(version, {}),
        **_TOPICS,
        **dict.fromkeys(_REPLICATED, str(node_count)),
        **_SEVERAL_WITH_CONTROLLER,
        **_CONTROLLER_AT_ONCE,
        "process.roles": "controller",
        "node.id": str(CONTROLLER_ID),
        "controller.quorum.voters": f"{CONTROLLER_ID}@{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://{HOST}:{port}",
        "log.dirs": str(storage),
    }


def _zookeeper(ports: Ports, node_id: int) -> dict[str, str]:
    missed = {} if ports.reserved_port is None else _MISSED_BY_ZOOKEEPER
    return {
        **missed,
        "broker.id": str(node_id),
        "zookeeper.connect": f"{HOST}:{ports.controller}",
        "zookeeper.connection.timeout.ms": "30000",
        **_listeners(ports),
    }


def zookeeper_properties(*, port: int, storage: Path) -> dict[str, str]:
    """Return the configuration of a ZooKeeper for one broker."""
    return {
        "dataDir": str(storage),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "maxClientCnxns": "0",
        "tickTime": "2000",
        "admin.enableServer": "false",
    }


def render_properties(properties: Mapping[str, str]) -> str:
    """Format properties for Java, sorted, so that equal properties are equal bytes."""
    return "".join(
        f"{_escaped(name, key=True)}={_escaped(properties[name])}\n" for name in sorted(properties)
    )


def _escaped(text: str, *, key: bool = False) -> str:
    """Escape text for java.util.Properties: Latin-1, backslash escapes, leading spaces are preserved."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if key:
        for character in " :=#!":
            escaped = escaped.replace(character, f"\\{character}")
    elif escaped.startswith(" "):
        escaped = f"\\{escaped}"
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in escaped)
