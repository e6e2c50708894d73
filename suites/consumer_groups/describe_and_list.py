"""Consumer groups as administrators describe, list and delete them."""

from collections.abc import Mapping

from harness.scenario import (
    OWN,
    Conversation,
    GroupRef,
    Pattern,
    ask,
    containing,
    expect,
    in_any_order,
    scenario,
    sweep,
)
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import KEPT, two_members
from suites.consumer_groups.validation import ALL, sole_member

DESCRIBES = "ConsumerGroup#asDescribedGroup"
FINDS = "GroupMetadataManager#consumerGroupDescribe"
STATES = "ConsumerGroup#maybeUpdateGroupState"
LISTS = "GroupMetadataManager#listGroups"
CLASSIC = "GroupMetadataManager#describeGroups"
DELETES = "GroupMetadataManager#validateDeleteGroup"
MAIN = GroupRef("main")


@scenario("consumer_groups/describe/whole", source=DESCRIBES, clauses=("CA-01", "CD-01", "CD-02"))
def a_group_is_described(conversation: Conversation) -> None:
    """ConsumerGroupDescribe returns state, epochs, assignor and each member's current and target parts."""
    ana = conversation.member("ana", instance_id="one")
    joined = ana.enters("orders", "missing", rack_id="north", assigned=ALL)

    member = expect.group_member(
        ana.member_id,
        epoch=joined["member_epoch"],
        owned=ALL,
        target=ALL,
        instance_id="one",
        topics=("orders", "missing"),
        regex="",
        member_type=1,
    )
    described = expect.consumer_group_describe(
        error_code="NONE",
        group_state="Stable",
        group_epoch=joined["member_epoch"],
        assignment_epoch=joined["member_epoch"],
        assignor_name="uniform",
        members=({**member, "rack_id": "north", "client_id": "ana"},),
    )
    ana.asks(ask.consumer_group_describe(), described)
    without_type = {name: value for name, value in member.items() if name != "member_type"}
    ana.asks(
        ask.consumer_group_describe(version=0),
        expect.consumer_group_describe(error_code="NONE", members=(without_type,)),
    )


@scenario("consumer_groups/describe/none", source=FINDS, clauses=("CD-03",))
def only_consumer_groups_are_described(conversation: Conversation) -> None:
    """ConsumerGroupDescribe of an unknown or classic group gets GROUP_ID_NOT_FOUND and an empty state."""
    (ana,) = conversation.stable_group("ana")

    missing = conversation.group("missing")
    for version, group in ((0, MAIN), (0, missing), (1, MAIN), (1, missing)):
        ana.asks(
            ask.consumer_group_describe(version=version, group_ids=(group,)),
            expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND", group_state="", members=()),
        )


@scenario(
    "consumer_groups/describe/empty-id",
    source="GroupCoordinatorService#consumerGroupDescribe",
    clauses=("CD-04",),
)
def an_empty_id_is_described_by_itself(conversation: Conversation) -> None:
    """ConsumerGroupDescribe of an empty id fails for that id alone, but in 4.0.0 for all ids."""
    ana, _ = sole_member(conversation)

    ana.asks(
        ask.consumer_group_describe(group_ids=(OWN, "")),
        expect.response("ConsumerGroupDescribe", groups=containing({"group_id": MAIN})),
    )


@scenario(
    "consumer_groups/describe/operations", source="KafkaApis#handleConsumerGroupDescribe", clauses=("CD-06",)
)
def operations_are_described_on_demand(conversation: Conversation) -> None:
    """ConsumerGroupDescribe returns authorized operations on request, and otherwise -2147483648."""
    ana, _ = sole_member(conversation)

    ana.asks(
        ask.consumer_group_describe(include_authorized_operations=True),
        expect.consumer_group_describe(error_code="NONE", authorized_operations=3400),
    )
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(authorized_operations=-2147483648))


@scenario("consumer_groups/describe/states", source=STATES, clauses=("CD-07",))
def a_group_goes_through_its_states(conversation: Conversation) -> None:
    """A group is Stable, Reconciling, Assigning and Empty as members join, reconcile and leave."""
    ana, joined = sole_member(conversation)
    group_is(ana, "Stable", epoch=joined["member_epoch"])
    bob = conversation.member("bob")
    bob.enters(assigned={})
    group_is(ana, "Reconciling", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(assigned=KEPT)
    group_is(ana, "Reconciling", epoch=joined["member_epoch"] + 1)
    bob.leaves()
    group_is(ana, "Assigning", epoch=joined["member_epoch"] + 2)
    ana.leaves()
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 3)


@scenario("consumer_groups/describe/two-groups", source=FINDS, clauses=("CD-01", "CD-03"))
def several_groups_are_described_at_once(conversation: Conversation) -> None:
    """ConsumerGroupDescribe of several groups has an entry for each, in any order."""
    ana, _ = sole_member(conversation)
    other, missing = conversation.group("other"), conversation.group("missing")
    conversation.member("bob").enters(group_id=other, assigned=ALL)

    described = in_any_order(
        {"group_id": MAIN, "error_code": "NONE", "group_state": "Stable"},
        {"group_id": other, "error_code": "NONE", "group_state": "Stable"},
        {"group_id": missing, "error_code": "GROUP_ID_NOT_FOUND"},
    )
    ana.asks(
        ask.consumer_group_describe(group_ids=(OWN, other, missing)),
        expect.response("ConsumerGroupDescribe", groups=described),
    )


@scenario("consumer_groups/list/types-and-states", source=LISTS, clauses=("CL-02", "CL-03", "CL-04", "LG-13"))
def consumer_groups_are_listed(conversation: Conversation) -> None:
    """ListGroups returns a consumer group's type and state, and filters by both regardless of case."""
    ana, _ = sole_member(conversation)

    whole: Mapping[str, Pattern] = {
        "group_id": MAIN,
        "protocol_type": "consumer",
        "group_state": "Stable",
        "group_type": "consumer",
    }
    for states, types in (((), ()), ((), ("Consumer", "classic")), ((" STABLE ",), ("consumer",))):
        ana.asks(
            ask.list_groups(version=5, states_filter=states, types_filter=types),
            expect.list_groups(error_code="NONE", groups=containing(whole)),
        )
    for states, types in (((), ("bogus",)), ((), ("classic",)), (("Empty",), ("consumer",))):
        ana.asks(
            ask.list_groups(version=5, states_filter=states, types_filter=types),
            expect.list_groups(error_code="NONE"),
        )
    listed: Mapping[str, Pattern] = {"group_id": MAIN, "protocol_type": "consumer"}
    ana.asks(
        ask.list_groups(version=4),
        expect.list_groups(groups=containing({**listed, "group_state": "Stable"})),
    )
    ana.asks(ask.list_groups(version=3), expect.list_groups(groups=containing(listed)))


@scenario(
    "consumer_groups/list/described-as-classic", source=CLASSIC, clauses=("CL-11", "CL-12", "DG-11", "XT-11")
)
def a_consumer_group_is_no_classic_one(conversation: Conversation) -> None:
    """DescribeGroups of a consumer group returns state Dead, since v6 with GROUP_ID_NOT_FOUND."""
    ana, _ = sole_member(conversation)

    dead = expect.describe_groups(error_code="NONE", group_state="Dead", members=())
    ana.asks(ask.describe_groups(version=5), dead)
    missing = expect.describe_groups(error_code="GROUP_ID_NOT_FOUND", group_state="Dead", members=())
    ana.asks(ask.describe_groups(version=6), missing)


@scenario("consumer_groups/delete/members", source=DELETES, clauses=("CL-21", "CL-22", "DL-12"))
def only_an_empty_group_is_deleted(conversation: Conversation) -> None:
    """DeleteGroups refuses a group with members: NON_EMPTY_GROUP. An empty one goes with its offsets."""
    ana, _ = sole_member(conversation)
    ana.asks(
        ask.offset_commit(version=9, topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}})
    )

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))


@scenario("consumer_groups/delete/two-members", source=DELETES, clauses=("CL-21",))
def a_group_that_reconciles_is_not_deleted(conversation: Conversation) -> None:
    """DeleteGroups of a group that reconciles gets NON_EMPTY_GROUP."""
    ana, _, joined = two_members(conversation)

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    group_is(ana, "Reconciling", epoch=joined["member_epoch"] + 1)


@scenario(
    "consumer_groups/delete/with-message",
    source=DELETES,
    clauses=("CL-21", "CL-22"),
    sweep=sweep("DeleteGroups", 3, 3),
)
def no_consumer_group_has_a_message(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} answers for consumer groups as before, with a null error message."""
    ana, _ = sole_member(conversation)

    for error_code in ("NON_EMPTY_GROUP", "NONE", "GROUP_ID_NOT_FOUND"):
        answer = expect.response("DeleteGroups", results=({"error_code": error_code, "error_message": None},))
        ana.asks(ask.delete_groups(version=version), answer)
        if error_code == "NON_EMPTY_GROUP":
            ana.leaves()
