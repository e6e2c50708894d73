"""Share groups that a coordinator loads from a log that names topics which no longer exist."""

from harness.scenario import Conversation, ask, expect, record_of_type, scenario
from harness.scenario.log_records import LogRecord
from suites.consumer_groups.loading import compact_string, int32, named
from suites.consumer_groups.logged import WRITES
from suites.share_groups.loading import WITHIN_MS

EPOCH_TYPE, STATE_TYPE = 11, 15
"""Types of records of share groups. Source: CoordinatorRecordType (4.3.1)."""
EPOCH = 5
NOTHING, NO_TAGS = b"\x01", b"\x00"
ASKS_MS = 50_000
"""Longer than a broker asks again for the state of a topic that does not exist."""


def with_state_of_a_lost_topic(group_id: str) -> tuple[LogRecord, ...]:
    """Return the records of an empty group, with state of a partition of a topic that does not exist.

    Source: ShareGroupMetadataValue.json and ShareGroupStatePartitionMetadataValue.json (4.1.0).
    """
    partitions = b"\x02" + int32(0)
    lost = b"\x02" + bytes(range(16)) + compact_string("lost") + partitions + NO_TAGS
    state = b"\x00\x00" + NOTHING + lost + NOTHING + NO_TAGS
    epoch = b"\x00\x00" + int32(EPOCH) + bytes(8) + NO_TAGS
    return (
        record_of_type(EPOCH_TYPE, key=named(group_id), value=epoch),
        record_of_type(STATE_TYPE, key=named(group_id), value=state),
    )


@scenario(
    "share_groups/logged/lost-topic",
    source="GroupMetadataManager#shareGroupBuildPartitionDeleteRequest",
    clauses=("SH-34", "SH-36"),
    needs=WRITES,
)
def a_group_of_a_lost_topic_is_deleted_at_the_second_try(conversation: Conversation) -> None:
    """A group with state of a topic that does not exist can be deleted only at the second try.

    The first one gets UNKNOWN_TOPIC_OR_PARTITION; since 4.2 the broker looks for the topic first.
    """
    group_id = "lost-topic"
    ana = conversation.share_member("ana")
    for record in with_state_of_a_lost_topic(group_id):
        conversation.appends(record)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.share_group_describe(group_ids=(group_id,)),
        until=expect.share_group_describe(error_code="NONE", group_state="Empty", group_epoch=EPOCH),
        within_ms=WITHIN_MS,
    )
    ana.awaits_metadata()
    ana.asks(ask.describe_share_group_offsets(group_id=group_id), expect.share_offsets({}))

    ana.sends(ask.delete_groups(groups=(group_id,)))
    ana.receives(expect.delete_groups("UNKNOWN_TOPIC_OR_PARTITION"), within_ms=ASKS_MS)
    ana.asks(ask.delete_groups(groups=(group_id,)), expect.delete_groups("NONE"))
