"""The configuration of our brokers for client scripts, and reasons why a script cannot run on a target."""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.clients.libraries import ClientLibrary
from harness.clients.steps import CONSUMER_SESSION_MS, ClientScript, Feature, GroupProtocol
from harness.targets.base.interface import Capability, Target
from harness.targets.jars.resolved import release_of

BROKER_CONFIG: Final[Mapping[str, str]] = {"offsets.topic.num.partitions": "8"}
"""Several partitions, so that groups are spread over them as in production."""
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
"""Short intervals: in all protocols but the classic one, brokers decide how quick a group is."""
SHARE_MIN: Final = (4, 1)
"""The first release with share groups in their final form."""
_KINDS: Final[Mapping[GroupProtocol, tuple[str, tuple[int, int], str]]] = {
    GroupProtocol.CONSUMER: ("consumer groups", (4, 0), "KIP-848"),
    GroupProtocol.SHARE: ("share groups", SHARE_MIN, "KIP-932"),
    GroupProtocol.STREAMS: ("streams groups", (4, 2), "KIP-1071"),
}
"""The name of a protocol's groups, the first release with their final form, and their KIP."""


def config_for(target: Target) -> Mapping[str, str]:
    """Return the configuration for a target's brokers; empty if they run already.

    In a cluster, all groups are in one partition, which identifies the coordinator.
    """
    if Capability.BROKER_CONFIG not in target.capabilities:
        return {}
    spread = {} if Capability.CLUSTER in target.capabilities else BROKER_CONFIG
    return {**spread, **CONSUMER_CONFIG}


def why_not(script: ClientScript, library: ClientLibrary, target: Target, profile: str) -> str | None:
    """Return why a script cannot run with a library on a target with a profile; None if it can."""
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
    lacking += _lacks_with(library, script.protocol, profile)
    return "; ".join(lacking) or None


def _lacks_for_groups(script: ClientScript, target: Target, profile: str) -> Iterator[str]:
    groups, first, source = _KINDS[script.protocol]
    if release_of(profile) < first:
        yield f"{target.spec} is of Kafka {profile}, where {groups} are missing or a preview ({source})"
    elif script.waits_for_session and Capability.BROKER_CONFIG not in target.capabilities:
        yield f"the session timeout of {groups} on {target.spec} is not ours to choose"


def has_share_groups(library: ClientLibrary, profile: str) -> bool:
    """Return whether a library and a target with a profile have share groups with each other."""
    is_there = Feature.SHARE_GROUPS not in library.lacks and release_of(profile) >= SHARE_MIN
    return is_there and not any(_lacks_with(library, GroupProtocol.SHARE, profile))


def _lacks_with(library: ClientLibrary, protocol: GroupProtocol, profile: str) -> Iterator[str]:
    first, why = library.needs.get(protocol, ((0, 0), ""))
    if release_of(profile) < first:
        yield why
