"""The settings of a broker that runs already: what it reports, and what is assumed where it reports nothing.

This is the only place that decides. The reference, the choice of scenarios, and the steps before a scenario's
own all use the result. A statement of the user wins, even over what the broker reports. Then count, in this
order: the configuration that it describes, its finalized features, the APIs that it serves, and Kafka's
defaults in the release that it is compared with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.targets.base.interface import ApiRange
from harness.targets.external.stated import Stated
from harness.targets.kafka.properties import FEATURES, matters_to_a_coordinator
from harness.targets.reference.profile import kafka_defaults, why_no_property
from harness.wire.schema import api_key

ASSUMED: Final = "assumed, since the broker does not report it: "
"""How the note begins that lists what was assumed."""
_NAMES_ALL: Final = "metadata.version"
"""A feature of each cluster of Kafka with KRaft; its levels are complete, so that one not named is 0."""
_FURTHER: Final = frozenset({"message.max.bytes"})
"""Properties of a broker that a coordinator uses, besides its own."""
_SHARE_HEARTBEAT: Final = (api_key("ShareGroupHeartbeat"), 1)
"""The first version that is not a preview. Source: ShareGroupHeartbeatRequest.json (4.1.0), KIP-932."""
_LISTS_GROUPS: Final = (api_key("ListConfigResources"), 1)
"""With it groups have configurations. Source: ListConfigResourcesRequest.json (4.1.0), KIP-1142."""
_INTERVALS: Final = tuple(f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams"))
"""Properties that each Kafka describes which has them, for a broker and for a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that a broker is taken to have.

    Attributes:
        config: all of them.
        assumed: those of them that the broker did not report.
    """

    config: Mapping[str, str]
    assumed: Mapping[str, str]


def settings_of(
    reported: Mapping[str, str],
    *,
    profile: str,
    stated: Stated,
    features: Mapping[str, int],
    api_ranges: Iterable[ApiRange],
) -> Settings:
    """Return a broker's settings.

    Args:
        reported: the configuration that it describes.
        profile: the reference's profile that it is compared with.
        stated: what the user states about it.
        features: the levels of its finalized features.
        api_ranges: the versions that it serves.

    Raises:
        TargetError: the reference has no such profile.
    """
    known = {
        **{name: value for name, value in sorted(reported.items()) if _matters(name)},
        **_levels(features),
    }
    defaults = kafka_defaults(profile)
    kept = {name: value for name, value in defaults.items() if _matters(name)}
    kept |= _shown(api_ranges, known, defaults)
    assumed = {name: value for name, value in kept.items() if name not in known} | dict(stated.assumed)
    return Settings(config={**known, **assumed}, assumed=assumed)


def noted(assumed: Mapping[str, str]) -> Sequence[str]:
    """Return the note that lists what was assumed, if anything was."""
    listed = ", ".join(f"{name}={value}" for name, value in sorted(assumed.items()))
    return [f"{ASSUMED}{listed}"] if assumed else []


def read_assumed(notes: Iterable[str]) -> Mapping[str, str]:
    """Return what was assumed about a broker, from the notes about it."""
    listed = [each.removeprefix(ASSUMED) for each in notes if each.startswith(ASSUMED)]
    pairs = (pair.partition("=") for each in listed for pair in each.split(", "))
    return {name: value for name, _, value in pairs}


def _matters(name: str) -> bool:
    return matters_to_a_coordinator(name) or name in _FURTHER


def _levels(features: Mapping[str, int]) -> Mapping[str, str]:
    absent = 0 if _NAMES_ALL in features else None
    levels = {name: features.get(name, absent) for name in sorted(FEATURES)}
    known = {name: str(level) for name, level in levels.items() if level is not None}
    # A later Kafka may have a level that the reference does not know.
    return {name: level for name, level in known.items() if why_no_property(name, level) is None}


def _shown(
    api_ranges: Iterable[ApiRange], known: Mapping[str, str], defaults: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the properties that the level of a feature shows or, without one, an API that is served.

    A broker that configures no groups, or describes others of its properties of groups, and no interval
    between assignments, computes them at once.
    """
    newest = {each.api_key: each.max_version for each in api_ranges}
    share, lists_groups = (newest.get(key, -1) >= since for key, since in (_SHARE_HEARTBEAT, _LISTS_GROUPS))
    level = known.get("share.version")
    shown = {"group.share.enable": "true"} if (share if level is None else level != "0") else {}
    may_wait = lists_groups and not any(name.startswith("group.") for name in known.keys() - FEATURES)
    return shown | ({} if may_wait else {name: "0" for name in _INTERVALS if name in defaults})
