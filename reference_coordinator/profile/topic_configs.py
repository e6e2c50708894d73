"""The configurations of topics, by release: types, defaults and valid values.

Source: LogConfig#CONFIG, TopicConfig, ServerTopicConfigSynonyms (4.3.1), and the answers of real brokers.
"""

import re
from collections.abc import Mapping
from dataclasses import field
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
    """The configuration types and their numbers. Source: DescribeConfigsResponse.ConfigType (4.3.1)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class InvalidConfigError(ValueError):
    """A name or value is invalid. The message is Kafka's."""


@value
class TopicConfig:
    """One configuration of topics."""

    name: str = field(kw_only=False)
    type: ConfigType = field(kw_only=False)
    default: str = field(kw_only=False)
    synonym: str | None = field(default=None, kw_only=False)
    """The broker property whose value applies to topics without their own value."""
    at_least: int | None = None
    one_of: tuple[str, ...] = ()
    refusal: str | None = None
    """The message for a `{value}` that is not in `one_of`. By default, it lists the valid values."""
    since: Version = OLDEST
    until: Version | None = None

    def throw_if_invalid(self, text: str) -> None:
        """Check a value. Source: ConfigDef#parseType, ConfigDef.Range#ensureValid (4.3.1).

        Raises:
            InvalidConfigError: the value has the wrong type or is out of bounds.
        """
        why = self._why_invalid(trim(text))
        if why is not None:
            raise InvalidConfigError(f"Invalid value {text} for configuration {self.name}: {why}")

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
                if is_known:
                    return None
                refusal = self.refusal or f"String must be one of: {', '.join(self.one_of)}"
                return refusal.replace("{value}", text)

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
_FORMAT: Final = "message.format.version"

_TABLE: Final = (
    TopicConfig("cleanup.policy", _LIST, "delete", "log.cleanup.policy", one_of=("compact", "delete")),
    TopicConfig("compression.type", _S, "producer", "compression.type", one_of=_CODECS),
    TopicConfig("compression.gzip.level", _I, "-1", "compression.gzip.level", since=(3, 8, 0)),
    TopicConfig("compression.lz4.level", _I, "9", "compression.lz4.level", since=(3, 8, 0)),
    TopicConfig("compression.zstd.level", _I, "3", "compression.zstd.level", since=(3, 8, 0)),
    TopicConfig("delete.retention.ms", _L, "86400000", "log.cleaner.delete.retention.ms", at_least=0),
    TopicConfig("errors.deadletterqueue.group.enable", _B, "false", since=(4, 4, 0)),
    TopicConfig("file.delete.delay.ms", _L, "60000", "log.segment.delete.delay.ms", at_least=0),
    TopicConfig("flush.messages", _L, _NEVER, "log.flush.interval.messages", at_least=1),
    TopicConfig("flush.ms", _L, _NEVER, at_least=0),
    TopicConfig("follower.replication.throttled.replicas", _LIST, ""),
    TopicConfig("index.interval.bytes", _I, "4096", "log.index.interval.bytes", at_least=0),
    TopicConfig("leader.replication.throttled.replicas", _LIST, ""),
    TopicConfig("local.retention.bytes", _L, "-2", "log.local.retention.bytes", at_least=-2, since=(3, 0, 0)),
    TopicConfig("local.retention.ms", _L, "-2", "log.local.retention.ms", at_least=-2, since=(3, 0, 0)),
    TopicConfig("max.compaction.lag.ms", _L, _NEVER, "log.cleaner.max.compaction.lag.ms", at_least=1),
    TopicConfig(
        "max.decompressed.message.bytes",
        _I,
        "2147483639",
        "max.decompressed.message.bytes",
        at_least=0,
        since=(4, 4, 0),
    ),
    TopicConfig("max.message.bytes", _I, "1048588", "message.max.bytes", at_least=0),
    TopicConfig(
        "message.downconversion.enable", _B, "true", "log.message.downconversion.enable", until=(4, 0, 0)
    ),
    *(
        TopicConfig(_FORMAT, _S, default, f"log.{_FORMAT}", since=since, until=until)
        for default, since, until in (
            ("2.4-IV1", (2, 4, 0), (2, 5, 0)),
            ("2.5-IV0", (2, 5, 0), (2, 6, 0)),
            ("2.6-IV0", (2, 6, 0), (2, 7, 0)),
            ("2.7-IV2", (2, 7, 0), (2, 8, 0)),
            ("2.8-IV1", (2, 8, 0), (3, 0, 0)),
            ("3.0-IV1", (3, 0, 0), (4, 0, 0)),
        )
    ),
    TopicConfig(
        "message.timestamp.after.max.ms",
        _L,
        _NEVER,
        "log.message.timestamp.after.max.ms",
        at_least=0,
        since=(3, 6, 0),
        until=(4, 0, 0),
    ),
    TopicConfig(
        "message.timestamp.after.max.ms",
        _L,
        "3600000",
        "log.message.timestamp.after.max.ms",
        at_least=0,
        since=(4, 0, 0),
    ),
    TopicConfig(
        "message.timestamp.before.max.ms",
        _L,
        _NEVER,
        "log.message.timestamp.before.max.ms",
        at_least=0,
        since=(3, 6, 0),
    ),
    TopicConfig(
        "message.timestamp.difference.max.ms",
        _L,
        _NEVER,
        "log.message.timestamp.difference.max.ms",
        at_least=0,
        until=(4, 0, 0),
    ),
    TopicConfig(
        "message.timestamp.type",
        _S,
        "CreateTime",
        "log.message.timestamp.type",
        one_of=("CreateTime", "LogAppendTime"),
    ),
    TopicConfig("min.cleanable.dirty.ratio", ConfigType.DOUBLE, "0.5", "log.cleaner.min.cleanable.ratio"),
    TopicConfig("min.compaction.lag.ms", _L, "0", "log.cleaner.min.compaction.lag.ms", at_least=0),
    TopicConfig("min.insync.replicas", _I, "1", "min.insync.replicas", at_least=1),
    TopicConfig("preallocate", _B, "false", "log.preallocate"),
    TopicConfig("remote.copy.lag.bytes", _L, "-1", "log.remote.copy.lag.bytes", at_least=-2, since=(4, 4, 0)),
    TopicConfig("remote.copy.lag.ms", _L, "0", "log.remote.copy.lag.ms", at_least=-2, since=(4, 4, 0)),
    TopicConfig("remote.log.copy.disable", _B, "false", since=(3, 9, 0)),
    TopicConfig("remote.log.delete.on.disable", _B, "false", since=(3, 9, 0)),
    TopicConfig("remote.storage.enable", _B, "false", since=(3, 0, 0)),
    TopicConfig("retention.bytes", _L, "-1", "log.retention.bytes"),
    TopicConfig("retention.ms", _L, "604800000", at_least=-1),
    TopicConfig("segment.bytes", _I, "1073741824", "log.segment.bytes", at_least=14, until=(4, 0, 0)),
    TopicConfig("segment.bytes", _I, "1073741824", "log.segment.bytes", at_least=1 << 20, since=(4, 0, 0)),
    TopicConfig("segment.index.bytes", _I, "10485760", "log.index.size.max.bytes", at_least=4),
    TopicConfig("segment.jitter.ms", _L, "0", at_least=0),
    TopicConfig("segment.ms", _L, "604800000", at_least=1),
    TopicConfig("unclean.leader.election.enable", _B, "false", "unclean.leader.election.enable"),
)


def topic_configs(profile: Profile) -> Mapping[str, TopicConfig]:
    """Return the configurations of topics in a release, by name in alphabetical order."""
    configs = (
        each
        for each in _TABLE
        if each.since <= profile.version and (each.until is None or profile.version < each.until)
    )
    return MappingProxyType({each.name: each for each in sorted(configs, key=lambda each: each.name)})


def throw_if_invalid(profile: Profile, configs: Mapping[str, str | None]) -> None:
    """Check the configuration of a topic. Source: LogConfig#validate (4.3.1).

    Raises:
        InvalidConfigError: a name or value is invalid. The error is for the first one.
    """
    known = topic_configs(profile)
    nulls = sorted(name for name, text in configs.items() if text is None)
    if nulls:
        raise InvalidConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    for name, text in configs.items():
        if name not in known:
            raise InvalidConfigError(f"Unknown topic config name: {name}")
        known[name].throw_if_invalid(text or "")
