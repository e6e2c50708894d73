"""Declaration and parsing of broker properties."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, unique
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from reference_coordinator.core.java import trim

INT_MAX: Final = 2**31 - 1
INT_MIN: Final = -(2**31)
LONG_MAX: Final = 2**63 - 1
_STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# Integer.parseInt accepts only a sign and digits, unlike Python's int().
_JAVA_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


class ConfigError(Exception):
    """Kafka does not accept a property or its value. The message contains both and the remedy."""


@unique
class ConsumerGroupMigrationPolicy(Enum):
    """The allowed conversions of groups with members. Source: ConsumerGroupMigrationPolicy (4.3.1)."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def is_upgrade_enabled(self) -> bool:
        """Whether a classic group may become a consumer group."""
        return self in {ConsumerGroupMigrationPolicy.BIDIRECTIONAL, ConsumerGroupMigrationPolicy.UPGRADE}

    @property
    def is_downgrade_enabled(self) -> bool:
        """Whether a consumer group may become a classic group."""
        return self in {ConsumerGroupMigrationPolicy.BIDIRECTIONAL, ConsumerGroupMigrationPolicy.DOWNGRADE}


def _parse_names(
    name: str, text: str, *, allowed: tuple[str, ...], short: Mapping[str, str]
) -> tuple[str, ...]:
    """Source: ConfigDef#parseType (4.3.1), ConfigDef.ValidList#ensureValid (4.3.1)."""
    listed = tuple(short.get(each, each) for each in re.split(r"\s*,\s*", trim(text)))
    if len(set(listed)) < len(listed) or not set(listed) <= set(allowed):
        raise ConfigError(f"{name} is {text!r}; give one or more of {', '.join(allowed)}, each once.")
    return listed


def _parse_boolean(name: str, text: str) -> bool:
    """Source: ConfigDef#parseType (4.3.1)."""
    trimmed = trim(text).lower()
    if trimmed not in {"true", "false"}:
        raise ConfigError(f"{name} is {text!r}; give true or false.")
    return trimmed == "true"


def parse_text(_: str, text: str) -> str:
    """Source: ConfigDef#parseType (4.3.1)."""
    return trim(text)


def parse_allows_everyone(_: str, text: str) -> bool:
    """Return whether the text is `true`. Source: StandardAuthorizer#getDefaultResult (3.9.2)."""
    return trim(text).lower() == "true"


def parse_authorizer(name: str, text: str) -> str:
    """Accept the only authorizer that the reference supports, or none."""
    if trim(text) not in {"", _STANDARD_AUTHORIZER}:
        raise ConfigError(f"{name} is {text!r}; the reference knows {_STANDARD_AUTHORIZER} alone.")
    return trim(text)


def parse_super_users(_: str, text: str) -> tuple[str, ...]:
    """Source: StandardAuthorizer#getConfiguredSuperUsers (3.9.2)."""
    return tuple(each for each in map(trim, text.split(";")) if each)


def parse_list(text: str) -> tuple[str, ...]:
    """Source: ConfigDef#parseType (4.3.1)."""
    return tuple(re.split(r"\s*,\s*", trim(text))) if trim(text) else ()


def parse_tags(name: str, text: str) -> tuple[str, ...]:
    """Source: GroupCoordinatorConfig#verifyStreamsGroupConfigs (4.4.0)."""
    tags = parse_list(text)
    if len(set(tags)) < len(tags):
        raise ConfigError(f"{name} is {text!r}; give each tag once.")
    return tags


def parse_policy(name: str, text: str) -> ConsumerGroupMigrationPolicy:
    """Source: ConsumerGroupMigrationPolicy#parse (4.3.1)."""
    by_name = {each.value: each for each in ConsumerGroupMigrationPolicy}
    policy = by_name.get(trim(text).lower())
    if policy is None:
        raise ConfigError(f"{name} is {text!r}; give one of {', '.join(by_name)}.")
    return policy


def _parse_integer(name: str, text: str, *, at_least: int, at_most: int) -> int:
    trimmed = trim(text)
    if not _JAVA_INTEGER.fullmatch(trimmed):
        raise ConfigError(
            f"{name} is {text!r}, which is not an integer; give a whole number from {at_least} to {at_most}."
        )
    value = int(trimmed)
    if not at_least <= value <= at_most:
        raise ConfigError(
            f"{name} is {value}, which Kafka refuses; give a value from {at_least} to {at_most}."
        )
    return value


_ValueT = TypeVar("_ValueT")
Value = int | str | tuple[str, ...] | ConsumerGroupMigrationPolicy
Parse = Callable[[str, str], Value]
"""A parser of a property's value, from its name and its text."""


def number(default: int, *, at_least: int, at_most: int = INT_MAX) -> int:
    """Declare an integer property with bounds."""
    # dataclasses.field has the type of the field's value.
    return parsed_by(partial(_parse_integer, at_least=at_least, at_most=at_most), default)


def flag(*, default: bool) -> bool:
    """Declare a boolean property."""
    return parsed_by(_parse_boolean, default)


def names(
    default: tuple[str, ...], *, allowed: tuple[str, ...], short: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Declare a property that is a list of names. `short` maps class names to short names."""
    return parsed_by(partial(_parse_names, allowed=allowed, short=short), default)


def parsed_by(parse: Parse, default: _ValueT) -> _ValueT:
    """Declare a property with its own parser."""
    return field(default=default, metadata={"parse": parse})
