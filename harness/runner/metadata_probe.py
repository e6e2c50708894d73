"""How the runner finds out that a coordinator has received all metadata so far.

A broker publishes metadata images one after another, on one thread. It first puts an image into its cache,
from which it answers DescribeConfigs. Then it applies the configurations of groups. Then it queues the change
of the image at each coordinator shard, ahead of every later request. So an image that is visible in the cache
may not be published completely. But the image before it is.

The probe therefore changes the configuration of an unused group twice. It waits until the cache has the first
change before it requests the second one, so that each change has its own image. All changes from before the
probe are in the first of these images, or in an earlier one. When the cache has the second change, the first
image was published completely. No group takes part in this, and none is changed by it.

The reference publishes a change before it answers, so each request of the probe is sent to it only once.

Source: BrokerMetadataPublisher#onMetadataUpdate, ConfigHelper#describeConfigs,
EventAccumulator#addLast (4.0.2, 4.3.1, 4.4.0), CoordinatorRuntime#onNewMetadataImage (4.0.2),
CoordinatorRuntime#onMetadataUpdate (4.3.1, 4.4.0).
"""

from collections.abc import Mapping
from typing import Final

from harness.scenario.ask_cluster import described_group_configs, group_configs
from harness.scenario.expect import group_configs as configured
from harness.scenario.messages import Request
from harness.scenario.script import AwaitMetadata, Repeat
from harness.scenario.values import Pattern

_CONFIG: Final = "consumer.heartbeat.interval.ms"
_VALUES: Final = ("5001", "5002")
"""Two values within Kafka's default bounds in every release; setting the same value changes nothing."""
UNCONFIGURED_MS: Final = 500
"""How long the runner waits instead on an external broker where it may not configure groups."""
_EVERY_MS: Final = 20
_WITHIN_MS: Final = 10_000


class MetadataUnseenError(Exception):
    """A broker did not show a change of its metadata in time."""

    def __init__(self, probe: Repeat) -> None:
        super().__init__(f"{probe.api} did not show a change of metadata within {probe.within_ms} ms")


def probes(step: AwaitMetadata) -> tuple[Repeat, ...]:
    """Return the requests of the probe in their order, each with the answer that ends it."""
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
