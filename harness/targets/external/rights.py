"""Whether a run's principal may do what a run needs, asked before anything is made."""

from collections.abc import Sequence
from typing import Final

from harness.apis.rights import UNAUTHORIZED, lacking_operations
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import TargetError
from harness.targets.external.group_configs import lists_configured_groups
from harness.targets.external.namespace import MARK
from harness.wire.codec import Fields

GROUP_RIGHTS: Final = ("Read", "Delete")
"""Each of these implies Describe. Source: AclAuthorizer, StandardAuthorizerData (3.9.2)."""
CONFIG_RIGHTS: Final = ("AlterConfigs", "DescribeConfigs")
"""What it takes to configure a group, which not all scenarios do."""
TOPIC_RIGHTS: Final = ("Read", "Write", "Delete")
"""Beside Create, without which there would be no topics to ask about."""
_ALL_OF_CLUSTER: Final = ("Alter",)
"""A right on the cluster that only those have whom no list of rights restricts."""
_NO_PRODUCER: Final = -1
_NO_FIELD: Final = -1
"""What `Answer.number` gives for a field that a version has not."""


async def require_rights(dialogue: Dialogue, *, group: str, topics: Sequence[str]) -> bool:
    """Ask what the principal may do with names of the run, and return whether any rights are restricted.

    Args:
        dialogue: with a broker of the cluster, whose versions are known.
        group: a name that the run may use for a group and a transactional id.
        topics: those of the run, which are there unless they could not be made.

    Raises:
        TargetError: it lacks rights; the message lists them all.
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
    """Ask whether the principal may configure groups of the run, and find later which it has configured."""
    return lists_configured_groups(dialogue) and not await _lacking_on_group(dialogue, group, CONFIG_RIGHTS)


async def _lacking_on_group(
    dialogue: Dialogue, group: str, wanted: tuple[str, ...] = GROUP_RIGHTS
) -> Sequence[str]:
    try:
        version = dialogue.version_of("DescribeGroups", (4, 3, 5))
    except NotYet:
        return ()
    fields: Fields = {"groups": [group], "include_authorized_operations": True}
    (row, *_) = (await dialogue.ask("DescribeGroups", version, fields)).rows("groups")
    if (row.text("error_code") or "") in UNAUTHORIZED:
        return wanted
    return _lacking(row.number("authorized_operations"), wanted)


async def _lacking_on_topics(dialogue: Dialogue, topics: Sequence[str]) -> Sequence[str]:
    try:
        version = dialogue.version_of("Metadata", (8, 9, 10, 11, 12))
    except NotYet:
        return ()
    fields: Fields = {
        "topics": [{"name": name} for name in topics],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    found: set[str] = set()
    for row in (await dialogue.ask("Metadata", version, fields)).rows("topics"):
        if row.text("error_code") == "NONE":
            found |= set(_lacking(row.number("topic_authorized_operations"), TOPIC_RIGHTS))
    return [name for name in TOPIC_RIGHTS if name in found]


async def _lacking_on_transactions(dialogue: Dialogue, name: str) -> Sequence[str]:
    """Ask with a producer id that nobody has: a right that is missing is found first, and nothing is changed.

    Source: KafkaApis#handleAddOffsetsToTxnRequest (3.9.2).
    """
    try:
        version = dialogue.version_of("AddOffsetsToTxn", (1, 0, 2, 3))
    except NotYet:
        return ()
    fields: Fields = {
        "transactional_id": name,
        "producer_id": _NO_PRODUCER,
        "producer_epoch": _NO_PRODUCER,
        "group_id": name,
    }
    answer = await dialogue.ask("AddOffsetsToTxn", version, fields)
    return ("Write",) if answer.text("error_code") == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" else ()


async def _is_restricted(dialogue: Dialogue) -> bool:
    try:
        version = dialogue.version_of("Metadata", (8, 9, 10))
    except NotYet:
        return False
    fields: Fields = {
        "topics": [],
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": True,
    }
    answer = await dialogue.ask("Metadata", version, fields)
    return bool(_lacking(answer.number("cluster_authorized_operations"), _ALL_OF_CLUSTER))


def _lacking(authorized: int, wanted: tuple[str, ...]) -> Sequence[str]:
    return () if authorized == _NO_FIELD else lacking_operations(authorized, wanted)
