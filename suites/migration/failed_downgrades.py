"""Downgrades that fail: the group is too large, or a subscription is unreadable, or records do not fit."""

from harness.scenario import ANY, Actor, Conversation, Member, ask, expect, one_of, scenario
from harness.scenario.messages import Request
from suites.classic.max_size import TWO
from suites.failures.too_large import SMALL_LOG, WRITTEN
from suites.migration.groups import BOTH, NOT_FOUND, consumer, is_classic, is_consumer, join, syncs

CONVERTS = "GroupMetadataManager#convertToClassicGroup"
FENCES = "GroupMetadataManager#consumerGroupFenceMemberOperation"
RETRIES = "CoordinatorTimerImpl#schedule"
SHORT_SESSION = {"consumer.session.timeout.ms": 4_000, "consumer.heartbeat.interval.ms": 500}
SESSION_IS_OVER_MS = 4_600
RETRIED_MS = 1_000
"""Longer than a timer waits after a write that failed, which is 500 ms."""

SHORT_ID, TOO_LARGE_ID = "lg", "tl"
"""Ids of groups in whose records hardly anything but metadata counts."""


def joins_small_log(extra_bytes: int, group_id: str = SHORT_ID) -> Request:
    """Return the JoinGroup of a classic member with a short id and a subscription of some more bytes."""
    metadata = ask.subscription("payments", version=1) + b"x" * extra_bytes
    return ask.join_group(group_id=group_id, member_id="a", protocols=(("range", metadata),))


def with_an_unreadable_protocol(conversation: Conversation) -> tuple[Member, Actor]:
    """Make a group of bob, a consumer, and of classic ana and cat, whose common protocol ana cannot spell."""
    bob = consumer(conversation)
    ana, cat = conversation.actors("ana", "cat")
    metadata = ask.subscription("payments", version=1)
    joining = ask.join_group(version=3, protocols=(("range", metadata), ("roundrobin", b"\x00")))
    ana.asks(joining, expect.join_group(error_code="NONE", protocol_name="range"))
    syncs(ana, {})
    cat.asks(join(version=3, names=("roundrobin",)), error_code="NONE")
    cat.asks(ask.sync_group(version=5, protocol_name="roundrobin"), error_code="NONE")
    return bob, ana


@scenario(
    "migration/downgrade/too-many",
    source="GroupMetadataManager#validateOnlineDowngradeWithFencedMembers",
    clauses=("MG-64",),
    broker_config=TWO,
)
def a_large_group_stays_a_consumer_group(conversation: Conversation) -> None:
    """A group without consumers is converted once it has no more members than `group.max.size`."""
    bob = consumer(conversation)
    ana, cat, dan = conversation.actors("ana", "cat", "dan")
    for each in (ana, cat, dan):
        each.asks(join(version=3, topics=("missing",)), error_code="NONE")

    bob.leaves()
    is_consumer(bob, one_of("Assigning", "Reconciling"))
    dan.asks(ask.leave_group(), error_code="NONE")
    is_classic(bob, "PreparingRebalance", protocol_type="consumer")


@scenario("migration/downgrade/unreadable-protocol", source=CONVERTS, clauses=("MG-60",))
def a_protocol_that_nobody_can_read_keeps_the_last_consumer(conversation: Conversation) -> None:
    """The last consumer may not leave while the protocol common to the others cannot be read."""
    bob, ana = with_an_unreadable_protocol(conversation)

    bob.heartbeats(epoch=-1, error_code=NOT_FOUND)
    ana.asks(ask.leave_group(members=((bob.member_id, None),)), error_code=NOT_FOUND)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE"))
    ana.asks(ask.leave_group(), error_code="NONE")
    bob.leaves()
    is_classic(ana, "PreparingRebalance", protocol_type="consumer")


@scenario("migration/downgrade/unreadable-session", source=FENCES, clauses=("MG-60",))
def a_session_may_end_without_effect(conversation: Conversation) -> None:
    """The last consumer stays a member after its session if its group cannot be converted at that moment."""
    bob, ana = with_an_unreadable_protocol(conversation)
    bob.configures(SHORT_SESSION)
    bob.heartbeats()

    conversation.elapses(SESSION_IS_OVER_MS)
    ana.asks(ask.leave_group(), error_code="NONE")
    conversation.elapses(RETRIED_MS)
    bob.heartbeats()
    is_consumer(bob, one_of("Reconciling", "Stable"))
    bob.leaves()
    is_classic(ana, "PreparingRebalance", protocol_type="consumer")


@scenario(
    "migration/downgrade/too-large",
    source=RETRIES,
    clauses=("MG-61",),
    broker_config=SMALL_LOG,
)
def a_downgrade_too_large_for_the_log_is_repeated(conversation: Conversation) -> None:
    """The last consumer outlives its session until the records of the classic group fit into the log.

    A JoinGroup that repeats the subscription writes one record, and the downgrade ten. In releases
    with KAFKA-19760 the group is classic at once, but unwritten.
    """
    ana, bob = conversation.actor("ana"), conversation.member("bob")
    small, large = joins_small_log(0), joins_small_log(650)
    bob.enters("payments", group_id=SHORT_ID, assigned=BOTH)
    bob.asks(ask.group_configs(SHORT_SESSION, group=SHORT_ID), expect.group_configs(error_code="NONE"))
    bob.awaits_metadata()
    for joining in (small, large):
        ana.asks(joining, expect.join_group(error_code="NONE", leader=""))
    bob.heartbeats(group_id=SHORT_ID)

    conversation.elapses(SESSION_IS_OVER_MS)
    describes = ask.consumer_group_describe(group_ids=(SHORT_ID,))
    ana.asks(describes, expect.consumer_group_describe(error_code=one_of("NONE", NOT_FOUND)))
    ana.asks(small, expect.join_group(error_code="NONE", leader=ANY))
    conversation.elapses(RETRIED_MS)
    ana.asks(describes, expect.consumer_group_describe(error_code=one_of("NONE", NOT_FOUND)))
    ana.asks(ask.leave_group(group_id=SHORT_ID), error_code=WRITTEN)
    ana.asks(ask.delete_groups(groups=(SHORT_ID,)), expect.delete_groups(WRITTEN))


@scenario(
    "migration/joins/too-large",
    source="GroupMetadataManager#classicGroupJoinToConsumerGroup",
    clauses=("MG-66",),
    broker_config=SMALL_LOG,
)
def a_join_too_large_for_the_log_changes_nothing(conversation: Conversation) -> None:
    """A JoinGroup to a consumer group that cannot be written gets UNKNOWN_SERVER_ERROR; its member stays."""
    ana, bob = conversation.actor("ana"), conversation.member("bob")
    bob.enters("payments", group_id=TOO_LARGE_ID, assigned=BOTH)
    small = joins_small_log(0, TOO_LARGE_ID)
    answer = ana.asks(small, expect.join_group(error_code="NONE", leader=""))
    generation = answer["generation_id"]

    ana.asks(joins_small_log(1000, TOO_LARGE_ID), error_code="UNKNOWN_SERVER_ERROR")
    ana.asks(ask.heartbeat(group_id=TOO_LARGE_ID, member_id="a", generation_id=generation), error_code="NONE")
    ana.asks(ask.leave_group(group_id=TOO_LARGE_ID, member_id="a"), error_code=WRITTEN)
    bob.heartbeats(group_id=TOO_LARGE_ID, epoch=-1, error_code=WRITTEN)
    ana.asks(ask.delete_groups(groups=(TOO_LARGE_ID,)), expect.delete_groups(WRITTEN))
