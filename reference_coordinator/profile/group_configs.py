"""The dynamic configurations of groups, by release: types, defaults, bounds, and effective values.

Source: GroupConfig#CONFIG (4.0.0), GroupConfig#CONFIG_DEF (4.3.1),
GroupConfig#validateValues (4.0.0 to 4.3.1; 4.4.0).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.java import trim
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviour import Behaviour, Version
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.profile.properties import INT_MAX, parse_list
from reference_coordinator.profile.topic_configs import ConfigType, InvalidConfigError, TopicConfig


@value
class GroupConfig:
    """A group's dynamic configuration. None means the broker's value. Source: GroupConfig (4.3.1)."""

    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
    consumer_assignment_interval_ms: int | None = None
    share_session_timeout_ms: int | None = None
    share_heartbeat_interval_ms: int | None = None
    share_assignment_interval_ms: int | None = None
    streams_session_timeout_ms: int | None = None
    streams_heartbeat_interval_ms: int | None = None
    streams_num_standby_replicas: int | None = None
    streams_initial_rebalance_delay_ms: int | None = None
    streams_assignment_interval_ms: int | None = None
    streams_task_offset_interval_ms: int | None = None
    streams_num_warmup_replicas: int | None = None
    streams_rack_aware_assignment_tags: tuple[str, ...] | None = None
    streams_acceptable_recovery_lag: int | None = None


NO_GROUP_CONFIG: Final = GroupConfig()
"""The configuration of a group for which nothing is configured."""


CONSUMER_SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
CONSUMER_HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
CONSUMER_ASSIGNMENT_INTERVAL: Final = "consumer.assignment.interval.ms"
_FIRST: Final = (4, 0, 0)
_OFFSET_RESET: Final = "share.auto.offset.reset"
_BY_DURATION: Final = "by_duration:"
_RACK_TAGS: Final = "streams.rack.aware.assignment.tags"
_ASSIGNOR: Final = "streams.assignor.name"
_STICKY: Final = "sticky"
_DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
_STANDBY: Final = "streams.num.standby.replicas"
_TASK_OFFSET_INTERVAL: Final = "streams.task.offset.interval.ms"
_WARMUP: Final = "streams.num.warmup.replicas"
_KINDS: Final = ("consumer", "share", "streams")


@value
class Bound:
    """A broker property that limits a configuration of groups."""

    name: str
    default: int

    def of(self, config: GroupCoordinatorConfig) -> int:
        """Return the property's value, or its default if the reference does not use it."""
        given = config.reported_value(self.name)
        return self.default if given is None else int(given)


@value
class GroupConfigEntry:
    """One configuration of groups."""

    config: TopicConfig
    """The name, type and default, and as synonym the broker property for groups without a value."""
    lowest: Bound | None = None
    highest: Bound | None = None
    is_internal: bool = False
    """Whether it is described only if it is set."""

    @property
    def name(self) -> str:
        """The name of the configuration."""
        return self.config.name


def _number(
    name: str,
    default: int,
    least: int | None = None,
    most: int | None = None,
    *,
    at_least: int = 1,
    since: Version = _FIRST,
    is_internal: bool = False,
) -> GroupConfigEntry:
    """Return an integer that the properties `group.KIND.min.REST` and `group.KIND.max.REST` limit.

    Args:
        name: `KIND.REST`.
        default: the default value.
        least: the default of the lower bound's property, or None if there is no such property.
        most: the default of the upper bound's property, or None if there is no such property.
        at_least: the minimum, whatever the properties are.
        since: the first release with the configuration.
        is_internal: whether it is described only if it is set.
    """
    kind, rest = name.split(".", 1)
    lowest, highest = (
        None
        if bound is None
        else Bound(name=f"group.{kind}.{end}.{rest.removeprefix('num.')}", default=bound)
        for end, bound in (("min", least), ("max", most))
    )
    config = TopicConfig(name, ConfigType.INT, str(default), f"group.{name}", at_least=at_least, since=since)
    return GroupConfigEntry(config=config, lowest=lowest, highest=highest, is_internal=is_internal)


def _plain(
    name: str,
    kind: ConfigType,
    default: str,
    synonym: str | None = None,
    *,
    at_least: int | None = None,
    one_of: tuple[str, ...] = (),
    refusal: str | None = None,
    since: Version = _FIRST,
    is_internal: bool = False,
) -> GroupConfigEntry:
    config = TopicConfig(
        name, kind, default, synonym, at_least=at_least, one_of=one_of, refusal=refusal, since=since
    )
    return GroupConfigEntry(config=config, is_internal=is_internal)


def _offload(kind: str) -> GroupConfigEntry:
    name = f"{kind}.assignor.offload.enable"
    return _plain(name, ConfigType.BOOLEAN, "true", f"group.{name}", since=(4, 4, 0), is_internal=True)


_TABLE: Final = (
    _number(CONSUMER_SESSION_TIMEOUT, 45_000, 45_000, 60_000),
    _number(CONSUMER_HEARTBEAT_INTERVAL, 5_000, 5_000, 15_000),
    _number(CONSUMER_ASSIGNMENT_INTERVAL, 1_000, 0, 15_000, at_least=0, since=(4, 3, 0)),
    _offload("consumer"),
    _number("share.session.timeout.ms", 45_000, 45_000, 60_000),
    _number("share.heartbeat.interval.ms", 5_000, 5_000, 15_000),
    _number("share.record.lock.duration.ms", 30_000, 15_000, 60_000, at_least=1_000),
    _number("share.delivery.count.limit", 5, 2, 10, at_least=2, since=(4, 3, 0)),
    _number("share.partition.max.record.locks", 2_000, 100, 4_000, at_least=100, since=(4, 3, 0)),
    _plain(
        _OFFSET_RESET,
        ConfigType.STRING,
        "latest",
        one_of=("earliest", "latest"),
        refusal=f"Invalid value `{{value}}` for configuration {_OFFSET_RESET}. The value must be either "
        "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
    ),
    _plain(
        "share.isolation.level",
        ConfigType.STRING,
        "read_uncommitted",
        one_of=("read_committed", "read_uncommitted"),
        since=(4, 1, 0),
    ),
    _plain("share.renew.acknowledge.enable", ConfigType.BOOLEAN, "true", since=(4, 3, 0)),
    _number("share.assignment.interval.ms", 1_000, 0, 15_000, at_least=0, since=(4, 3, 0)),
    _offload("share"),
    _number("streams.session.timeout.ms", 45_000, 45_000, 60_000, since=(4, 1, 0)),
    _number("streams.heartbeat.interval.ms", 5_000, 5_000, 15_000, since=(4, 1, 0)),
    _number(_STANDBY, 0, most=2, at_least=0, since=(4, 1, 0)),
    _number("streams.initial.rebalance.delay.ms", 3_000, at_least=0, since=(4, 2, 0)),
    _number("streams.assignment.interval.ms", 1_000, 0, 15_000, at_least=0, since=(4, 3, 0)),
    _offload("streams"),
    _number(_TASK_OFFSET_INTERVAL, 60_000, least=15_000, since=(4, 4, 0), is_internal=True),
    _number(_WARMUP, 2, most=20, at_least=0, since=(4, 4, 0), is_internal=True),
    _plain(_RACK_TAGS, ConfigType.LIST, "", f"group.{_RACK_TAGS}", since=(4, 4, 0)),
    _plain(
        "streams.acceptable.recovery.lag",
        ConfigType.LONG,
        "10000",
        "group.streams.acceptable.recovery.lag",
        at_least=0,
        since=(4, 4, 0),
        is_internal=True,
    ),
    _plain(_ASSIGNOR, ConfigType.STRING, _STICKY, "group.streams.assignors", since=(4, 4, 0)),
    _plain(_DEAD_LETTER_TOPIC, ConfigType.STRING, "", since=(4, 4, 0)),
    _plain("errors.deadletterqueue.copy.record.enable", ConfigType.BOOLEAN, "false", since=(4, 4, 0)),
)
"""All configurations, in the order of Kafka's definitions, in which values are parsed."""
_IN_ORDER_OF_CHECKS: Final = (
    CONSUMER_HEARTBEAT_INTERVAL,
    CONSUMER_SESSION_TIMEOUT,
    CONSUMER_ASSIGNMENT_INTERVAL,
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    _STANDBY,
    "streams.assignment.interval.ms",
    _TASK_OFFSET_INTERVAL,
    _WARMUP,
)
_CHECKED_IF_SET: Final = frozenset(f"{kind}.assignment.interval.ms" for kind in _KINDS)


def group_configs(profile: Profile) -> Mapping[str, GroupConfigEntry]:
    """Return the configurations of groups in a release, by name."""
    return MappingProxyType({each.name: each for each in _TABLE if each.config.since <= profile.version})


def throw_if_invalid(profile: Profile, configs: Mapping[str, str], config: GroupCoordinatorConfig) -> None:
    """Check the configuration of a group. Source: GroupConfig#validate (4.3.1).

    Kafka parses the durations after `by_duration:`. The reference accepts them unchecked.

    Raises:
        InvalidConfigError: a name or value is invalid. The error is for the first one.
    """
    known = group_configs(profile)
    for name in configs:
        if name not in known:
            raise InvalidConfigError(f"Unknown group config name: {name}")
    if len(set(tags := parse_list(configs.get(_RACK_TAGS, "")))) < len(tags):
        raise InvalidConfigError(f"{_RACK_TAGS} must not contain duplicate tag keys.")
    for name, entry in known.items():
        text = configs.get(name)
        if text is not None and not (name == _OFFSET_RESET and text.startswith(_BY_DURATION)):
            entry.config.throw_if_invalid(text)
    if profile.has(Behaviour.GROUP_CONFIG_BOUNDS_NAMED):
        _throw_if_out_of_range(known, configs, config)
    else:
        _throw_if_out_of_bounds(known, configs, config)
    if configs.get(_DEAD_LETTER_TOPIC, "").startswith("__"):
        raise InvalidConfigError(f"{_DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'")


def _throw_if_out_of_bounds(
    known: Mapping[str, GroupConfigEntry], configs: Mapping[str, str], config: GroupCoordinatorConfig
) -> None:
    """Refuse values out of bounds, and name the properties. Unset values count as Kafka's defaults.

    Decided in: GroupConfig#validateValues (4.3.1).
    """
    values = {name: configs.get(name, entry.config.default) for name, entry in known.items()}
    for entry in _checked(known):
        if entry.name in _CHECKED_IF_SET and entry.name not in configs:
            continue
        number = int(trim(values[entry.name]))
        if entry.lowest is not None and number < entry.lowest.of(config):
            raise InvalidConfigError(f"{entry.name} must be greater than or equal to {entry.lowest.name}")
        if entry.highest is not None and number > entry.highest.of(config):
            raise InvalidConfigError(f"{entry.name} must be less than or equal to {entry.highest.name}")
    _throw_if_session_too_short(known, values)


def _throw_if_out_of_range(
    known: Mapping[str, GroupConfigEntry], configs: Mapping[str, str], config: GroupCoordinatorConfig
) -> None:
    """Refuse values out of bounds, and name the bounds.

    Values that are not set are not checked themselves. The others are compared with the broker's values for
    them.

    Decided in: GroupConfig#validateValues (4.4.0).
    """
    for entry in _checked(known):
        if entry.name not in configs:
            continue
        number, highest = int(trim(configs[entry.name])), entry.highest
        most = INT_MAX if highest is None else highest.of(config)
        if entry.lowest is None and number > most:
            raise InvalidConfigError(f"{entry.name} must be less than or equal to {most}")
        if entry.lowest is not None and not entry.lowest.of(config) <= number <= most:
            least = entry.lowest.of(config)
            one_bound = f"{entry.name} must be greater than or equal to {least}"
            two_bounds = f"{entry.name} must be in the range {least} to {most} inclusive."
            raise InvalidConfigError(one_bound if highest is None else two_bounds)
    assignor = configs.get(_ASSIGNOR, _STICKY)
    if assignor != _STICKY:
        raise InvalidConfigError(
            f"{_ASSIGNOR} '{assignor}' is not a registered task assignor. Registered assignors are: "
            f"[{_STICKY}]."
        )
    reported = config.reported()
    of_broker = {
        name: reported.get(entry.config.synonym or "", entry.config.default) for name, entry in known.items()
    }
    for kind in _KINDS:
        session, heartbeat = _session_and_heartbeat(kind)
        if session in configs or heartbeat in configs:
            _throw_if_session_too_short(known, {**of_broker, **configs}, kinds=(kind,))


def _checked(known: Mapping[str, GroupConfigEntry]) -> Iterator[GroupConfigEntry]:
    return (known[name] for name in _IN_ORDER_OF_CHECKS if name in known)


def _throw_if_session_too_short(
    known: Mapping[str, GroupConfigEntry], values: Mapping[str, str], kinds: tuple[str, ...] = _KINDS
) -> None:
    for kind in kinds:
        session, heartbeat = _session_and_heartbeat(kind)
        if session in known and int(trim(values[session])) <= int(trim(values[heartbeat])):
            raise InvalidConfigError(f"{session} must be greater than {heartbeat}")


def _session_and_heartbeat(kind: str) -> tuple[str, str]:
    return f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"


def _streams_defaults(known: Mapping[str, GroupConfigEntry]) -> Mapping[str, str]:
    return {name: entry.config.default for name, entry in known.items() if name.startswith("streams.")}


def evaluate(configs: Mapping[str, str], config: GroupCoordinatorConfig, profile: Profile) -> GroupConfig:
    """Return a group's effective configuration. A value outside the broker's bounds is replaced by the bound.

    Values are within the bounds when they are set, but the bounds may be narrower after a restart.

    Source: GroupConfig#evaluate (4.3.1).
    """
    known = group_configs(profile)
    if configs and profile.has(Behaviour.STREAMS_GROUP_CONFIGS_IGNORE_BROKERS):
        configs = {**_streams_defaults(known), **configs}

    def number(name: str) -> int | None:
        text, entry = configs.get(name), known.get(name)
        if text is None or entry is None:
            return None
        given = int(trim(text))
        if not profile.has(Behaviour.GROUP_CONFIGS_KEPT_WITHIN_BOUNDS):
            return given
        least = given if entry.lowest is None else max(given, entry.lowest.of(config))
        return least if entry.highest is None else min(least, entry.highest.of(config))

    return GroupConfig(
        consumer_session_timeout_ms=number(CONSUMER_SESSION_TIMEOUT),
        consumer_heartbeat_interval_ms=number(CONSUMER_HEARTBEAT_INTERVAL),
        consumer_assignment_interval_ms=number(CONSUMER_ASSIGNMENT_INTERVAL),
        share_session_timeout_ms=number("share.session.timeout.ms"),
        share_heartbeat_interval_ms=number("share.heartbeat.interval.ms"),
        share_assignment_interval_ms=number("share.assignment.interval.ms"),
        streams_session_timeout_ms=number("streams.session.timeout.ms"),
        streams_heartbeat_interval_ms=number("streams.heartbeat.interval.ms"),
        streams_num_standby_replicas=number(_STANDBY),
        streams_initial_rebalance_delay_ms=number("streams.initial.rebalance.delay.ms"),
        streams_assignment_interval_ms=number("streams.assignment.interval.ms"),
        streams_task_offset_interval_ms=number(_TASK_OFFSET_INTERVAL),
        streams_num_warmup_replicas=number(_WARMUP),
        streams_rack_aware_assignment_tags=parse_list(configs[_RACK_TAGS]) if _RACK_TAGS in configs else None,
        streams_acceptable_recovery_lag=number("streams.acceptable.recovery.lag"),
    )
