"""Requests for several groups, with each option: each is answered as if it were asked alone."""

from harness.scenario import (
    OWN,
    Conversation,
    GroupRef,
    Pattern,
    Value,
    ask,
    ask_describe,
    expect,
    in_any_order,
    scenario,
)
from suites.consumer_groups.validation import sole_member
from suites.share_groups.membership import sole_sharer
from suites.streams_groups.membership import sole_member as sole_streams_member
from suites.transactions.producers import pending

MAIN = GroupRef("main")
FETCHES = "GroupCoordinatorService#fetchOffsets"


def _one_and_none(state: str, *missing: GroupRef) -> Pattern:
    """Return the entries of the own group in a state, and of groups that are missing."""
    found: dict[str, Pattern] = {"group_id": MAIN, "error_code": "NONE", "group_state": state}
    others: list[Pattern] = [{"group_id": each, "error_code": "GROUP_ID_NOT_FOUND"} for each in missing]
    return in_any_order(found, *others)


@scenario("admin/several/deleted-twice", source="GroupCoordinatorService#deleteGroups", clauses=("DL-05",))
def a_group_named_twice_is_deleted_once(conversation: Conversation) -> None:
    """DeleteGroups that names an Empty group twice deletes it."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.sends(ask.delete_groups(groups=(OWN, OWN)))
    ana.receives(expect.response("DeleteGroups", results=({"error_code": "NONE"},)))
    ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))


@scenario(
    "admin/several/consumer-groups", source="GroupMetadataManager#consumerGroupDescribe", clauses=("CD-03",)
)
def consumer_groups_are_described_with_rights(conversation: Conversation) -> None:
    """ConsumerGroupDescribe of a group and a missing one, with rights too, answers for each."""
    ana, _ = sole_member(conversation)
    missing = conversation.group("missing")

    for rights in (False, True):
        ana.asks(
            ask.consumer_group_describe(group_ids=(missing, OWN), include_authorized_operations=rights),
            expect.response("ConsumerGroupDescribe", groups=_one_and_none("Stable", missing)),
        )
    ana.asks(
        ask.consumer_group_describe(group_ids=(missing, missing)),
        expect.response(
            "ConsumerGroupDescribe", groups=in_any_order({"group_id": missing}, {"group_id": missing})
        ),
    )


@scenario("admin/several/share-groups", source="GroupMetadataManager#shareGroupDescribe", clauses=("SH-26",))
def share_groups_are_described_with_rights(conversation: Conversation) -> None:
    """ShareGroupDescribe of a group and a missing one, with rights too, answers for each."""
    ana, _ = sole_sharer(conversation)
    missing = conversation.group("missing")

    for rights in (False, True):
        ana.asks(
            ask.share_group_describe(group_ids=(missing, OWN), include_authorized_operations=rights),
            expect.response("ShareGroupDescribe", groups=_one_and_none("Stable", missing)),
        )
    ana.asks(
        ask.share_group_describe(group_ids=(missing, missing)),
        expect.response(
            "ShareGroupDescribe", groups=in_any_order({"group_id": missing}, {"group_id": missing})
        ),
    )


@scenario(
    "admin/several/streams-groups", source="GroupMetadataManager#streamsGroupDescribe", clauses=("KS-17",)
)
def streams_groups_are_described_with_rights(conversation: Conversation) -> None:
    """StreamsGroupDescribe of a group and a missing one, with rights too, answers for each."""
    ana, _ = sole_streams_member(conversation)
    missing = conversation.group("missing")

    for rights in (False, True):
        ana.asks(
            ask_describe(group_ids=(missing, OWN), include_authorized_operations=rights),
            expect.response("StreamsGroupDescribe", groups=_one_and_none("Stable", missing)),
        )
    ana.asks(
        ask_describe(group_ids=(missing, missing)),
        expect.response(
            "StreamsGroupDescribe", groups=in_any_order({"group_id": missing}, {"group_id": missing})
        ),
    )


@scenario(
    "admin/several/share-offsets",
    source="GroupCoordinatorService#describeShareGroupOffsets",
    clauses=("SO-07",),
)
def offsets_of_share_groups_are_described(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets of a group and of a missing one, named twice, answers for each."""
    ana, _ = sole_sharer(conversation)
    missing = conversation.group("missing")

    for groups in ((MAIN, missing), (missing, missing)):
        wanted: Value = tuple({"group_id": each, "topics": None} for each in groups)
        ana.sends(ask.request("DescribeShareGroupOffsets", 0, groups=wanted))
        entries: list[Pattern] = [{"group_id": each, "error_code": "NONE"} for each in groups]
        ana.receives(expect.response("DescribeShareGroupOffsets", groups=in_any_order(*entries)))


@scenario("admin/several/stable-offsets", source=FETCHES, clauses=("OF-12", "OF-17"))
def a_pending_offset_makes_only_its_group_unstable(conversation: Conversation) -> None:
    """OffsetFetch v8 with require_stable finds only the group with a pending offset unstable."""
    ana = pending(conversation).actor
    first, last = conversation.group("first"), conversation.group("last")
    topics: Value = ({"name": "orders", "partition_indexes": (0,)},)

    wanted: Value = tuple({"group_id": each, "topics": topics} for each in (first, MAIN, last))
    ana.sends(ask.request("OffsetFetch", 8, groups=wanted, require_stable=True))
    entries: list[Pattern] = [
        {"group_id": each, "topics": ({"partitions": ({"error_code": error},)},)}
        for each, error in ((first, "NONE"), (MAIN, "UNSTABLE_OFFSET_COMMIT"), (last, "NONE"))
    ]
    ana.receives(expect.response("OffsetFetch", groups=in_any_order(*entries)))


@scenario("admin/several/offsets-of-members", source=FETCHES, clauses=("OF-12", "OF-28"))
def members_are_checked_group_by_group(conversation: Conversation) -> None:
    """OffsetFetch v9 of several groups checks the member that each entry names in that entry's group."""
    ana, _ = sole_member(conversation)
    first, last = conversation.group("first"), conversation.group("last")
    for name, group in (("bob", first), ("eve", last)):
        conversation.member(name).enters(group_id=group)
    topics: Value = ({"name": "orders", "partition_indexes": (0,)},)

    wanted: Value = tuple(
        {"group_id": each, "member_id": ana.member_id, "member_epoch": ana.epoch, "topics": topics}
        for each in (first, MAIN, last)
    )
    ana.sends(ask.request("OffsetFetch", 9, groups=wanted))
    unknown: list[Pattern] = [{"group_id": each, "error_code": "UNKNOWN_MEMBER_ID"} for each in (first, last)]
    entries = in_any_order({"group_id": MAIN, "error_code": "NONE"}, *unknown)
    ana.receives(expect.response("OffsetFetch", groups=entries))
