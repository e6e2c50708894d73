"""Ties between protocol votes: the order of a map decides, differently in the two coordinators."""

from harness.scenario import ORDERS, Conversation, ask, expect, scenario, tied


def _vote(conversation: Conversation, ours: tuple[str, ...], theirs: tuple[str, ...], *winners: str) -> None:
    """Let two members vote for the protocol that each lists first, and expect one of the winners."""
    ana, bob = conversation.actors("ana", "bob")
    mine = ask.join_group(version=7, protocols=tuple((name, ORDERS) for name in ours))
    yours = ask.join_group(version=7, protocols=tuple((name, ORDERS) for name in theirs))
    ana.asks(mine, error_code="MEMBER_ID_REQUIRED")
    ana.asks(mine, expect.join_group(error_code="NONE", protocol_name=ours[0]))
    bob.asks(yours, error_code="MEMBER_ID_REQUIRED")

    bob.sends(yours)
    ana.sends(mine)

    selected = expect.join_group(error_code="NONE", generation_id=2, protocol_name=tied(*winners))
    ana.receives(selected)
    bob.receives(selected)


VOTES = "ClassicGroup#selectProtocol"


@scenario("classic/vote/range-or-roundrobin", source=VOTES, clauses=("PV-05", "PV-02"))
def range_or_roundrobin(conversation: Conversation) -> None:
    """With one vote each for range and roundrobin, Java selects range, Scala roundrobin."""
    _vote(conversation, ("range", "roundrobin"), ("roundrobin", "range"), "range", "roundrobin")


@scenario("classic/vote/sticky-or-range", source=VOTES, clauses=("PV-05", "PV-02"))
def sticky_or_range(conversation: Conversation) -> None:
    """With one vote each for sticky and range, Java selects sticky, Scala range."""
    _vote(conversation, ("sticky", "range"), ("range", "sticky"), "range", "sticky")


@scenario("classic/vote/cooperative-or-range", source=VOTES, clauses=("PV-05", "PV-02"))
def cooperative_sticky_or_range(conversation: Conversation) -> None:
    """With one vote each for cooperative-sticky and range, Java selects range, Scala cooperative-sticky."""
    names = ("cooperative-sticky", "range")
    _vote(conversation, names, names[::-1], *names)


@scenario("classic/vote/same-in-both", source=VOTES, clauses=("PV-05", "PV-02"))
def both_decide_alike(conversation: Conversation) -> None:
    """With one vote each for protocols a and b, both coordinators select a."""
    _vote(conversation, ("b", "a"), ("a", "b"), "a", "b")


@scenario("classic/vote/of-three", source=VOTES, clauses=("PV-05", "PV-01"))
def three_protocols(conversation: Conversation) -> None:
    """Of three protocols that both members list, one that has no vote is not selected."""
    _vote(conversation, ("p1", "p2", "p3"), ("p2", "p3", "p1"), "p1", "p2")
