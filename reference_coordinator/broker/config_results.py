"""The description of one configuration, or the refusal to describe or change a resource."""

from collections.abc import Sequence
from enum import IntEnum, unique

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker_messages.tools import DescribeConfigsResourceResult, DescribeConfigsSynonym
from reference_coordinator.core.errors import Errors


@unique
class ConfigSource(IntEnum):
    """The source of a value. Source: DescribeConfigsResponse.ConfigSource (4.3.1)."""

    TOPIC_CONFIG = 1
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class RefusedError(Exception):
    """A refusal, with the error and the message for the client."""

    def __init__(self, error: Errors, message: str | None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def broker_synonyms(broker: Broker, name: str, default: str) -> tuple[DescribeConfigsSynonym, ...]:
    """Return a broker property's value, if the broker was started with one, and its default."""
    by_default = DescribeConfigsSynonym(name=name, value=default, source=ConfigSource.DEFAULT_CONFIG)
    reported = broker.config.reported_value(name)
    given = default if reported is None else reported
    if name not in broker.config.named and given == default:
        return (by_default,)
    of_broker = DescribeConfigsSynonym(name=name, value=given, source=ConfigSource.STATIC_BROKER_CONFIG)
    return of_broker, by_default


def config_result(
    name: str,
    config_type: int,
    synonyms: Sequence[DescribeConfigsSynonym],
    *,
    default: str | None = None,
    read_only: bool = False,
) -> DescribeConfigsResourceResult:
    """Describe one configuration; its value is that of its first synonym, or else the default."""
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    return DescribeConfigsResourceResult(
        name=name,
        value=synonyms[0].value if synonyms else default,
        read_only=read_only,
        config_source=source,
        is_default=source == ConfigSource.DEFAULT_CONFIG,
        config_type=config_type,
        synonyms=tuple(synonyms),
    )
