"""Expiry: offsets with a retention time of their own, and groups without offsets or members.

A retention time in the request (OffsetCommit v2 to v4) counts in milliseconds, where the broker's own counts
in minutes; a pass over all groups every 500 ms finds expired offsets.
"""

from harness.scenario import (
    GONE,
    Actor,
    Capability,
    Conversation,
    ask,
    expect,
    group_record,
    offset_record,
    one_of,
    scenario,
    subscription,
)
from harness.scenario.log_records import YEAR_2100_MS

FREQUENT_EXPIRY = {"offsets.retention.check.interval.ms": "500"}
"""The configuration of a separate broker, which all scenarios of expiry share."""
LONG_MAX = 2**63 - 1
EXPIRES = "OffsetMetadataManager#cleanupExpiredOffsets"
CONDITION = "ClassicGroup#offsetExpirationCondition"


def _static(conversation: Conversation, name: str) -> Actor:
    """Return a static member, which joins in one step: a pass between two steps would remove its group."""
    return conversation.actor(name, group_instance_id=f"seat of {name}")


def _gone(ana: Actor) -> None:
    """Wait until the actor's group is gone."""
    ana.repeats(ask.describe_groups(), until=GONE)


@scenario(
    "offsets/expiry/retention-of-nothing",
    source=EXPIRES,
    clauses=("EX-10", "EX-08", "OC-26"),
    broker_config=FREQUENT_EXPIRY,
)
def a_retention_time_of_0_ends_at_the_next_pass(conversation: Conversation) -> None:
    """An offset with a retention time of 0 is removed at the next pass, together with its simple group."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(
            version=2, generation_id=-1, member_id="", retention_time_ms=0, topics={"orders": {0: 7}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))
    _gone(ana)


@scenario(
    "offsets/expiry/retention-time",
    source=EXPIRES,
    clauses=("EX-08", "EX-07", "OC-27"),
    broker_config=FREQUENT_EXPIRY,
)
def a_retention_time_ends_its_own_offset_alone(conversation: Conversation) -> None:
    """An offset with a retention time expires then, and others of its group stay."""
    ana = conversation.actor("ana")
    for partition, retention_time_ms in ((0, 4_000), (1, -1)):
        ana.sends(
            ask.offset_commit(
                version=4,
                generation_id=-1,
                member_id="",
                retention_time_ms=retention_time_ms,
                topics={"orders": {partition: 7}},
            )
        )
        ana.receives(expect.offset_commit({"orders": {partition: "NONE"}}))

    conversation.elapses(1_000)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: 7, 1: 7}}))
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1)}),
        until=expect.offset_fetch({"orders": {0: -1, 1: 7}}),
        within_ms=10_000,
    )
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))


@scenario(
    "offsets/expiry/retention-beyond-time",
    source=EXPIRES,
    clauses=("EX-08", "EX-10"),
    broker_config=FREQUENT_EXPIRY,
)
def a_retention_time_beyond_time_ends_at_the_next_pass(conversation: Conversation) -> None:
    """An offset with the longest retention time is removed at the next pass, because the sum overflows."""
    ana = conversation.actor("ana")
    # The offset that stays is committed first: otherwise a pass in between could remove the group.
    for partition, retention_time_ms in ((2, -1), (0, LONG_MAX), (1, -2)):
        ana.sends(
            ask.offset_commit(
                version=2,
                generation_id=-1,
                member_id="",
                retention_time_ms=retention_time_ms,
                topics={"orders": {partition: 7}},
            )
        )
        ana.receives(expect.offset_commit({"orders": {partition: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1, 2)}),
        until=expect.offset_fetch({"orders": {0: -1, 1: -1, 2: 7}}),
    )


@scenario("offsets/expiry/renewed", source=EXPIRES, clauses=("EX-08", "OC-26"), broker_config=FREQUENT_EXPIRY)
def a_later_commit_renews_the_retention(conversation: Conversation) -> None:
    """An offset committed again without a retention time outlives its former one."""
    ana = conversation.actor("ana")
    for retention_time_ms, offset in ((900, 7), (-1, 8)):
        ana.sends(
            ask.offset_commit(
                version=3,
                generation_id=-1,
                member_id="",
                retention_time_ms=retention_time_ms,
                topics={"orders": {0: offset}},
            )
        )
        ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    conversation.elapses(2_200)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 8}}))


@scenario(
    "offsets/expiry/group-without-offsets",
    source="GroupMetadataManager#maybeDeleteGroup",
    clauses=("EX-12", "DG-05"),
    broker_config=FREQUENT_EXPIRY,
)
def a_group_that_everybody_left_is_removed(conversation: Conversation) -> None:
    """A group whose last member has left without an offset is removed at the next pass."""
    (ana,) = conversation.stable_group(_static(conversation, "ana"))

    ana.asks(ask.leave_group(), error_code="NONE")
    _gone(ana)


@scenario(
    "offsets/expiry/pending-member",
    source="GroupMetadataManager#maybeDeleteGroup",
    clauses=("EX-12", "DL-08"),
    broker_config=FREQUENT_EXPIRY,
)
def a_group_that_awaits_a_member_is_removed(conversation: Conversation) -> None:
    """A group with only a pending member is removed at the next pass; its id gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    _gone(ana)
    ana.asks(ask.join_group(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "offsets/expiry/emptied-group",
    source=CONDITION,
    clauses=("EX-01", "EX-08"),
    broker_config=FREQUENT_EXPIRY,
)
def an_emptied_group_loses_what_has_its_own_time(conversation: Conversation) -> None:
    """An emptied group is removed when its last offset, with a retention time, expires."""
    (ana,) = conversation.stable_group(_static(conversation, "ana"))
    ana.sends(ask.offset_commit(version=4, retention_time_ms=0, topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))
    _gone(ana)


@scenario(
    "offsets/expiry/subscribed-topic",
    source=CONDITION,
    clauses=("EX-03", "EX-08"),
    broker_config=FREQUENT_EXPIRY,
)
def a_subscribed_topic_keeps_its_offsets(conversation: Conversation) -> None:
    """A Stable group loses expired offsets of topics without subscribers, and no others."""
    (ana,) = conversation.stable_group(_static(conversation, "ana"))
    ana.sends(
        ask.offset_commit(version=4, retention_time_ms=0, topics={"orders": {0: 7}, "payments": {0: 8}})
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0,), "payments": (0,)}),
        until=expect.offset_fetch({"orders": {0: 7}, "payments": {0: -1}}),
    )


@scenario(
    "offsets/expiry/in-a-rebalance",
    source="KAFKA-13636",
    clauses=("EX-05",),
    broker_config=FREQUENT_EXPIRY,
)
def a_rebalance_keeps_all_offsets(conversation: Conversation) -> None:
    """While a rebalance is prepared nothing expires, since 2.8.2, 3.0.1 and 3.1.1."""
    ana, bob = conversation.stable_group(_static(conversation, "ana"), _static(conversation, "bob"))
    ana.sends(ask.offset_commit(version=4, retention_time_ms=1_000, topics={"payments": {0: 8}}))
    ana.receives(expect.offset_commit({"payments": {0: "NONE"}}))
    bob.sends(ask.join_group(protocols=(("range", subscription("orders", "elsewhere")),)))

    conversation.elapses(2_500)
    ana.asks(ask.offset_fetch(topics={"payments": (0,)}), expect.response("OffsetFetch", error_code="NONE"))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "offsets/expiry/other-protocol-type", source=CONDITION, clauses=("EX-06",), broker_config=FREQUENT_EXPIRY
)
def a_group_of_another_type_keeps_all_offsets(conversation: Conversation) -> None:
    """A group of another protocol type than consumer keeps expired offsets while it has members."""
    ana = _static(conversation, "ana")
    ana.sends(ask.join_group(protocol_type="connect", protocols=(("eager", b"any bytes"),)))
    ana.receives(expect.join_group(error_code="NONE", protocol_name="eager"))
    ana.syncs_as_leader((ana,))
    ana.sends(ask.offset_commit(version=4, retention_time_ms=0, topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    conversation.elapses(1_600)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 7}}))
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))


@scenario(
    "offsets/expiry/unreadable-subscription",
    source=CONDITION,
    clauses=("EX-03", "OD-10"),
    broker_config=FREQUENT_EXPIRY,
)
def an_unreadable_subscription_keeps_all_offsets(conversation: Conversation) -> None:
    """A Stable group of a member with a truncated subscription keeps expired offsets."""
    ana = _static(conversation, "ana")
    ana.asks(ask.join_group(protocols=(("range", b"\0\0\0\0\0\x04\0\0\0\0"),)), error_code="NONE")
    ana.syncs_as_leader((ana,))
    ana.sends(ask.offset_commit(version=4, retention_time_ms=0, topics={"payments": {0: 7}}))
    ana.receives(expect.offset_commit({"payments": {0: "NONE"}}))

    conversation.elapses(1_600)
    ana.asks(ask.offset_fetch(topics={"payments": (0,)}), expect.offset_fetch({"payments": {0: 7}}))


@scenario(
    "offsets/expiry/deleted-offset", source=EXPIRES, clauses=("EX-12", "OD-07"), broker_config=FREQUENT_EXPIRY
)
def a_group_that_lost_its_last_offset_is_removed(conversation: Conversation) -> None:
    """A simple group whose last offset was deleted is removed at the next pass at the latest."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))
    _gone(ana)
    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="GROUP_ID_NOT_FOUND", errors={}))


@scenario(
    "offsets/expiry/emptied-before-a-restart",
    source="KAFKA-10401, GroupMetadataManager#readGroupMessageValue",
    clauses=("EX-01",),
    needs=(Capability.RESTART, Capability.WRITE_LOG),
    broker_config=FREQUENT_EXPIRY,
)
def retention_counts_from_the_emptiness_that_is_in_the_log(conversation: Conversation) -> None:
    """After a restart an emptied group's old offset stays for as long as the group is not Empty for long.

    Before 2.6.2 the time of the commit counts, so that the offset is gone.
    """
    ana = conversation.actor("ana")
    conversation.appends(group_record(), offset_record("orders", 0, 7, commit_timestamp_ms=-YEAR_2100_MS))
    conversation.restarts_coordinator()

    loaded = expect.describe_groups(error_code="NONE")
    ana.repeats(ask.describe_groups(), until=loaded, within_ms=15_000)
    conversation.elapses(1_500)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: one_of(-1, 7)}}))
