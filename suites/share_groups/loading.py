"""Share groups whose coordinator restarts or moves, and what it answers while it loads."""

from harness.scenario import Breakpoint, Capability, Conversation, PinText, ShareMember, ask, expect, scenario
from suites.consumer_groups.membership import topic_made
from suites.failover.words import DISCONNECTS, MOVES, NOT_OURS, disconnected, killed, moved
from suites.share_groups.administration import SHORT_SESSION
from suites.share_groups.membership import ALL, BOTH, share_group_is, sole_sharer

RESTARTS = (Capability.RESTART,)
PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
DIES = (Capability.CLUSTER, Capability.KILL)
LOADS = "GroupMetadataManager#onLoaded"
REPLAYS = "GroupMetadataManager#replay"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
WITHIN_MS = 20_000


def is_loaded(actor: ShareMember, state: PinText) -> None:
    """Wait until the coordinator has loaded the group, and expect the group to be in a state."""
    actor.repeats(
        ask.share_group_describe(),
        until=expect.share_group_describe(error_code="NONE", group_state=state),
        within_ms=WITHIN_MS,
    )


@scenario("share_groups/loading/restart", source=LOADS, clauses=("SH-36",), needs=RESTARTS)
def a_group_outlives_its_coordinator(conversation: Conversation) -> None:
    """After a restart a share group has its epochs, members and assignments of before."""
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    member = expect.share_group_member("member-ana", epoch=epoch, owned=ALL, topics=("orders",))
    described = expect.share_group_describe(
        error_code="NONE", group_state="Stable", group_epoch=epoch, assignment_epoch=epoch, members=(member,)
    )
    ana.asks(ask.share_group_describe(), described)
    ana.heartbeats(member_epoch=epoch, assigned=None)
    ana.leaves()
    share_group_is(ana, "Empty", epoch=epoch + 1)


@scenario("share_groups/loading/two-members", source=REPLAYS, clauses=("SH-36",), needs=RESTARTS)
def members_of_different_topics_outlive_it(conversation: Conversation) -> None:
    """After a restart each member keeps its topics, and one that subscribes to more gets them."""
    ana, _ = sole_sharer(conversation)
    bob = conversation.share_member("bob")
    bob.enters("payments", assigned={})
    joined = bob.awaits({"payments": (0, 1)})
    ana.heartbeats(member_epoch=joined["member_epoch"])
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    bob.leaves()
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 2, assigned=BOTH)


@scenario("share_groups/loading/sessions", source=LOADS, clauses=("SH-36",), needs=RESTARTS)
def a_restart_begins_sessions_anew(conversation: Conversation) -> None:
    """A member that sends nothing after a restart is removed when its session timeout has passed again."""
    ana = conversation.share_member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters("unheard-of")
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    conversation.elapses(4_600)
    share_group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")


@scenario("share_groups/loading/empty", source=REPLAYS, clauses=("SH-36",), needs=RESTARTS)
def an_empty_group_keeps_its_epoch(conversation: Conversation) -> None:
    """After a restart an empty share group keeps its epoch, and a new member gets all partitions at once."""
    ana, joined = sole_sharer(conversation)
    ana.leaves()
    conversation.restarts_coordinator()

    is_loaded(ana, "Empty")
    share_group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    bob = conversation.share_member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("share_groups/loading/deleted", source=REPLAYS, clauses=("SH-36",), needs=RESTARTS)
def a_deleted_group_stays_deleted(conversation: Conversation) -> None:
    """A share group that was deleted before a restart does not exist after it."""
    ana, _ = sole_sharer(conversation)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    conversation.restarts_coordinator()

    ana.repeats(
        ask.share_group_describe(),
        until=expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"),
        within_ms=WITHIN_MS,
    )
    bob = conversation.share_member("bob")
    bob.enters(assigned={})
    bob.awaits(ALL)


@scenario("share_groups/loading/topic-deleted", source=REPLAYS, clauses=("SH-36",), needs=RESTARTS)
def a_topic_is_deleted_after_a_restart(conversation: Conversation) -> None:
    """A topic that is deleted after a restart is taken from its member with the next heartbeat."""
    ana = conversation.share_member("ana")
    topic = topic_made(conversation, ana, partitions=2)
    ana.enters(topic, assigned={})
    joined = ana.awaits({topic: (0, 1)})
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.awaits_metadata()
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned={})


@scenario("share_groups/loading/heartbeat", source=RUNS, clauses=("SH-38",), needs=PAUSES)
def nobody_is_served_while_loading(conversation: Conversation) -> None:
    """While its coordinator loads, every valid heartbeat is COORDINATOR_LOAD_IN_PROGRESS."""
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    bob = conversation.share_member("bob")
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    ana.heartbeats(epoch=epoch, error_code=LOADING)
    ana.heartbeats(epoch=-1, error_code=LOADING)
    bob.enters(error_code=LOADING)
    bob.heartbeats(epoch=-3, error_code="INVALID_REQUEST")
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, member_epoch=epoch, assigned=None)


@scenario("share_groups/loading/administrators", source=RUNS, clauses=("SH-38",), needs=PAUSES)
def nothing_is_described_while_loading(conversation: Conversation) -> None:
    """While its coordinator loads, describing, listing or deleting is COORDINATOR_LOAD_IN_PROGRESS.

    So it is for the offsets of a group, unless topics are named: then nobody asks what the group is.
    """
    ana, _ = sole_sharer(conversation)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code=LOADING, members=()))
    ana.asks(ask.delete_groups(), expect.delete_groups(LOADING))
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}, error_code=LOADING))
    ana.asks(
        ask.delete_share_group_offsets(topics=("orders",)), expect.deleted_share_offsets(error_code=LOADING)
    )
    ana.asks(ask.list_groups(version=5), expect.list_groups(error_code=LOADING, groups=()))
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")


@scenario("share_groups/failover/move", source=LOADS, clauses=("SH-39",), needs=MOVES)
def a_group_moves(conversation: Conversation) -> None:
    """A share group whose coordinator moves to another broker has its epochs, members and assignments."""
    ana, joined = sole_sharer(conversation)
    moved(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    bob = conversation.share_member("bob")
    bob.enters("unheard-of", member_epoch=joined["member_epoch"] + 1, assigned={})


@scenario("share_groups/failover/kill", source=LOADS, clauses=("SH-39",), needs=DIES)
def a_group_outlives_its_broker(conversation: Conversation) -> None:
    """A share group whose coordinator's broker dies goes on in the same epochs."""
    ana, joined = sole_sharer(conversation)
    killed(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/failover/disconnect", source=LOADS, clauses=("SH-39",), needs=DISCONNECTS)
def a_group_outlives_a_lost_network(conversation: Conversation) -> None:
    """A share group whose coordinator's broker loses its network goes on in the same epochs."""
    ana, joined = sole_sharer(conversation)
    disconnected(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("share_groups/failover/former", source=RUNS, clauses=("SH-39",), needs=MOVES)
def a_former_coordinator_refuses(conversation: Conversation) -> None:
    """A broker that no longer coordinates a share group answers NOT_COORDINATOR."""
    ana, joined = sole_sharer(conversation)
    epoch = joined["member_epoch"]
    conversation.moves_coordinator()

    ana.heartbeats(epoch=epoch, error_code=NOT_OURS)
    ana.heartbeats(epoch=-1, error_code=NOT_OURS)
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code=NOT_OURS, members=()))
    ana.disconnects()
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, member_epoch=epoch, assigned=None)


@scenario("share_groups/failover/sessions", source=LOADS, clauses=("SH-39",), needs=MOVES)
def sessions_begin_anew_elsewhere(conversation: Conversation) -> None:
    """A member that sends nothing to the new coordinator is removed after its session timeout."""
    ana = conversation.share_member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters("unheard-of")
    moved(conversation, ana)

    is_loaded(ana, "Stable")
    conversation.elapses(4_600)
    share_group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
