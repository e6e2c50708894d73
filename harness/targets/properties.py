"""The configuration of a local broker, as files that Kafka and ZooKeeper read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.targets.base import CONFORMANCE_CONFIG
from harness.targets.jars import release_of

KRAFT_SINCE: Final = (3, 3)
NODE_ID: Final = 1
HOST: Final = "127.0.0.1"
_BACKLOG_SINCE: Final = (3, 2)
_LINGER_SINCE: Final = (4, 0)
_SINGLE_NODE: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "auto.create.topics.enable": "false",
}
_LEAN: Final[Mapping[str, str]] = {
    "log.cleaner.enable": "false",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
}
_COORDINATOR_PREFIXES: Final = ("group.", "offset.", "offsets.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Free ports of the loopback interface."""

    broker: int
    controller: int
    """The KRaft controller's, or ZooKeeper's."""


def uses_kraft(version: str) -> bool:
    """Tell whether a version runs without ZooKeeper."""
    return release_of(version) >= KRAFT_SINCE


def matters_to_a_coordinator(name: str) -> bool:
    """Tell whether a property's name is one of the group coordinator's."""
    return name.startswith(_COORDINATOR_PREFIXES)


def coordinator_properties(version: str, broker_config: Mapping[str, str]) -> dict[str, str]:
    """Return what a broker is told that its coordinator, or the scenario, cares about."""
    release = release_of(version)
    quick = {"group.coordinator.append.linger.ms": "0"} if release >= _LINGER_SINCE else {}
    return {**quick, **CONFORMANCE_CONFIG, **broker_config}


def broker_properties(
    version: str, broker_config: Mapping[str, str], *, ports: Ports, storage: Path
) -> dict[str, str]:
    """Return the whole configuration of a single broker.

    A scenario may set anything but where the broker listens and stores.
    """
    backlog = {"socket.listen.backlog.size": "2000"} if release_of(version) >= _BACKLOG_SINCE else {}
    return {
        **_LEAN,
        **backlog,
        **_SINGLE_NODE,
        **coordinator_properties(version, broker_config),
        **(_kraft(ports) if uses_kraft(version) else _zookeeper(ports)),
        "log.dirs": str(storage),
    }


def _kraft(ports: Ports) -> dict[str, str]:
    plaintext = f"PLAINTEXT://{HOST}:{ports.broker}"
    return {
        "process.roles": "broker,controller",
        "node.id": str(NODE_ID),
        "controller.quorum.voters": f"{NODE_ID}@{HOST}:{ports.controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{plaintext},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": plaintext,
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _zookeeper(ports: Ports) -> dict[str, str]:
    plaintext = f"PLAINTEXT://{HOST}:{ports.broker}"
    return {
        "broker.id": str(NODE_ID),
        "zookeeper.connect": f"{HOST}:{ports.controller}",
        "zookeeper.connection.timeout.ms": "30000",
        "listeners": plaintext,
        "advertised.listeners": plaintext,
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
