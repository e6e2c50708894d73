"""Group configurations on an external broker: which groups have any, and how to delete them.

They outlive their groups, and are only a name and values in the cluster's metadata.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.external.guard import GROUP_RESOURCE
from harness.wire.codec import Fields

_LISTS_GROUPS_SINCE: Final = 1
"""The first version of ListConfigResources that lists groups, in Kafka 4.1. Source: KIP-1142."""
_OF_THE_GROUP: Final = 8
"""The source of a value that is configured for a group. Source: ConfigSource.GROUP_CONFIG."""
_DELETE: Final = 1
"""Source: AlterConfigOp.OpType."""


def lists_configured_groups(dialogue: Dialogue) -> bool:
    """Return whether a broker can list the groups that have a configuration."""
    try:
        dialogue.version_of("ListConfigResources", (_LISTS_GROUPS_SINCE,))
    except NotYet:
        return False
    return True


async def configured_groups(dialogue: Dialogue) -> Sequence[str]:
    """Return the groups that have a configuration; empty if the broker cannot list them."""
    if not lists_configured_groups(dialogue):
        return ()
    fields: Fields = {"resource_types": [GROUP_RESOURCE]}
    answer = await dialogue.ask("ListConfigResources", _LISTS_GROUPS_SINCE, fields)
    rows = [row for row in answer.rows("config_resources") if row.number("resource_type") == GROUP_RESOURCE]
    return [row.text("resource_name") or "" for row in rows]


async def delete_configs(dialogue: Dialogue, groups: Sequence[str]) -> Mapping[str, str]:
    """Delete the configurations of some groups, and return the error code of each."""
    resources: list[Fields] = [
        {"resource_type": GROUP_RESOURCE, "resource_name": group, "configuration_keys": None}
        for group in groups
    ]
    described = await dialogue.ask(
        "DescribeConfigs", dialogue.version_of("DescribeConfigs", (4, 3, 2, 1)), {"resources": resources}
    )
    changes: list[Fields] = []
    for row in described.rows("results"):
        names = [
            each.text("name") for each in row.rows("configs") if each.number("config_source") == _OF_THE_GROUP
        ]
        deletions: list[Fields] = [
            {"name": name, "config_operation": _DELETE, "value": None} for name in names
        ]
        changes.append(
            {
                "resource_type": GROUP_RESOURCE,
                "resource_name": row.text("resource_name") or "",
                "configs": deletions,
            }
        )
    fields: Fields = {"resources": changes, "validate_only": False}
    version = dialogue.version_of("IncrementalAlterConfigs", (1, 0))
    rows = (await dialogue.ask("IncrementalAlterConfigs", version, fields)).rows("responses")
    return {row.text("resource_name") or "": row.text("error_code") or "" for row in rows}
