"""The client libraries that scripts are carried out with, and what each of them lacks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

from harness.clients.steps import Feature


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLibrary:
    """A client library, without its being imported."""

    name: str
    implementation: str
    """Where its adapter is: `module:class`."""
    lacks: Mapping[Feature, str] = field(default_factory=dict)
    """What it cannot do, each with what it does instead."""

    @property
    def version(self) -> str:
        """The installed version."""
        return version(self.name)


LIBRARIES: Final[Mapping[str, ClientLibrary]] = MappingProxyType(
    {
        each.name: each
        for each in (
            ClientLibrary(
                name="kafka-python",
                implementation="harness.clients.apps.kafka_python:KafkaPython",
                lacks={
                    Feature.GROWTH: "kafka-python 3.0.12 forgets a join that it began because topics had "
                    "grown, if that outlasts its poll() (ConsumerCoordinator.need_rejoin)",
                    Feature.UNEQUAL_ROUND_ROBIN: "kafka-python 3.0.12's round robin fails where "
                    "subscriptions differ: RoundRobinPartitionAssignor.assign takes a pair of ids for an id",
                },
            ),
            ClientLibrary(
                name="confluent-kafka",
                implementation="harness.clients.apps.librdkafka:Librdkafka",
                lacks={
                    Feature.STICKY: "librdkafka has the sticky assignor in its cooperative form alone",
                    Feature.REFUSES_MIXING: "librdkafka lets the later of subscribe() and assign() win",
                },
            ),
        )
    }
)
"""By name."""
