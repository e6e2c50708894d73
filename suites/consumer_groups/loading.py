"""What of a consumer group survives a restart, and the answers while the log is loaded."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Answer,
    Breakpoint,
    Capability,
    Conversation,
    Member,
    PinText,
    ask,
    expect,
    offset_record,
    one_of,
    record_of_type,
    scenario,
)
from harness.scenario.log_records import LogRecord
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import FREED, KEPT, SHORT_SESSION, two_members
from suites.consumer_groups.regular_expressions import resolved, resolved_member
from suites.consumer_groups.validation import ALL, BOTH, sole_member

RESTARTS = (Capability.RESTART,)
KILLS = (Capability.KILL,)
PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
WRITES = (Capability.RESTART, Capability.WRITE_LOG)
LOADS = "GroupMetadataManager#onLoaded"
REPLAYS = "GroupMetadataManager#replay"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"
READS = "CoordinatorRecordSerde#deserialize"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
WITHIN_MS = 20_000
EPOCH_TYPE, MEMBER_TYPE = 3, 5
"""Record types of a group's epoch and of a member. Source: CoordinatorRecordType (4.3.1)."""


def named(group_id: str) -> bytes:
    """Return a key, or its beginning, that contains a group id as a length-prefixed string."""
    return len(group_id).to_bytes(2, "big") + group_id.encode()


def int32(value: int) -> bytes:
    """Return an INT32 of a record."""
    return value.to_bytes(4, "big")


def compact_string(value: str) -> bytes:
    """Return a short COMPACT_STRING of a record."""
    return bytes([len(value) + 1]) + value.encode()


def is_loaded(actor: Member, state: PinText) -> None:
    """Wait until the coordinator has loaded the group, in the given state."""
    actor.repeats(
        ask.consumer_group_describe(),
        until=expect.consumer_group_describe(error_code="NONE", group_state=state),
        within_ms=WITHIN_MS,
    )


def exchanges(ana: Member, bob: Member, joined: Answer) -> None:
    """Let ana, who must give up a partition, do so, and bob get it."""
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/loading/kill", source=LOADS, clauses=("KL-01",), needs=KILLS)
def a_death_changes_nothing(conversation: Conversation) -> None:
    """A kill of the coordinator during a reconciliation changes neither epochs nor assignments."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    conversation.kills_coordinator()
    is_loaded(ana, "Reconciling")

    exchanges(ana, bob, joined)


@scenario("consumer_groups/loading/before-anybody-knows", source=LOADS, clauses=("KL-01",), needs=RESTARTS)
def a_member_hears_after_a_restart_what_it_gives_up(conversation: Conversation) -> None:
    """A member that did not get its new target before a restart gets it after the restart."""
    ana, bob, joined = two_members(conversation)
    conversation.restarts_coordinator()
    is_loaded(ana, "Reconciling")

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    exchanges(ana, bob, joined)


@scenario("consumer_groups/loading/given-up", source=LOADS, clauses=("KL-01",), needs=RESTARTS)
def a_waiting_member_gets_its_part_after_a_restart(conversation: Conversation) -> None:
    """Partitions that were given up before a restart go to the waiting member after it."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    conversation.restarts_coordinator()
    is_loaded(ana, "Reconciling")

    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/loading/assigning", source=REPLAYS, clauses=("KL-01",), needs=RESTARTS)
def a_target_is_computed_after_a_restart(conversation: Conversation) -> None:
    """A group whose target assignment was due is Assigning after a restart, and then computes it."""
    ana, bob, joined = two_members(conversation)
    bob.leaves()
    conversation.restarts_coordinator()
    is_loaded(ana, "Assigning")

    group_is(ana, "Assigning", epoch=joined["member_epoch"] + 2, assignment_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(member_epoch=joined["member_epoch"] + 2)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/loading/described", source=REPLAYS, clauses=("KL-01",), needs=RESTARTS)
def members_are_described_as_before(conversation: Conversation) -> None:
    """After a restart, ConsumerGroupDescribe returns the same details of each member as before."""
    ana = conversation.member("ana", instance_id="one")
    joined = ana.enters("orders", "payments", rack_id="north", assignor="range", assigned=BOTH)
    conversation.restarts_coordinator()
    is_loaded(ana, "Stable")

    known = expect.group_member(
        ana.member_id,
        epoch=joined["member_epoch"],
        owned=BOTH,
        target=BOTH,
        instance_id="one",
        topics=("orders", "payments"),
        regex="",
        member_type=1,
    )
    described = expect.consumer_group_describe(
        assignor_name="range", members=({**known, "rack_id": "north", "client_id": "ana"},)
    )
    ana.asks(ask.consumer_group_describe(), described)


@scenario("consumer_groups/loading/away", source=REPLAYS, clauses=("KL-03",), needs=RESTARTS)
def whoever_was_away_is_away(conversation: Conversation) -> None:
    """A static member that left temporarily before a restart can be replaced after it, in the same epoch."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    joined = ana.enters(assigned=ALL)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    conversation.restarts_coordinator()
    is_loaded(bob, "Reconciling")

    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")
    bob.enters(member_epoch=joined["member_epoch"], assigned=ALL)
    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_INSTANCE_ID")


@scenario("consumer_groups/loading/instance", source=REPLAYS, clauses=("KL-03",), needs=RESTARTS)
def an_instance_id_is_in_use_after_a_restart(conversation: Conversation) -> None:
    """After a restart, a join with an active member's instance id still gets UNRELEASED_INSTANCE_ID."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    joined = ana.enters(assigned=ALL)
    conversation.restarts_coordinator()
    is_loaded(bob, "Stable")

    bob.enters(error_code="UNRELEASED_INSTANCE_ID")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/loading/sessions", source=LOADS, clauses=("KL-02",), needs=RESTARTS)
def a_restart_begins_sessions_anew(conversation: Conversation) -> None:
    """A member that is silent after a restart is removed after a full session timeout."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    conversation.elapses(4_600)
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/loading/rebalance-timeout", source=LOADS, clauses=("KL-02",), needs=RESTARTS)
def a_restart_begins_rebalance_timeouts_anew(conversation: Conversation) -> None:
    """A member that gives up no partitions after a restart is removed at its rebalance timeout."""
    ana, bob = conversation.members("ana", "bob")
    joined = ana.enters(rebalance_timeout_ms=3_000, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    conversation.restarts_coordinator()

    is_loaded(ana, "Reconciling")
    conversation.elapses(3_600)
    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("consumer_groups/loading/regex", source=REPLAYS, clauses=("KL-04",), needs=RESTARTS)
def a_resolved_regular_expression_stays_resolved(conversation: Conversation) -> None:
    """A regular expression that was resolved before a restart stays resolved, also for other members."""
    ana, joined = resolved_member(conversation)
    bob = conversation.member("bob")
    conversation.restarts_coordinator()
    is_loaded(ana, "Stable")

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.enters(topics=None, regex="orders", member_epoch=joined["member_epoch"] + 2, assigned={})
    conversation.reconciles(ana, bob)


@scenario("consumer_groups/loading/regex-not-told", source=REPLAYS, clauses=("KL-04",), needs=RESTARTS)
def a_resolution_comes_after_a_restart(conversation: Conversation) -> None:
    """Topics that a regular expression matched before a restart are assigned with a heartbeat after it."""
    ana = conversation.member("ana")
    joined = ana.enters(topics=None, regex="orders", assigned={})
    resolved(ana, joined["member_epoch"] + 1)
    conversation.restarts_coordinator()
    is_loaded(ana, "Assigning")

    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=ALL)


@scenario("consumer_groups/loading/empty", source=REPLAYS, clauses=("KL-09",), needs=RESTARTS)
def an_empty_group_keeps_its_epoch(conversation: Conversation) -> None:
    """A group that is Empty at a restart continues to count its epochs."""
    ana, joined = sole_member(conversation)
    ana.leaves()
    conversation.restarts_coordinator()
    is_loaded(ana, "Empty")

    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.enters(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("consumer_groups/loading/deleted", source=REPLAYS, clauses=("KL-07",), needs=RESTARTS)
def a_deleted_group_stays_deleted(conversation: Conversation) -> None:
    """A deleted group is GROUP_ID_NOT_FOUND after a restart, and starts at its first epoch again."""
    ana, joined = sole_member(conversation)
    witness = conversation.group("witness")
    conversation.member("bob").enters(group_id=witness, assigned=ALL)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    conversation.restarts_coordinator()
    ana.repeats(
        ask.consumer_group_describe(group_ids=(witness,)),
        until=expect.consumer_group_describe(error_code="NONE", group_state="Stable"),
        within_ms=WITHIN_MS,
    )

    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.enters(member_epoch=joined["member_epoch"], assigned=ALL)


@scenario("consumer_groups/loading/deleted-and-classic", source=REPLAYS, clauses=("KL-07",), needs=RESTARTS)
def a_deleted_group_may_be_classic_then(conversation: Conversation) -> None:
    """A consumer group that was deleted and recreated as a classic group stays classic after a restart."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    (bob,) = conversation.stable_group("bob")
    conversation.restarts_coordinator()

    bob.repeats(
        ask.describe_groups(), until=expect.describe_groups(group_state="Stable"), within_ms=WITHIN_MS
    )
    bob.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("consumer_groups/loading/heartbeat", source=RUNS, clauses=("KL-05",), needs=PAUSES)
def nobody_is_heard_while_loading(conversation: Conversation) -> None:
    """While the coordinator loads, every valid heartbeat gets COORDINATOR_LOAD_IN_PROGRESS."""
    ana, joined = sole_member(conversation)
    bob = conversation.member("bob")
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    epoch = joined["member_epoch"]
    ana.heartbeats(epoch=epoch, error_code=LOADING)
    ana.heartbeats(version=0, epoch=epoch, error_code=LOADING)
    ana.heartbeats(epoch=-1, error_code=LOADING)
    bob.enters(error_code=LOADING)
    # Since 4.1 a request is validated before the state of its coordinator is checked.
    bob.enters(rebalance_timeout_ms=-1, error_code=one_of("INVALID_REQUEST", LOADING))
    bob.enters(assignor="nobody", error_code=one_of("UNSUPPORTED_ASSIGNOR", LOADING))
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, member_epoch=epoch, assigned=None)


@scenario("consumer_groups/loading/administrators", source=RUNS, clauses=("KL-06",), needs=PAUSES)
def nothing_is_described_while_loading(conversation: Conversation) -> None:
    """While the coordinator loads, all admin requests get COORDINATOR_LOAD_IN_PROGRESS."""
    ana, _ = sole_member(conversation)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    for version in (0, 1):
        ana.asks(
            ask.consumer_group_describe(version=version),
            expect.consumer_group_describe(error_code=LOADING, group_state="", members=()),
        )
    ana.asks(ask.delete_groups(), expect.delete_groups(LOADING))
    ana.asks(ask.list_groups(version=5), expect.list_groups(error_code=LOADING, groups=()))
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")


def _appends(conversation: Conversation, record: LogRecord) -> tuple[Member, Answer]:
    """Append a record after a group with a sole member and an offset, and restart the coordinator."""
    ana, joined = sole_member(conversation)
    conversation.appends(offset_record("payments", 0, 7), record)
    conversation.restarts_coordinator()
    return ana, joined


@scenario("consumer_groups/loading/unknown-type", source=READS, clauses=("KL-08",), needs=WRITES)
def a_record_of_an_unknown_type_is_left_out(conversation: Conversation) -> None:
    """A load skips a record of an unknown type: the group is there afterwards."""
    ana, joined = _appends(conversation, record_of_type(99, key=named("x"), value=b"\x00\x00"))

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/loading/tombstones", source=REPLAYS, clauses=("KL-08",), needs=WRITES)
def tombstones_of_nobody_are_left_out(conversation: Conversation) -> None:
    """A load skips a tombstone of a group that does not exist: the other group is there afterwards."""
    ana, joined = _appends(conversation, record_of_type(EPOCH_TYPE, key=named("x"), value=None))

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/loading/epoch-of-another", source=REPLAYS, clauses=("KL-08",), needs=WRITES)
def a_group_may_be_written_from_outside(conversation: Conversation) -> None:
    """A group epoch record that another program wrote is loaded, in version 0 too."""
    epoch = b"\x00\x00\x00\x00\x00\x07\x00"
    ana, _ = _appends(conversation, record_of_type(EPOCH_TYPE, key=named("of-another"), value=epoch))

    is_loaded(ana, "Stable")
    described = expect.consumer_group_describe(
        error_code="NONE", group_state="Empty", group_epoch=7, members=()
    )
    ana.asks(ask.consumer_group_describe(group_ids=("of-another",)), described)
