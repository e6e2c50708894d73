"""The client libraries that scripts run with, and the features that each of them lacks."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Final

from harness.clients.steps import Feature, GroupProtocol

_NO_STREAMS: Final = "only Java has Kafka Streams"
_MEMBER_IDS: Final = (
    "Kafka 4.1 cannot read a member id with + or /, and librdkafka 2.16.0 makes such an id half of the time: "
    "the member is delivered nothing (Uuid#fromString)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLibrary:
    """A client library; it is not loaded here."""

    name: str
    version: str
    command: tuple[str, ...]
    """The command that starts a client; its settings are appended as JSON."""
    lacks: Mapping[Feature, str] = field(default_factory=dict)
    """The features that it lacks, each with the reason."""
    needs: Mapping[GroupProtocol, tuple[tuple[int, int], str]] = field(default_factory=dict)
    """The first release with which a protocol works, where the protocol is older, each with the reason."""


def _of_python(
    name: str,
    implementation: str,
    lacks: Mapping[Feature, str],
    needs: Mapping[GroupProtocol, tuple[tuple[int, int], str]] | None = None,
) -> ClientLibrary:
    command = (sys.executable, "-m", "harness.clients.apps", f"harness.clients.apps.{implementation}")
    return ClientLibrary(name=name, version=_version(name), command=command, lacks=lacks, needs=needs or {})


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


LIBRARIES: Final[Mapping[str, ClientLibrary]] = MappingProxyType(
    {
        each.name: each
        for each in (
            _of_python(
                "kafka-python",
                "kafka_python:KafkaPython",
                {
                    Feature.CONSUMER_PROTOCOL: "kafka-python 3.0.12 knows classic groups only: it has no "
                    "group.protocol",
                    **dict.fromkeys(
                        (Feature.SHARE_GROUPS, Feature.SHARE_ADMIN), "kafka-python 3.0.12 has no share groups"
                    ),
                    Feature.STREAMS_GROUPS: _NO_STREAMS,
                    Feature.GROWTH: "kafka-python 3.0.12 forgets a join that it began because topics had "
                    "grown, if that outlasts its poll() (ConsumerCoordinator.need_rejoin)",
                    Feature.OUTLIVING: "kafka-python 3.0.12 forgets to end a transaction if it cannot "
                    "connect to the coordinator that it knows (Sender._maybe_send_pending_request)",
                    Feature.UNEQUAL_ROUND_ROBIN: "kafka-python 3.0.12's round robin fails where "
                    "subscriptions differ: RoundRobinPartitionAssignor.assign takes a pair of ids for an id",
                },
            ),
            _of_python(
                "confluent-kafka",
                "librdkafka:Librdkafka",
                {
                    Feature.SHARE_ADMIN: "confluent-kafka 2.16.1 cannot describe or rewind a share group",
                    Feature.STREAMS_GROUPS: _NO_STREAMS,
                    Feature.NEXT_TRANSACTION: "librdkafka 2.16.0 waits for ever for a coordinator that it "
                    "has given up itself (librdkafka#5511), and regards no timeout then (librdkafka#5456)",
                    Feature.STICKY: "librdkafka has the sticky assignor in its cooperative form alone",
                    Feature.REFUSES_MIXING: "librdkafka lets the later of subscribe() and assign() win",
                },
                {
                    GroupProtocol.SHARE: (
                        (4, 2),
                        _MEMBER_IDS,
                    )
                },
            ),
        )
    }
)
"""The libraries for this Python, which the extra `clients` installs, by name; Java's is not included."""
