"""Removes every group from a coordinator, which is then in the state of a new broker's."""

from typing import Final

from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import (
    BrokerSession,
)
from harness.targets.base.prepare import ask_until, prepare
from harness.wire.codec import Fields

_LOG: Final = "__consumer_offsets"
_GROUPS_A_PARTITION: Final = 3
"""Ids that differ in a number at their end are spread evenly, except where the number gets another digit."""
_DELETED: Final = frozenset({"NONE", "UNKNOWN_TOPIC_OR_PARTITION"})
_DELETE_TIMEOUT_MS: Final = 10_000


async def clear_log(session: BrokerSession, *, partitions: int, timeout_ms: float) -> None:
    """Delete `__consumer_offsets`, wait until no group is coordinated any more, and recreate the topic.

    Only for brokers that the harness started: every group is lost, with its offsets.

    Args:
        session: a session of the broker.
        partitions: the number of partitions of the log.
        timeout_ms: for each of the three phases, on the broker session's clock.

    Raises:
        TargetError: the coordinator continues without its log, as in 4.0.0, or does not come back.

    Source: GroupCoordinatorShard#onUnloaded, GroupCoordinator#onResignation; KAFKA-19274.
    """
    groups = tuple(f"kafka-conformance-gone-{number}" for number in range(partitions * _GROUPS_A_PARTITION))

    async def gone(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        for group in groups:
            await _refuse(dialogue, group)

    await ask_until(session, _delete, timeout_ms=timeout_ms, failure=lambda: None)
    await ask_until(session, gone, timeout_ms=timeout_ms, failure=lambda: None)
    await prepare(session, topics=CONFORMANCE_TOPICS, timeout_ms=timeout_ms, groups=groups)


async def _delete(dialogue: Dialogue) -> None:
    await dialogue.learn_versions()
    version = dialogue.version_of("DeleteTopics", (4, 3, 2, 1, 5))
    fields: Fields = {"topic_names": [_LOG], "timeout_ms": _DELETE_TIMEOUT_MS}
    answer = await dialogue.ask("DeleteTopics", version, fields)
    reported = [row.text("error_code") for row in answer.rows("responses")]
    if not _DELETED.issuperset(reported):
        raise NotYet(f"DeleteTopics answers {reported}")


async def _refuse(dialogue: Dialogue, group: str) -> None:
    version = dialogue.version_of("Heartbeat", (3, 2, 1, 0, 4))
    fields: Fields = {"group_id": group, "generation_id": 1, "member_id": "nobody"}
    reported = (await dialogue.ask("Heartbeat", version, fields)).text("error_code")
    if reported != "NOT_COORDINATOR":
        raise NotYet(f"Heartbeat answers {reported}")
