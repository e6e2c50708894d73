"""The settings of a share group: its own configuration, with its broker's as the default."""

import re
from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

_BY_DURATION: Final = "by_duration:"
_WITH_DEAD_LETTERS: Final = 2
"""Source: ShareVersion#supportsShareGroupDLQ (4.4.0)."""
_DURATION: Final = re.compile(
    r"(?i)P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+)(?:\.\d*)?S)?)?"
)
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


@value
class ShareSettings:
    """The effective settings of a group. Source: ShareGroupConfigProvider, GroupConfig (4.3.1)."""

    offset_reset: str
    """Where a group starts: `earliest`, `latest`, or `by_duration:` followed by an ISO 8601 duration."""
    is_committed: bool
    record_lock_duration_ms: int
    delivery_count_limit: int
    max_record_locks: int
    may_renew: bool
    dead_letter_topic: str = ""
    """The topic for records that are rejected or delivered for the last time; empty if there is none."""
    copies_dead_letters: bool = False
    """Whether it gets their keys and values, too."""
    has_dead_letters: bool = False
    """Whether such records wait until they are in the topic."""

    @property
    def begins_ago_ms(self) -> Millis | None:
        """The duration of `by_duration:`, or None for another reset. Source: Duration#parse."""
        if not self.offset_reset.startswith(_BY_DURATION):
            return None
        parsed = _DURATION.fullmatch(self.offset_reset.removeprefix(_BY_DURATION))
        parts = {} if parsed is None else parsed.groupdict(default="0")
        return Millis(1_000 * sum(_SECONDS[unit] * int(number) for unit, number in parts.items()))


def share_settings(
    configs: Mapping[str, str], config: GroupCoordinatorConfig, profile: Profile
) -> ShareSettings:
    """Return the effective settings of a group from its own configuration, by name, and its broker's.

    Source: SharePartition#isDLQEnabledForGroup (4.4.0), for dead letters.
    """
    dead_letter_topic = configs.get("errors.deadletterqueue.topic.name", "")
    is_enabled = profile.has(Behaviour.SHARE_DEAD_LETTERS) and config.share_version >= _WITH_DEAD_LETTERS

    def number(name: str, otherwise: int) -> int:
        return int(configs.get(name, otherwise))

    return ShareSettings(
        offset_reset=configs.get("share.auto.offset.reset", "latest"),
        is_committed=configs.get("share.isolation.level") == "read_committed",
        record_lock_duration_ms=number(
            "share.record.lock.duration.ms", config.group_share_record_lock_duration_ms
        ),
        delivery_count_limit=number("share.delivery.count.limit", config.group_share_delivery_count_limit),
        max_record_locks=number(
            "share.partition.max.record.locks", config.group_share_partition_max_record_locks
        ),
        may_renew=configs.get("share.renew.acknowledge.enable", "true") == "true",
        dead_letter_topic=dead_letter_topic,
        copies_dead_letters=configs.get("errors.deadletterqueue.copy.record.enable") == "true",
        has_dead_letters=is_enabled and bool(dead_letter_topic),
    )
