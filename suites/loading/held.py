"""A coordinator's answers while it loads its log; the load is paused for as long as the answers take."""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    SHORT_SESSIONS,
    Actor,
    Breakpoint,
    Capability,
    Conversation,
    ask,
    expect,
    scenario,
)

PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"


def _loading(conversation: Conversation) -> Actor:
    """Return the only member of a Stable group, with an offset, whose coordinator has started to load."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()
    return ana


def _loaded(conversation: Conversation, ana: Actor) -> None:
    """Let the load end, and wait for an offset that only a loaded coordinator returns."""
    conversation.resumes_from(Breakpoint.LOADING)
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: 7}}),
        within_ms=10_000,
    )


@scenario(
    "loading/held/find-coordinator",
    source="KafkaApis#getCoordinator",
    clauses=("LO-01", "FC-13"),
    needs=PAUSES,
)
def a_loading_coordinator_is_found(conversation: Conversation) -> None:
    """FindCoordinator returns a coordinator that is still loading."""
    ana = _loading(conversation)

    ana.asks(ask.find_coordinator(), expect.find_coordinator(error_code="NONE", host=NON_EMPTY))
    ana.asks(ask.heartbeat(member_id="nobody"), error_code="NONE")

    _loaded(conversation, ana)


@scenario("loading/held/join", source=RUNS, clauses=("CO-11", "LO-02", "VF-07"), needs=PAUSES)
def nobody_joins_while_loading(conversation: Conversation) -> None:
    """JoinGroup gets COORDINATOR_LOAD_IN_PROGRESS, with and without a member id, and in low versions."""
    ana = _loading(conversation)
    bob = conversation.actor("bob")
    refused = expect.join_group(error_code=LOADING, generation_id=-1, leader="", members=())

    ana.asks(ask.join_group(), refused)
    bob.asks(ask.join_group(member_id=""), refused)
    bob.asks(ask.join_group(version=3, member_id=""), refused)
    bob.asks(ask.join_group(member_id="", group_instance_id="seat-b"), refused)

    _loaded(conversation, ana)


@scenario(
    "loading/held/join-with-bad-session",
    source="GroupCoordinatorService#joinGroup",
    clauses=("CO-11", "JG-15"),
    needs=PAUSES,
    broker_config=SHORT_SESSIONS,
)
def a_bad_session_timeout_is_refused_while_loading(conversation: Conversation) -> None:
    """JoinGroup with a session timeout out of bounds is refused while loading, and afterwards.

    Up to 3.9 loading is checked first, from 4.0 on the session timeout.
    """
    ana = _loading(conversation)
    bob = conversation.actor("bob")

    bob.sends(ask.join_group(member_id="", session_timeout_ms=1))
    bob.receives(expect.join_group(error_code=ANY, generation_id=-1, leader="", members=()))
    _loaded(conversation, ana)
    bob.sends(ask.join_group(member_id="", session_timeout_ms=1))
    bob.receives(expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id=""))


@scenario(
    "loading/held/sync",
    source="GroupCoordinatorService#syncGroup",
    clauses=("LO-03", "VF-09", "CO-12"),
    needs=PAUSES,
)
def nobody_gets_an_assignment_while_loading(conversation: Conversation) -> None:
    """SyncGroup gets no assignment while loading, but the former one afterwards.

    Up to 3.9 it gets REBALANCE_IN_PROGRESS, from 4.0 on COORDINATOR_LOAD_IN_PROGRESS.
    """
    ana = _loading(conversation)

    ana.asks(ask.sync_group(), expect.sync_group(assignment=b""))
    _loaded(conversation, ana)
    ana.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=ana.part))


@scenario(
    "loading/held/heartbeat",
    source="GroupCoordinatorService#heartbeat",
    clauses=("CO-13", "LO-04", "ER-11"),
    needs=PAUSES,
)
def every_heartbeat_is_good_while_loading(conversation: Conversation) -> None:
    """Every Heartbeat gets NONE while loading: of members and strangers, in any generation and group."""
    ana = _loading(conversation)
    good = expect.heartbeat(error_code="NONE")

    ana.asks(ask.heartbeat(), good)
    ana.asks(ask.heartbeat(member_id="nobody", generation_id=99), good)
    ana.sends(
        ask.heartbeat(group_id=conversation.group("never"), member_id="nobody", group_instance_id="seat-x")
    )
    ana.receives(good)
    ana.asks(ask.heartbeat(version=0), good)

    _loaded(conversation, ana)
    ana.asks(ask.heartbeat(), good)
    ana.asks(ask.heartbeat(member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "loading/held/leave",
    source="GroupCoordinatorService#leaveGroup",
    clauses=("CO-14", "LO-05"),
    needs=PAUSES,
)
def nobody_leaves_while_loading(conversation: Conversation) -> None:
    """LeaveGroup gets a top-level COORDINATOR_LOAD_IN_PROGRESS without members, and nobody has left.

    Before v3 some releases cannot write an error of the whole group: see `regressions/kafka-15755`.
    """
    ana = _loading(conversation)

    ana.asks(ask.leave_group(), expect.leave_group(error_code=LOADING, members=()))
    ana.asks(ask.leave_group(version=2), error_code=ANY)

    _loaded(conversation, ana)
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario("loading/held/commit", source=RUNS, clauses=("LO-06", "LO-07", "OC-21", "OC-22"), needs=PAUSES)
def nothing_is_committed_while_loading(conversation: Conversation) -> None:
    """OffsetCommit gets COORDINATOR_LOAD_IN_PROGRESS for each partition that exists."""
    ana = _loading(conversation)
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"

    ana.sends(ask.offset_commit(topics={"orders": {0: 8, 1: 8, 99: 8}}))
    ana.receives(expect.offset_commit({"orders": {0: LOADING, 1: LOADING, 99: unknown}}))
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"payments": {0: 8}}))
    ana.receives(expect.offset_commit({"payments": {0: LOADING}}))
    ana.sends(ask.offset_commit(version=2, topics={"orders": {0: 8}}))
    ana.receives(expect.offset_commit({"orders": {0: LOADING}}))
    ana.sends(ask.offset_commit(topics={"no-such-topic": {0: 8}}))
    ana.receives(expect.offset_commit({"no-such-topic": {0: unknown}}))
    ana.asks(ask.offset_commit(topics={}), expect.offset_commit({}))

    _loaded(conversation, ana)
    ana.asks(ask.offset_commit(topics={"orders": {0: 8}}), expect.offset_commit({"orders": {0: "NONE"}}))


@scenario("loading/held/fetch", source=RUNS, clauses=("LO-08",), needs=PAUSES)
def no_offset_is_fetched_while_loading(conversation: Conversation) -> None:
    """OffsetFetch v2 to v7 gets a top-level COORDINATOR_LOAD_IN_PROGRESS, without topics."""
    ana = _loading(conversation)
    refused = expect.offset_fetch({}, error_code=LOADING)

    ana.asks(ask.offset_fetch(version=2, topics={"orders": (0,)}), refused)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), refused)
    ana.asks(ask.offset_fetch(), refused)
    ana.asks(ask.offset_fetch(group_id=conversation.group("never"), topics={"orders": (0,)}), refused)

    _loaded(conversation, ana)


@scenario("loading/held/fetch-stable", source="KIP-447", clauses=("LO-08",), needs=PAUSES)
def no_stable_offset_is_fetched_while_loading(conversation: Conversation) -> None:
    """OffsetFetch v7 gets COORDINATOR_LOAD_IN_PROGRESS whether or not it requires stable offsets."""
    ana = _loading(conversation)
    refused = expect.offset_fetch({}, error_code=LOADING)

    ana.asks(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True), refused)
    ana.asks(ask.offset_fetch(version=7, require_stable=False), refused)

    _loaded(conversation, ana)


@scenario("loading/held/fetch-by-group", source="KIP-709", clauses=("LO-08",), needs=PAUSES)
def no_groups_offset_is_fetched_while_loading(conversation: Conversation) -> None:
    """OffsetFetch v8 gets COORDINATOR_LOAD_IN_PROGRESS for the group, without topics."""
    ana = _loading(conversation)

    ana.sends(ask.offset_fetch(version=8, topics={"orders": (0,)}))
    ana.receives(expect.offset_fetch({}, version=8, error_code=LOADING))
    ana.asks(ask.offset_fetch(version=8), expect.offset_fetch({}, version=8, error_code=LOADING))

    _loaded(conversation, ana)


@scenario("loading/held/fetch-low-version", source="KAFKA-14504", clauses=("LO-10", "OF-11"), needs=PAUSES)
def version_1_may_lose_the_error(conversation: Conversation) -> None:
    """OffsetFetch v1 gets COORDINATOR_LOAD_IN_PROGRESS per partition; from 3.5 to 4.0, an empty answer."""
    ana = _loading(conversation)

    ana.asks(ask.offset_fetch(version=1, topics={"orders": (0,)}), expect.response("OffsetFetch"))
    _loaded(conversation, ana)
    ana.sends(ask.offset_fetch(version=1, topics={"orders": (0,)}))
    ana.receives(expect.offset_fetch({"orders": {0: 7}}, version=1))


@scenario("loading/held/offset-delete", source=RUNS, clauses=("LO-11", "OD-16"), needs=PAUSES)
def no_offset_is_deleted_while_loading(conversation: Conversation) -> None:
    """OffsetDelete gets a top-level COORDINATOR_LOAD_IN_PROGRESS, and the offset is kept."""
    ana = _loading(conversation)

    ana.sends(ask.offset_delete(topics={"orders": (0,), "no-such-topic": (0,)}))
    ana.receives(expect.offset_delete(error_code=LOADING, errors={}))

    _loaded(conversation, ana)


@scenario(
    "loading/held/describe",
    source="GroupCoordinatorService#describeGroups",
    clauses=("LO-14", "DG-10"),
    needs=PAUSES,
)
def no_group_is_described_while_loading(conversation: Conversation) -> None:
    """DescribeGroups gets COORDINATOR_LOAD_IN_PROGRESS for each group, with an empty state."""
    ana = _loading(conversation)
    refused = expect.describe_groups(error_code=LOADING, group_state="", protocol_type="", members=())

    ana.asks(ask.describe_groups(), refused)
    ana.asks(ask.describe_groups(version=0, groups=(conversation.group("never"),)), refused)

    _loaded(conversation, ana)
    ana.repeats(ask.describe_groups(), until=expect.describe_groups(error_code="NONE", group_state="Stable"))


@scenario(
    "loading/held/list", source="GroupCoordinatorService#listGroups", clauses=("LO-15", "LG-09"), needs=PAUSES
)
def a_list_is_incomplete_while_loading(conversation: Conversation) -> None:
    """ListGroups gets COORDINATOR_LOAD_IN_PROGRESS in any version."""
    ana = _loading(conversation)

    ana.asks(ask.list_groups(), error_code=LOADING)
    ana.asks(ask.list_groups(version=0), error_code=LOADING)

    _loaded(conversation, ana)


@scenario(
    "loading/held/delete",
    source="GroupCoordinatorService#deleteGroups",
    clauses=("LO-16", "DL-15"),
    needs=PAUSES,
)
def no_group_is_deleted_while_loading(conversation: Conversation) -> None:
    """DeleteGroups gets COORDINATOR_LOAD_IN_PROGRESS for each group, whether it exists or not."""
    ana = _loading(conversation)

    ana.sends(ask.delete_groups(groups=(conversation.group("main"), conversation.group("never"))))
    ana.receives(expect.delete_groups(LOADING, LOADING))

    _loaded(conversation, ana)
    ana.sends(ask.delete_groups(groups=(conversation.group("main"), conversation.group("never"))))
    ana.receives(expect.delete_groups("NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"))


@scenario(
    "loading/held/group-id-ladder",
    source="GroupCoordinatorService#isGroupIdNotEmpty",
    clauses=("CO-01", "CO-03", "CO-06"),
    needs=PAUSES,
)
def an_empty_group_id_is_refused_before_loading_is_looked_at(conversation: Conversation) -> None:
    """An invalid group id or a missing protocol is reported while loading, too."""
    ana = _loading(conversation)

    ana.climbs(
        [
            (ask.heartbeat(group_id=""), expect.heartbeat(error_code="INVALID_GROUP_ID")),
            (ask.heartbeat(), expect.heartbeat(error_code="NONE")),
            (ask.leave_group(group_id=""), expect.leave_group(error_code="INVALID_GROUP_ID")),
            (ask.leave_group(), expect.leave_group(error_code=LOADING)),
            (ask.offset_delete(group_id="", topics={}), expect.offset_delete(error_code="INVALID_GROUP_ID")),
            (ask.offset_delete(topics={}), expect.offset_delete(error_code=LOADING)),
            (
                ask.sync_group(version=5, group_id="", protocol_name=None),
                expect.sync_group(error_code="INCONSISTENT_GROUP_PROTOCOL"),
            ),
            (ask.sync_group(version=5, group_id=""), expect.sync_group(error_code="INVALID_GROUP_ID")),
            (ask.sync_group(version=5), expect.sync_group(assignment=b"")),
        ]
    )

    _loaded(conversation, ana)
