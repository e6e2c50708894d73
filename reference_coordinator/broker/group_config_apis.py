"""The configurations of groups, as administrators describe and change them."""

from collections.abc import Mapping

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.config_results import (
    ConfigSource,
    RefusedError,
    broker_synonyms,
    config_result,
)
from reference_coordinator.broker_messages.tools import DescribeConfigsResourceResult, DescribeConfigsSynonym
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.group_configs import GroupConfigEntry, group_configs


def has_group_configs(broker: Broker) -> bool:
    """Return whether groups can be configured, as in releases with consumer groups.

    Decided in: ConfigHelper#describeConfigs (4.0.0).
    """
    return broker.profile.has(Behaviour.CONSUMER_GROUPS)


def group_results(broker: Broker, name: str) -> tuple[DescribeConfigsResourceResult, ...]:
    """Return all configurations of a group, which need not exist.

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
    """Describe one configuration. Source: ConfigHelper#createGroupConfigEntry (4.3.1)."""
    synonyms = list(broker_synonyms(broker, entry.config.synonym or entry.name, entry.config.default))
    if not broker.profile.has(Behaviour.GROUP_CONFIGS_HAVE_SYNONYMS):
        source = ConfigSource.DEFAULT_CONFIG
        synonyms = [DescribeConfigsSynonym(name=entry.name, value=synonyms[0].value, source=source)]
    if override is not None:
        source = ConfigSource.GROUP_CONFIG
        synonyms.insert(0, DescribeConfigsSynonym(name=entry.name, value=override, source=source))
    return config_result(entry.name, entry.config.type, synonyms)


def configs_of_group_to_alter(broker: Broker, name: str) -> Mapping[str, str]:
    """Return a group's own configuration. Decided in: ControllerConfigurationValidator#validate (4.3.1).

    Raises:
        RefusedError: no group is named.
    """
    if not name:
        raise RefusedError(Errors.INVALID_REQUEST, "Default group resources are not allowed.")
    return broker.cluster.group_configs.get(GroupId(name))


def configure_group(broker: Broker, name: str, configs: Mapping[str, str]) -> None:
    """Set a group's configuration. Decided in: GroupConfigManager#updateGroupConfig (4.3.1)."""
    stays_listed = broker.profile.has(Behaviour.UNCONFIGURED_GROUP_STAYS_LISTED)
    broker.cluster.group_configs.configure(GroupId(name), configs, stays_listed=stays_listed)
