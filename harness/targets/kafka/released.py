"""`kafka:VERSION`: a released version of Apache Kafka in a local JVM."""

from collections.abc import Mapping
from typing import Final, Unpack

from typing_extensions import override

from harness.targets.base.interface import Broker, BrokerAction, Capability, Launch, Progress, Target
from harness.targets.jars.resolved import LATEST, kafka_jars
from harness.targets.kafka.local import START_TIMEOUT_MS, LocalPlan, local_capabilities, start_local
from harness.targets.kafka.properties import uses_kraft
from harness.targets.runtimes.java import JavaUse, java_for

JAVA_SUFFIX: Final = "+java"
"""Suffix of a version: run the Java coordinator, where the Scala one is the default."""
JAVA_BY_CHOICE: Final = ((3, 7), (3, 9))
"""The first and the last release with a choice of coordinators."""
_JAVA_CONFIG: Final[Mapping[str, str]] = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.coordinator.append.linger.ms": "0",
}
"""Makes a broker use the Java coordinator (KIP-848), and write without a linger."""


class KafkaTarget(Target):
    """A released version of Apache Kafka."""

    def __init__(
        self,
        version: str,
        *,
        profile: str | None = None,
        start_timeout_ms: float = START_TIMEOUT_MS,
        java_coordinator: bool = False,
        node_count: int = 1,
    ) -> None:
        self._version = version
        self._java_coordinator = java_coordinator
        self._node_count = node_count
        self._profile = profile
        self._start_timeout_ms = start_timeout_ms

    @property
    @override
    def spec(self) -> str:
        brokers = f"*{self._node_count}" if self._node_count > 1 else ""
        return f"kafka:{self._version}{JAVA_SUFFIX if self._java_coordinator else ''}{brokers}"

    @property
    @override
    def name(self) -> str:
        brokers = f"-x{self._node_count}" if self._node_count > 1 else ""
        return f"kafka-{self._version}{'-java' if self._java_coordinator else ''}{brokers}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return local_capabilities(
            self._version, java_coordinator=self._java_coordinator, node_count=self._node_count
        )

    @property
    @override
    def foreseen_profile(self) -> str | None:
        if self._profile is not None or self._version == LATEST:
            return self._profile
        return f"{self._version}{'-java' if self._java_coordinator else ''}"

    @property
    @override
    def process_count(self) -> int:
        is_kraft = self._version == LATEST or uses_kraft(self._version)
        has_keeper = self._node_count > 1 or not is_kraft
        return self._node_count + has_keeper

    @override
    async def fetch(self, progress: Progress) -> None:
        java_for(JavaUse.BROKER)  # before a download that would be in vain
        await kafka_jars(self._version, progress)

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        java_for(JavaUse.BROKER)
        jars = await kafka_jars(self._version, launch["progress"])
        which = ", Java coordinator" if self._java_coordinator else ""
        where = "local JVM" if self._node_count == 1 else f"{self._node_count} brokers in local JVMs"
        plan = LocalPlan(
            spec=self.spec,
            profile=self._profile or f"{jars.version}{'-java' if self._java_coordinator else ''}",
            implementation=f"Apache Kafka {jars.version} ({where}{which})",
            jars=jars,
            broker_config={**(_JAVA_CONFIG if self._java_coordinator else {}), **launch["broker_config"]},
            start_timeout_ms=self._start_timeout_ms,
            java_coordinator=self._java_coordinator,
            breakpoints=frozenset(launch.get("breakpoints", ())),
            has_reserved_ports=BrokerAction.DISCONNECT in launch.get("broker_actions", ()),
            node_count=self._node_count,
        )
        return await start_local(plan, directory=launch["directory"], progress=launch["progress"])
