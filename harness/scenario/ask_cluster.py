"""What an actor may ask beside groups: any request, topics, and the configuration of a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from harness.scenario.messages import Group, Request, RequestValue
from harness.scenario.values import GroupRef, Value

_MAIN: Final = GroupRef("main")
_GROUP_RESOURCE: Final = 32
"""Source: ConfigResource.Type.GROUP."""
_SET: Final = 0
_DELETE: Final = 1
"""What is done to a configuration. Source: AlterConfigOp.OpType."""


def group_configs(
    configs: Mapping[str, str | int | None], *, version: int = 1, group: Group = _MAIN
) -> Request:
    """Configure one group: values by name; None deletes one, so that the broker's applies again."""
    changes: Value = tuple(
        {
            "name": name,
            "config_operation": _DELETE if value is None else _SET,
            "value": None if value is None else str(value),
        }
        for name, value in configs.items()
    )
    resource: Value = {"resource_type": _GROUP_RESOURCE, "resource_name": group, "configs": changes}
    return request("IncrementalAlterConfigs", version, resources=(resource,))


def described_group_configs(*names: str, version: int = 4, group: Group = _MAIN) -> Request:
    """Ask how a group is configured, by some names or, without any, altogether."""
    resource: Value = {
        "resource_type": _GROUP_RESOURCE,
        "resource_name": group,
        "configuration_keys": names or None,
    }
    return request("DescribeConfigs", version, resources=(resource,))


def metadata(topics: Iterable[Group], *, version: int = 12) -> Request:
    """Ask for topics by name, and create none; from v10 on the answer has their ids."""
    wanted: Value = tuple({"name": topic} for topic in topics)
    return request("Metadata", version, topics=wanted, allow_auto_topic_creation=False)


def create_partitions(name: Group, *, version: int = 2, count: int) -> Request:
    """Have a topic of the scenario's own grow to so many partitions."""
    topic: Value = {"name": name, "count": count, "assignments": None}
    return request("CreatePartitions", version, topics=(topic,), timeout_ms=5_000)


def create_topic(name: Group, *, version: int = 4, num_partitions: int = 1) -> Request:
    """Create one topic; a scenario that deletes it again names it by `group`, so that it is its own."""
    topic: Value = {"name": name, "num_partitions": num_partitions, "replication_factor": 1}
    return request("CreateTopics", version, topics=(topic,), timeout_ms=5_000)


def delete_topic(name: Group, *, version: int = 4) -> Request:
    """Delete one topic by its name."""
    return request("DeleteTopics", version, topic_names=(name,), timeout_ms=5_000)


def request(api: str, version: int, **fields: RequestValue) -> Request:
    """Build any request of any version; what is not named has Kafka's default."""
    return Request(api=api, version=version, fields=fields)
