"""The broker properties that the coordinator and its log read, by Kafka's names and with its defaults."""

import difflib
from collections.abc import Mapping
from dataclasses import field, fields
from functools import cache
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
"""How a broker before 4.0 reports its assignors, and how any may name them."""


@value
class GroupCoordinatorConfig:
    """How one coordinator is configured; a field per property.

    Source: GroupCoordinatorConfig (4.3.1), whose bounds these are.
    """

    group_coordinator_append_linger_ms: int = number(0, at_least=-1)
    """`group.coordinator.append.linger.ms`: how long the Java coordinator gathers writes; -1 is as 0 here.

    Not Kafka's default, which is 10 before 4.0, then 5, and by now -1: it writes once no other request waits.
    """
    group_initial_rebalance_delay_ms: int = number(3_000, at_least=INT_MIN)
    """`group.initial.rebalance.delay.ms`: how long an empty group waits for more members."""
    group_min_session_timeout_ms: int = number(6_000, at_least=INT_MIN)
    """`group.min.session.timeout.ms`: the shortest session timeout that a member may ask for."""
    group_max_session_timeout_ms: int = number(1_800_000, at_least=INT_MIN)
    """`group.max.session.timeout.ms`: the longest session timeout that a member may ask for."""
    group_max_size: int = number(INT_MAX, at_least=1)
    """`group.max.size`: the members that a group takes."""
    offset_metadata_max_bytes: int = number(4_096, at_least=INT_MIN)
    """`offset.metadata.max.bytes`: the UTF-16 units (not bytes) of metadata that a commit may carry."""
    offsets_commit_timeout_ms: int = number(5_000, at_least=1)
    """`offsets.commit.timeout.ms`: how long a write may take until who asked for it is told so."""
    offsets_retention_minutes: int = number(10_080, at_least=1)
    """`offsets.retention.minutes`: how long offsets outlive their last use."""
    offsets_retention_check_interval_ms: int = number(600_000, at_least=1, at_most=LONG_MAX)
    """`offsets.retention.check.interval.ms`: how often offsets are looked through for expired ones."""
    offsets_topic_num_partitions: int = number(50, at_least=1)
    """`offsets.topic.num.partitions`: the partitions of `__consumer_offsets`."""

    group_consumer_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.consumer.assignment.interval.ms`: how long a target assignment stands at least, from 4.3 on."""
    group_consumer_assignors: tuple[str, ...] = names(
        ("uniform", "range"), allowed=("uniform", "range"), short=_ASSIGNOR_CLASSES
    )
    """`group.consumer.assignors`: what assigns partitions to consumers; the first where nobody votes."""
    group_consumer_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.consumer.heartbeat.interval.ms`: how often consumers are told to heartbeat."""
    group_consumer_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.consumer.max.assignment.interval.ms`: the longest that a group may be configured to."""
    group_consumer_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.consumer.max.heartbeat.interval.ms`: the longest that a group may be configured to."""
    group_consumer_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.consumer.max.session.timeout.ms`: the longest that a group may be configured to."""
    group_consumer_max_size: int = number(INT_MAX, at_least=1)
    """`group.consumer.max.size`: the members that a consumer group takes."""
    group_consumer_migration_policy: ConsumerGroupMigrationPolicy = parsed_by(
        parse_policy, ConsumerGroupMigrationPolicy.BIDIRECTIONAL
    )
    """`group.consumer.migration.policy`: which way groups with members may be converted."""
    group_consumer_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.consumer.min.assignment.interval.ms`: the shortest that a group may be configured to."""
    group_consumer_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.consumer.min.heartbeat.interval.ms`: the shortest that a group may be configured to."""
    group_consumer_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.consumer.min.session.timeout.ms`: the shortest that a group may be configured to."""
    group_consumer_regex_refresh_interval_ms: int = number(600_000, at_least=10_000)
    """`group.consumer.regex.refresh.interval.ms`: how often regular expressions are resolved anew."""
    group_consumer_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.consumer.session.timeout.ms`: how long a consumer may be silent."""
    group_coordinator_rebalance_protocols: tuple[str, ...] = names(
        ("classic", "consumer"), allowed=("classic", "consumer", "share", "streams")
    )
    """`group.coordinator.rebalance.protocols`: which protocols groups may use.

    Not quite Kafka's default, which has `streams` too from 4.1 on.
    """

    group_share_delivery_count_limit: int = number(5, at_least=2)
    """`group.share.delivery.count.limit`: how often a record is delivered to a share group at most."""
    group_share_max_share_sessions: int = number(2_000, at_least=1)
    """`group.share.max.share.sessions`: the share sessions that a broker keeps."""
    group_share_min_record_lock_duration_ms: int = number(15_000, at_least=1_000)
    """`group.share.min.record.lock.duration.ms`: the shortest that a group may be configured to."""
    group_share_partition_max_record_locks: int = number(2_000, at_least=100)
    """`group.share.partition.max.record.locks`: the records of a partition in flight to one share group."""
    group_share_record_lock_duration_ms: int = number(30_000, at_least=1_000)
    """`group.share.record.lock.duration.ms`: how long a member of a share group may have a record."""
    group_streams_acceptable_recovery_lag: int = number(10_000, at_least=0, at_most=LONG_MAX)
    """`group.streams.acceptable.recovery.lag`: how far a task that counts as warm may lag, from 4.4 on."""
    group_streams_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.streams.assignment.interval.ms`: how long tasks stay assigned at least, from 4.3 on."""
    group_streams_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.streams.heartbeat.interval.ms`: how often streams clients are told to heartbeat."""
    group_streams_initial_rebalance_delay_ms: int = number(3_000, at_least=0)
    """`group.streams.initial.rebalance.delay.ms`: how long an empty streams group waits for more members."""
    group_streams_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.streams.max.assignment.interval.ms`: the longest that a group may be configured to."""
    group_streams_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.streams.max.heartbeat.interval.ms`: the longest that a group may be configured to."""
    group_streams_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.streams.max.session.timeout.ms`: the longest that a group may be configured to."""
    group_streams_max_size: int = number(INT_MAX, at_least=1)
    """`group.streams.max.size`: the members that a streams group takes."""
    group_streams_max_standby_replicas: int = number(2, at_least=0)
    """`group.streams.max.standby.replicas`: the most that a group may be configured to."""
    group_streams_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.streams.min.assignment.interval.ms`: the shortest that a group may be configured to."""
    group_streams_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.streams.min.heartbeat.interval.ms`: the shortest that a group may be configured to."""
    group_streams_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.streams.min.session.timeout.ms`: the shortest that a group may be configured to."""
    group_streams_num_standby_replicas: int = number(0, at_least=0)
    """`group.streams.num.standby.replicas`: the standby tasks of each stateful task."""
    group_streams_num_warmup_replicas: int = number(2, at_least=0)
    """`group.streams.num.warmup.replicas`: the warm-up tasks that are run at once, from 4.4 on."""
    group_streams_rack_aware_assignment_tags: tuple[str, ...] = parsed_by(parse_tags, ())
    """`group.streams.rack.aware.assignment.tags`: the tags that clients are to have, from 4.4 on."""
    group_streams_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.streams.session.timeout.ms`: how long a streams client may be silent."""
    group_streams_task_offset_interval_ms: int = number(60_000, at_least=1)
    """`group.streams.task.offset.interval.ms`: how often clients send offsets of tasks, from 4.4 on."""
    group_version: int = number(1, at_least=0, at_most=1)
    """`group.version`: no property but a feature (KIP-848), which a cluster has at a level, or at 0 not."""
    share_version: int = number(1, at_least=0, at_most=2)
    """`share.version`: the same of share groups (KIP-932)."""
    streams_version: int = number(1, at_least=0, at_most=1)
    """`streams.version`: the same of streams groups (KIP-1071)."""
    group_share_assignment_interval_ms: int = number(1_000, at_least=0)
    """`group.share.assignment.interval.ms`: how long a target assignment stands at least, from 4.3 on."""
    group_share_enable: bool = flag(default=False)
    """`group.share.enable`: whether there are share groups, until 4.2, which has them anyway."""
    group_share_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.share.heartbeat.interval.ms`: how often members of share groups are told to heartbeat."""
    group_share_initialize_retry_interval_ms: int = number(30_000, at_least=1)
    """`group.share.initialize.retry.interval.ms`: after how long share state is asked for again."""
    group_share_max_assignment_interval_ms: int = number(15_000, at_least=0)
    """`group.share.max.assignment.interval.ms`: the longest that a group may be configured to."""
    group_share_max_heartbeat_interval_ms: int = number(15_000, at_least=1)
    """`group.share.max.heartbeat.interval.ms`: the longest that a group may be configured to."""
    group_share_max_session_timeout_ms: int = number(60_000, at_least=1)
    """`group.share.max.session.timeout.ms`: the longest that a group may be configured to."""
    group_share_max_size: int = number(200, at_least=1, at_most=1_000)
    """`group.share.max.size`: the members that a share group takes."""
    group_share_min_assignment_interval_ms: int = number(0, at_least=0)
    """`group.share.min.assignment.interval.ms`: the shortest that a group may be configured to."""
    group_share_min_heartbeat_interval_ms: int = number(5_000, at_least=1)
    """`group.share.min.heartbeat.interval.ms`: the shortest that a group may be configured to."""
    group_share_min_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.share.min.session.timeout.ms`: the shortest that a group may be configured to."""
    group_share_session_timeout_ms: int = number(45_000, at_least=1)
    """`group.share.session.timeout.ms`: how long a member of a share group may be silent."""
    unstable_api_versions_enable: bool = flag(default=False)
    """`unstable.api.versions.enable`: whether APIs are served that are a preview."""
    allow_everyone_if_no_acl_found: bool = parsed_by(parse_allows_everyone, False)  # noqa: FBT003 - a default
    """`allow.everyone.if.no.acl.found`: whether a resource that no entry names is everybody's."""
    authorizer_class_name: str = parsed_by(parse_authorizer, "")
    """`authorizer.class.name`: who decides who may do what; empty for nobody."""
    super_users: tuple[str, ...] = parsed_by(parse_super_users, ())
    """`super.users`: who may do everything, separated by semicolons."""

    log_cleaner_backoff_ms: int = number(15_000, at_least=0, at_most=LONG_MAX)
    """`log.cleaner.backoff.ms`: how long the cleaner sleeps when no log is to be compacted."""
    log_retention_bytes: int = number(-1, at_least=-LONG_MAX - 1, at_most=LONG_MAX)
    """`log.retention.bytes`: how large a log may grow whose topic says nothing of it; negative: any size."""
    log_retention_check_interval_ms: int = number(300_000, at_least=1, at_most=LONG_MAX)
    """`log.retention.check.interval.ms`: how often topics' logs are looked through for old segments."""
    log_segment_bytes: int = number(1 << 30, at_least=14)
    """`log.segment.bytes`: how large a segment may grow whose topic says nothing of it."""
    message_max_bytes: int = number(1_048_588, at_least=0)
    """`message.max.bytes`: the largest batch that the log takes."""
    min_insync_replicas: int = number(1, at_least=1)
    """`min.insync.replicas`: the replicas that a write needs; there is one."""
    num_partitions: int = number(1, at_least=1)
    """`num.partitions`: the partitions of a topic whose creator names no number."""
    offsets_topic_compression_codec: int = number(0, at_least=0)
    """`offsets.topic.compression.codec`: how the log is compressed, by Kafka's number; nobody sees it."""
    socket_request_max_bytes: int = number(104_857_600, at_least=1)
    """`socket.request.max.bytes`: the largest request that a connection may bring."""

    @property
    def offsets_retention_ms(self) -> Millis:
        """How long offsets outlive their last use."""
        return Millis(self.offsets_retention_minutes * _MILLIS_PER_MINUTE)

    named: frozenset[str] = field(default=frozenset(), compare=False)
    """Properties that the broker was given, be it with their defaults: it tells them as its own."""

    def reported(self) -> dict[str, str]:
        """Every property and its value, as Kafka tells them."""
        return {_name_of(each): _text(getattr(self, each)) for each in _properties()}

    def reported_value(self, name: str) -> str | None:
        """A property's value, as Kafka tells it; None for one that the coordinator does not read."""
        field_name = name.replace(".", "_")
        return _text(getattr(self, field_name)) if field_name in _properties() else None

    @classmethod
    def property_names(cls) -> tuple[str, ...]:
        """Every property that `from_properties` takes."""
        return tuple(map(_name_of, _properties()))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Read a configuration as Kafka reads its properties; what is left out has Kafka's default.

        Raises:
            ConfigError: a property that the coordinator does not read, a value that is none of its kind,
                or one out of Kafka's bounds.

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
    """Refuse times of members that do not go together.

    Raises:
        ConfigError: a value is beyond another that limits it.

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
def _properties() -> Mapping[str, Parse]:
    """Return what reads each property, by the name of its field."""
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
