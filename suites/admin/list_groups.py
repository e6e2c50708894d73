"""ListGroups: which groups are listed, and what the filters select.

A broker lists the groups of all scenarios, so an answer is only expected to contain the scenario's own.
"""

from harness.scenario import ANY, Actor, Conversation, GroupRef, ask, containing, expect, scenario
from harness.scenario.values import Pattern

LISTS = "GroupMetadataManager#listGroups"
STATES_SINCE = 4
"""The first version of ListGroups that returns states."""


def awaits_listed(actor: Actor, group: GroupRef, state: str, *, version: int = 4) -> None:
    """Wait until a group is listed, in the given state if the version returns states.

    The Scala coordinator lists groups without their locks, and answers SyncGroup before the group is Stable.
    Source: GroupMetadata#overview (3.9.2), GroupCoordinator#doSyncGroup (3.9.2).
    """
    found: dict[str, Pattern] = {"group_id": group, "protocol_type": "consumer"}
    if version >= STATES_SINCE:
        found["group_state"] = state
    listed = expect.list_groups(error_code="NONE", groups=containing(found))
    actor.repeats(ask.list_groups(version=version), until=listed)


@scenario("admin/list/all", source=LISTS, clauses=("LG-01",))
def all_groups_are_listed_with_their_protocol_type(conversation: Conversation) -> None:
    """ListGroups lists groups with members, empty groups and simple groups, each with its protocol type."""
    conversation.stable_group("ana")
    bob = conversation.actor("bob")
    simple = conversation.group("simple")
    bob.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    bob.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    listed = containing(
        {"group_id": conversation.group("main"), "protocol_type": "consumer"},
        {"group_id": simple, "protocol_type": ""},
    )
    bob.repeats(ask.list_groups(), until=expect.list_groups(error_code="NONE", groups=listed))
    bob.repeats(ask.list_groups(version=0), until=expect.list_groups(error_code="NONE", groups=listed))


@scenario("admin/list/states", source="KIP-518", clauses=("LG-02", "LG-04"))
def groups_are_listed_with_their_state(conversation: Conversation) -> None:
    """ListGroups v4 returns the state of a group, and filters by state."""
    (ana,) = conversation.stable_group("ana")
    main = conversation.group("main")
    stable = containing({"group_id": main, "protocol_type": "consumer", "group_state": "Stable"})
    empty = containing({"group_id": main, "protocol_type": "consumer", "group_state": "Empty"})

    awaits_listed(ana, main, "Stable")
    ana.repeats(
        ask.list_groups(version=4, states_filter=("Dead", "Stable")),
        until=expect.list_groups(error_code="NONE", groups=stable),
    )
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.repeats(
        ask.list_groups(version=4, states_filter=("Empty",)),
        until=expect.list_groups(error_code="NONE", groups=empty),
    )


@scenario("admin/list/unknown-state", source="KIP-518", clauses=("LG-07",))
def an_unknown_state_is_nobodys(conversation: Conversation) -> None:
    """A ListGroups filter with an unknown state is not an error and matches no group."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.list_groups(version=4, states_filter=("Asleep",)))
    ana.receives(expect.list_groups(error_code="NONE", groups=()))


@scenario("admin/list/types", source="KIP-848", clauses=("LG-03", "LG-08"))
def groups_are_listed_with_their_type(conversation: Conversation) -> None:
    """ListGroups v5 returns the type of a group, and filters by type regardless of case."""
    (ana,) = conversation.stable_group("ana")
    classic = containing(
        {"group_id": conversation.group("main"), "group_state": "Stable", "group_type": "classic"}
    )

    ana.repeats(ask.list_groups(version=5), until=expect.list_groups(error_code="NONE", groups=classic))
    ana.repeats(
        ask.list_groups(version=5, types_filter=("Classic",)),
        until=expect.list_groups(error_code="NONE", groups=classic),
    )
    ana.repeats(
        ask.list_groups(version=5, states_filter=("Stable",), types_filter=("classic",)),
        until=expect.list_groups(error_code="NONE", groups=classic),
    )


@scenario("admin/list/unknown-type", source="KIP-848", clauses=("LG-07",))
def an_unknown_type_is_nobodys(conversation: Conversation) -> None:
    """A ListGroups filter with an unknown group type is not an error and matches no group."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.list_groups(version=5, types_filter=("modern",)))
    ana.receives(expect.list_groups(error_code="NONE", groups=()))


@scenario("admin/list/small-letters", source=LISTS, clauses=("LG-05", "LG-06"))
def a_state_in_small_letters_is_no_error(conversation: Conversation) -> None:
    """ListGroups filters ignore case since 3.8, and blanks around a state since 4.0."""
    (ana,) = conversation.stable_group("ana")
    awaits_listed(ana, conversation.group("main"), "Stable")

    ana.sends(ask.list_groups(version=4, states_filter=("stable",)))
    ana.receives(expect.list_groups(error_code="NONE", groups=ANY))
    ana.sends(ask.list_groups(version=4, states_filter=(" STABLE ",)))
    ana.receives(expect.list_groups(error_code="NONE", groups=ANY))


@scenario("admin/list/blanks", source=LISTS, clauses=("LG-06", "LG-07"))
def only_javas_blanks_are_ignored(conversation: Conversation) -> None:
    """Since 4.0 ListGroups ignores spaces and control characters around a state, but not Unicode blanks."""
    (ana,) = conversation.stable_group("ana")

    for state in ("\tStable\n", "\x01Stable\x1f", "\N{NO-BREAK SPACE}Stable", "Stable\N{EM SPACE}"):
        ana.sends(ask.list_groups(version=4, states_filter=(state,)))
        ana.receives(expect.list_groups(error_code="NONE", groups=ANY))
