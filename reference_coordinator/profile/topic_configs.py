"""The configurations that a topic may have, by release: types, defaults and what values are taken.

Source: LogConfig#CONFIG, TopicConfig, ServerTopicConfigSynonyms (4.3.1), and what live brokers told.
"""

import re
from collections.abc import Mapping
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.java import trim
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviour import OLDEST, Version
from reference_coordinator.profile.profiles import Profile

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_LONG_MAX: Final = 2**63 - 1
MAX_MESSAGE_BYTES: Final = "max.message.bytes"


@unique
class ConfigType(IntEnum):
    """Kafka's numbers of types. Source: DescribeConfigsResponse.ConfigType (4.3.1)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidTopicConfigError(ValueError):
    """A name or a value that no topic may have; the message is Kafka's."""


@value
class TopicConfig:
    """One configuration of topics."""

    name: str
    type: ConfigType
    default: str
    synonym: str | None = None
    """The broker property whose value topics have that say nothing."""
    at_least: int | None = None
    one_of: tuple[str, ...] = ()
    since: Version = OLDEST
    until: Version | None = None

    def throw_if_invalid(self, text: str) -> None:
        """Refuse a value. Source: ConfigDef#parseType, ConfigDef.Range#ensureValid (4.3.1).

        Raises:
            InvalidTopicConfigError: it is not of the type, or out of bounds.
        """
        why = self._why_invalid(trim(text))
        if why is not None:
            raise InvalidTopicConfigError(f"Invalid value {text} for configuration {self.name}: {why}")

    def _why_invalid(self, text: str) -> str | None:
        match self.type:
            case ConfigType.INT | ConfigType.LONG:
                return self._why_no_number(text)
            case ConfigType.BOOLEAN:
                is_one = text.lower() in {"true", "false"}
                return None if is_one else "Expected value to be either true or false"
            case ConfigType.DOUBLE:
                return _why_no_ratio(text)
            case ConfigType.STRING | ConfigType.LIST:
                parts = [trim(each) for each in text.split(",")] if self.type is ConfigType.LIST else [text]
                is_known = not self.one_of or all(each in self.one_of for each in parts)
                return None if is_known else f"String must be one of: {', '.join(self.one_of)}"

    def _why_no_number(self, text: str) -> str | None:
        bits = 32 if self.type is ConfigType.INT else 64
        if not _NUMBER.fullmatch(text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
            return f"Not a number of type {self.type.name}"
        is_enough = self.at_least is None or int(text) >= self.at_least
        return None if is_enough else f"Value must be at least {self.at_least}"


def _why_no_ratio(text: str) -> str | None:
    try:
        ratio = float(text)
    except ValueError:
        return "Not a number of type DOUBLE"
    if ratio < 0:
        return "Value must be at least 0"
    return "Value must be no more than 1" if ratio > 1 else None


_B, _S, _I, _L, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
)
_CODECS: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_NEVER: Final = str(_LONG_MAX)

_TABLE: Final = (
    TopicConfig(
        name="cleanup.policy",
        type=_LIST,
        default="delete",
        synonym="log.cleanup.policy",
        one_of=("compact", "delete"),
    ),
    TopicConfig(
        name="compression.type", type=_S, default="producer", synonym="compression.type", one_of=_CODECS
    ),
    TopicConfig(
        name="compression.gzip.level",
        type=_I,
        default="-1",
        synonym="compression.gzip.level",
        since=(3, 8, 0),
    ),
    TopicConfig(
        name="compression.lz4.level", type=_I, default="9", synonym="compression.lz4.level", since=(3, 8, 0)
    ),
    TopicConfig(
        name="compression.zstd.level", type=_I, default="3", synonym="compression.zstd.level", since=(3, 8, 0)
    ),
    TopicConfig(
        name="delete.retention.ms",
        type=_L,
        default="86400000",
        synonym="log.cleaner.delete.retention.ms",
        at_least=0,
    ),
    TopicConfig(name="errors.deadletterqueue.group.enable", type=_B, default="false", since=(4, 4, 0)),
    TopicConfig(
        name="file.delete.delay.ms",
        type=_L,
        default="60000",
        synonym="log.segment.delete.delay.ms",
        at_least=0,
    ),
    TopicConfig(
        name="flush.messages", type=_L, default=_NEVER, synonym="log.flush.interval.messages", at_least=1
    ),
    TopicConfig(name="flush.ms", type=_L, default=_NEVER, at_least=0),
    TopicConfig(name="follower.replication.throttled.replicas", type=_LIST, default=""),
    TopicConfig(
        name="index.interval.bytes", type=_I, default="4096", synonym="log.index.interval.bytes", at_least=0
    ),
    TopicConfig(name="leader.replication.throttled.replicas", type=_LIST, default=""),
    TopicConfig(
        name="local.retention.bytes",
        type=_L,
        default="-2",
        synonym="log.local.retention.bytes",
        at_least=-2,
        since=(3, 0, 0),
    ),
    TopicConfig(
        name="local.retention.ms",
        type=_L,
        default="-2",
        synonym="log.local.retention.ms",
        at_least=-2,
        since=(3, 0, 0),
    ),
    TopicConfig(
        name="max.compaction.lag.ms",
        type=_L,
        default=_NEVER,
        synonym="log.cleaner.max.compaction.lag.ms",
        at_least=1,
    ),
    TopicConfig(
        name="max.decompressed.message.bytes",
        type=_I,
        default="2147483639",
        synonym="max.decompressed.message.bytes",
        at_least=0,
        since=(4, 4, 0),
    ),
    TopicConfig(
        name="max.message.bytes", type=_I, default="1048588", synonym="message.max.bytes", at_least=0
    ),
    TopicConfig(
        name="message.downconversion.enable",
        type=_B,
        default="true",
        synonym="log.message.downconversion.enable",
        until=(4, 0, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="2.4-IV1",
        synonym="log.message.format.version",
        since=(2, 4, 0),
        until=(2, 5, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="2.5-IV0",
        synonym="log.message.format.version",
        since=(2, 5, 0),
        until=(2, 6, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="2.6-IV0",
        synonym="log.message.format.version",
        since=(2, 6, 0),
        until=(2, 7, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="2.7-IV2",
        synonym="log.message.format.version",
        since=(2, 7, 0),
        until=(2, 8, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="2.8-IV1",
        synonym="log.message.format.version",
        since=(2, 8, 0),
        until=(3, 0, 0),
    ),
    TopicConfig(
        name="message.format.version",
        type=_S,
        default="3.0-IV1",
        synonym="log.message.format.version",
        since=(3, 0, 0),
        until=(4, 0, 0),
    ),
    TopicConfig(
        name="message.timestamp.after.max.ms",
        type=_L,
        default=_NEVER,
        synonym="log.message.timestamp.after.max.ms",
        at_least=0,
        since=(3, 6, 0),
        until=(4, 0, 0),
    ),
    TopicConfig(
        name="message.timestamp.after.max.ms",
        type=_L,
        default="3600000",
        synonym="log.message.timestamp.after.max.ms",
        at_least=0,
        since=(4, 0, 0),
    ),
    TopicConfig(
        name="message.timestamp.before.max.ms",
        type=_L,
        default=_NEVER,
        synonym="log.message.timestamp.before.max.ms",
        at_least=0,
        since=(3, 6, 0),
    ),
    TopicConfig(
        name="message.timestamp.difference.max.ms",
        type=_L,
        default=_NEVER,
        synonym="log.message.timestamp.difference.max.ms",
        at_least=0,
        until=(4, 0, 0),
    ),
    TopicConfig(
        name="message.timestamp.type",
        type=_S,
        default="CreateTime",
        synonym="log.message.timestamp.type",
        one_of=("CreateTime", "LogAppendTime"),
    ),
    TopicConfig(
        name="min.cleanable.dirty.ratio",
        type=ConfigType.DOUBLE,
        default="0.5",
        synonym="log.cleaner.min.cleanable.ratio",
    ),
    TopicConfig(
        name="min.compaction.lag.ms",
        type=_L,
        default="0",
        synonym="log.cleaner.min.compaction.lag.ms",
        at_least=0,
    ),
    TopicConfig(name="min.insync.replicas", type=_I, default="1", synonym="min.insync.replicas", at_least=1),
    TopicConfig(name="preallocate", type=_B, default="false", synonym="log.preallocate"),
    TopicConfig(
        name="remote.copy.lag.bytes",
        type=_L,
        default="-1",
        synonym="log.remote.copy.lag.bytes",
        at_least=-2,
        since=(4, 4, 0),
    ),
    TopicConfig(
        name="remote.copy.lag.ms",
        type=_L,
        default="0",
        synonym="log.remote.copy.lag.ms",
        at_least=-2,
        since=(4, 4, 0),
    ),
    TopicConfig(name="remote.log.copy.disable", type=_B, default="false", since=(3, 9, 0)),
    TopicConfig(name="remote.log.delete.on.disable", type=_B, default="false", since=(3, 9, 0)),
    TopicConfig(name="remote.storage.enable", type=_B, default="false", since=(3, 0, 0)),
    TopicConfig(name="retention.bytes", type=_L, default="-1", synonym="log.retention.bytes"),
    TopicConfig(name="retention.ms", type=_L, default="604800000", at_least=-1),
    TopicConfig(
        name="segment.bytes",
        type=_I,
        default="1073741824",
        synonym="log.segment.bytes",
        at_least=14,
        until=(4, 0, 0),
    ),
    TopicConfig(
        name="segment.bytes",
        type=_I,
        default="1073741824",
        synonym="log.segment.bytes",
        at_least=1 << 20,
        since=(4, 0, 0),
    ),
    TopicConfig(
        name="segment.index.bytes",
        type=_I,
        default="10485760",
        synonym="log.index.size.max.bytes",
        at_least=4,
    ),
    TopicConfig(name="segment.jitter.ms", type=_L, default="0", at_least=0),
    TopicConfig(name="segment.ms", type=_L, default="604800000", at_least=1),
    TopicConfig(
        name="unclean.leader.election.enable",
        type=_B,
        default="false",
        synonym="unclean.leader.election.enable",
    ),
)


def topic_configs(profile: Profile) -> Mapping[str, TopicConfig]:
    """Return what a topic may be configured with in a release, by name in alphabetical order."""
    held = (
        each
        for each in _TABLE
        if each.since <= profile.version and (each.until is None or profile.version < each.until)
    )
    return MappingProxyType({each.name: each for each in sorted(held, key=lambda each: each.name)})


def throw_if_invalid(profile: Profile, configs: Mapping[str, str | None]) -> None:
    """Refuse what a topic cannot be configured with. Source: LogConfig#validate (4.3.1).

    Raises:
        InvalidTopicConfigError: the first name or value that is refused.
    """
    known = topic_configs(profile)
    nulls = sorted(name for name, text in configs.items() if text is None)
    if nulls:
        raise InvalidTopicConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    for name, text in configs.items():
        if name not in known:
            raise InvalidTopicConfigError(f"Unknown topic config name: {name}")
        known[name].throw_if_invalid(text or "")
