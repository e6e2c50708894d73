"""`kafka:VERSION`: a released version of Apache Kafka in a local JVM."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from harness.targets.base import Broker, Capability, Progress, Target
from harness.targets.jars import kafka_jars
from harness.targets.local import START_TIMEOUT_MS, LocalPlan, start_local


class KafkaTarget(Target):
    """A released version of Apache Kafka."""

    def __init__(
        self, version: str, *, profile: str | None = None, start_timeout_ms: float = START_TIMEOUT_MS
    ) -> None:
        self._version = version
        self._profile = profile
        self._start_timeout_ms = start_timeout_ms

    @property
    @override
    def spec(self) -> str:
        return f"kafka:{self._version}"

    @property
    @override
    def name(self) -> str:
        return f"kafka-{self._version}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.BROKER_CONFIG})

    @override
    async def start(self, *, broker_config: Mapping[str, str], directory: Path, progress: Progress) -> Broker:
        jars = await kafka_jars(self._version, progress)
        plan = LocalPlan(
            spec=self.spec,
            profile=self._profile or jars.version,
            implementation=f"Apache Kafka {jars.version} (local JVM)",
            jars=jars,
            broker_config=broker_config,
            start_timeout_ms=self._start_timeout_ms,
        )
        return await start_local(plan, directory=directory, progress=progress)
