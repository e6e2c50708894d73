"""`kafka:VERSION`: a released version of Apache Kafka in a local JVM."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base import Broker, Capability, Progress, Target
from harness.targets.jars import kafka_jars
from harness.targets.local import START_TIMEOUT_MS, LocalPlan, start_local

JAVA_SUFFIX: Final = "+java"
"""Behind a version: with the Java coordinator, where the Scala one is the default."""
JAVA_BY_CHOICE: Final = ((3, 7), (3, 9))
"""The first and the last release in which the coordinator is a choice."""
_JAVA_CONFIG: Final[Mapping[str, str]] = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.coordinator.append.linger.ms": "0",
}
"""What makes a broker choose the Java coordinator (KIP-848), and not wait for more to write together."""


class KafkaTarget(Target):
    """A released version of Apache Kafka."""

    def __init__(
        self,
        version: str,
        *,
        profile: str | None = None,
        start_timeout_ms: float = START_TIMEOUT_MS,
        java_coordinator: bool = False,
    ) -> None:
        self._version = version
        self._java_coordinator = java_coordinator
        self._profile = profile
        self._start_timeout_ms = start_timeout_ms

    @property
    @override
    def spec(self) -> str:
        return f"kafka:{self._version}{JAVA_SUFFIX if self._java_coordinator else ''}"

    @property
    @override
    def name(self) -> str:
        return f"kafka-{self._version}{'-java' if self._java_coordinator else ''}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.BROKER_CONFIG})

    @override
    async def start(self, *, broker_config: Mapping[str, str], directory: Path, progress: Progress) -> Broker:
        jars = await kafka_jars(self._version, progress)
        which = ", Java coordinator" if self._java_coordinator else ""
        plan = LocalPlan(
            spec=self.spec,
            profile=self._profile or f"{jars.version}{'-java' if self._java_coordinator else ''}",
            implementation=f"Apache Kafka {jars.version} (local JVM{which})",
            jars=jars,
            broker_config={**(_JAVA_CONFIG if self._java_coordinator else {}), **broker_config},
            start_timeout_ms=self._start_timeout_ms,
        )
        return await start_local(plan, directory=directory, progress=progress)
