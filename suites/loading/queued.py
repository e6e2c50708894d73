"""Several partitions while one is loading: loaded ones are served, the others are queued.

With five partitions Scala coordinators load partition 3 before partition 4, and since 2.8.1 they learn of a
partition only when its turn has come. For Java ones all partitions are loading from the start, in an order
left to chance.
"""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    Actor,
    Breakpoint,
    Capability,
    Conversation,
    ask,
    containing,
    expect,
    in_any_order,
    offset_record,
    one_of,
    scenario,
)
from harness.scenario.messages import Request

PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING, Capability.SOLE_LEADER)
"""In a cluster, partitions get their leaders back one by one."""
PAUSES_AT_THE_LATER = (*PAUSES, Capability.ORDERED_LOADS)
FIVE = {"offsets.topic.num.partitions": "5"}
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
QUEUED = one_of(LOADING, "NOT_COORDINATOR")
"""The error codes for a group whose partition is queued for loading."""
QUEUES = "GroupMetadataManager#scheduleLoadGroupAndOffsets"
WITHIN_MS = 15_000


def _committed(conversation: Conversation) -> Actor:
    """Return the only member of a Stable main group, with an offset; the group `simple` has one, too."""
    (ana,) = conversation.stable_group("ana")
    simple = conversation.group("simple")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 8}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    return ana


def _queued(conversation: Conversation) -> Actor:
    """Return a member whose group is queued behind the group `simple`, which is loading."""
    main, simple = conversation.group("main", partition=4), conversation.group("simple", partition=3)
    ana = _committed(conversation)
    # Whichever of them the Java coordinator loads first, the other one is queued behind it.
    conversation.pauses_at(Breakpoint.LOADING, of=(simple, main))
    conversation.restarts_coordinator()
    return ana


def _served(conversation: Conversation) -> Actor:
    """Return a member whose group is loaded, while the group `simple` is loading."""
    conversation.group("main", partition=3)
    simple = conversation.group("simple", partition=4)
    ana = _committed(conversation)
    conversation.pauses_at(Breakpoint.LOADING, of=simple)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: 7}}),
        within_ms=WITHIN_MS,
    )
    return ana


def _loaded(conversation: Conversation, ana: Actor) -> None:
    """Let all loads end, and wait for offsets that only a coordinator of both groups returns."""
    conversation.resumes_from(Breakpoint.LOADING)
    for group, offset in ((conversation.group("main"), 7), (conversation.group("simple"), 8)):
        ana.repeats(
            ask.offset_fetch(group_id=group, topics={"orders": (0,)}),
            until=expect.offset_fetch({"orders": {0: offset}}),
            within_ms=WITHIN_MS,
        )


def _lists_all(ana: Actor, request: Request) -> None:
    """Wait for a complete list: partitions of other groups may still be loading when these two are loaded."""
    ana.repeats(request, until=expect.list_groups(error_code="NONE"), within_ms=WITHIN_MS)


@scenario("loading/queued/members", source=QUEUES, clauses=("LO-18",), needs=PAUSES, broker_config=FIVE)
def members_of_a_queued_group_wait(conversation: Conversation) -> None:
    """Members of a group queued for loading get NOT_COORDINATOR in Scala since 2.8.1, else loading."""
    ana = _queued(conversation)
    bob = conversation.actor("bob")

    ana.climbs(
        [
            (ask.find_coordinator(), expect.find_coordinator(error_code="NONE", host=NON_EMPTY)),
            (ask.heartbeat(), expect.heartbeat(error_code=one_of("NONE", "NOT_COORDINATOR"))),
            (ask.sync_group(), expect.sync_group(error_code=ANY, assignment=b"")),
            (ask.join_group(), expect.join_group(error_code=QUEUED, members=())),
            (ask.leave_group(), expect.leave_group(error_code=QUEUED, members=())),
        ]
    )
    bob.asks(ask.heartbeat(member_id="nobody", generation_id=1), error_code=one_of("NONE", "NOT_COORDINATOR"))
    bob.asks(ask.join_group(member_id=""), expect.join_group(error_code=ANY, members=()))
    bob.sends(ask.heartbeat(group_id=conversation.group("simple"), member_id="nobody", generation_id=1))
    bob.receives(expect.heartbeat(error_code="NONE"))

    _loaded(conversation, ana)
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario("loading/queued/offsets", source=QUEUES, clauses=("LO-18",), needs=PAUSES, broker_config=FIVE)
def offsets_of_a_queued_group_wait(conversation: Conversation) -> None:
    """Offsets of a group queued for loading get NOT_COORDINATOR in Scala since 2.8.1, else loading."""
    ana = _queued(conversation)
    simple = conversation.group("simple")

    for group, reported in ((conversation.group("main"), QUEUED), (simple, one_of(LOADING))):
        ana.sends(ask.offset_commit(group_id=group, topics={"orders": {0: 9, 99: 9}}))
        ana.receives(expect.offset_commit({"orders": {0: reported, 99: "UNKNOWN_TOPIC_OR_PARTITION"}}))
        ana.sends(ask.offset_fetch(group_id=group, topics={"orders": (0,)}))
        ana.receives(expect.response("OffsetFetch", error_code=reported, topics=()))
        ana.sends(ask.offset_fetch(version=7, group_id=group, require_stable=True))
        ana.receives(expect.response("OffsetFetch", error_code=reported, topics=()))
        ana.sends(ask.offset_fetch(version=1, group_id=group, topics={"orders": (0,)}))
        ana.receives(expect.response("OffsetFetch"))
        ana.sends(ask.offset_delete(group_id=group, topics={"orders": (0,)}))
        ana.receives(expect.offset_delete(error_code=reported, errors={}))

    _loaded(conversation, ana)


@scenario(
    "loading/queued/administration",
    source=QUEUES,
    clauses=("LO-18", "LO-15"),
    needs=PAUSES,
    broker_config=FIVE,
)
def groups_that_are_queued_cannot_be_administered(conversation: Conversation) -> None:
    """DescribeGroups and DeleteGroups answer for each group how far its load is; ListGroups is incomplete."""
    ana = _queued(conversation)
    main, simple, never = (
        conversation.group("main"),
        conversation.group("simple"),
        conversation.group("never", beside=conversation.group("main")),
    )

    ana.sends(ask.describe_groups(groups=(main, simple, never)))
    ana.receives(
        expect.response(
            "DescribeGroups",
            groups=in_any_order(
                {"group_id": main, "error_code": QUEUED, "group_state": "", "members": ()},
                {"group_id": simple, "error_code": LOADING, "group_state": ""},
                {"group_id": never, "error_code": QUEUED, "group_state": ""},
            ),
        )
    )
    ana.sends(ask.delete_groups(groups=(main, simple, never)))
    ana.receives(
        expect.response(
            "DeleteGroups",
            results=in_any_order(
                {"group_id": main, "error_code": QUEUED},
                {"group_id": simple, "error_code": LOADING},
                {"group_id": never, "error_code": QUEUED},
            ),
        )
    )
    ana.asks(ask.list_groups(), error_code=LOADING)

    _loaded(conversation, ana)
    ana.sends(ask.delete_groups(groups=(main, never)))
    ana.receives(expect.delete_groups("NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"))


@scenario(
    "loading/queued/others-are-served",
    source="CoordinatorRuntime#scheduleLoadOperation",
    clauses=("LO-17",),
    needs=PAUSES_AT_THE_LATER,
    broker_config=FIVE,
)
def others_are_served(conversation: Conversation) -> None:
    """While one partition is loading, groups of another are served: they rebalance, commit and fetch."""
    ana = _served(conversation)
    bob, simple = conversation.actor("bob"), conversation.group("simple")

    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.offset_commit(topics={"orders": {1: 9}}), expect.offset_commit({"orders": {1: "NONE"}}))
    ana.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 9}}))
    ana.receives(expect.offset_commit({"orders": {0: LOADING}}))
    bob.obtains_member_id()
    bob.sends(ask.join_group())
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))
    ana.syncs_as_leader((ana, bob))

    _loaded(conversation, ana)
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 7, 1: 9}}))


@scenario(
    "loading/queued/part-of-the-groups",
    source="GroupCoordinatorService#listGroups",
    clauses=("LO-17", "LO-15", "LG-09"),
    needs=PAUSES_AT_THE_LATER,
    broker_config=FIVE,
)
def a_list_may_have_part_of_the_groups(conversation: Conversation) -> None:
    """While a partition loads, ListGroups is COORDINATOR_LOAD_IN_PROGRESS; only Scala lists other groups."""
    ana = _served(conversation)
    main, simple = conversation.group("main"), conversation.group("simple")

    for version in (0, 3):
        ana.asks(ask.list_groups(version=version), error_code=LOADING)
    ana.sends(ask.describe_groups(groups=(main, simple)))
    ana.receives(
        expect.response(
            "DescribeGroups",
            groups=in_any_order(
                {"group_id": main, "error_code": "NONE", "group_state": "Stable"},
                {"group_id": simple, "error_code": LOADING, "group_state": "", "members": ()},
            ),
        )
    )
    ana.sends(ask.delete_groups(groups=(main, simple)))
    ana.receives(
        expect.response(
            "DeleteGroups",
            results=in_any_order(
                {"group_id": main, "error_code": "NON_EMPTY_GROUP"},
                {"group_id": simple, "error_code": LOADING},
            ),
        )
    )

    _loaded(conversation, ana)
    _lists_all(ana, ask.list_groups())


@scenario(
    "loading/queued/part-of-the-groups-by-state",
    source="KIP-518",
    clauses=("LO-17", "LO-15", "LG-09"),
    needs=PAUSES_AT_THE_LATER,
    broker_config=FIVE,
)
def a_list_of_some_states_may_have_part_of_the_groups(conversation: Conversation) -> None:
    """ListGroups by state gets COORDINATOR_LOAD_IN_PROGRESS, even if no group has that state."""
    ana = _served(conversation)

    for state in ("Stable", "Empty", "Dead"):
        ana.asks(ask.list_groups(version=4, states_filter=(state,)), error_code=LOADING)

    _loaded(conversation, ana)
    _lists_all(ana, ask.list_groups(version=4, states_filter=("Empty",)))


@scenario(
    "loading/queued/one-is-loaded-anew",
    source="CoordinatorRuntime#append",
    clauses=("LO-17", "LO-15", "RP-17", "LG-09"),
    needs=(Capability.WRITE_LOG, Capability.PAUSE_AT_LOADING, Capability.SOLE_LEADER),
    broker_config=FIVE,
)
def others_are_served_while_one_is_loaded_anew(conversation: Conversation) -> None:
    """A Java coordinator reloads a partition that others wrote to, while other partitions are served.

    A Scala coordinator does not detect it, and serves both.
    """
    conversation.group("main", partition=3)
    simple = conversation.group("simple", partition=4)
    ana = _committed(conversation)
    conversation.appends(offset_record("orders", 1, 11, group=simple), to=simple, spoils=True)
    conversation.pauses_at(Breakpoint.LOADING, of=simple)

    commits = ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 9}})
    ana.asks(commits, expect.offset_commit({"orders": {0: one_of("NONE", "NOT_COORDINATOR")}}))
    ana.asks(commits, expect.offset_commit({"orders": {0: one_of("NONE", LOADING)}}))
    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.offset_commit(topics={"orders": {1: 9}}), expect.offset_commit({"orders": {1: "NONE"}}))
    ana.asks(ask.list_groups(), error_code=one_of("NONE", LOADING))
    ana.asks(ask.list_groups(version=0), error_code=one_of("NONE", LOADING))
    ana.sends(ask.describe_groups(groups=(conversation.group("main"), simple)))
    ana.receives(
        expect.response(
            "DescribeGroups",
            groups=in_any_order(
                {"group_id": conversation.group("main"), "error_code": "NONE", "group_state": "Stable"},
                {"group_id": simple, "error_code": one_of("NONE", LOADING)},
            ),
        )
    )
    ana.sends(
        ask.delete_groups(groups=(conversation.group("main"), conversation.group("never", beside=simple)))
    )
    ana.receives(expect.response("DeleteGroups", results=containing({"error_code": "NON_EMPTY_GROUP"})))
    conversation.resumes_from(Breakpoint.LOADING)

    ana.repeats(
        ask.offset_fetch(group_id=simple, topics={"orders": (0, 1)}),
        until=expect.offset_fetch({"orders": {0: 9, 1: one_of(11, -1)}}),
        within_ms=WITHIN_MS,
    )
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "loading/queued/unloaded-behind-a-load",
    source="GroupMetadataManager#removeGroupsForPartition",
    clauses=("LO-17",),
    needs=PAUSES_AT_THE_LATER,
    broker_config=FIVE,
)
def an_unload_waits_for_a_load(conversation: Conversation) -> None:
    """A group whose log is deleted while another partition loads is served until that load is over."""
    ana = _served(conversation)
    ana.asks(ask.delete_topic("__consumer_offsets"), expect.delete_topic(error_code="NONE"))
    conversation.elapses(1_000)

    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))
    conversation.resumes_from(Breakpoint.LOADING)
    ana.repeats(ask.heartbeat(), until=expect.heartbeat(error_code="NOT_COORDINATOR"), within_ms=WITHIN_MS)
