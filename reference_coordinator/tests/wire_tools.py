"""Requests of administrators' tools, for tests."""

from typing import Any

from reference_coordinator.tests.wire_broker import WireClient

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def create(client: WireClient, name: str = "t", **fields: Any) -> Any:
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1} | fields
    return client.ask("create_topics", 7, topics=(topic,)).topics[0]


def places(*brokers: tuple[int, tuple[int, ...]]) -> tuple[dict[str, Any], ...]:
    return tuple({"partition_index": index, "broker_ids": ids} for index, ids in brokers)


def alter(client: WireClient, *configs: tuple[str, int, str | None], name: str = "t", **fields: Any) -> Any:
    changes = tuple({"name": each, "config_operation": how, "value": text} for each, how, text in configs)
    resource = {"resource_type": TOPIC, "resource_name": name, "configs": changes}
    return client.ask("incremental_alter_configs", 1, resources=(resource,), **fields).responses[0]


def alter_group(
    client: WireClient, *configs: tuple[str, int, str | None], name: str = "g", **fields: Any
) -> Any:
    changes = tuple({"name": each, "config_operation": how, "value": text} for each, how, text in configs)
    resource = {"resource_type": GROUP, "resource_name": name, "configs": changes}
    return client.ask("incremental_alter_configs", 1, resources=(resource,), **fields).responses[0]


def described(client: WireClient, *resources: tuple[int, str, tuple[str, ...] | None], **fields: Any) -> Any:
    asked = tuple(
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        for kind, name, keys in resources
    )
    return client.ask("describe_configs", 4, resources=asked, **fields).results


def values(client: WireClient, *keys: str) -> dict[str, tuple[str, int]]:
    (result,) = described(client, (TOPIC, "t", keys))
    return {each.name: (each.value, each.config_source) for each in result.configs}
