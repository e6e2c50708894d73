"""The limit of a stock broker's log, met from below and passed, at its true size (1,048,588 bytes)."""

from typing import Final

from harness.scenario import ANY, Conversation, ask, expect, scenario, subscription

SYNCS = "GroupMetadataManager#classicGroupSync"
STOCK: Final = {"message.max.bytes": "1048588", "offsets.topic.compression.codec": "0"}
"""Kafka's defaults, which it depends on: what is compressed fits."""
MEDIUM: Final = b"m" * 9_000
LARGE: Final = b"l" * 624_000
TOO_LARGE: Final = b"x" * 1_100_000
MANY_TOPICS: Final = subscription(*(f"topic-{number}-{'x' * 200}" for number in range(2_400)))
"""About 500,000 bytes."""


@scenario("classic/true-sizes/assignments-that-fit", source=SYNCS, clauses=("SG-32",))
def large_assignments_are_written(conversation: Conversation) -> None:
    """Assignments of 9,000 and of 624,000 bytes are written, and whoever asks again gets all of them."""
    (ana,) = conversation.stable_group("ana")

    for assignment in (MEDIUM, LARGE):
        ana.asks(ask.join_group(), error_code="NONE")
        ana.sends(ask.sync_group(assignments=((ana.member_id, assignment),)))
        ana.receives(expect.sync_group(error_code="NONE", assignment=assignment))
        ana.sends(ask.sync_group())
        ana.receives(expect.sync_group(error_code="NONE", assignment=assignment))
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario("classic/true-sizes/subscription-that-fits", source=SYNCS, clauses=("SG-32",))
def a_large_subscription_is_written(conversation: Conversation) -> None:
    """A subscription of about 500,000 bytes is taken, written with the assignment, and told the leader."""
    ana = conversation.actor("ana")
    ana.obtains_member_id(protocols=(("range", MANY_TOPICS),))
    ana.sends(ask.join_group(protocols=(("range", MANY_TOPICS),)))
    ana.receives(expect.join_group(error_code="NONE", members=({"metadata": MANY_TOPICS},)))
    ana.syncs_as_leader((ana,))
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario("classic/true-sizes/too-large", source=SYNCS, clauses=("SG-32", "SG-28"), broker_config=STOCK)
def too_large_assignments_are_refused(conversation: Conversation) -> None:
    """Assignments that do not fit into the log, alone or beside subscriptions, get UNKNOWN_SERVER_ERROR."""
    ana, bob = conversation.actors("ana", "bob")
    ana.joins()
    ana.sends(ask.sync_group(assignments=((ana.member_id, TOO_LARGE),)))
    ana.receives(expect.sync_group(error_code="UNKNOWN_SERVER_ERROR", assignment=b""))

    other = conversation.group("other")
    bob.asks(
        ask.join_group(group_id=other, member_id="", protocols=(("range", MANY_TOPICS),)),
        error_code="MEMBER_ID_REQUIRED",
    )
    bob.asks(ask.join_group(group_id=other, protocols=(("range", MANY_TOPICS),)), error_code=ANY)
    bob.sends(ask.sync_group(group_id=other, assignments=((bob.member_id, LARGE),)))
    bob.receives(expect.sync_group(error_code="UNKNOWN_SERVER_ERROR", assignment=b""))
