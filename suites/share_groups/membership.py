"""Joining a share group, changing one's mind, and leaving."""

from harness.scenario import (
    ANY,
    Actor,
    Answer,
    Conversation,
    PinNumber,
    PinText,
    ShareMember,
    ask,
    expect,
    one_of,
    scenario,
)

ALL = {"orders": (0, 1, 2)}
BOTH = {"orders": (0, 1, 2), "payments": (0, 1)}
HEARTBEATS = "GroupMetadataManager#shareGroupHeartbeat"
CHECKS_EPOCH = "GroupMetadataManager#throwIfShareGroupMemberEpochIsInvalid"
INITIALIZES = "GroupMetadataManager#initializeShareGroupState"
FENCES = "GroupMetadataManager#shareGroupFenceMember"


def share_group_is(
    actor: Actor, state: PinText, *, epoch: PinNumber = ANY, assignment_epoch: PinNumber = ANY
) -> None:
    """Have somebody describe the group: its state, and its epochs where they are named."""
    described = expect.share_group_describe(
        error_code="NONE", group_state=state, group_epoch=epoch, assignment_epoch=assignment_epoch
    )
    actor.asks(ask.share_group_describe(), described)


def sole_sharer(conversation: Conversation, *, name: str = "ana") -> tuple[ShareMember, Answer]:
    """Bring in a member that has all of `orders`, and its answer that says so."""
    member = conversation.share_member(name)
    member.enters(assigned={})
    return member, member.awaits(ALL)


@scenario("share_groups/membership/joins", source=HEARTBEATS, clauses=("SH-13", "SH-14", "SH-25"))
def a_member_waits_for_share_state(conversation: Conversation) -> None:
    """The first member gets nothing at first, and all partitions in the next epoch, when they have state."""
    ana = conversation.share_member("ana")

    joined = ana.enters(assigned={}, interval_ms=5_000)
    ana.awaits(ALL, member_epoch=joined["member_epoch"] + 1)
    share_group_is(ana, "Stable", epoch=joined["member_epoch"] + 1, assignment_epoch=joined["member_epoch"] + 1)


@scenario("share_groups/membership/nothing-new", source=HEARTBEATS, clauses=("SH-15",))
def a_heartbeat_brings_nothing_new(conversation: Conversation) -> None:
    """A heartbeat that says nothing new is answered with the same epoch and no assignment."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/membership/leaves", source=FENCES, clauses=("SH-23", "SH-24"))
def a_member_leaves(conversation: Conversation) -> None:
    """The last member leaves: the group is Empty in the next epoch, and its assignment counts as of the former."""
    ana, joined = sole_sharer(conversation)

    ana.leaves()
    share_group_is(
        ana,
        "Empty",
        epoch=joined["member_epoch"] + 1,
        assignment_epoch=one_of(joined["member_epoch"], joined["member_epoch"] + 1),
    )
