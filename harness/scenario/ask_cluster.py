"""Builders of requests besides those of groups: any request, topics, ACLs, and a group's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.scenario.messages import Group, Request, RequestValue
from harness.scenario.values import GroupRef, Value

_MAIN: Final = GroupRef("main")
_GROUP_RESOURCE: Final = 32
"""Source: ConfigResource.Type.GROUP."""
_SET: Final = 0
_DELETE: Final = 1
"""The operation on a configuration. Source: AlterConfigOp.OpType."""


def group_configs(
    configs: Mapping[str, str | int | GroupRef | None], *, version: int = 1, group: Group = _MAIN
) -> Request:
    """Configure one group: values by name; None deletes a value, so that the broker's applies again."""
    return _configs(_GROUP_RESOURCE, group, configs, version)


def topic_configs(configs: Mapping[str, str | int | GroupRef | None], *, topic: Group) -> Request:
    """Configure one topic, likewise."""
    return _configs(_RESOURCES["TOPIC"], topic, configs, 1)


def _configs(
    kind: int, name: Group, configs: Mapping[str, str | int | GroupRef | None], version: int
) -> Request:
    changes: Value = tuple(
        {
            "name": each,
            "config_operation": _DELETE if value is None else _SET,
            "value": value if value is None or isinstance(value, GroupRef) else str(value),
        }
        for each, value in configs.items()
    )
    resource: Value = {"resource_type": kind, "resource_name": name, "configs": changes}
    return request("IncrementalAlterConfigs", version, resources=(resource,))


def described_group_configs(*names: str, version: int = 4, group: Group = _MAIN) -> Request:
    """Describe a group's configuration: the named properties, or all if none is named."""
    resource: Value = {
        "resource_type": _GROUP_RESOURCE,
        "resource_name": group,
        "configuration_keys": names or None,
    }
    return request("DescribeConfigs", version, resources=(resource,))


_RESOURCES: Final[Mapping[str, int]] = {"TOPIC": 2, "GROUP": 3, "CLUSTER": 4, "TRANSACTIONAL_ID": 5}
"""Source: ResourceType."""
_OPERATIONS: Final[Mapping[str, int]] = {
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "IDEMPOTENT_WRITE": 12,
}
"""Source: AclOperation."""
_PERMISSIONS: Final[Mapping[str, int]] = {"DENY": 2, "ALLOW": 3}
"""Source: AclPermissionType."""
_LITERAL: Final = 3
_PREFIXED: Final = 4
"""Source: PatternType."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AclEntry:
    """An entry for an authorizer: which principal may, or may not, do what.

    Attributes:
        principal: without its type, `*` for everybody.
        operation: by Kafka's name, e.g. `READ`.
        kind: the type of the resource: TOPIC, GROUP, CLUSTER or TRANSACTIONAL_ID.
        name: the name of the resource; by default, the actor's group.
        permission: ALLOW or DENY.
        is_prefix: whether the name is a prefix of resources' names.
        host: the client's host; `*` for any.
    """

    principal: str
    operation: str
    kind: str = "GROUP"
    name: Group = _MAIN
    permission: str = "ALLOW"
    is_prefix: bool = False
    host: str = "*"


def create_acls(*entries: AclEntry, version: int = 1) -> Request:
    """Add entries to an authorizer."""
    creations: Value = tuple(
        {
            "resource_type": _RESOURCES[each.kind],
            "resource_name": each.name,
            "resource_pattern_type": _PREFIXED if each.is_prefix else _LITERAL,
            "principal": f"User:{each.principal}",
            "host": each.host,
            "operation": _OPERATIONS[each.operation],
            "permission_type": _PERMISSIONS[each.permission],
        }
        for each in entries
    )
    return request("CreateAcls", version, creations=creations)


def describe_acls(entry: AclEntry, *, version: int = 1) -> Request:
    """Describe the entries of an authorizer that match an entry."""
    return request(
        "DescribeAcls",
        version,
        resource_type_filter=_RESOURCES[entry.kind],
        resource_name_filter=entry.name,
        pattern_type_filter=_PREFIXED if entry.is_prefix else _LITERAL,
        principal_filter=f"User:{entry.principal}",
        host_filter=entry.host,
        operation=_OPERATIONS[entry.operation],
        permission_type=_PERMISSIONS[entry.permission],
    )


def metadata(topics: Iterable[Group], *, version: int = 12) -> Request:
    """Request the metadata of topics by name, and create none; from v10 on the answer has their ids."""
    wanted: Value = tuple({"name": topic} for topic in topics)
    return request("Metadata", version, topics=wanted, allow_auto_topic_creation=False)


def create_partitions(name: Group, *, version: int = 2, count: int) -> Request:
    """Increase the number of partitions of a topic that is the scenario's own."""
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
    """Build any request of any version; fields that are not named have Kafka's default."""
    return Request(api=api, version=version, fields=fields)
