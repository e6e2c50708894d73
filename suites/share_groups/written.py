"""What the coordinator of a share group writes to its log, and what is left of what it cannot write."""

from harness.scenario import Capability, Conversation, ask, expect, one_of, scenario
from suites.consumer_groups.written import AT_ONCE_MS, TOO_MANY
from suites.failures.lingering import LINGER_MS, LINGERING, SHORT_COMMITS
from suites.failures.too_large import SMALL_LOG, WRITTEN
from suites.share_fetch.readers import finds_share_coordinator, topic_of
from suites.share_groups.administration import SHORT_SESSION
from suites.share_groups.loading import is_loaded
from suites.share_groups.membership import HEARTBEATS, share_group_is, sole_sharer
from suites.share_groups.offsets import ALTERS, DELETES, altered

FAILS = "CoordinatorOperationExceptionHelper#handleOperationException"
FAILED = "UNKNOWN_SERVER_ERROR"
INITIALIZES = "GroupMetadataManager#initializeShareGroupState"
LONG_ID = "g" * 1_200
SMALLER_LOG = {"message.max.bytes": 100}
"""Too small for any record of a share group's state."""


@scenario(
    "share_groups/written/changes-nothing",
    source=HEARTBEATS,
    clauses=("SH-15", "SH-16"),
    broker_config=SHORT_COMMITS | LINGERING,
)
def what_changes_nothing_is_not_written(conversation: Conversation) -> None:
    """A heartbeat that changes nothing is answered at once, though every write waits for its batch.

    It may leave its fields out, or repeat them.
    """
    ana, _ = sole_sharer(conversation)
    conversation.elapses(2 * LINGER_MS)

    sparse, full = ask.share_group_heartbeat(), ask.share_group_heartbeat(subscribed_topic_names=("orders",))
    for heartbeat in (sparse, full, sparse):
        ana.sends(heartbeat)
        ana.receives(expect.share_group_heartbeat(error_code="NONE"), within_ms=AT_ONCE_MS)


@scenario(
    "share_groups/written/deletes-nothing",
    source=DELETES,
    clauses=("SO-08",),
    broker_config=SHORT_COMMITS | LINGERING,
)
def a_deletion_of_nothing_is_written_once(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of topics without offsets is answered when the next batch is written."""
    ana = conversation.share_member("ana")
    ana.sends(ask.alter_share_group_offsets(topics={"orders": {0: 1}}))
    ana.receives(altered("orders", {0: "NONE"}), within_ms=3 * LINGER_MS)
    conversation.elapses(2 * LINGER_MS)

    ana.sends(ask.delete_share_group_offsets(topics=("payments",)))
    deleted = expect.deleted_share_offsets(error_code=one_of("NONE", "GROUP_ID_NOT_FOUND"))
    ana.receives(deleted, within_ms=LINGER_MS + AT_ONCE_MS)


@scenario("share_groups/written/join-too-large", source=FAILS, clauses=("FI-08",), broker_config=SMALL_LOG)
def a_join_too_large_for_the_log(conversation: Conversation) -> None:
    """If a join cannot be written, it gets UNKNOWN_SERVER_ERROR, and its partitions get no share state."""
    ana = conversation.share_member("ana")
    topic = topic_of(conversation, ana)
    finds_share_coordinator(ana)

    ana.enters(topic, *TOO_MANY, error_code=FAILED)
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "INVALID_REQUEST"))


@scenario(
    "share_groups/written/second-join-too-large",
    source="GroupMetadataManager#shareGroupFenceMemberOperation",
    clauses=("FI-08", "SH-29"),
    broker_config=SMALL_LOG,
)
def a_member_that_was_not_written_has_no_session(conversation: Conversation) -> None:
    """A member whose join could not be written is not missed at the end of a session that it never had."""
    ana, bob = conversation.share_members("ana", "bob")
    ana.configures(SHORT_SESSION)
    joined = ana.enters("unheard-of", assigned={})

    bob.enters(*TOO_MANY, error_code=FAILED)
    for _ in range(2):
        conversation.elapses(2_200)
        ana.heartbeats(error_code=WRITTEN)
    share_group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("share_groups/written/alter-too-large", source=ALTERS, clauses=("FI-08",), broker_config=SMALL_LOG)
def altered_offsets_too_large_for_the_log(conversation: Conversation) -> None:
    """If altered offsets cannot be written, nothing is altered, and the request is UNKNOWN_SERVER_ERROR."""
    ana = conversation.share_member("ana")
    finds_share_coordinator(ana)

    ana.asks(
        ask.alter_share_group_offsets(group_id=LONG_ID, topics={"orders": {0: 1}}),
        expect.altered_share_offsets(error_code=one_of(FAILED, "NONE")),
    )
    ana.asks(
        ask.describe_share_group_offsets(group_id=LONG_ID, topics={"orders": (0,)}),
        expect.share_offsets({"orders": {0: -1}}),
    )


@scenario(
    "share_groups/written/deletion-too-large",
    source=DELETES,
    clauses=("FI-08", "SO-08"),
    needs=(Capability.RESTART,),
)
def a_deletion_of_offsets_too_large_for_the_log(conversation: Conversation) -> None:
    """If the deletion of offsets cannot be written, they stay, and the request is UNKNOWN_SERVER_ERROR."""
    ana, _ = sole_sharer(conversation)
    ana.leaves()
    ana.asks(ask.alter_share_group_offsets(topics={"orders": {0: 5}}), altered("orders", {0: "NONE"}))
    conversation.restarts_coordinator(SMALLER_LOG)
    is_loaded(ana, "Empty")
    ana.awaits_metadata()

    ana.asks(
        ask.delete_share_group_offsets(topics=("orders",)), expect.deleted_share_offsets(error_code=FAILED)
    )
    ana.asks(
        ask.describe_share_group_offsets(),
        expect.share_offsets({"orders": {0: one_of(5, -1), 1: -1, 2: -1}}),
    )
