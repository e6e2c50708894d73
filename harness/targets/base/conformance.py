"""Configuration, principals and topics of every broker that the harness starts."""

from collections.abc import Mapping, Sequence
from typing import Final

CHECK_INTERVAL: Final = "offsets.retention.check.interval.ms"
"""The property for how often a broker looks for expired offsets, and removes Empty groups without any."""
_ONE_DAY_MS: Final = "86400000"
CONFORMANCE_CONFIG: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
    CHECK_INTERVAL: _ONE_DAY_MS,
}
"""Properties of every broker that the harness starts, for quick suites; a scenario's own override them.

After Kafka's default of ten minutes, a check would remove the Empty groups of whatever runs just then.
"""

QUICK_CONSUMER_GROUPS: Mapping[str, str] = {
    "group.share.enable": "true",
    "group.streams.initial.rebalance.delay.ms": "0",
    **{f"group.{each}.min.session.timeout.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.min.heartbeat.interval.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.assignment.interval.ms": "0" for each in ("consumer", "share", "streams")},
}
"""Further properties for brokers from 4.0 on; the interval has an effect from 4.3 on, `enable` in 4.1.

Releases ignore properties that they do not know.
"""

OF_CONFIGURED_GROUPS = "group.consumer.assignment.interval.ms"
"""A property of releases in which a single group can be configured with intervals of 0 (4.3).

Earlier releases list a group for ever once it has been configured.
"""

PRINCIPALS: Sequence[str] = ("ana", "bob", "carol", "dora")
"""Principals that may connect to a broker with an authorizer (Capability.PRINCIPALS)."""

CONFORMANCE_TOPICS: Mapping[str, int] = {"orders": 3, "payments": 2}
"""Topics, with their partition counts, that every broker has before the first scenario."""
