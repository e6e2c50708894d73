"""Every version of every API while the coordinator loads: the source of the table of answers."""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    OWN,
    Actor,
    Breakpoint,
    Capability,
    Conversation,
    Pattern,
    Value,
    ask,
    expect,
    scenario,
    sweep,
)
from harness.scenario.messages import Request, Response
from suites.loading.transactions import awaits_transactions
from suites.offsets.topics import asked_by_id, committed_by_id, id_of
from suites.transactions.producers import ONE_ANSWER, ORDER_0, announced

PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"


def _loads(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()


def _asks(conversation: Conversation, ana: Actor, *asked: tuple[Request, Response]) -> None:
    """Send requests while the coordinator loads, then let the load end and wait for it."""
    for said, answer in asked:
        ana.asks(said, answer)
    conversation.resumes_from(Breakpoint.LOADING)
    ana.repeats(
        ask.offset_fetch(topics={"payments": (1,)}),
        until=expect.offset_fetch({"payments": {1: -1}}),
        within_ms=15_000,
    )


@scenario(
    "loading/version/find",
    source="KafkaApis#getCoordinator",
    clauses=("LO-01",),
    needs=PAUSES,
    sweep=sweep("FindCoordinator", 0, 6),
)
def it_is_found(conversation: Conversation, version: int) -> None:
    """FindCoordinator v{version} returns a coordinator that is still loading."""
    ana = conversation.actor("ana")
    _loads(conversation)
    one: Pattern = {"error_code": "NONE", "host": NON_EMPTY}
    found = (
        expect.response("FindCoordinator", coordinators=(one,))
        if version >= 4
        else expect.find_coordinator(error_code="NONE", host=NON_EMPTY)
    )
    _asks(conversation, ana, (ask.find_coordinator(version=version), found))


@scenario(
    "loading/version/join", source=RUNS, clauses=("LO-02",), needs=PAUSES, sweep=sweep("JoinGroup", 0, 9)
)
def nobody_joins(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} gets COORDINATOR_LOAD_IN_PROGRESS while loading, with or without a member id."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    refused = expect.join_group(error_code=LOADING)
    _asks(
        conversation,
        ana,
        (ask.join_group(version=version), refused),
        (ask.join_group(version=version, member_id=""), refused),
    )


@scenario(
    "loading/version/sync",
    source="GroupCoordinatorService#syncGroup",
    clauses=("LO-03",),
    needs=PAUSES,
    sweep=sweep("SyncGroup", 0, 5),
)
def nobody_is_assigned(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} returns no assignment while the coordinator loads."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    nothing = expect.sync_group(assignment=b"")
    _asks(
        conversation,
        ana,
        (ask.sync_group(version=version), nothing),
        (ask.sync_group(version=version, member_id="nobody"), nothing),
    )


@scenario(
    "loading/version/heartbeat",
    source="GroupCoordinatorService#heartbeat",
    clauses=("LO-04",),
    needs=PAUSES,
    sweep=sweep("Heartbeat", 0, 4),
)
def everybody_lives(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} gets NONE while the coordinator loads, from members and non-members."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    good = expect.heartbeat(error_code="NONE")
    _asks(
        conversation,
        ana,
        (ask.heartbeat(version=version), good),
        (ask.heartbeat(version=version, member_id="nobody"), good),
    )


@scenario(
    "loading/version/leave",
    source="GroupCoordinatorService#leaveGroup",
    clauses=("LO-05",),
    needs=PAUSES,
    sweep=sweep("LeaveGroup", 0, 5),
)
def nobody_leaves(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} gets a top-level COORDINATOR_LOAD_IN_PROGRESS, if the release can write it."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    refused = expect.leave_group(error_code=LOADING if version >= 3 else ANY)
    _asks(conversation, ana, (ask.leave_group(version=version), refused))


@scenario(
    "loading/version/commit",
    source=RUNS,
    clauses=("LO-06", "LO-07"),
    needs=PAUSES,
    sweep=sweep("OffsetCommit", 2, 9),
)
def nothing_is_committed(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} gets COORDINATOR_LOAD_IN_PROGRESS for each partition while loading."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    refused = expect.offset_commit({"orders": {0: LOADING}})
    simple = ask.offset_commit(version=version, generation_id=-1, member_id="", topics={"orders": {0: 7}})
    _asks(
        conversation,
        ana,
        (ask.offset_commit(version=version, topics={"orders": {0: 7}}), refused),
        (simple, refused),
    )


@scenario(
    "loading/version/commit-by-id",
    source=RUNS,
    clauses=("LO-06",),
    needs=PAUSES,
    sweep=sweep("OffsetCommit", 10, 10),
)
def nothing_is_committed_by_id(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} by topic id gets COORDINATOR_LOAD_IN_PROGRESS while loading."""
    (ana,) = conversation.stable_group("ana")
    orders = id_of(ana, "orders")
    _loads(conversation)
    asked = ask.request(
        "OffsetCommit",
        version,
        group_id=OWN,
        generation_id_or_member_epoch=OWN,
        member_id=OWN,
        topics=(committed_by_id(orders, 0),),
    )
    _asks(
        conversation,
        ana,
        (asked, expect.response("OffsetCommit", topics=({"partitions": ({"error_code": LOADING},)},))),
    )


@scenario(
    "loading/version/fetch",
    source=RUNS,
    clauses=("LO-08", "LO-10"),
    needs=PAUSES,
    sweep=sweep("OffsetFetch", 1, 9),
)
def nothing_is_fetched(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} returns no offsets while loading, of one partition or of all."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    refused = (
        expect.response("OffsetFetch")
        if version == 1
        else expect.offset_fetch({}, version=version, error_code=LOADING)
    )
    everything = ((ask.offset_fetch(version=version), refused),) if version >= 2 else ()
    _asks(
        conversation, ana, (ask.offset_fetch(version=version, topics={"orders": (0,)}), refused), *everything
    )


@scenario(
    "loading/version/fetch-by-id",
    source=RUNS,
    clauses=("LO-08",),
    needs=PAUSES,
    sweep=sweep("OffsetFetch", 10, 10),
)
def nothing_is_fetched_by_id(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} by topic id gets COORDINATOR_LOAD_IN_PROGRESS while loading."""
    (ana,) = conversation.stable_group("ana")
    orders = id_of(ana, "orders")
    _loads(conversation)
    group: Value = {"group_id": conversation.group("main"), "topics": (asked_by_id(orders, 0),)}
    _asks(
        conversation,
        ana,
        (
            ask.request("OffsetFetch", version, groups=(group,)),
            expect.response("OffsetFetch", groups=({"error_code": LOADING},)),
        ),
    )


@scenario(
    "loading/version/offset-delete",
    source=RUNS,
    clauses=("LO-11",),
    needs=PAUSES,
    sweep=sweep("OffsetDelete", 0, 0),
)
def nothing_is_deleted(conversation: Conversation, version: int) -> None:
    """OffsetDelete v{version} gets a top-level COORDINATOR_LOAD_IN_PROGRESS while loading."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    del version
    _asks(
        conversation,
        ana,
        (ask.offset_delete(topics={"orders": (0,)}), expect.offset_delete(error_code=LOADING)),
    )


@scenario(
    "loading/version/describe",
    source="GroupCoordinatorService#describeGroups",
    clauses=("LO-14",),
    needs=PAUSES,
    sweep=sweep("DescribeGroups", 0, 6),
)
def no_group_is_described(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} gets COORDINATOR_LOAD_IN_PROGRESS for each group while loading."""
    (ana,) = conversation.stable_group("ana")
    _loads(conversation)
    _asks(
        conversation,
        ana,
        (ask.describe_groups(version=version), expect.describe_groups(error_code=LOADING, group_state="")),
    )


@scenario(
    "loading/version/list",
    source="GroupCoordinatorService#listGroups",
    clauses=("LO-15",),
    needs=PAUSES,
    sweep=sweep("ListGroups", 0, 5),
)
def no_list_is_complete(conversation: Conversation, version: int) -> None:
    """ListGroups v{version} gets COORDINATOR_LOAD_IN_PROGRESS while loading."""
    ana = conversation.actor("ana")
    _loads(conversation)
    _asks(conversation, ana, (ask.list_groups(version=version), expect.list_groups(error_code=LOADING)))


@scenario(
    "loading/version/delete",
    source="GroupCoordinatorService#deleteGroups",
    clauses=("LO-16",),
    needs=PAUSES,
    sweep=sweep("DeleteGroups", 0, 3),
)
def no_group_is_deleted(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} gets COORDINATOR_LOAD_IN_PROGRESS for each group while loading."""
    ana = conversation.actor("ana")
    _loads(conversation)
    _asks(conversation, ana, (ask.delete_groups(version=version), expect.delete_groups(LOADING)))


@scenario(
    "loading/version/txn-commit",
    source="KIP-890",
    clauses=("LO-12", "LO-13"),
    needs=PAUSES,
    sweep=sweep("TxnOffsetCommit", 0, 5),
)
def no_transaction_commits(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} is refused while loading; low versions cannot carry the exact error."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    _loads(conversation)
    awaits_transactions(conversation)
    _asks(conversation, ana, (producer.commits(ORDER_0, version=version), ONE_ANSWER))


@scenario(
    "loading/version/txn-commit-by-id",
    source="KIP-890",
    clauses=("LO-12",),
    needs=PAUSES,
    sweep=sweep("TxnOffsetCommit", 6, 6),
)
def no_transaction_commits_by_id(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version}, which names topics by id, is refused for each partition while loading."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    orders = id_of(ana, "orders")
    _loads(conversation)
    awaits_transactions(conversation)
    asked = producer.commits({}, version=version, topics=(committed_by_id(orders, 0),))
    _asks(conversation, ana, (asked, ONE_ANSWER))


@scenario(
    "loading/version/txn-add",
    source="KafkaApis#handleAddOffsetsToTxnRequest",
    clauses=("AO-05",),
    needs=PAUSES,
    sweep=sweep("AddOffsetsToTxn", 0, 4),
)
def offsets_are_announced(conversation: Conversation, version: int) -> None:
    """AddOffsetsToTxn v{version} succeeds while the group coordinator loads."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    _loads(conversation)
    awaits_transactions(conversation)
    _asks(conversation, ana, (producer.adds(version=version), expect.add_offsets_to_txn(error_code="NONE")))


@scenario(
    "loading/version/txn-end",
    source="KafkaApis#handleEndTxnRequest",
    clauses=("AO-05",),
    needs=PAUSES,
    sweep=sweep("EndTxn", 0, 5),
)
def a_transaction_is_decided(conversation: Conversation, version: int) -> None:
    """EndTxn v{version} succeeds while the group coordinator loads."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    _loads(conversation)
    awaits_transactions(conversation)
    _asks(
        conversation,
        ana,
        (producer.ends(committed=True, version=version), expect.end_txn(error_code="NONE")),
    )
