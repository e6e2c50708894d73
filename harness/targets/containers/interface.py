"""How brokers are configured in the images of each maker.

A broker in a container listens on the port that this machine publishes, so its advertised address is valid
inside and outside. The brokers of a cluster reach each other by name, on listeners of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.containers.image import ImageName, Make
from harness.targets.kafka.properties import (
    CONTROLLER_ID,
    HOST,
    Ports,
    broker_properties,
    controller_properties,
    uses_kraft,
)

_INTERNAL_PORT: Final = 19000
_CONTROLLER_PORT: Final = 19001
_OWN_ZOOKEEPER: Final = "localhost:2181"
"""The ZooKeeper that locally built images start beside a broker that needs one."""
_DATA: Final = Path("/var/lib/kafka/data")
"""A volume of Kafka's images."""
_JVM: Final[Mapping[str, str]] = {
    "KAFKA_HEAP_OPTS": "-Xmx256m",
    "KAFKA_JVM_PERFORMANCE_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    "-XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true",
}
"""With these, a broker that lives for seconds starts faster and answers as fast."""
_REDPANDA_CONFIG: Final = "/etc/redpanda/.bootstrap.yaml"
_REDPANDA_NAMES: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "group_initial_rebalance_delay",
    "group.min.session.timeout.ms": "group_min_session_timeout_ms",
    "offsets.topic.num.partitions": "group_topic_partitions",
}
"""Redpanda's names for the properties of `CONFORMANCE_CONFIG`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The role of one container's node in its cluster."""

    node_id: int
    """`CONTROLLER_ID` for the separate controller of several brokers."""
    broker_count: int
    port: int | None
    """A broker's port, both on this machine's loopback interface and in the container; else None."""
    cluster_id: str
    broker_config: Mapping[str, str]

    @property
    def host(self) -> str:
        """The host name of the node in the cluster's network."""
        return _host(self.node_id)

    @property
    def is_alone(self) -> bool:
        """Whether the node is a single broker that is its own controller."""
        return self.broker_count == 1


def _host(node_id: int) -> str:
    return "controller" if node_id == CONTROLLER_ID else f"broker-{node_id}"


_VOTERS: Final = {"controller.quorum.voters": f"{CONTROLLER_ID}@{_host(CONTROLLER_ID)}:{_CONTROLLER_PORT}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The settings of a container."""

    environment: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()
    """Replaces the image's own command, unless it is empty."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are copied into the container before it starts, by their paths."""


def recipe(image: ImageName, node: Membership) -> Recipe:
    """Return the settings that make an image's container the node of a cluster."""
    match image.make:
        case Make.APACHE | Make.CONFLUENT:
            return _kafka(image.kafka_version or "", node)
        case Make.REDPANDA:
            return _redpanda(node)


def environment_name(name: str) -> str:
    """Return the variable that sets a property. Source: KafkaDockerWrapper#getServerConfigsFromEnv (3.9.2).

    Confluent's images use the same names.
    """
    return "KAFKA_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _kafka(version: str, node: Membership) -> Recipe:
    properties = _broker(version, node) if node.port is not None else _controller(version, node)
    variables = {environment_name(name): value for name, value in properties.items()}
    return Recipe(environment={**_JVM, **variables, "CLUSTER_ID": node.cluster_id})


def _broker(version: str, node: Membership) -> dict[str, str]:
    assert node.port is not None, "a broker is reached from outside"
    ports = Ports(broker=node.port, controller=_CONTROLLER_PORT)
    properties = broker_properties(
        version,
        node.broker_config,
        ports=ports,
        storage=_DATA,
        node_id=node.node_id,
        node_count=node.broker_count,
    )
    if not uses_kraft(version):
        here = {"listeners": f"PLAINTEXT://0.0.0.0:{node.port}", "zookeeper.connect": _OWN_ZOOKEEPER}
        return {**properties, **here}
    listeners = {"PLAINTEXT": f"0.0.0.0:{node.port}"}
    advertised = {"PLAINTEXT": f"{HOST}:{node.port}"}
    if node.is_alone:
        listeners["CONTROLLER"] = f"{HOST}:{_CONTROLLER_PORT}"
        return {**properties, **_network(listeners, advertised)}
    listeners["INTERNAL"] = f"0.0.0.0:{_INTERNAL_PORT}"
    advertised["INTERNAL"] = f"{node.host}:{_INTERNAL_PORT}"
    return {**properties, **_network(listeners, advertised), **_VOTERS}


def _controller(version: str, node: Membership) -> dict[str, str]:
    properties = controller_properties(
        version, port=_CONTROLLER_PORT, storage=_DATA, node_count=node.broker_count
    )
    listeners = {"CONTROLLER": f"0.0.0.0:{_CONTROLLER_PORT}"}
    return {**properties, "listeners": _addresses(listeners), **_VOTERS}


def _network(listeners: Mapping[str, str], advertised: dict[str, str]) -> dict[str, str]:
    """Return the listener properties of a broker; brokers use the last advertised listener among them."""
    return {
        "listeners": _addresses(listeners),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": next(reversed(advertised)),
    }


def _addresses(by_name: Mapping[str, str]) -> str:
    return ",".join(f"{name}://{address}" for name, address in by_name.items())


def _redpanda(node: Membership) -> Recipe:
    """Return the command line of a broker that shares its machine.

    Redpanda's cluster properties are not flags; they are read from a file at the first start.
    """
    own = f"{HOST}:{node.port}"
    flags = (
        *("redpanda", "start", "--mode", "dev-container", "--smp", "1", "--memory", "1G"),
        *("--kafka-addr", f"0.0.0.0:{node.port}", "--advertise-kafka-addr", own),
    )
    settings = {name: CONFORMANCE_CONFIG[kafkas] for kafkas, name in _REDPANDA_NAMES.items()}
    settings["auto_create_topics_enabled"] = "false"
    text = "".join(f"{name}: {value}\n" for name, value in settings.items())
    return Recipe(command=flags, files={_REDPANDA_CONFIG: text.encode()})
