"""The delivery state of records that a share group keeps when its broker restarts."""

from harness.scenario import Capability, Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, REJECT, RELEASE
from suites.share_fetch.readers import Reader, reader

RESTARTS = (Capability.RESTART,)
RELEASES = "SharePartitionManager#releaseSession"
SINCE_4_2 = 2
"""A version of ShareFetch. In 4.1 it depends on timing whether the end of a session counts as a delivery."""
READS_STATE = "SharePartition#maybeInitialize"
WITHIN_MS = 20_000


def restarted(conversation: Conversation, before: Reader) -> Reader:
    """Restart the broker, wait for the share coordinator, and return the member without its session."""
    conversation.restarts_coordinator()
    before.actor.repeats(
        ask.read_share_group_state(before.topic),
        until=expect.share_state("Read", "NONE"),
        within_ms=WITHIN_MS,
    )
    return Reader(before.actor, before.topic)


@scenario("share_fetch/loading/session", source="ShareSessionCache#get", clauses=("SF-35",), needs=RESTARTS)
def sessions_end_with_their_broker(conversation: Conversation) -> None:
    """After a restart a ShareFetch in an open session is SHARE_SESSION_NOT_FOUND, and may open a new one."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1), version=SINCE_4_2)
    again = restarted(conversation, ana)

    again.is_refused("SHARE_SESSION_NOT_FOUND", epoch=1)
    again.fetches((0, 1, 2), version=SINCE_4_2)


@scenario("share_fetch/loading/acquired", source=RELEASES, clauses=("SF-35",), needs=RESTARTS)
def a_release_outlives_a_restart(conversation: Conversation) -> None:
    """Acquired records are released when a connection ends before a restart, and delivered again after it."""
    ana = reader(conversation, 2, 3)
    ana.fetches((0, 1, 1), (2, 4, 1), batch_size=1, version=SINCE_4_2)
    ana.acknowledges((0, 1, (ACCEPT,)))
    again = restarted(conversation, ana)

    again.fetches((2, 4, 2), version=SINCE_4_2)


@scenario("share_fetch/loading/released", source=READS_STATE, clauses=("SF-35",), needs=RESTARTS)
def releases_are_counted_after_a_restart(conversation: Conversation) -> None:
    """Records that were released before a restart have a delivery count of 2 after it."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (RELEASE,)))
    again = restarted(conversation, ana)

    again.fetches((0, 1, 2))


@scenario("share_fetch/loading/in-between", source=READS_STATE, clauses=("SF-35",), needs=RESTARTS)
def what_is_settled_in_between_stays_settled(conversation: Conversation) -> None:
    """After a restart the accepted and rejected records among others are not delivered again."""
    ana = reader(conversation, 2, 2, 2, 2)
    ana.fetches((0, 1, 1), (2, 3, 1), (4, 5, 1), (6, 7, 1), batch_size=1, version=SINCE_4_2)
    ana.acknowledges((2, 3, (ACCEPT,)), (6, 7, (REJECT,)))
    again = restarted(conversation, ana)

    again.fetches((0, 1, 2), (4, 5, 2), version=SINCE_4_2)
    again.gets_nothing(version=SINCE_4_2)


@scenario("share_fetch/loading/all-settled", source=READS_STATE, clauses=("SF-35",), needs=RESTARTS)
def a_group_goes_on_behind_what_is_settled(conversation: Conversation) -> None:
    """A group that accepted all records before a restart gets none of them after it."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (ACCEPT,)))
    again = restarted(conversation, ana)

    again.sends_fetch()
    again.actor.receives(expect.share_fetch(acquired={again.topic: {0: ()}}))
