"""Why a ShareGroupHeartbeat is refused, and in which order the checks run."""

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.share_groups.membership import CHECKS_EPOCH, sole_sharer

VALIDATES = "GroupCoordinatorService#throwIfShareGroupHeartbeatRequestIsInvalid"
LIMITS_ID = "KafkaApis#isMemberIdValid"
FINDS = "GroupMetadataManager#getOrMaybeCreateShareGroup"
NO_MEMBER = "ShareGroup#getOrMaybeCreateMember"
REFUSED = "INVALID_REQUEST"


@scenario("share_groups/validation/group-id", source=VALIDATES, clauses=("SH-03",))
def a_group_needs_a_name(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with an empty or blank group id gets INVALID_REQUEST in any epoch."""
    ana = conversation.share_member("ana")

    for group_id in ("", "  "):
        ana.enters(group_id=group_id, error_code=REFUSED)
        ana.heartbeats(group_id=group_id, epoch=1, error_code=REFUSED)


@scenario("share_groups/validation/no-member-id", source=LIMITS_ID, clauses=("SH-04", "SH-06"))
def a_member_brings_its_id(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with an empty or blank member id gets INVALID_REQUEST."""
    ana = conversation.share_member("ana")

    for member_id in ("", " "):
        ana.enters(member_id=member_id, error_code=REFUSED)
        ana.heartbeats(member_id=member_id, epoch=-1, error_code=REFUSED)


@scenario("share_groups/validation/long-member-id", source=LIMITS_ID, clauses=("SH-05",))
def a_member_id_has_a_limit(conversation: Conversation) -> None:
    """A member id of 36 characters is accepted; one of 37 gets INVALID_REQUEST since 4.2."""
    ana = conversation.share_member("ana")

    ana.enters("unheard-of", member_id="m" * 36)
    ana.enters("unheard-of", member_id="n" * 37, error_code=one_of("NONE", REFUSED))


@scenario("share_groups/validation/rack", source=VALIDATES, clauses=("SH-06",))
def a_rack_has_a_name(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with an empty or blank rack gets INVALID_REQUEST."""
    ana = conversation.share_member("ana")

    for rack_id in ("", " "):
        ana.enters(rack_id=rack_id, error_code=REFUSED)
    ana.enters(rack_id="rack-1")


@scenario("share_groups/validation/no-topics", source=VALIDATES, clauses=("SH-07",))
def whoever_joins_names_topics(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat that joins without topics gets INVALID_REQUEST, even of a known member."""
    ana, joined = sole_sharer(conversation)

    ana.heartbeats(epoch=0, error_code=REFUSED)
    ana.heartbeats(epoch=0, topics=(), error_code=REFUSED)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/validation/low-epoch", source=VALIDATES, clauses=("SH-08",))
def no_epoch_is_below_that_of_leaving(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with an epoch below -1 gets INVALID_REQUEST: there are no static members."""
    ana, _ = sole_sharer(conversation)

    for epoch in (-2, -3):
        ana.heartbeats(epoch=epoch, error_code=REFUSED)


@scenario("share_groups/validation/order", source=VALIDATES, clauses=("SH-03", "SH-07", "SH-08"))
def faults_are_found_before_the_group_is(conversation: Conversation) -> None:
    """An invalid heartbeat to a missing group gets INVALID_REQUEST, a valid one GROUP_ID_NOT_FOUND."""
    ana = conversation.share_member("ana")

    ana.heartbeats(epoch=-2, error_code=REFUSED)
    ana.heartbeats(epoch=0, topics=(), error_code=REFUSED)
    ana.heartbeats(epoch=1, rack_id="", error_code=REFUSED)
    ana.heartbeats(epoch=1, error_code="GROUP_ID_NOT_FOUND")


@scenario("share_groups/validation/unknown-group", source=FINDS, clauses=("SH-10",))
def a_group_that_there_is_not(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat to a missing group that does not join gets GROUP_ID_NOT_FOUND."""
    ana = conversation.share_member("ana")

    ana.heartbeats(epoch=1, error_code="GROUP_ID_NOT_FOUND")
    ana.heartbeats(epoch=7, topics=("orders",), error_code="GROUP_ID_NOT_FOUND")
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("share_groups/validation/unknown-group-leaves", source=FINDS, clauses=("SH-11",))
def nobody_leaves_a_group_that_there_is_not(conversation: Conversation) -> None:
    """Leaving a missing share group gets GROUP_ID_NOT_FOUND."""
    ana = conversation.share_member("ana")

    ana.heartbeats(epoch=-1, error_code="GROUP_ID_NOT_FOUND")


@scenario("share_groups/validation/unknown-member", source=NO_MEMBER, clauses=("SH-12",))
def somebody_who_is_no_member(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat of a non-member gets UNKNOWN_MEMBER_ID in any epoch."""
    ana, joined = sole_sharer(conversation)
    bob = conversation.share_member("bob")

    for epoch in (1, joined["member_epoch"], 99, -1):
        bob.heartbeats(epoch=epoch, error_code="UNKNOWN_MEMBER_ID")
    ana.heartbeats(assigned=None)


@scenario("share_groups/validation/left", source=NO_MEMBER, clauses=("SH-12", "SH-23"))
def whoever_has_left_is_unknown(conversation: Conversation) -> None:
    """A member that has left gets UNKNOWN_MEMBER_ID until it joins again."""
    ana, _ = sole_sharer(conversation)
    ana.leaves()

    ana.heartbeats(epoch=1, error_code="UNKNOWN_MEMBER_ID")
    ana.heartbeats(epoch=-1, error_code="UNKNOWN_MEMBER_ID")
    ana.enters()


@scenario("share_groups/validation/later-epoch", source=CHECKS_EPOCH, clauses=("SH-17",))
def a_later_epoch_is_fenced(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with a later epoch than the member's gets FENCED_MEMBER_EPOCH."""
    ana, joined = sole_sharer(conversation)

    for more in (1, 100):
        ana.heartbeats(epoch=joined["member_epoch"] + more, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/validation/previous-epoch", source=CHECKS_EPOCH, clauses=("SH-18",))
def the_previous_epoch_is_taken(conversation: Conversation) -> None:
    """A heartbeat with the previous epoch returns the current one, since an answer may have been lost."""
    ana, joined = sole_sharer(conversation)
    both = ana.heartbeats(topics=("orders", "unheard-of"), member_epoch=joined["member_epoch"] + 1)

    ana.heartbeats(epoch=joined["member_epoch"], member_epoch=both["member_epoch"])
    ana.heartbeats(epoch=both["member_epoch"], member_epoch=both["member_epoch"])


@scenario("share_groups/validation/earlier-epoch", source=CHECKS_EPOCH, clauses=("SH-17",))
def an_epoch_before_that_is_fenced(conversation: Conversation) -> None:
    """A ShareGroupHeartbeat with an epoch before the previous one gets FENCED_MEMBER_EPOCH."""
    ana, joined = sole_sharer(conversation)
    ana.heartbeats(topics=("orders", "unheard-of"), member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 2)

    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=joined["member_epoch"] + 1, member_epoch=joined["member_epoch"] + 2)
