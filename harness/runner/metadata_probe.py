"""How the runner finds out that a coordinator has seen all metadata so far.

A broker publishes one image of the metadata after the other, on one thread. First the image is in its cache,
from which DescribeConfigs answers. Then the configurations of groups are in force. Then a change of the image
waits in the queue of each coordinator shard, and every request that comes later is behind it. So what can be
seen of an image in the cache proves nothing of that image. It proves that the image before was published to
the end.

The probe therefore changes the configuration of a group that nobody uses, twice. It waits until the cache
has the first change before it asks for the second one, so that each has an image of its own. What was changed
before the probe is in the first image at the latest. When the cache has the second change, the first image
was published to the end. No group takes part in this, and none is changed by it.

The reference publishes a change before it answers, so there each request of the probe is asked once.

Source: BrokerMetadataPublisher#onMetadataUpdate, ConfigHelper#describeConfigs,
EventAccumulator#addLast (4.0.2, 4.3.1, 4.4.0), CoordinatorRuntime#onNewMetadataImage (4.0.2),
CoordinatorRuntime#onMetadataUpdate (4.3.1, 4.4.0).
"""

from collections.abc import Mapping
from typing import Final

from harness.scenario.ask_cluster import described_group_configs, group_configs
from harness.scenario.expect import group_configs as configured
from harness.scenario.messages import Request
from harness.scenario.metadata_wait import AwaitMetadata
from harness.scenario.script import Repeat
from harness.scenario.values import Pattern

_CONFIG: Final = "consumer.heartbeat.interval.ms"
_VALUES: Final = ("5001", "5002")
"""Two values that every release takes with Kafka's default bounds; a change to the same value is none."""
UNCONFIGURED_MS: Final = 500
"""How long is waited instead on a broker of others where the run may not configure its groups."""
_EVERY_MS: Final = 20
_WITHIN_MS: Final = 10_000


class MetadataUnseenError(Exception):
    """A broker did not show a change of its metadata in time."""

    def __init__(self, probe: Repeat) -> None:
        super().__init__(f"{probe.api} did not show a change of metadata within {probe.within_ms} ms")


def probes(step: AwaitMetadata) -> tuple[Repeat, ...]:
    """Return the requests of the probe, each with the answer that ends it, in their order."""
    found: list[Repeat] = []
    for value in _VALUES:
        change = group_configs({_CONFIG: value}, group=step.group)
        found.append(_probe(step, change, configured(error_code="NONE").fields))
        seen: Mapping[str, Pattern] = {"results": ({"configs": ({"value": value},)},)}
        found.append(_probe(step, described_group_configs(_CONFIG, group=step.group), seen))
    return tuple(found)


def _probe(step: AwaitMetadata, request: Request, until: Mapping[str, Pattern]) -> Repeat:
    return Repeat(
        actor=step.actor,
        connection=step.connection,
        api=request.api,
        api_version=request.version,
        fields=request.fields,  # type: ignore[arg-type] # it names nothing that is an actor's own
        until=until,
        every_ms=_EVERY_MS,
        within_ms=_WITHIN_MS,
    )
