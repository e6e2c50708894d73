"""Members of consumer, share and streams groups are known by their member ids, and by nothing else."""

from harness.scenario import Conversation, ask, expect, scenario
from suites.consumer_groups.reconciliation import KEPT
from suites.consumer_groups.validation import ALL
from suites.share_groups.membership import ALL as SHARED
from suites.share_groups.membership import HEARTBEATS as SHARES
from suites.streams_groups.membership import ALL as ALL_TASKS
from suites.streams_groups.membership import HEARTBEATS as STREAMS

HEARTBEATS = "GroupMetadataManager#consumerGroupHeartbeat"


@scenario("consumer_groups/identity/one-client-id", source=HEARTBEATS, clauses=("CH-61",))
def consumers_may_share_a_client_id(conversation: Conversation) -> None:
    """Two members of a consumer group with one client id are two members, with partitions of their own."""
    ana = conversation.member("ana", client_id="replica")
    bob = conversation.member("bob", client_id="replica")
    joined = ana.enters(assigned=ALL)
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(assigned={"orders": (2,)})
    bob.leaves()
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("consumer_groups/identity/another-connection", source=HEARTBEATS, clauses=("CH-61",))
def a_consumer_may_speak_on_any_connection(conversation: Conversation) -> None:
    """A consumer's heartbeat on another connection and under another client id is the member's own.

    So is its OffsetCommit, and its leave.
    """
    ana = conversation.member("ana")
    eve = conversation.member("eve", client_id="another")
    joined = ana.enters(assigned=ALL)

    eve.heartbeats(
        member_id=ana.member_id, epoch=ana.epoch, member_epoch=joined["member_epoch"], assigned=None
    )
    eve.asks(
        ask.offset_commit(
            version=9, member_id=ana.member_id, generation_id=ana.epoch, topics={"orders": {0: 7}}
        ),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    eve.heartbeats(member_id=ana.member_id, epoch=-1, member_epoch=-1)
    ana.heartbeats(epoch=joined["member_epoch"], error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/identity/one-id-in-two-groups", source=HEARTBEATS, clauses=("CH-62",))
def a_member_id_is_a_groups_own(conversation: Conversation) -> None:
    """A member id and an instance id may be used in two consumer groups; a leave counts in one of them."""
    ana = conversation.member("ana", instance_id="seat")
    bob = conversation.member("bob", instance_id="seat")
    other = conversation.group("other")
    joined = ana.enters(assigned=ALL)
    bob.enters(group_id=other, member_id=ana.member_id, assigned=ALL)

    bob.heartbeats(group_id=other, member_id=ana.member_id, epoch=-1, member_epoch=-1)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    bob.heartbeats(
        group_id=other, member_id=ana.member_id, epoch=joined["member_epoch"], error_code="UNKNOWN_MEMBER_ID"
    )


@scenario("share_groups/identity/one-client-id", source=SHARES, clauses=("SH-44",))
def sharers_may_share_a_client_id(conversation: Conversation) -> None:
    """Two members of a share group with one client id are two members, and one may leave alone.

    A member's heartbeat under another client id is its own.
    """
    ana = conversation.share_member("ana", client_id="replica")
    bob = conversation.share_member("bob", client_id="replica")
    eve = conversation.share_member("eve", client_id="another")
    ana.enters(assigned={})
    ana.awaits(SHARED)
    # Topics that differ keep the order of a map over topic ids, which brokers draw, out of the assignment.
    bob.enters("orders", "unheard-of")
    ana.asks(
        ask.share_group_describe(),
        expect.share_group_describe(
            error_code="NONE", members=({"client_id": "replica"}, {"client_id": "replica"})
        ),
    )

    eve.heartbeats(member_id=bob.member_id, epoch=bob.epoch)
    bob.leaves()
    ana.heartbeats()
    bob.heartbeats(epoch=1, error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/identity/one-client-id", source=STREAMS, clauses=("KS-59",))
def streams_clients_may_share_a_client_id(conversation: Conversation) -> None:
    """Two members of a streams group with one client id are two members, and one may leave alone."""
    ana = conversation.streams_member("ana", client_id="replica")
    bob = conversation.streams_member("bob", client_id="replica")
    joined = ana.enters(assigned=ALL_TASKS)
    bob.enters(assigned={})
    ana.describes(
        "Reconciling",
        epoch=joined["member_epoch"] + 1,
        members=({"client_id": "replica"}, {"client_id": "replica"}),
    )

    bob.leaves()
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 2)
    bob.heartbeats(epoch=joined["member_epoch"] + 1, error_code="UNKNOWN_MEMBER_ID")
