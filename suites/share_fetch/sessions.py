"""Share sessions: how they are opened, continued and closed."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT
from suites.share_fetch.readers import (
    FIRST_MS,
    RELEASED_MS,
    Reader,
    another,
    has_state,
    reader,
    topic_of,
    writes,
)

OPENS = "SharePartitionManager#newContext"
ACKNOWLEDGES = "SharePartitionManager#acknowledgeSessionUpdate"
CHECKS_MEMBER = "KafkaApis#isMemberIdValid"
SHOWS = "CachedSharePartition#maybeUpdateResponseData"
ENDS = "ShareSessionCache#remove"
LIMITS = "ShareSessionCache#maybeCreateSession"
LIMITED_MS = 500
"""How long a fetch waits that cannot open a session."""


@scenario("share_fetch/sessions/not-opened", source=OPENS, clauses=("SF-01",))
def a_session_has_to_be_opened(conversation: Conversation) -> None:
    """A ShareFetch that continues or closes a missing session gets SHARE_SESSION_NOT_FOUND."""
    ana = reader(conversation)
    ana.is_refused("SHARE_SESSION_NOT_FOUND", epoch=1)
    ana.is_refused("SHARE_SESSION_NOT_FOUND", epoch=-1)


@scenario("share_fetch/sessions/opened", source=OPENS, clauses=("SF-03", "SF-08"))
def a_session_is_opened_with_its_first_fetch(conversation: Conversation) -> None:
    """A ShareFetch with epoch 0 opens a session, and acquires the available records."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1))
    ana.gets_nothing()


@scenario("share_fetch/sessions/other-epoch", source=OPENS, clauses=("SF-04",))
def the_next_request_has_the_next_epoch(conversation: Conversation) -> None:
    """A ShareFetch with another epoch than the next gets INVALID_SHARE_SESSION_EPOCH; the session stays."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    ana.is_refused("INVALID_SHARE_SESSION_EPOCH", epoch=2)
    ana.is_refused("INVALID_SHARE_SESSION_EPOCH", epoch=-2)
    ana.gets_nothing()
    ana.is_refused("INVALID_SHARE_SESSION_EPOCH", epoch=1)


@scenario("share_fetch/sessions/acknowledges-first", source=OPENS, clauses=("SF-02",))
def a_first_fetch_acknowledges_nothing(conversation: Conversation) -> None:
    """A ShareFetch with epoch 0 that acknowledges records gets INVALID_REQUEST, and opens no session."""
    ana = reader(conversation, 1)
    ana.is_refused("INVALID_REQUEST", epoch=0, acks=((0, 0, (ACCEPT,)),))
    ana.is_refused("SHARE_SESSION_NOT_FOUND", epoch=1)


@scenario("share_fetch/sessions/opened-again", source=OPENS, clauses=("SF-03",))
def a_session_is_opened_anew(conversation: Conversation) -> None:
    """A second ShareFetch with epoch 0 replaces the session, and the member keeps its records."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.epoch = 0
    ana.fetches(max_wait_ms=200)
    ana.acknowledges((0, 1, (ACCEPT,)))


@scenario(
    "share_fetch/sessions/too-many",
    source=LIMITS,
    clauses=("SF-43",),
    broker_config={"group.share.max.size": 1, "group.share.max.share.sessions": 1},
)
def a_broker_has_few_sessions(conversation: Conversation) -> None:
    """A ShareFetch that would open one session too many gets SHARE_SESSION_LIMIT_REACHED after its wait.

    The member that has a session may open it anew. Once it is closed, another member opens one.
    """
    ana = reader(conversation, 1)
    bob = another(conversation, ana)
    ana.fetches((0, 0, 1))
    bob.sends_fetch(epoch=0, max_wait_ms=LIMITED_MS)
    bob.is_given(error_code="SHARE_SESSION_LIMIT_REACHED", due_ms=LIMITED_MS)
    ana.epoch = 0
    ana.fetches(max_wait_ms=200)

    ana.acknowledges((0, 0, (ACCEPT,)))
    ana.closes()
    bob.fetches(max_wait_ms=200)
    bob.gets_nothing()


@scenario("share_fetch/sessions/acknowledge-opens-none", source=ACKNOWLEDGES, clauses=("SF-05",))
def an_acknowledgement_opens_no_session(conversation: Conversation) -> None:
    """A ShareAcknowledge with epoch 0 gets INVALID_SHARE_SESSION_EPOCH."""
    ana = reader(conversation)
    first = ask.share_acknowledge(member_id=ana.member_id, share_session_epoch=0)
    ana.actor.asks(first, expect.share_acknowledge(error_code="INVALID_SHARE_SESSION_EPOCH"))


@scenario("share_fetch/sessions/acknowledge-without", source=ACKNOWLEDGES, clauses=("SF-06",))
def an_acknowledgement_needs_a_session(conversation: Conversation) -> None:
    """A ShareAcknowledge without a session gets SHARE_SESSION_NOT_FOUND."""
    ana = reader(conversation)
    for epoch in (1, -1):
        asked = ask.share_acknowledge(member_id=ana.member_id, share_session_epoch=epoch)
        ana.actor.asks(asked, expect.share_acknowledge(error_code="SHARE_SESSION_NOT_FOUND"))


@scenario("share_fetch/sessions/one-sequence", source=ACKNOWLEDGES, clauses=("SF-03", "SF-04"))
def both_requests_count(conversation: Conversation) -> None:
    """ShareFetch and ShareAcknowledge of a session share one sequence of epochs."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 0, (ACCEPT,)))
    late = ask.share_acknowledge(member_id=ana.member_id, share_session_epoch=1)
    ana.actor.asks(late, expect.share_acknowledge(error_code="INVALID_SHARE_SESSION_EPOCH"))
    ana.gets_nothing()
    ana.acknowledges((1, 1, (ACCEPT,)))


@scenario("share_fetch/sessions/closed-by-fetch", source=ENDS, clauses=("SF-15", "SF-16"))
def a_fetch_closes_a_session(conversation: Conversation) -> None:
    """A ShareFetch with epoch -1 applies its acknowledgements and closes the session."""
    ana = reader(conversation, 3)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1))
    ana.sends_fetch(acks=((0, 1, (ACCEPT,)),), epoch=-1)
    ana.actor.receives(expect.share_fetch(acknowledged={ana.topic: {0: "NONE"}}))
    ana.is_refused("SHARE_SESSION_NOT_FOUND", epoch=1)
    conversation.elapses(RELEASED_MS)
    bob.fetches()


@scenario("share_fetch/sessions/closed-by-acknowledge", source=ENDS, clauses=("SF-15", "SF-16"))
def an_acknowledgement_closes_a_session(conversation: Conversation) -> None:
    """A ShareAcknowledge with epoch -1 closes the session, and its records become available again."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    ana.closes()
    ana.is_refused("SHARE_SESSION_NOT_FOUND", epoch=1)
    conversation.elapses(RELEASED_MS)
    bob.fetches()


@scenario("share_fetch/sessions/closed-in-vain", source=ENDS, clauses=("SF-16",))
def a_session_closes_once(conversation: Conversation) -> None:
    """Closing a closed session gets SHARE_SESSION_NOT_FOUND."""
    ana = reader(conversation)
    ana.fetches(max_wait_ms=FIRST_MS)
    ana.closes()
    again = ask.share_acknowledge(member_id=ana.member_id, share_session_epoch=-1)
    ana.actor.asks(again, expect.share_acknowledge(error_code="SHARE_SESSION_NOT_FOUND"))


@scenario("share_fetch/sessions/connection-gone", source="ShareSessionCache#remove", clauses=("SF-20",))
def a_session_ends_with_its_connection(conversation: Conversation) -> None:
    """When the connection that opened a session closes, its records become available again."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    bob.fetches(max_wait_ms=100)
    ana.actor.disconnects()
    conversation.elapses(RELEASED_MS)
    bob.fetches()


@scenario("share_fetch/sessions/empty-member", source=CHECKS_MEMBER, clauses=("SF-17",))
def a_member_has_an_id(conversation: Conversation) -> None:
    """A ShareFetch without a member id gets INVALID_REQUEST since 4.2, UNKNOWN_SERVER_ERROR before."""
    ana = reader(conversation)
    ana.member_id = ""
    ana.actor.asks(ask.share_fetch(member_id="", share_session_epoch=0), expect.response("ShareFetch"))
    ana.actor.asks(
        ask.share_acknowledge(member_id="", share_session_epoch=1), expect.response("ShareAcknowledge")
    )


@scenario("share_fetch/sessions/odd-member", source=CHECKS_MEMBER, clauses=("SF-18",))
def a_member_id_may_be_any_text(conversation: Conversation) -> None:
    """A member id that is not a UUID is accepted since 4.2, up to 36 characters, and refused before."""
    ana = reader(conversation)
    for member_id in ("nobody", "x" * 36, "x" * 37):
        asked = ask.share_fetch(member_id=member_id, share_session_epoch=0, max_wait_ms=100)
        ana.actor.asks(asked, expect.response("ShareFetch"))


@scenario("share_fetch/sessions/no-partitions", source=OPENS, clauses=("SF-03",))
def a_session_may_be_empty(conversation: Conversation) -> None:
    """A ShareFetch without partitions is answered at once, and partitions may be added later."""
    ana = reader(conversation, 2)
    asked = ask.share_fetch(member_id=ana.member_id, share_session_epoch=0)
    ana.actor.asks(asked, expect.share_fetch(acquired={}))
    ana.epoch = 1
    later = ask.share_fetch(member_id=ana.member_id, share_session_epoch=1, topics={ana.topic: {0: ()}})
    ana.actor.asks(later, expect.share_fetch(acquired={ana.topic: {0: ((0, 1, 1),)}}))


@scenario("share_fetch/sessions/forgotten", source="ShareSession#update", clauses=("SF-19",))
def a_partition_may_be_forgotten(conversation: Conversation) -> None:
    """A partition that a session forgets is not fetched; its acquired records stay with the member."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    writes(ana.actor, ana.topic, 2)
    asked = ask.share_fetch(member_id=ana.member_id, share_session_epoch=1, forgets={ana.topic: (0,)})
    ana.actor.asks(asked, expect.share_fetch(acquired={}))
    ana.epoch = 2
    ana.acknowledges((0, 0, (ACCEPT,)))
    again = ask.share_fetch(member_id=ana.member_id, share_session_epoch=3, topics={ana.topic: {0: ()}})
    ana.actor.asks(again, expect.share_fetch(acquired={ana.topic: {0: ((1, 2, 1),)}}))


@scenario(
    "share_fetch/sessions/unknown-id",
    source="ShareSessionContext#getErroneousAndValidTopicIdPartitions",
    clauses=("SF-14",),
)
def an_unknown_topic_is_said(conversation: Conversation) -> None:
    """An unknown topic id gets UNKNOWN_TOPIC_ID since 4.4; before, the whole ShareFetch fails."""
    ana = reader(conversation)
    nowhere = "6f9b3bd6-0000-4000-8000-000000000001"
    asked = ask.share_fetch(member_id=ana.member_id, share_session_epoch=0, topics={nowhere: {0: ()}})
    refused = expect.response("ShareFetch")
    ana.actor.asks(asked, refused)
    ana.actor.asks(ask.share_fetch(member_id=ana.member_id, share_session_epoch=1), refused)


@scenario(
    "share_fetch/sessions/unknown-partition",
    source="KafkaApis#handleFetchFromShareFetchRequest",
    clauses=("SF-14",),
)
def an_unknown_partition_is_said(conversation: Conversation) -> None:
    """A partition that does not exist in its topic gets UNKNOWN_TOPIC_OR_PARTITION."""
    ana = reader(conversation)
    asked = ask.share_fetch(member_id=ana.member_id, share_session_epoch=0, topics={ana.topic: {7: ()}})
    ana.actor.asks(asked, expect.share_fetch(acquired={ana.topic: {7: "UNKNOWN_TOPIC_OR_PARTITION"}}))


@scenario("share_fetch/sessions/without-state", source="SharePartition#maybeInitialize", clauses=("SF-07",))
def a_partition_without_state_is_refused(conversation: Conversation) -> None:
    """A partition without share state gets UNKNOWN_SERVER_ERROR, after the wait."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 1)
    ana = Reader(actor, topic)
    asked = ask.share_fetch(
        member_id=ana.member_id, share_session_epoch=0, topics={topic: {0: ()}}, max_wait_ms=300
    )
    actor.asks(asked, expect.share_fetch(acquired={topic: {0: "UNKNOWN_SERVER_ERROR"}}))


@scenario("share_fetch/sessions/several-partitions", source=SHOWS, clauses=("SF-24",))
def only_partitions_with_news_are_answered(conversation: Conversation) -> None:
    """The first ShareFetch answer has every partition; later ones only those with records or an error."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, partitions=2)
    has_state(actor, topic, partitions=(0, 1))
    ana = Reader(actor, topic, partitions=(0, 1))
    first = ask.share_fetch(
        member_id=ana.member_id,
        share_session_epoch=0,
        topics={topic: {0: (), 1: ()}},
        max_wait_ms=FIRST_MS,
    )
    actor.asks(first, expect.share_fetch(acquired={topic: {0: (), 1: ()}}))
    for epoch, partition in ((1, 1), (2, 0)):
        writes(actor, topic, 3, partition=partition)
        later = ask.share_fetch(member_id=ana.member_id, share_session_epoch=epoch)
        actor.asks(later, expect.share_fetch(acquired={topic: {partition: ((0, 2, 1),)}}))


@scenario(
    "share_fetch/sessions/another-group", source="SharePartitionManager#fetchMessages", clauses=("SF-22",)
)
def groups_do_not_share_with_each_other(conversation: Conversation) -> None:
    """Two share groups both receive all records of a topic."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1))
    other = conversation.group("other")
    bob = another(conversation, ana)
    beginning = ask.initialize_share_group_state(ana.topic, group_id=other)
    bob.actor.repeats(beginning, until=expect.share_state("Initialize", "NONE"))
    asked = ask.share_fetch(
        group_id=other, member_id=bob.member_id, share_session_epoch=0, topics={ana.topic: {0: ()}}
    )
    bob.actor.asks(asked, expect.share_fetch(acquired={ana.topic: {0: ((0, 2, 1),)}}))
