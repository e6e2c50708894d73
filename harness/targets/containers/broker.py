"""A broker, or a cluster of brokers, in containers that the harness started."""

from typing import Final

from typing_extensions import override

from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.prepare import await_serving
from harness.targets.base.tcp import asking
from harness.targets.containers.node import ContainerNode
from harness.targets.kafka.controlled import KafkaBroker

_COME_BACK_TIMEOUT_MS: Final = 120_000.0


class ContainerBroker(KafkaBroker[ContainerNode]):
    """A broker, or a cluster of brokers, in containers that the harness started."""

    @override
    async def _await_serving(self, node: ContainerNode) -> None:
        async with asking(*node.address) as session:
            await await_serving(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=_COME_BACK_TIMEOUT_MS,
                failure=self._nodes.failure,
            )
