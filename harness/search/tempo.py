"""How long things may take in a made conversation: virtual time is free, a broker's time is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.search.moves import GroupType
from harness.search.theme import Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempo:
    """The lengths of waits and timeouts, in milliseconds."""

    configs: Sequence[Mapping[str, str]]
    """Broker configurations to choose from; one that is repeated is chosen more often."""
    waits_ms: Sequence[int]
    longest_wait_ms: int
    stays_ms: Sequence[int]
    """How long a request may be checked to stay parked."""
    sessions_ms: Sequence[int]
    rebalances_ms: Sequence[int]
    consumer_rebalances_ms: Sequence[int]
    beside_deadline_ms: Sequence[int]
    """How much later than a deadline a wait may end; earlier if negative."""
    configs_of: Mapping[GroupType, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    """More configurations, for conversations about a type of group: elsewhere they would change nothing."""
    theme_configs: Mapping[Theme, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    """The configurations for conversations with a theme that needs its own."""
    margin_ms: int = 0
    """The distance that moves keep from a deadline: a broker might be on the other side of it."""
    step_lag_ms: float = 0.0
    """How much longer a step takes on a broker than in virtual time."""
    parked_lag_ms: float = 0.0
    """The additional time until a request without an answer has surely arrived."""
    settles_ms: int = 0
    """How long a broker works on some requests after it has answered, until all that they change is there."""
    longest_ms: int | None = None
    """The time after which a conversation ends; None for no limit."""
    shares_broker: bool = False
    """Whether other conversations run on the same broker."""
    restarts: bool = False
    """Whether the coordinator is restarted once in each conversation, for all of them at once."""
    appends: bool = False
    """Whether each conversation appends a record to the coordinator's log before the restart."""


_AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_EXPIRES: Final = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "65000"}
VIRTUAL: Final = Tempo(
    configs=(
        *({},) * 12,
        {"group.max.size": "2"},
        {"group.initial.rebalance.delay.ms": "3000"},
        {"offset.metadata.max.bytes": "5"},
        {"message.max.bytes": "1000", "offsets.commit.timeout.ms": "2000"},
        *({"group.coordinator.append.linger.ms": "50"},) * 2,
        _EXPIRES,
    ),
    configs_of={
        GroupType.CONSUMER: (
            {"group.consumer.max.size": "2"},
            {"group.consumer.migration.policy": "disabled"},
            {"group.consumer.migration.policy": "upgrade"},
            {"group.consumer.migration.policy": "downgrade"},
            {"group.consumer.regex.refresh.interval.ms": "20000"},
            {"group.coordinator.rebalance.protocols": "classic"},
            {"group.version": "0", "group.coordinator.rebalance.protocols": "classic,consumer"},
            {"group.consumer.assignment.interval.ms": "2000"},
        ),
        GroupType.SHARE: (
            {"group.share.max.size": "1"},
            {"group.share.max.share.sessions": "1"},
            {"group.share.delivery.count.limit": "2"},
            {"group.share.enable": "false"},
            {"share.version": "0"},
            {"errors.deadletterqueue.auto.create.topics.enable": "true"},
            {
                "group.share.min.record.lock.duration.ms": "1000",
                "group.share.record.lock.duration.ms": "1000",
            },
        ),
        GroupType.STREAMS: (
            *({"group.streams.num.standby.replicas": "1"},) * 4,
            {"group.streams.max.size": "1"},
            {"streams.version": "0"},
            {"group.streams.num.warmup.replicas": "1", "group.streams.acceptable.recovery.lag": "0"},
            {"group.streams.rack.aware.assignment.tags": "zone", "group.streams.num.standby.replicas": "1"},
        ),
    },
    theme_configs={
        Theme.ACCESS: (*(_AUTHORIZER,) * 4, {**_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}),
        Theme.EXPIRY: (_EXPIRES, {**_EXPIRES, "offsets.retention.check.interval.ms": "1000"}),
    },
    waits_ms=(1, 100, 1_000, 5_000, 20_000, 60_000),
    longest_wait_ms=120_000,
    stays_ms=(10, 100, 1_000),
    sessions_ms=(6_000, 10_000, 30_000, 1_000, 0),
    rebalances_ms=(5_000, 10_000, 60_000, 1),
    consumer_rebalances_ms=(30_000, 5_000),
    beside_deadline_ms=(-1, 0, 0, 1),
)
"""The tempo of a reference, which jumps from deadline to deadline."""
REAL: Final = Tempo(
    configs=(*({},) * 8, {"group.max.size": "2"}, {"group.initial.rebalance.delay.ms": "800"}),
    waits_ms=(1, 10, 100),
    longest_wait_ms=2_500,
    stays_ms=(100,),
    sessions_ms=(2_000, 10_000, 30_000, 0),
    rebalances_ms=(1_500, 10_000, 60_000),
    consumer_rebalances_ms=(30_000, 30_000, 1_500),
    beside_deadline_ms=(400,),
    margin_ms=400,
    step_lag_ms=10.0,
    parked_lag_ms=120.0,
    settles_ms=400,
    longest_ms=3_000,
    shares_broker=True,
)
"""The tempo of a broker: a conversation takes some seconds, and avoids deadlines."""
RESTARTING: Final = replace(
    REAL,
    configs=(*({},) * 8, {"group.max.size": "2"}),
    longest_wait_ms=100,
    sessions_ms=(30_000, 30_000, 0),
    rebalances_ms=(60_000,),
    consumer_rebalances_ms=(60_000,),
    restarts=True,
)
"""The tempo of a broker that is restarted: conversations wait for each other then, and nothing may end."""
APPENDING: Final = replace(RESTARTING, appends=True)
"""The same, with records that are appended to the log before."""
