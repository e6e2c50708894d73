"""Requests of administrators' tools, for tests."""

from typing import Any

from reference_coordinator.tests.wire_connection import Client

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def create(client: Client, name: str = "t", **fields: Any) -> Any:
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1} | fields
    return client.ask("create_topics", 7, topics=(topic,)).topics[0]


def places(*brokers: tuple[int, tuple[int, ...]]) -> tuple[dict[str, Any], ...]:
    return tuple({"partition_index": index, "broker_ids": ids} for index, ids in brokers)


def alter(
    client: Client, *configs: tuple[str, int, str | None], name: str = "t", kind: int = TOPIC, **fields: Any
) -> Any:
    changes = tuple({"name": each, "config_operation": how, "value": text} for each, how, text in configs)
    resource = {"resource_type": kind, "resource_name": name, "configs": changes}
    return client.ask("incremental_alter_configs", 1, resources=(resource,), **fields).responses[0]


def alter_group(client: Client, *configs: tuple[str, int, str | None], name: str = "g", **fields: Any) -> Any:
    return alter(client, *configs, name=name, kind=GROUP, **fields)


def described(client: Client, *resources: tuple[int, str, tuple[str, ...] | None], **fields: Any) -> Any:
    asked = tuple(
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        for kind, name, keys in resources
    )
    return client.ask("describe_configs", 4, resources=asked, **fields).results


def values(client: Client, *keys: str) -> dict[str, tuple[str, int]]:
    (result,) = described(client, (TOPIC, "t", keys))
    return {each.name: (each.value, each.config_source) for each in result.configs}
