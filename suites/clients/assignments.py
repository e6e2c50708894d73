"""What assignors must make of a group, computed from their definitions and not with any client's code.

Members are named so that their ids, which begin with their names, sort as they are written.
"""

from collections.abc import Mapping, Sequence

from harness.clients.language import TestClient, Topic


def by_range(subscriptions: Mapping[TestClient, Sequence[Topic]]) -> dict[TestClient, list[str]]:
    """Give each member a run of each topic's partitions; the first get one more where it does not divide.

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
    """Deal all partitions of all topics out in turn, passing over who has not subscribed.

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
