"""The results that assignors must give for a group, computed from their definitions, not by client code.

Members are named so that their ids, which start with their names, sort in the order written.
"""

from collections.abc import Mapping, Sequence

from harness.clients.language import RANGE, ExpectedCallback, GroupProtocol, Play, TestClient, Topic

_IDS_ARE_RANDOM = "ids of members of consumer groups are random, and brokers assign by them"

UNSEEN_ASSIGNMENT = (
    "librdkafka says that it owns nothing before it has told its application of what it was assigned"
)
"""Why a member may learn that it owns partitions which another one has been assigned since."""


def settles_shared(
    play: Play,
    subscriptions: Mapping[TestClient, Sequence[Topic]],
    *,
    callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None = None,
) -> None:
    """Let a group settle as its assignor must leave it.

    Classic groups, and static members whose broker assigns by range, settle by range. Other consumer groups
    use the broker's default, which shares evenly.
    """
    if play.protocol is GroupProtocol.CLASSIC or all(_is_sorted(each) for each in subscriptions):
        play.settles(by_range(subscriptions), callbacks=callbacks)
    else:
        topics = _topics(subscriptions)
        play.settles_evenly([*subscriptions], *topics, because=_IDS_ARE_RANDOM, callbacks=callbacks)


def both_at_rest(play: Play, orders: Topic, ana: TestClient, bob: TestClient) -> None:
    """Let two members subscribe, one after the other, and settle."""
    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
    bob.subscribes(orders)
    settles_shared(play, {ana: [orders], bob: [orders]})


def _is_sorted(member: TestClient) -> bool:
    return "group_instance_id" in member.settings and member.settings.get("group_remote_assignor") == RANGE


def by_range(subscriptions: Mapping[TestClient, Sequence[Topic]]) -> dict[TestClient, list[str]]:
    """Give each member consecutive partitions of each topic; the first members get one more if uneven.

    Source: RangeAssignor#assign (3.9.2).
    """
    owned: dict[TestClient, list[str]] = {member: [] for member in subscriptions}
    for topic in _topics(subscriptions):
        members = [member for member in subscriptions if topic in subscriptions[member]]
        each, rest = divmod(topic.partition_count, len(members))
        first = 0
        for place, member in enumerate(members):
            count = each + (1 if place < rest else 0)
            owned[member] += topic.partitions[first : first + count]
            first += count
    return owned


def by_round_robin(subscriptions: Mapping[TestClient, Sequence[Topic]]) -> dict[TestClient, list[str]]:
    """Deal all partitions of all topics out in turn, skipping members not subscribed to the topic.

    Source: RoundRobinAssignor#assign (3.9.2).
    """
    members = list(subscriptions)
    owned: dict[TestClient, list[str]] = {member: [] for member in members}
    turn = 0
    for topic in _topics(subscriptions):
        for partition in topic.partitions:
            while topic not in subscriptions[members[turn % len(members)]]:
                turn += 1
            owned[members[turn % len(members)]].append(partition)
            turn += 1
    return owned


def _topics(subscriptions: Mapping[TestClient, Sequence[Topic]]) -> list[Topic]:
    topics = {topic.name: topic for each in subscriptions.values() for topic in each}
    return [topics[name] for name in sorted(topics)]
