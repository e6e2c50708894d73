"""The configuration of a local broker, as files that Kafka and ZooKeeper read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, QUICK_CONSUMER_GROUPS
from harness.targets.base.principals import principals_properties
from harness.targets.jars.resolved import release_of

KRAFT_SINCE: Final = (3, 3)
NODE_ID: Final = 1
"""Of a broker that is alone, and of the first of several."""
CONTROLLER_ID: Final = 100
"""Of the controller that a cluster of several brokers has beside them, so that any of them may go."""
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
"""There is nobody to hand over to, and trying takes seconds."""
_SEVERAL_WITH_CONTROLLER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "300",
}
"""How soon a broker that was killed is missed."""
_MISSED_BY_ZOOKEEPER: Final[Mapping[str, str]] = {"zookeeper.session.timeout.ms": "4000"}
"""How soon a broker without a network is missed: two ticks of ZooKeeper's, the least that it grants."""
_CONTROLLER_AT_ONCE: Final[Mapping[str, str]] = {"controller.quorum.append.linger.ms": "0"}
"""A broker has one request at a time with the controller, which would wait for others with each, for 25 ms.

Source: NodeToControllerChannelManagerImpl#buildNetworkClient (4.3.1), QuorumConfig (4.3.1).
"""
AFTER_KILL: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "200",
}
"""For a broker that is alone and was killed: it may not register anew before its former session is over."""
_ALONE_WITH_CONTROLLER: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "200",
}
"""A session as by default, and heartbeats ten times as often: a broker asks in one whether it may stop.

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
"""For a broker whose threads are paused, each with one request, until it is let go on."""
_GROUP_PROTOCOLS_SINCE: Final = (4, 0)
_SHARE_PREVIEW: Final = (4, 0)
_UNKNOWN: Final = (0, 0)
FEATURES: Final = frozenset({"group.version", "share.version", "streams.version"})
"""What scenarios set as they set properties (Capability.FEATURES), and clusters have at a level."""
_COORDINATOR_PREFIXES: Final = ("group.", "offset.", "offsets.", "unstable.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Free ports of the loopback interface."""

    broker: int
    controller: int
    """The KRaft controller's, or ZooKeeper's."""
    reserved_port: int | None = None
    """By which others reach the broker, if not directly (`harness.targets.kafka.network`)."""
    principals: int | None = None
    """Where the broker asks who connects; None where it need not know."""


def after_shutdown(version: str | None) -> Mapping[str, str]:
    """Return what a broker that is alone needs to come back soon after it was shut down.

    A controller of 4.0 refuses it (DUPLICATE_BROKER_REGISTRATION) until its former session is over, 9 s by
    default, as if it had been killed; measured on 4.0.2, and neither on 3.9.2 nor on 4.1.2. Others get back
    the session that they have by default: with the short one of a broker that was killed, a busy machine or
    a pause would have it fenced.
    """
    if version is None or not uses_kraft(version):
        return {}
    return (
        _SEVERAL_WITH_CONTROLLER
        if release_of(version) == _REMEMBERS_WHO_SHUT_DOWN
        else _ALONE_WITH_CONTROLLER
    )


def uses_kraft(version: str) -> bool:
    """Tell whether a version runs without ZooKeeper."""
    return release_of(version) >= KRAFT_SINCE


def chooses_features(version: str) -> bool:
    """Tell whether clusters of a version can have features at chosen levels; an unknown one is the newest."""
    return release_of(version) >= _GROUP_PROTOCOLS_SINCE or release_of(version) == _UNKNOWN


def features_of(broker_config: Mapping[str, str]) -> Mapping[str, str]:
    """Return the levels of features that a scenario asks for among its properties."""
    return {name: level for name, level in broker_config.items() if name in FEATURES}


def matters_to_a_coordinator(name: str) -> bool:
    """Tell whether a property's name is one of the group coordinator's."""
    return name.startswith(_COORDINATOR_PREFIXES)


def coordinator_properties(version: str, broker_config: Mapping[str, str]) -> dict[str, str]:
    """Return what a broker is told that its coordinator, or the scenario, cares about."""
    release = release_of(version)
    quick = {"group.coordinator.append.linger.ms": "0"} if release >= _LINGER_SINCE else {}
    consumers = QUICK_CONSUMER_GROUPS if release >= _GROUP_PROTOCOLS_SINCE else {}
    usual = {**quick, **consumers, **CONFORMANCE_CONFIG}
    if release == _SHARE_PREVIEW:
        # There it would bring half of a preview: a coordinator, and no API.
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

    A scenario may set anything but where the broker listens and stores.
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

    Since 3.9 it tells brokers where to reach it (KIP-853); before, they go where they were told at first.
    """
    tells = reserved_port is not None and release_of(version) >= _CONTROLLER_TELLS_SINCE
    advertised = {"advertised.listeners": f"CONTROLLER://{HOST}:{reserved_port}"} if tells else {}
    return {
        **advertised,
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
    """Write properties in Java's format, sorted, so that equal ones are equal bytes."""
    return "".join(
        f"{_escaped(name, key=True)}={_escaped(properties[name])}\n" for name in sorted(properties)
    )


def _escaped(text: str, *, key: bool = False) -> str:
    """Escape as java.util.Properties reads it: Latin-1, backslash escapes, no leading blank lost."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if key:
        for character in " :=#!":
            escaped = escaped.replace(character, f"\\{character}")
    elif escaped.startswith(" "):
        escaped = f"\\{escaped}"
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in escaped)
