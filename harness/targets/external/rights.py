"""Checks that a run's principal has the rights that a run needs, before anything is made."""

from collections.abc import Sequence
from typing import Final

from harness.apis.rights import UNAUTHORIZED, lacking_operations
from harness.targets.base.dialogue import Answer, Dialogue, NotServed, Unreadable
from harness.targets.base.interface import TargetError
from harness.targets.external.group_configs import lists_configured_groups
from harness.targets.external.namespace import MARK
from harness.wire.codec import Fields

GROUP_RIGHTS: Final = ("Read", "Delete")
"""Each of these implies Describe. Source: AclAuthorizer, StandardAuthorizerData (3.9.2)."""
CONFIG_RIGHTS: Final = ("AlterConfigs", "DescribeConfigs")
"""The rights to configure a group, which not all scenarios need."""
TOPIC_RIGHTS: Final = ("Read", "Write", "Delete")
"""In addition to Create, without which there would be no topics to check."""
_ALL_OF_CLUSTER: Final = ("Alter",)
"""A right on the cluster that only an unrestricted principal has."""
_NO_PRODUCER: Final = -1
_NO_FIELD: Final = -1
"""The result of `Answer.number` for a field that a version lacks."""


async def require_rights(dialogue: Dialogue, *, group: str, topics: Sequence[str]) -> bool:
    """Check the principal's rights on names of the run, and return whether its rights are restricted.

    Args:
        dialogue: a dialogue with a broker of the cluster, whose API versions are known.
        group: a name that the run may use for a group and a transactional id.
        topics: the run's topics, which exist unless they could not be created.

    Raises:
        TargetError: the principal lacks rights; the message lists them all.
    """
    lacking = [
        *(f"{each} on Group" for each in await _lacking_on_group(dialogue, group)),
        *(f"{each} on Topic" for each in await _lacking_on_topics(dialogue, topics)),
        *(f"{each} on TransactionalId" for each in await _lacking_on_transactions(dialogue, group)),
    ]
    if lacking:
        raise TargetError(
            f"the run's principal lacks rights: {', '.join(lacking)}, each for names that begin with {MARK} "
            "(kafka-acls --resource-pattern-type prefixed); docs/external.md lists what a run needs"
        )
    return await _is_restricted(dialogue)


async def may_configure(dialogue: Dialogue, *, group: str) -> bool:
    """Return whether the principal may configure groups of the run, and list configured groups later."""
    return lists_configured_groups(dialogue) and not await _lacking_on_group(dialogue, group, CONFIG_RIGHTS)


async def _lacking_on_group(
    dialogue: Dialogue, group: str, wanted: tuple[str, ...] = GROUP_RIGHTS
) -> Sequence[str]:
    try:
        version = dialogue.version_of("DescribeGroups", (4, 3, 5))
    except NotServed:
        return ()
    fields: Fields = {"groups": [group], "include_authorized_operations": True}
    for row in (await _answer(dialogue, "DescribeGroups", version, fields)).rows("groups"):
        if (row.text("error_code") or "") in UNAUTHORIZED:
            return wanted
        return _lacking(row.number("authorized_operations"), wanted)
    return ()


async def _lacking_on_topics(dialogue: Dialogue, topics: Sequence[str]) -> Sequence[str]:
    try:
        version = dialogue.version_of("Metadata", (8, 9, 10, 11, 12))
    except NotServed:
        return ()
    fields: Fields = {
        "topics": [{"name": name} for name in topics],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    found: set[str] = set()
    for row in (await _answer(dialogue, "Metadata", version, fields)).rows("topics"):
        if row.text("error_code") == "NONE":
            found |= set(_lacking(row.number("topic_authorized_operations"), TOPIC_RIGHTS))
    return [name for name in TOPIC_RIGHTS if name in found]


async def _lacking_on_transactions(dialogue: Dialogue, name: str) -> Sequence[str]:
    """Send a request with an unused producer id: a missing right is reported first, and nothing is changed.

    Source: KafkaApis#handleAddOffsetsToTxnRequest (3.9.2).
    """
    try:
        version = dialogue.version_of("AddOffsetsToTxn", (1, 0, 2, 3))
    except NotServed:
        return ()
    fields: Fields = {
        "transactional_id": name,
        "producer_id": _NO_PRODUCER,
        "producer_epoch": _NO_PRODUCER,
        "group_id": name,
    }
    answer = await _answer(dialogue, "AddOffsetsToTxn", version, fields)
    return ("Write",) if answer.text("error_code") == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" else ()


async def _is_restricted(dialogue: Dialogue) -> bool:
    try:
        version = dialogue.version_of("Metadata", (8, 9, 10))
    except NotServed:
        return False
    fields: Fields = {
        "topics": [],
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": True,
    }
    answer = await _answer(dialogue, "Metadata", version, fields)
    return bool(_lacking(answer.number("cluster_authorized_operations"), _ALL_OF_CLUSTER))


async def _answer(dialogue: Dialogue, api: str, version: int, fields: Fields) -> Answer:
    """Return an answer; an empty one, which refuses nothing, for one that cannot be read."""
    try:
        return await dialogue.ask(api, version, fields)
    except Unreadable:
        return Answer({})


def _lacking(authorized: int, wanted: tuple[str, ...]) -> Sequence[str]:
    return () if authorized == _NO_FIELD else lacking_operations(authorized, wanted)
