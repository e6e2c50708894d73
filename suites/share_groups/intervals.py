"""Share groups whose target assignment is computed at most once within their assignment interval."""

from typing import Final

from harness.scenario import Conversation, ShareMember, ask, expect, one_of, scenario
from suites.consumer_groups.membership import topic_made
from suites.share_groups.membership import ALL, BOTH, share_group_is, sole_sharer

INTERVAL: Final = "share.assignment.interval.ms"
LONG_MS: Final = 5_000
IS_OVER_MS: Final = 5_600
DELAYS = "GroupMetadataManager#canComputeNextTargetAssignment"
UPDATES = "GroupMetadataManager#maybeUpdateTargetAssignment"
BUILDS = "ShareGroupAssignmentBuilder#build"
HEARTBEATS = "GroupMetadataManager#shareGroupHeartbeat"
FENCES = "GroupMetadataManager#shareGroupFenceMember"


def waits(member: ShareMember, interval_ms: int = LONG_MS) -> None:
    """Let a member configure its group's assignment interval. Releases before 4.3 have none, and refuse."""
    member.configures({INTERVAL: interval_ms}, error_code=one_of("NONE", "INVALID_CONFIG"))


@scenario("share_groups/intervals/second-member", source=DELAYS, clauses=("SH-20", "SH-40"))
def a_second_member_waits(conversation: Conversation) -> None:
    """Since 4.3, a member that joins within the assignment interval gets its partitions after it."""
    ana, bob = conversation.share_members("ana", "bob")
    single = topic_made(conversation, ana, partitions=1)
    ana.enters(single, assigned={})
    epoch = ana.awaits({single: (0,)})["member_epoch"]
    waits(ana)

    bob.enters(single, member_epoch=one_of(epoch, epoch + 1))
    share_group_is(bob, "Stable", epoch=epoch + 1, assignment_epoch=one_of(epoch, epoch + 1))
    ana.heartbeats(member_epoch=one_of(epoch, epoch + 1), assigned=None)
    conversation.elapses(IS_OVER_MS)
    bob.heartbeats(member_epoch=epoch + 1)
    bob.heartbeats(topics=(single,), member_epoch=epoch + 1, assigned={single: (0,)})
    ana.heartbeats(member_epoch=epoch + 1, assigned=None)


@scenario("share_groups/intervals/heartbeats", source=UPDATES, clauses=("SH-15", "SH-40"))
def heartbeats_do_not_put_off_an_assignment(conversation: Conversation) -> None:
    """A heartbeat that changes nothing does not begin the assignment interval anew."""
    ana, joined = sole_sharer(conversation)
    waits(ana, 3_000)
    conversation.elapses(2_000)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    conversation.elapses(2_000)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)

    ana.heartbeats(topics=("orders", "unheard-of"), member_epoch=joined["member_epoch"] + 1, assigned=ALL)


@scenario("share_groups/intervals/ends", source=DELAYS, clauses=("SH-40",))
def an_interval_ends_on_time(conversation: Conversation) -> None:
    """A member that changes its subscription when the assignment interval ends is in the next epoch."""
    ana = conversation.share_member("ana")
    waits(ana, 500)
    joined = ana.enters("unheard-of", assigned={})
    conversation.elapses(500)

    ana.heartbeats(topics=("unheard-of", "absent"), member_epoch=joined["member_epoch"] + 1, assigned={})


@scenario("share_groups/intervals/comes-back", source=FENCES, clauses=("SH-23", "SH-24", "SH-40"))
def a_member_comes_back_within_the_interval(conversation: Conversation) -> None:
    """A member that joins an emptied group within the assignment interval gets all, but nothing in 4.3."""
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    waits(ana)
    ana.leaves()

    ana.enters(member_epoch=one_of(epoch, epoch + 2))
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(topics=("orders",), member_epoch=epoch + 2, assigned=ALL)


@scenario("share_groups/intervals/new-partitions", source=HEARTBEATS, clauses=("SH-14", "SH-40"))
def partitions_with_new_state_wait(conversation: Conversation) -> None:
    """Since 4.3, partitions that get state within the assignment interval do not raise the group epoch."""
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    waits(ana)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=one_of(epoch, epoch + 1), assigned=ALL)
    # By now the share coordinator has answered.
    conversation.elapses(1_500)

    ana.heartbeats(member_epoch=one_of(epoch, epoch + 2))
    ana.heartbeats(member_epoch=one_of(epoch, epoch + 2), assigned=None)
    share_group_is(ana, "Stable", epoch=one_of(epoch + 1, epoch + 2))
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=one_of(epoch + 1, epoch + 2), assigned=BOTH)


@scenario("share_groups/intervals/dropped-topic", source=BUILDS, clauses=("SH-18", "SH-41"))
def a_dropped_topic_need_not_wait(conversation: Conversation) -> None:
    """A topic that is dropped within the assignment interval is lost at once, in the same epoch since 4.3.

    The previous epoch stays valid, and the topic comes back as soon as the member subscribes to it again.
    """
    ana = conversation.share_member("ana")
    ana.enters("orders", "payments", assigned={})
    epoch = ana.awaits(BOTH)["member_epoch"]
    waits(ana)

    ana.heartbeats(topics=("orders",), member_epoch=one_of(epoch, epoch + 1), assigned=ALL)
    ana.heartbeats(epoch=epoch - 1, error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    ana.heartbeats(
        epoch=epoch, topics=("orders", "payments"), member_epoch=one_of(epoch, epoch + 2), assigned=BOTH
    )
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(member_epoch=epoch + 2, assigned=None)


@scenario("share_groups/intervals/added-topic", source=DELAYS, clauses=("SH-40", "SH-41"))
def an_added_topic_waits(conversation: Conversation) -> None:
    """Since 4.3, a topic that is added again within the assignment interval is assigned after it."""
    ana = conversation.share_member("ana")
    ana.enters("orders", "payments", assigned={})
    epoch = ana.awaits(BOTH)["member_epoch"]
    ana.heartbeats(topics=("payments",), member_epoch=epoch + 1, assigned={"payments": (0, 1)})
    waits(ana)

    ana.heartbeats(topics=("orders", "payments"), member_epoch=one_of(epoch + 1, epoch + 2))
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=epoch + 2, assigned=BOTH)


@scenario("share_groups/intervals/missing-topics", source=DELAYS, clauses=("SH-37", "SH-40", "SH-41"))
def topics_that_nobody_has_any_more(conversation: Conversation) -> None:
    """If none of the group's topics exists, the target is empty, and a topic that is added has to wait.

    Before 4.3 the topic is assigned at once.
    """
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    bob = conversation.share_member("bob")
    bob.enters("unheard-of", member_epoch=epoch + 1, assigned={})
    ana.heartbeats(topics=("absent",), member_epoch=epoch + 2, assigned={})
    waits(ana)

    ana.heartbeats(topics=("orders",), member_epoch=one_of(epoch + 2, epoch + 3))
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(topics=("orders",), member_epoch=epoch + 3, assigned=ALL)


@scenario("share_groups/intervals/deleted-topic", source=BUILDS, clauses=("SH-32", "SH-40", "SH-41"))
def a_deleted_topic_goes_from_one_member(conversation: Conversation) -> None:
    """Since 4.3, within the assignment interval only the first to heartbeat loses a deleted topic."""
    ana, bob = conversation.share_members("ana", "bob")
    single = topic_made(conversation, ana, partitions=1)
    ana.enters(single, assigned={})
    ana.awaits({single: (0,)})
    epoch = bob.enters(single, assigned={single: (0,)})["member_epoch"]
    ana.heartbeats(member_epoch=epoch, assigned=None)
    waits(ana)
    ana.asks(ask.delete_topic(single), expect.delete_topic(error_code="NONE"))
    ana.awaits_metadata()

    bob.heartbeats(member_epoch=one_of(epoch, epoch + 1), assigned={})
    ana.heartbeats(member_epoch=one_of(epoch, epoch + 1))
    conversation.elapses(IS_OVER_MS)
    ana.heartbeats(topics=(single,), member_epoch=epoch + 1, assigned={})
