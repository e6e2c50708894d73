"""How groups are configured, as administrators see and change it."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.config_refusals import RefusedError
from reference_coordinator.broker_messages.tools import DescribeConfigsResourceResult, DescribeConfigsSynonym
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.group_configs import GroupConfigEntry, group_configs

_OF_BROKER: Final = 4
_BY_DEFAULT: Final = 5
_OF_GROUP: Final = 8


def has_group_configs(broker: Broker) -> bool:
    """Whether groups can be configured: where there are groups that look at it.

    Decided in: ConfigHelper#describeConfigs (4.0.0).
    """
    return broker.profile.has(Behaviour.CONSUMER_GROUPS)


def group_results(broker: Broker, name: str) -> tuple[DescribeConfigsResourceResult, ...]:
    """Tell everything that a group is configured with; there need be no such group.

    Decided in: ConfigHelper#describeConfigs (4.3.1).

    Raises:
        RefusedError: no group is named.
    """
    if not name:
        raise RefusedError(Errors.INVALID_REQUEST, "Group name must not be empty")
    overrides = broker.cluster.group_configs.get(GroupId(name))
    return tuple(
        create_group_config_entry(broker, each, overrides.get(each.name))
        for each in sorted(group_configs(broker.profile).values(), key=lambda each: each.name)
        if not each.is_internal or each.name in overrides
    )


def create_group_config_entry(
    broker: Broker, entry: GroupConfigEntry, override: str | None
) -> DescribeConfigsResourceResult:
    """Tell one configuration. Source: ConfigHelper#createGroupConfigEntry (4.3.1)."""
    synonyms = _inherited(broker, entry)
    effective = synonyms[0].value
    if override is not None:
        synonyms.insert(0, DescribeConfigsSynonym(name=entry.name, value=override, source=_OF_GROUP))
    source = synonyms[0].source
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=effective if override is None else override,
        read_only=False,
        config_source=source,
        is_default=source == _BY_DEFAULT,
        config_type=entry.config.type,
        synonyms=tuple(synonyms),
    )


def _inherited(broker: Broker, entry: GroupConfigEntry) -> list[DescribeConfigsSynonym]:
    """Return where a value comes from that the group itself does not have."""
    default, synonym = entry.config.default, entry.config.synonym
    of_broker = None if synonym is None else broker.config.reported().get(synonym)
    if not broker.profile.has(Behaviour.GROUP_CONFIGS_HAVE_SYNONYMS):
        known = default if of_broker is None else of_broker
        return [DescribeConfigsSynonym(name=entry.name, value=known, source=_BY_DEFAULT)]
    if synonym is None:
        return [DescribeConfigsSynonym(name=entry.name, value=default, source=_BY_DEFAULT)]
    found = [DescribeConfigsSynonym(name=synonym, value=default, source=_BY_DEFAULT)]
    if of_broker is not None and (synonym in broker.config.named or of_broker != default):
        found.insert(0, DescribeConfigsSynonym(name=synonym, value=of_broker, source=_OF_BROKER))
    return found


def configs_of_group_to_alter(broker: Broker, name: str) -> Mapping[str, str]:
    """Return what a group is configured with. Decided in: ControllerConfigurationValidator#validate (4.3.1).

    Raises:
        RefusedError: no group is named.
    """
    if not name:
        raise RefusedError(Errors.INVALID_REQUEST, "Default group resources are not allowed.")
    return broker.cluster.group_configs.get(GroupId(name))


def configure_group(broker: Broker, name: str, configs: Mapping[str, str]) -> None:
    """Let a group be configured so. Decided in: GroupConfigManager#updateGroupConfig (4.3.1)."""
    stays_listed = broker.profile.has(Behaviour.UNCONFIGURED_GROUP_STAYS_LISTED)
    broker.cluster.group_configs.configure(GroupId(name), configs, stays_listed=stays_listed)
