"""Consumer groups that a coordinator loads from a log that another release may have written."""

from harness.scenario import Capability, Conversation, Member, ask, expect, one_of, record_of_type, scenario
from harness.scenario.log_records import YEAR_2100_MS, LogRecord
from suites.consumer_groups.loading import EPOCH_TYPE, MEMBER_TYPE, REPLAYS, compact_string, int32, named
from suites.consumer_groups.validation import ALL
from suites.failures.too_large import SMALL_LOG, WRITTEN

TOPICS_TYPE, TARGET_EPOCH_TYPE, TARGET_TYPE, ASSIGNMENT_TYPE = 4, 6, 7, 8
"""Types of records of consumer groups. Source: CoordinatorRecordType (4.3.1)."""
WRITES = (Capability.RESTART, Capability.WRITE_LOG)
BUILDS = "CurrentAssignmentBuilder#build"
COMPUTES = "GroupMetadataManager#canComputeNextTargetAssignment"
EPOCH = 5
"""The epoch of the group and of all its members."""
STABLE, OF_A_RELEASE_TO_COME = 0, 99
"""States of members. Source: MemberState (4.3.1)."""
WITHIN_MS = 20_000


def logged(
    group_id: str, state: int, *, topic: str = "orders", tagged: bytes = b"\x00"
) -> tuple[LogRecord, ...]:
    """Return the records of a group with one member, which subscribes to a topic and has no partitions.

    Args:
        group_id: The group's id.
        state: The state of the member.
        topic: The topic that the member subscribes to.
        tagged: The tagged fields of the target assignment's epoch.

    Source: ConsumerGroupMetadataValue.json, ConsumerGroupMemberMetadataValue.json,
    ConsumerGroupTargetAssignmentMetadataValue.json, ConsumerGroupTargetAssignmentMemberValue.json and
    ConsumerGroupCurrentMemberAssignmentValue.json (4.0.0).
    """
    of_group = named(group_id)
    of_member = of_group + named("member-ana")
    epoch = b"\x00\x00" + int32(EPOCH)
    client = b"\x00\x00" + compact_string("ana") + compact_string("/127.0.0.1")
    names = b"\x02" + compact_string(topic) + compact_string("")
    # Kafka requires an explicit null for the metadata of the classic protocol.
    member = b"\x00\x00" + client + names + int32(5_000) + b"\x00\x01\x00\x01\x00"
    assigned = b"\x00\x00" + int32(EPOCH) + int32(EPOCH - 1) + bytes([state]) + b"\x01\x01\x00"
    return (
        record_of_type(MEMBER_TYPE, key=of_member, value=member),
        record_of_type(EPOCH_TYPE, key=of_group, value=epoch + b"\x00"),
        record_of_type(TARGET_TYPE, key=of_member, value=b"\x00\x00\x01\x00"),
        record_of_type(TARGET_EPOCH_TYPE, key=of_group, value=epoch + tagged),
        record_of_type(ASSIGNMENT_TYPE, key=of_member, value=assigned),
    )


def with_topics(group_id: str) -> tuple[LogRecord, ...]:
    """Return the records of a group with the topics that releases before 4.1 write; none of them exists."""
    gone = b"\x02" + bytes(range(16)) + compact_string("gone") + int32(1) + b"\x01\x00"
    topics = record_of_type(TOPICS_TYPE, key=named(group_id), value=b"\x00\x00" + gone + b"\x00")
    return (topics, *logged(group_id, STABLE, topic="missing"))


def loaded(conversation: Conversation, group_id: str, *records: LogRecord) -> Member:
    """Let a coordinator load a group, whose name no other scenario uses, and return its member."""
    ana = conversation.member("ana")
    for each in records:
        conversation.appends(each)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.consumer_group_describe(group_ids=(group_id,)),
        until=expect.consumer_group_describe(error_code="NONE", group_epoch=EPOCH),
        within_ms=WITHIN_MS,
    )
    # A restarted coordinator may load its groups before it has the metadata of any topic.
    ana.awaits_metadata()
    return ana


@scenario("consumer_groups/logged/stable", source=BUILDS, clauses=("KL-11",), needs=WRITES)
def a_member_goes_on_where_the_log_ends(conversation: Conversation) -> None:
    """A member that is Stable in the log gets its topics assigned in the next epoch."""
    ana = loaded(conversation, "stable", *logged("stable", STABLE))

    ana.heartbeats(group_id="stable", epoch=EPOCH, member_epoch=EPOCH + 1, assigned=ALL)
    ana.heartbeats(group_id="stable", epoch=EPOCH + 1, owned=ALL, member_epoch=EPOCH + 1, assigned=None)


@scenario("consumer_groups/logged/state-to-come", source=BUILDS, clauses=("KL-11",), needs=WRITES)
def a_state_that_nobody_knows_is_fenced(conversation: Conversation) -> None:
    """A member in an unknown logged state gets FENCED_MEMBER_EPOCH, unless it reports that it owns nothing.

    The answer to a member that owns nothing differs from attempt to attempt on Kafka 4.0.0.
    """
    ana = loaded(conversation, "to-come", *logged("to-come", OF_A_RELEASE_TO_COME))

    for owned in (None, {"orders": (0,)}):
        ana.heartbeats(group_id="to-come", epoch=EPOCH, owned=owned, error_code="FENCED_MEMBER_EPOCH")
    ana.asks(
        ask.consumer_group_describe(group_ids=("to-come",)),
        expect.consumer_group_describe(group_state="Reconciling", group_epoch=EPOCH),
    )


@scenario("consumer_groups/logged/nobody-gone", source=REPLAYS, clauses=("KL-08",), needs=WRITES)
def tombstones_of_no_member_are_left_out(conversation: Conversation) -> None:
    """A load skips tombstones of a member that its group does not have."""
    of_nobody = named("nobody-gone") + named("nobody")
    gone = (record_of_type(each, key=of_nobody, value=None) for each in (ASSIGNMENT_TYPE, MEMBER_TYPE))
    ana = loaded(conversation, "nobody-gone", *logged("nobody-gone", STABLE), *gone)

    ana.heartbeats(group_id="nobody-gone", epoch=EPOCH, member_epoch=EPOCH + 1, assigned=ALL)


@scenario("consumer_groups/logged/topics-of-before", source=REPLAYS, clauses=("KL-12",), needs=WRITES)
def logged_topics_do_not_count(conversation: Conversation) -> None:
    """Since 4.1, the record of a group's topics that an earlier release wrote does not raise its epoch."""
    ana = loaded(conversation, "of-before", *with_topics("of-before"))

    ana.heartbeats(group_id="of-before", epoch=EPOCH, member_epoch=one_of(EPOCH, EPOCH + 1), assigned=None)


@scenario(
    "consumer_groups/logged/topics-removed",
    source=REPLAYS,
    clauses=("KL-12",),
    needs=WRITES,
    broker_config=SMALL_LOG,
)
def logged_topics_are_removed_once(conversation: Conversation) -> None:
    """Since 4.1, the record of a group's topics is removed with the next write, and not again.

    A batch of the log has room for four records of a group with so long an id, and not for a fifth. 4.0
    writes a record of the present topics instead. Releases with KAFKA-19760
    then write nothing more.
    """
    group_id = "r" * 175
    ana = loaded(conversation, group_id, *with_topics(group_id))

    ana.heartbeats(group_id=group_id, epoch=EPOCH, topics=("others",), error_code="UNKNOWN_SERVER_ERROR")
    ana.heartbeats(group_id=group_id, epoch=EPOCH, error_code=WRITTEN)
    # The former epoch is accepted too, from a member that owns nothing.
    ana.heartbeats(group_id=group_id, epoch=EPOCH, owned={}, topics=("others",), error_code=WRITTEN)


@scenario(
    "consumer_groups/logged/goes-over",
    source="GroupMetadataManager#classicGroupJoinToConsumerGroup",
    clauses=("MG-50", "KL-11"),
    needs=WRITES,
)
def a_classic_member_notices_topics_too(conversation: Conversation) -> None:
    """A JoinGroup that repeats a subscription raises the epoch if the log has other topics for it."""
    ana = loaded(conversation, "goes-over", *logged("goes-over", STABLE))
    again = conversation.actor("again")

    joining = ask.join_group(group_id="goes-over", member_id=ana.member_id)
    again.asks(joining, expect.join_group(error_code="NONE", generation_id=EPOCH + 1, leader=""))
    ana.asks(
        ask.consumer_group_describe(group_ids=("goes-over",)),
        expect.consumer_group_describe(group_state="Stable", group_epoch=EPOCH + 1),
    )


@scenario("consumer_groups/logged/later-clock", source=COMPUTES, clauses=("KL-11", "CR-15"), needs=WRITES)
def without_an_interval_no_clock_matters(conversation: Conversation) -> None:
    """Without an assignment interval, a target is computed though the former one is of a time to come."""
    timestamp = b"\x01\x00\x08" + YEAR_2100_MS.to_bytes(8, "big")
    ana = loaded(conversation, "later-clock", *logged("later-clock", STABLE, tagged=timestamp))

    ana.heartbeats(group_id="later-clock", epoch=EPOCH, member_epoch=EPOCH + 1, assigned=ALL)
