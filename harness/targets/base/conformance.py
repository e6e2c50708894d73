"""What every broker that we start is told, and has."""

from collections.abc import Mapping, Sequence

CONFORMANCE_CONFIG: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
}
"""What every broker that we start is told, so that suites are quick; a scenario's own come on top."""

QUICK_CONSUMER_GROUPS: Mapping[str, str] = {
    "group.share.enable": "true",
    "group.streams.initial.rebalance.delay.ms": "0",
    **{f"group.{each}.min.session.timeout.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.min.heartbeat.interval.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.assignment.interval.ms": "0" for each in ("consumer", "share", "streams")},
}
"""What brokers from 4.0 on are told beside that; the interval counts from 4.3 on, `enable` in 4.1.

Releases ignore what they do not know.
"""

OF_CONFIGURED_GROUPS = "group.consumer.assignment.interval.ms"
"""A setting of releases in which one group may be configured to wait for none of these (4.3).

Releases before list a group for ever that was configured once.
"""

PRINCIPALS: Sequence[str] = ("ana", "bob", "carol", "dora")
"""Who may connect to a broker with an authorizer (Capability.PRINCIPALS)."""

CONFORMANCE_TOPICS: Mapping[str, int] = {"orders": 3, "payments": 2}
"""Topics, with their partition counts, that every broker has before the first scenario."""
