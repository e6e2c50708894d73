"""The broker properties that the coordinator and its log use, with Kafka's names and defaults."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Self

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.profile.properties import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    ConfigError,
    ConsumerGroupMigrationPolicy,
    Parse,
    Value,
    flag,
    names,
    number,
    parse_allows_everyone,
    parse_authorizer,
    parse_policy,
    parse_super_users,
    parse_tags,
    parse_text,
    parsed_by,
)

__all__ = ("ConfigError", "GroupCoordinatorConfig")

_MILLIS_PER_MINUTE: Final = 60_000

_ASSIGNOR_CLASSES: Final = MappingProxyType(
    {
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
    }
)
"""The class names with which brokers before 4.0 report assignors, and which all brokers accept."""


@value
class GroupCoordinatorConfig:
    """The configuration of one coordinator, with a field for each property.

    Source: GroupCoordinatorConfig (4.3.1), which has these bounds.
    """

    group_coordinator_append_linger_ms: int = number(0, at_least=-1)
    """`group.coordinator.append.linger.ms`: how long the Java coordinator gathers writes. -1 acts as 0 here.

    This is not Kafka's default, which is 10 before 4.0, then 5, and later -1. With -1, Kafka writes as soon
    as no other request waits.
    """
    group_initial_rebalance_delay_ms: int = number(3_000, at_least=INT_MIN)
    """`group.initial.rebalance.delay.ms`: how long an empty group waits for more members."""
    group_min_session_timeout_ms: int = number(6_000, at_least=INT_MIN)
    """`group.min.session.timeout.ms`: the minimum session timeout of a member."""
    group_max_session_timeout_ms: int = number(1_800_000, at_least=INT_MIN)
    """`group.max.session.timeout.ms`: the maximum session timeout of a member."""
    group_max_size: int = number(INT_MAX, at_least=1)
    """`group.max.size`: the maximum number of members of a group."""
    offset_metadata_max_bytes: int = number(4_096, at_least=INT_MIN)
    """`offset.metadata.max.bytes`: the maximum size of a commit's metadata, in UTF-16 units (not bytes)."""
    offsets_commit_timeout_ms: int = number(5_000, at_least=1)
    """`offsets.commit.timeout.ms`: the time after which a request fails because its write takes too long."""
    offsets_retention_minutes: int = number(10_080, at_least=1)
    """`offsets.retention.minutes`: how long offsets are retained after their last use."""
    offsets_retention_check_interval_ms: int = number(600_000, at_least=1, at_most=LONG_MAX)
    """`offsets.retention.check.interval.ms`: the interval between checks for expired offsets."""
    offsets_topic_num_partitions: int = number(50, at_least=1)
    """`offsets.topic.num.partitions`: the number of partitions of `__consumer_offsets`."""

    group_consumer_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.consumer.assignment.interval.ms`: the minimum time between target assignments, from 4.3 on."""
    group_consumer_assignors: tuple[str, ...] = names(
        ("uniform", "range"), allowed=("uniform", "range"), short=_ASSIGNOR_CLASSES
    )
    """`group.consumer.assignors`: the assignors of consumer groups. The first is used if no member votes."""
    group_consumer_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.consumer.heartbeat.interval.ms`: the heartbeat interval of consumers."""
    group_consumer_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.consumer.max.assignment.interval.ms`: the maximum that a group may be configured to."""
    group_consumer_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.consumer.max.heartbeat.interval.ms`: the maximum that a group may be configured to."""
    group_consumer_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.consumer.max.session.timeout.ms`: the maximum that a group may be configured to."""
    group_consumer_max_size: int = number(INT_MAX, at_least=1)
    """`group.consumer.max.size`: the maximum number of members of a consumer group."""
    group_consumer_migration_policy: ConsumerGroupMigrationPolicy = parsed_by(
        parse_policy, ConsumerGroupMigrationPolicy.BIDIRECTIONAL
    )
    """`group.consumer.migration.policy`: the directions in which groups with members may be converted."""
    group_consumer_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.consumer.min.assignment.interval.ms`: the minimum that a group may be configured to."""
    group_consumer_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.consumer.min.heartbeat.interval.ms`: the minimum that a group may be configured to."""
    group_consumer_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.consumer.min.session.timeout.ms`: the minimum that a group may be configured to."""
    group_consumer_regex_refresh_interval_ms: int = number(600_000, at_least=10_000)
    """`group.consumer.regex.refresh.interval.ms`: the interval at which regular expressions are resolved."""
    group_consumer_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.consumer.session.timeout.ms`: the session timeout of consumers."""
    group_coordinator_rebalance_protocols: tuple[str, ...] = names(
        ("classic", "consumer"), allowed=("classic", "consumer", "share", "streams")
    )
    """`group.coordinator.rebalance.protocols`: the protocols that groups may use.

    Kafka's default also contains `streams` from 4.1 on.
    """

    group_share_delivery_count_limit: int = number(5, at_least=2)
    """`group.share.delivery.count.limit`: the maximum number of deliveries of a record to a share group."""
    group_share_max_share_sessions: int = number(2_000, at_least=1)
    """`group.share.max.share.sessions`: the maximum number of share sessions of a broker."""
    group_share_min_record_lock_duration_ms: int = number(15_000, at_least=1_000)
    """`group.share.min.record.lock.duration.ms`: the minimum that a group may be configured to."""
    group_share_partition_max_record_locks: int = number(2_000, at_least=100)
    """`group.share.partition.max.record.locks`: the maximum of a partition's in-flight records per group."""
    group_share_record_lock_duration_ms: int = number(30_000, at_least=1_000)
    """`group.share.record.lock.duration.ms`: how long a record stays acquired by a share group member."""
    group_streams_acceptable_recovery_lag: int = number(10_000, at_least=0, at_most=LONG_MAX)
    """`group.streams.acceptable.recovery.lag`: the maximum lag of a caught-up task, from 4.4 on."""
    group_streams_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.streams.assignment.interval.ms`: the minimum time between target assignments, from 4.3 on."""
    group_streams_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.streams.heartbeat.interval.ms`: the heartbeat interval of streams clients."""
    group_streams_initial_rebalance_delay_ms: int = number(3_000, at_least=0)
    """`group.streams.initial.rebalance.delay.ms`: how long an empty streams group waits for more members."""
    group_streams_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.streams.max.assignment.interval.ms`: the maximum that a group may be configured to."""
    group_streams_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.streams.max.heartbeat.interval.ms`: the maximum that a group may be configured to."""
    group_streams_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.streams.max.session.timeout.ms`: the maximum that a group may be configured to."""
    group_streams_max_size: int = number(INT_MAX, at_least=1)
    """`group.streams.max.size`: the maximum number of members of a streams group."""
    group_streams_max_standby_replicas: int = number(2, at_least=0)
    """`group.streams.max.standby.replicas`: the maximum that a group may be configured to."""
    group_streams_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.streams.min.assignment.interval.ms`: the minimum that a group may be configured to."""
    group_streams_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.streams.min.heartbeat.interval.ms`: the minimum that a group may be configured to."""
    group_streams_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.streams.min.session.timeout.ms`: the minimum that a group may be configured to."""
    group_streams_num_standby_replicas: int = number(0, at_least=0)
    """`group.streams.num.standby.replicas`: the number of standby tasks of each stateful task."""
    group_streams_num_warmup_replicas: int = number(2, at_least=0)
    """`group.streams.num.warmup.replicas`: the number of warm-up tasks that run at once, from 4.4 on."""
    group_streams_rack_aware_assignment_tags: tuple[str, ...] = parsed_by(parse_tags, ())
    """`group.streams.rack.aware.assignment.tags`: the tags that clients must have, from 4.4 on."""
    group_streams_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.streams.session.timeout.ms`: the session timeout of streams clients."""
    group_streams_task_offset_interval_ms: int = number(60_000, at_least=1)
    """`group.streams.task.offset.interval.ms`: how often clients send task offsets, from 4.4 on."""
    group_version: int = number(1, at_least=0, at_most=1)
    """`group.version`: not a property but the level of a feature (KIP-848), which is disabled at 0."""
    share_version: int = number(2, at_least=0, at_most=2)
    """`share.version`: the feature level of share groups (KIP-932), likewise; 2 is 1 before 4.4."""
    streams_version: int = number(1, at_least=0, at_most=1)
    """`streams.version`: the feature level of streams groups (KIP-1071), likewise."""
    errors_deadletterqueue_auto_create_topics_enable: bool = flag(default=False)
    """`errors.deadletterqueue.auto.create.topics.enable`: whether dead letter topics are created (4.4)."""
    errors_deadletterqueue_topic_name_prefix: str = parsed_by(parse_text, "dlq.")
    """`errors.deadletterqueue.topic.name.prefix`: how names of dead letter topics begin (4.4)."""
    group_share_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.share.assignment.interval.ms`: the minimum time between target assignments, from 4.3 on."""
    group_share_enable: bool = flag(default=False)
    """`group.share.enable`: whether share groups are enabled, before 4.2, where they always are."""
    group_share_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.share.heartbeat.interval.ms`: the heartbeat interval of share group members."""
    group_share_initialize_retry_interval_ms: int = number(30_000, at_least=1)
    """`group.share.initialize.retry.interval.ms`: the time after which share state is requested again."""
    group_share_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.share.max.assignment.interval.ms`: the maximum that a group may be configured to."""
    group_share_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.share.max.heartbeat.interval.ms`: the maximum that a group may be configured to."""
    group_share_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.share.max.session.timeout.ms`: the maximum that a group may be configured to."""
    group_share_max_size: int = number(200, at_least=1, at_most=1_000)
    """`group.share.max.size`: the maximum number of members of a share group."""
    group_share_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.share.min.assignment.interval.ms`: the minimum that a group may be configured to."""
    group_share_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.share.min.heartbeat.interval.ms`: the minimum that a group may be configured to."""
    group_share_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.share.min.session.timeout.ms`: the minimum that a group may be configured to."""
    group_share_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.share.session.timeout.ms`: the session timeout of share group members."""
    unstable_api_versions_enable: bool = flag(default=False)
    """`unstable.api.versions.enable`: whether preview APIs are served."""
    allow_everyone_if_no_acl_found: bool = parsed_by(parse_allows_everyone, False)  # noqa: FBT003 - a default
    """`allow.everyone.if.no.acl.found`: whether everybody may access a resource without an ACL entry."""
    authorizer_class_name: str = parsed_by(parse_authorizer, "")
    """`authorizer.class.name`: the authorizer. Empty for none."""
    super_users: tuple[str, ...] = parsed_by(parse_super_users, ())
    """`super.users`: the users that are allowed everything, separated by semicolons."""

    log_cleaner_backoff_ms: int = number(15_000, at_least=0, at_most=LONG_MAX)
    """`log.cleaner.backoff.ms`: how long the cleaner sleeps when there is no log to compact."""
    log_retention_bytes: int = number(-1, at_least=-LONG_MAX - 1, at_most=LONG_MAX)
    """`log.retention.bytes`: the default maximum size of a log. Negative means no limit."""
    log_retention_check_interval_ms: int = number(300_000, at_least=1, at_most=LONG_MAX)
    """`log.retention.check.interval.ms`: the interval between checks for old segments of topics' logs."""
    log_segment_bytes: int = number(1 << 30, at_least=14)
    """`log.segment.bytes`: the default maximum size of a log segment."""
    message_max_bytes: int = number(1_048_588, at_least=0)
    """`message.max.bytes`: the maximum size of a batch that the log accepts."""
    min_insync_replicas: int = number(1, at_least=1)
    """`min.insync.replicas`: the number of replicas that a write needs. There is only one replica."""
    num_partitions: int = number(1, at_least=1)
    """`num.partitions`: the default number of partitions of a new topic."""
    offsets_topic_compression_codec: int = number(0, at_least=0)
    """`offsets.topic.compression.codec`: Kafka's number of the log's codec, which has no visible effect."""
    socket_request_max_bytes: int = number(104_857_600, at_least=1)
    """`socket.request.max.bytes`: the maximum size of a request."""
    transaction_max_timeout_ms: int = number(900_000, at_least=1)
    """`transaction.max.timeout.ms`: the maximum timeout of a producer's transactions."""

    @property
    def offsets_retention_ms(self) -> Millis:
        """How long offsets are retained after their last use."""
        return Millis(self.offsets_retention_minutes * _MILLIS_PER_MINUTE)

    named: frozenset[str] = field(default=frozenset(), compare=False)
    """The properties that were set for the broker, even to their defaults. It reports them as its own."""

    def reported(self) -> dict[str, str]:
        """Return every property and its value, as Kafka reports them."""
        return {_name_of(each): _text(getattr(self, each)) for each in _properties()}

    def reported_value(self, name: str) -> str | None:
        """Return a property's value as Kafka reports it, or None if the coordinator does not use it."""
        field_name = name.replace(".", "_")
        return _text(getattr(self, field_name)) if field_name in _properties() else None

    @classmethod
    def property_names(cls) -> tuple[str, ...]:
        """Return the names of the properties that `from_properties` accepts."""
        return tuple(map(_name_of, _properties()))

    @classmethod
    def unused(cls, properties: Iterable[str]) -> tuple[str, ...]:
        """Return the properties that brokers have and the coordinator does not use, in alphabetical order."""
        return tuple(sorted((_kafkas_properties() & set(properties)) - set(cls.property_names())))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse a configuration as Kafka parses its properties. Omitted properties have Kafka's defaults.

        Raises:
            ConfigError: the coordinator does not use a property, or a value has the wrong type or is out of
                Kafka's bounds.

        Source: ConfigDef#parseType (4.3.1).
        """
        declared = {_name_of(each): (each, parse) for each, parse in _properties().items()}
        values: dict[str, Any] = {}
        for name, text in properties.items():
            if name not in declared:
                raise ConfigError(_unknown(name, tuple(declared)))
            field_name, parse = declared[name]
            values[field_name] = parse(name, text)
        read = cls(**values, named=frozenset(properties))
        _throw_if_out_of_order(read)
        return read


def _throw_if_out_of_order(config: GroupCoordinatorConfig) -> None:
    """Check that values that limit each other are consistent.

    Raises:
        ConfigError: a value exceeds another one that limits it.

    Decided in: GroupCoordinatorConfig#<init> (4.3.1).
    """
    for group in ("consumer", "share", "streams"):
        for kind in ("heartbeat_interval_ms", "session_timeout_ms", "assignment_interval_ms"):
            least, given, most = (f"group_{group}_{each}{kind}" for each in ("min_", "", "max_"))
            for lower, upper in ((least, most), (least, given), (given, most)):
                _throw_if_greater(config, lower, upper)
        heartbeat, session = f"group_{group}_heartbeat_interval_ms", f"group_{group}_session_timeout_ms"
        if getattr(config, heartbeat) >= getattr(config, session):
            raise ConfigError(f"{_name_of(heartbeat)} must be less than {_name_of(session)}.")
    replicas, most = "group_streams_num_standby_replicas", "group_streams_max_standby_replicas"
    _throw_if_greater(config, replicas, most)


def _throw_if_greater(config: GroupCoordinatorConfig, lower: str, upper: str) -> None:
    if getattr(config, lower) > getattr(config, upper):
        raise ConfigError(f"{_name_of(upper)} must be greater than or equal to {_name_of(lower)}.")


def _name_of(field_name: str) -> str:
    return field_name.replace("_", ".")


@cache
def _kafkas_properties() -> frozenset[str]:
    """Return the names of all properties of brokers from 2.8.2 to 4.4.0.

    Source: KafkaConfig#configNames (2.8.2), AbstractKafkaConfig.CONFIG_DEF (3.9.2, 4.1.2, 4.4.0).
    """
    return frozenset((files(__package__) / "kafka_properties.txt").read_text("utf-8").split())


@cache
def _properties() -> Mapping[str, Parse]:
    """Return the parser of each property, by the name of its field."""
    declared = {each.name: each.metadata.get("parse") for each in fields(GroupCoordinatorConfig)}
    return {name: parse for name, parse in declared.items() if parse is not None}


def _unknown(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    meant = f" Did you mean {', '.join(close)}?" if close else ""
    return f"unknown property {name!r}.{meant} Known are: {', '.join(known)}."


def _text(given: Value) -> str:
    match given:
        case ConsumerGroupMigrationPolicy():
            return given.value
        case bool():
            return str(given).lower()
        case tuple():
            return ",".join(given)
        case _:
            return str(given)
