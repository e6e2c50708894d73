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
    **{
        f"group.{kind}.{least}{name}": value
        for kind in ("consumer", "share", "streams")
        for name, value in (
            ("heartbeat.interval.ms", "500"),
            ("session.timeout.ms", str(CONSUMER_SESSION_MS)),
        )
        for least in ("min.", "")
    },
    "group.share.min.record.lock.duration.ms": "1000",
}
"""In all protocols but the classic brokers decide how quick a group is."""
SHARE_MIN: Final = (4, 1)
"""The first release with share groups as they stayed."""
_KINDS: Final[Mapping[GroupProtocol, tuple[str, tuple[int, int], str]]] = {
    GroupProtocol.CONSUMER: ("consumer groups", (4, 0), "KIP-848"),
    GroupProtocol.SHARE: ("share groups", SHARE_MIN, "KIP-932"),
    GroupProtocol.STREAMS: ("streams groups", (4, 2), "KIP-1071"),
}
"""What a protocol's groups are called, the first release that has them as they stayed, and their proposal."""


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
    if release_of(profile) < script.since:
        lacking.append(f"{target.spec} is of Kafka {profile}, which does not do this")
    if script.protocol in _KINDS:
        lacking += _lacks_for_groups(script, target, profile)
    return "; ".join(lacking) or None


def _lacks_for_groups(script: ClientScript, target: Target, profile: str) -> Iterator[str]:
    groups, first, source = _KINDS[script.protocol]
    if release_of(profile) < first:
        yield f"{target.spec} is of Kafka {profile}, where {groups} are missing or a preview ({source})"
    elif script.waits_for_session and Capability.BROKER_CONFIG not in target.capabilities:
        yield f"the session timeout of {groups} on {target.spec} is not ours to choose"
