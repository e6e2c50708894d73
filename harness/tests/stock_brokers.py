"""Kafka as others run it: with the settings of its release, but for replication factors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from harness.targets.base.prepare import await_serving
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.jars.resolved import kafka_jars, release_of
from harness.targets.kafka.local_nodes import LocalNodes, NodesPlan, start_nodes
from harness.targets.runtimes.java import JavaUse, java_for

_STOCK: Final = {
    "auto.create.topics.enable": "true",
    "background.threads": "10",
    "group.consumer.assignment.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
    "group.consumer.min.session.timeout.ms": "45000",
    "group.initial.rebalance.delay.ms": "3000",
    "group.min.session.timeout.ms": "6000",
    "log.cleaner.enable": "true",
    "num.io.threads": "8",
    "num.network.threads": "3",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    **dict.fromkeys(
        (
            "default.replication.factor",
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
        ),
        "1",
    ),
}
"""What the harness sets otherwise for brokers of its own. Source: Kafka's defaults, 2.8.2 to 4.4.0."""
_STOCK_BY_RELEASE: Final = {(4, 4): {"group.coordinator.append.linger.ms": "-1"}}
_START_TIMEOUT_MS: Final = 120_000.0


def _quiet(_: str) -> None:
    """Nobody is told of progress."""


@asynccontextmanager
async def stock_brokers(
    version: str, directory: Path, *, node_count: int = 1, settings: Mapping[str, str] | None = None
) -> AsyncIterator[LocalNodes]:
    """Run brokers of a release, with other settings where some are given; they end with the context."""
    jars = await kafka_jars(version, _quiet)
    plan = NodesPlan(
        java=java_for(JavaUse.BROKER),
        jars=jars,
        broker_config={**_STOCK, **_STOCK_BY_RELEASE.get(release_of(version), {}), **(settings or {})},
        node_count=node_count,
        code_points={},
    )
    nodes = LocalNodes(directory=directory, storage=directory / "storage")
    try:
        await start_nodes(nodes, plan, _quiet)
        for node in nodes.brokers.values():
            session = TcpSession(*node.address, connect_slots=new_connect_slots())
            await await_serving(session, topics={}, timeout_ms=_START_TIMEOUT_MS, failure=nodes.failure)
            await session.close()
        yield nodes
    finally:
        await nodes.end()
