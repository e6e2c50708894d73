"""Whether a script can be run on a broker at all."""

from collections.abc import Collection
from typing import Final

from harness.runner.harmless import why_not_harmless
from harness.runner.placing import why_not_placeable
from harness.scenario.metadata_wait import AwaitMetadata
from harness.scenario.script import Script
from harness.targets.base.interface import BrokerDescription, Capability
from harness.targets.external.run_namespace import RunNamespace
from harness.wire.schema import api_key, has_version

OF_CONSUMER_GROUPS: Final = frozenset({"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"})
_CONSUMER_HEARTBEAT: Final = api_key("ConsumerGroupHeartbeat")
_CONSUMER_GROUPS_SINCE: Final = 1
"""The version of ConsumerGroupHeartbeat in the first release of the protocol for general use.

Source: ConsumerGroupHeartbeatRequest.json (4.0.0), KIP-848.
"""


def why_not_applicable(
    script: Script,
    capabilities: Collection[Capability],
    description: BrokerDescription,
    *,
    run_namespace: RunNamespace | None = None,
) -> str | None:
    """Return why a script cannot be run on a broker, naming what is missing, or None if it can.

    Args:
        script: the script to run.
        capabilities: the target's capabilities.
        description: describes the broker.
        run_namespace: what the run may use and touch, if the broker is external.
    """
    lacking = [name for name in script.needs if Capability(name) not in capabilities]
    if lacking:
        return f"{description.spec} lacks the capability {', '.join(lacking)}"
    return (
        why_not_served(script, description)
        or _other_config(script, description)
        or why_not_placeable(script, description)
        or (None if run_namespace is None else why_not_harmless(script, run_namespace))
    )


def has_consumer_groups(description: BrokerDescription) -> bool:
    """Return whether a broker serves consumer groups as since Kafka 4.0."""
    return any(
        each.api_key == _CONSUMER_HEARTBEAT and each.max_version >= _CONSUMER_GROUPS_SINCE
        for each in description.api_ranges
    )


def why_not_served(script: Script, description: BrokerDescription) -> str | None:
    """Return why a broker does not serve a script's requests, or None if it serves all of them."""
    ranges = {item.api_key: item for item in description.api_ranges}
    is_before = not has_consumer_groups(description)
    if is_before and any(isinstance(step, AwaitMetadata) for step in script.steps):
        return f"{description.spec} is of before Kafka 4.0: it has no configurations of groups to wait by"
    if is_before and _CONSUMER_HEARTBEAT in ranges and OF_CONSUMER_GROUPS.intersection(script.apis):
        return f"{description.spec} serves an early form of consumer groups, of before Kafka 4.0"
    for api, version in script.api_versions:
        served = ranges.get(api_key(api))
        if served is None:
            return f"{description.spec} does not serve {api}"
        if not served.min_version <= version <= served.max_version:
            return (
                f"{description.spec} serves {api} v{served.min_version} to v{served.max_version}, "
                f"not v{version}"
            )
        if not has_version(api, version):
            return f"the codec (kio) does not know {api} v{version}"
    return None


def _other_config(script: Script, description: BrokerDescription) -> str | None:
    for name, value in script.broker_config.items():
        actual = description.broker_config.get(name)
        if actual != value:
            reported = "unknown" if actual is None else actual
            return f"needs {name}={value}; on {description.spec} it is {reported}"
    return None
