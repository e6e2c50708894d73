"""What brokers of ours are told for client scripts, and why a script cannot be carried out somewhere."""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.clients.libraries import ClientLibrary
from harness.clients.steps import CONSUMER_SESSION_MS, ClientScript, GroupProtocol
from harness.targets.base.interface import Capability, Target
from harness.targets.jars.resolved import release_of

BROKER_CONFIG: Final[Mapping[str, str]] = {"offsets.topic.num.partitions": "8"}
"""Groups are to be spread over partitions, as they are in earnest."""
CONSUMER_CONFIG: Final[Mapping[str, str]] = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": str(CONSUMER_SESSION_MS),
    "group.consumer.session.timeout.ms": str(CONSUMER_SESSION_MS),
}
"""In the consumer protocol brokers decide how quick a group is."""
_CONSUMER_MIN: Final = (4, 0)
"""The first release whose consumer groups are more than a preview."""


def config_for(target: Target) -> Mapping[str, str]:
    """Return what a target's brokers are told: nothing where they run already.

    Who coordinates in a cluster is known by the one partition that its groups have.
    """
    if Capability.BROKER_CONFIG not in target.capabilities:
        return {}
    spread = {} if Capability.CLUSTER in target.capabilities else BROKER_CONFIG
    return {**spread, **CONSUMER_CONFIG}


def why_not(script: ClientScript, library: ClientLibrary, target: Target, profile: str) -> str | None:
    """Say why a script cannot be carried out with a library on a target of a profile; None if it can."""
    lacking = [library.lacks[feature] for feature in script.uses if feature in library.lacks]
    lacking += [
        f"{target.spec} has no {action.needs}"
        for action in dict.fromkeys(script.broker_actions)
        if action.needs not in target.capabilities
    ]
    if script.protocol is GroupProtocol.CONSUMER:
        lacking += _lacks_for_consumer_groups(script, target, profile)
    return "; ".join(lacking) or None


def _lacks_for_consumer_groups(script: ClientScript, target: Target, profile: str) -> Iterator[str]:
    if release_of(profile) < _CONSUMER_MIN:
        yield f"{target.spec} is of Kafka {profile}, where consumer groups are missing or a preview (KIP-848)"
    elif script.waits_for_session and Capability.BROKER_CONFIG not in target.capabilities:
        yield f"the session timeout of consumer groups on {target.spec} is not ours to choose"
