"""DescribeConfigs, IncrementalAlterConfigs and ListConfigResources.

Topics and groups can be configured; the configuration that brokers were started with is only described.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum, unique
from types import MappingProxyType
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.config_results import (
    ConfigSource,
    RefusedError,
    broker_synonyms,
    config_result,
)
from reference_coordinator.broker.group_config_apis import (
    configs_of_group_to_alter,
    configure_group,
    group_results,
    has_group_configs,
)
from reference_coordinator.broker.topics import Topic, is_legal_topic_name
from reference_coordinator.broker_messages import tools
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.parts import between_parts
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.behaviours import OLDEST, Version
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.group_configs import group_configs
from reference_coordinator.profile.group_configs import throw_if_invalid as throw_if_group_invalid
from reference_coordinator.profile.topic_configs import (
    ConfigType,
    InvalidConfigError,
    TopicConfig,
    throw_if_invalid,
    topic_configs,
)

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_INVALID_REQUEST: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was "
    "sent to an incompatible broker. See the broker logs for more details."
)
_FIRST_OF_ALL_KINDS: Final = 1
_SINCE: Final = MappingProxyType(
    {
        "group.coordinator.append.linger.ms": (3, 8, 0),
        "group.coordinator.rebalance.protocols": (4, 0, 0),
        "group.share.enable": (4, 1, 0),
        "group.share.max.share.sessions": (4, 1, 0),
        "group.streams.initial.rebalance.delay.ms": (4, 2, 0),
        "group.streams.rack.aware.assignment.tags": (4, 4, 0),
    }
)
"""The first releases that describe these properties, which 2.4 lacks."""
_SINCE_BY_PREFIX: Final = MappingProxyType(
    {
        "errors.deadletterqueue.": (4, 4, 0),
        "group.consumer.": (4, 0, 0),
        "group.share.": (3, 9, 0),
        "group.streams.": (4, 1, 0),
    }
)
"""The same for all other properties of a type of groups."""
_OF_INTERVALS: Final = ".assignment.interval.ms"
_FIRST_WITH_INTERVALS: Final = (4, 3, 0)
_NEVER: Final = (99, 0, 0)
_UNTIL: Final = MappingProxyType({"group.share.enable": (4, 3, 0)})
"""The releases from which on Kafka no longer has these properties."""
_INTERNAL: Final = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "authorizer.class.name",
        "group.consumer.regex.refresh.interval.ms",
        "group.share.initialize.retry.interval.ms",
        "group.streams.acceptable.recovery.lag",
        "group.streams.num.warmup.replicas",
        "group.streams.task.offset.interval.ms",
        "super.users",
        "unstable.api.versions.enable",
    }
)
"""Properties that are described only if the broker was started with them."""
_FEATURES: Final = frozenset({"group.version", "share.version", "streams.version"})
"""Features, which are configured along with properties, but never described."""
_TYPES: Final = MappingProxyType(
    {
        "allow.everyone.if.no.acl.found": ConfigType.STRING,
        "authorizer.class.name": ConfigType.STRING,
        "super.users": ConfigType.STRING,
        "errors.deadletterqueue.auto.create.topics.enable": ConfigType.BOOLEAN,
        "errors.deadletterqueue.topic.name.prefix": ConfigType.STRING,
        "group.consumer.assignors": ConfigType.LIST,
        "group.consumer.migration.policy": ConfigType.STRING,
        "group.coordinator.rebalance.protocols": ConfigType.LIST,
        "group.streams.rack.aware.assignment.tags": ConfigType.LIST,
    }
)
"""The types of properties that are not numbers."""
_INTEGER: Final = re.compile(r"[+-]?\d+")


@unique
class _Kind(IntEnum):
    """Kafka's numbers of the types of resources. Source: ConfigResource.Type (4.3.1)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


_DESCRIBED: Final = frozenset({_Kind.TOPIC, _Kind.BROKER})


def handle_describe_configs(
    broker: Broker, request: tools.DescribeConfigsRequest
) -> tools.DescribeConfigsResponse:
    """Return the configurations of topics, groups and the broker.

    Source: ConfigHelper#describeConfigs (3.9.2).
    """
    with_synonyms = request.include_synonyms
    described = _DESCRIBED | {_Kind.GROUP} if has_group_configs(broker) else _DESCRIBED
    if not all(each.resource_type in described for each in request.resources):
        # Kafka throws, which refuses the supported resources together with the others.
        return tools.DescribeConfigsResponse(
            results=tuple(_not_described(each) for each in request.resources)
        )
    return tools.DescribeConfigsResponse(
        results=tuple(_described(broker, each, with_synonyms=with_synonyms) for each in request.resources)
    )


def _not_described(resource: tools.DescribeConfigsResource) -> tools.DescribeConfigsResult:
    return tools.DescribeConfigsResult(
        error_code=Errors.INVALID_REQUEST,
        error_message=_INVALID_REQUEST,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _described(
    broker: Broker, resource: tools.DescribeConfigsResource, *, with_synonyms: bool
) -> tools.DescribeConfigsResult:
    between_parts()
    error, message = Errors.NONE, ""
    configs: tuple[tools.DescribeConfigsResourceResult, ...] = ()
    try:
        if resource.resource_type == _Kind.TOPIC:
            found = topic_results(broker, dict(_topic_to_describe(broker, resource.resource_name).configs))
        elif resource.resource_type == _Kind.GROUP:
            found = group_results(broker, resource.resource_name)
        else:
            found = _broker_results(broker, resource.resource_name)
    except RefusedError as refusal:
        error, message = refusal.error, refusal.message or ""
    else:
        wanted = resource.configuration_keys
        configs = tuple(each for each in found if not wanted or each.name in wanted)
        if not with_synonyms:
            configs = tuple(replace(each, synonyms=()) for each in configs)
    return tools.DescribeConfigsResult(
        error_code=error,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs,
    )


def _topic_to_describe(broker: Broker, name: str) -> Topic:
    if not is_legal_topic_name(name):
        raise RefusedError(Errors.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {name!r}")
    topic = broker.topics.get(name)
    if topic is None:
        raise RefusedError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "")
    return topic


def topic_results(
    broker: Broker, overrides: Mapping[str, str | None]
) -> tuple[tools.DescribeConfigsResourceResult, ...]:
    """Return all configurations of a topic with these overrides, in alphabetical order.

    Source: ConfigHelper#createTopicConfigEntry (3.9.2).
    """
    return tuple(
        _topic_result(broker, each, overrides.get(each.name))
        for each in topic_configs(broker.profile).values()
    )


def _topic_result(
    broker: Broker, config: TopicConfig, override: str | None
) -> tools.DescribeConfigsResourceResult:
    synonyms: list[tools.DescribeConfigsSynonym] = []
    if override is not None:
        source = ConfigSource.TOPIC_CONFIG
        synonyms.append(tools.DescribeConfigsSynonym(name=config.name, value=override, source=source))
    if config.synonym is not None:
        synonyms += broker_synonyms(broker, config.synonym, config.default)
    return config_result(config.name, config.type, synonyms, default=config.default)


def _broker_results(broker: Broker, name: str) -> tuple[tools.DescribeConfigsResourceResult, ...]:
    """Return the properties that the reference reads, as the broker was started: they cannot change."""
    if not name:
        return ()
    if not _INTEGER.fullmatch(name):
        raise RefusedError(Errors.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != broker.node.node_id:
        expected = f"expected {broker.node.node_id} or empty string, but received {name}"
        raise RefusedError(Errors.INVALID_REQUEST, f"Unexpected broker id, {expected}")
    return tuple(
        config_result(
            name,
            _TYPES.get(name, ConfigType.INT),
            broker_synonyms(broker, name, default),
            read_only=True,
        )
        for name, default in GroupCoordinatorConfig().reported().items()
        if _first_release_with(name) <= broker.profile.version < _UNTIL.get(name, _NEVER)
        and (name not in _INTERNAL or name in broker.config.named)
        and name not in _FEATURES
    )


def _first_release_with(name: str) -> Version:
    if name in _SINCE:
        return _SINCE[name]
    if name.endswith(_OF_INTERVALS):
        return _FIRST_WITH_INTERVALS
    return next((since for prefix, since in _SINCE_BY_PREFIX.items() if name.startswith(prefix)), OLDEST)


def handle_incremental_alter_configs(
    broker: Broker, request: tools.IncrementalAlterConfigsRequest
) -> tools.IncrementalAlterConfigsResponse:
    """Change the configurations of topics and groups; each resource is changed as a whole or not at all.

    Source: ConfigurationControlManager#incrementalAlterConfigs, ConfigAdminManager#preprocess (4.3.1).
    """
    named = Counter((each.resource_type, each.resource_name) for each in request.resources)
    return tools.IncrementalAlterConfigsResponse(
        responses=tuple(
            _altered(
                broker,
                each,
                is_twice=named[each.resource_type, each.resource_name] > 1,
                validate_only=request.validate_only,
            )
            for each in request.resources
        )
    )


def _altered(
    broker: Broker, resource: tools.AlterConfigsResource, *, is_twice: bool, validate_only: bool
) -> tools.AlterConfigsResourceResponse:
    error, message = Errors.NONE, None
    try:
        _throw_if_malformed(resource, is_twice=is_twice)
        configure = _configure(broker, resource)
    except RefusedError as refusal:
        error, message = refusal.error, refusal.message
    else:
        if not validate_only:
            configure()
    return tools.AlterConfigsResourceResponse(
        error_code=error,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _throw_if_malformed(resource: tools.AlterConfigsResource, *, is_twice: bool) -> None:
    if is_twice:
        raise RefusedError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")
    names = [each.name for each in resource.configs]
    if len(set(names)) < len(names):
        raise RefusedError(Errors.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        each.name for each in resource.configs if each.value is None and each.config_operation != _DELETE
    ]
    if nulls:
        raise RefusedError(Errors.INVALID_REQUEST, f"Null value not supported for : {','.join(nulls)}")


def _configure(broker: Broker, resource: tools.AlterConfigsResource) -> Callable[[], object]:
    """Check the changes of a resource, and return the function that applies them."""
    name, profile = resource.resource_name, broker.profile
    if resource.resource_type == _Kind.BROKER:
        reported = ", ".join(each.name for each in resource.configs)
        raise RefusedError(Errors.INVALID_REQUEST, f"Cannot update these configs dynamically: [{reported}]")
    if resource.resource_type == _Kind.GROUP and has_group_configs(broker):
        former = configs_of_group_to_alter(broker, name)
        known = {each.name: each.config for each in group_configs(profile).values()}
        configs = _changed(
            known, former, resource, lambda each: throw_if_group_invalid(profile, each, broker.config)
        )
        return lambda: configure_group(broker, name, configs)
    if resource.resource_type != _Kind.TOPIC:
        unknown = f"Unknown resource type {resource.resource_type}"
        raise RefusedError(Errors.INVALID_REQUEST, unknown)
    topic = _topic_to_alter(broker, resource)
    configs = _changed(
        topic_configs(profile), dict(topic.configs), resource, lambda each: throw_if_invalid(profile, each)
    )
    return lambda: broker.topics.configure(name, configs)


def _topic_to_alter(broker: Broker, resource: tools.AlterConfigsResource) -> Topic:
    topic = broker.topics.get(resource.resource_name)
    if topic is None:
        missing = f"The topic '{resource.resource_name}' does not exist."
        raise RefusedError(Errors.UNKNOWN_TOPIC_OR_PARTITION, missing)
    return topic


def _changed(
    known: Mapping[str, TopicConfig],
    former: Mapping[str, str],
    resource: tools.AlterConfigsResource,
    throw_if_refused: Callable[[Mapping[str, str]], None],
) -> Mapping[str, str]:
    configs = dict(former)
    try:
        for each in resource.configs:
            if each.config_operation == _DELETE:
                configs.pop(each.name, None)
                continue
            configs[each.name] = _new_value(known.get(each.name), configs.get(each.name), each)
        throw_if_refused(configs)
    except InvalidConfigError as error:
        raise RefusedError(Errors.INVALID_CONFIG, str(error)) from error
    return configs


def _new_value(config: TopicConfig | None, former: str | None, change: tools.AlterableConfig) -> str:
    assert change.value is not None, "refused before"
    if change.config_operation == _SET or config is None:
        return change.value
    if change.config_operation not in {_APPEND, _SUBTRACT}:
        raise RefusedError(Errors.UNKNOWN_SERVER_ERROR, None)
    if config.type is not ConfigType.LIST:
        verb = "APPEND" if change.config_operation == _APPEND else "SUBTRACT"
        wrong = f"Can't {verb} to key {config.name} because its type is not LIST."
        raise RefusedError(Errors.INVALID_CONFIG, wrong)
    parts = [each for each in (config.default if former is None else former).split(",") if each]
    named = [each for each in change.value.split(",") if each]
    if change.config_operation == _APPEND:
        return ",".join((*parts, *(each for each in named if each not in parts)))
    return ",".join(each for each in parts if each not in named)


def handle_list_config_resources(
    broker: Broker, request: tools.ListConfigResourcesRequest, context: RequestContext
) -> tools.ListConfigResourcesResponse:
    """List the resources that can be configured; v0 lists metrics subscriptions, of which there are none.

    Source: KafkaApis#handleListConfigResources (4.3.1).
    """
    if context.api_version < _FIRST_OF_ALL_KINDS:
        return tools.ListConfigResourcesResponse(error_code=Errors.NONE)
    kinds = set(request.resource_types or tuple(_Kind))
    if not kinds <= set(_Kind):
        return tools.ListConfigResourcesResponse(error_code=Errors.UNSUPPORTED_VERSION)
    brokers = [str(node.node_id) for node in broker.cluster.nodes]
    named: dict[_Kind, list[str]] = {
        _Kind.GROUP: list(broker.cluster.group_configs),
        _Kind.BROKER_LOGGER: brokers,
        _Kind.BROKER: brokers,
        _Kind.TOPIC: [topic.name for topic in broker.topics],
    }
    return tools.ListConfigResourcesResponse(
        error_code=Errors.NONE,
        config_resources=tuple(
            tools.ConfigResource(resource_name=name, resource_type=kind)
            for kind, names in named.items()
            if kind in kinds
            for name in names
        ),
    )
