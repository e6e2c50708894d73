"""Random groups for the assignors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.map_order import string_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors import (
    NAMES,
    Assignment,
    GroupSpec,
    MemberSubscription,
    PartitionAssignorError,
    SubscribedTopic,
    SubscriptionType,
    assign,
)
from reference_coordinator.profile.profiles import Profile

ALIKE = ("Aa", "BB")
"""Two strings of one hash: so are all strings that are made of equally many of them."""


class Sizes(NamedTuple):
    """How large a group may be."""

    members: int
    topics: int
    partitions: int


LARGE = Sizes(members=40, topics=30, partitions=40)
SMALL = Sizes(members=14, topics=6, partitions=20)


def spec_of(members: Mapping[MemberId, MemberSubscription], subscription_type: SubscriptionType) -> GroupSpec:
    """Put members into Kafka's map, one after the other."""
    in_map: JavaHashMap[MemberId, MemberSubscription] = JavaHashMap(string_hash_code)
    in_map.update(members)
    return _spec_of_map(in_map, subscription_type)


def _spec_of_map(
    members: JavaHashMap[MemberId, MemberSubscription], subscription_type: SubscriptionType
) -> GroupSpec:
    assigned = {
        (topic_id, partition)
        for member in members.values()
        for topic_id, partitions in member.assignment.items()
        for partition in partitions
    }
    return GroupSpec(members=members, subscription_type=subscription_type, assigned_partitions=assigned)


@dataclass(frozen=True)
class Group:
    """A group for which partitions are to be assigned."""

    assignor: str
    subscription_type: SubscriptionType
    num_partitions: Mapping[TopicId, int]
    members: Mapping[MemberId, MemberSubscription]
    """In the order in which they are put."""
    removed: Sequence[MemberId] = ()
    """Who is taken away again."""

    def spec(self) -> GroupSpec:
        spec = spec_of(self.members, self.subscription_type)
        for member_id in self.removed:
            del spec.members[member_id]
        return _spec_of_map(spec.members, self.subscription_type)

    def topics(self) -> dict[TopicId, SubscribedTopic]:
        return {topic: SubscribedTopic(num_partitions=count) for topic, count in self.num_partitions.items()}


def a_uuid(random: Random) -> TopicId:
    digits = f"{random.getrandbits(128):032x}"
    return TopicId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def topic_ids(random: Random, count: int) -> list[TopicId]:
    """Topics, which share a bucket now and then."""
    crowded = random.random() < 0.3
    chosen: list[TopicId] = []
    while len(chosen) < count:
        topic_id = a_uuid(random)
        if not crowded or uuid_hash_code(topic_id) % 4 == 0:
            chosen.append(topic_id)
    return chosen


def member_ids(random: Random, count: int) -> list[MemberId]:
    """Member ids as clients make them, short ones, some that share a bucket, and some beyond ASCII."""
    kind = random.choice(["uuid", "short", "alike", "wide"])
    if kind == "alike":
        alike = ["".join(random.choice(ALIKE) for _ in range(6)) for _ in range(min(count, 6))]
        return [MemberId(each) for each in dict.fromkeys([*alike, *(a_uuid(random) for _ in range(count))])][
            :count
        ]
    if kind == "uuid":
        return [MemberId(a_uuid(random)) for _ in range(count)]
    letters = "abcdefgh" if kind == "short" else "aé\uff5e\U0001f600"
    chosen: dict[str, None] = {}
    while len(chosen) < count:
        chosen["".join(random.choice(letters) for _ in range(random.randint(1, 5)))] = None
    return [MemberId(each) for each in chosen]


def subscriptions(random: Random, topics: Sequence[TopicId], *, is_homogeneous: bool) -> list[TopicId]:
    if is_homogeneous or random.random() < 0.3:
        return list(topics)
    return random.sample(topics, random.randint(0, len(topics)))


def earlier_assignments(
    random: Random, members: Sequence[MemberId], num_partitions: Mapping[TopicId, int]
) -> dict[MemberId, Assignment]:
    """Any assignment: some partitions to anybody, subscribed or not, with an unknown topic now and then."""
    assigned: dict[MemberId, dict[TopicId, list[int]]] = {member_id: {} for member_id in members}
    known = dict(num_partitions)
    if random.random() < 0.2:
        known[a_uuid(random)] = 3
    favoured = random.sample(members, max(1, len(members) // random.randint(1, 4)))
    everything = [(topic_id, partition) for topic_id, count in known.items() for partition in range(count)]
    random.shuffle(everything)
    share = random.choice([0.0, 0.5, 0.9, 1.0])
    for topic_id, partition in everything:
        if random.random() < share:
            assigned[random.choice(favoured)].setdefault(topic_id, []).append(partition)
    return {
        member_id: {topic_id: tuple(partitions) for topic_id, partitions in topics.items()}
        for member_id, topics in assigned.items()
    }


def a_group(random: Random, *, most: Sizes = LARGE) -> Group:
    """A group with any assignment before."""
    is_homogeneous = random.random() < 0.5
    num_partitions = {
        topic_id: random.randint(1, most.partitions)
        for topic_id in topic_ids(random, random.randint(1, random.choice([2, 4, most.topics])))
    }
    ids = member_ids(random, random.randint(1, random.choice([3, 8, most.members])))
    before = earlier_assignments(random, ids, num_partitions)
    shared = subscriptions(random, list(num_partitions), is_homogeneous=is_homogeneous)
    missing = random.choice([0, 0, 0, 5, 20])
    members = {
        member_id: MemberSubscription(
            instance_id=f"i{random.randint(0, 10**6)}" if random.random() < 0.3 else None,
            rack_id=random.choice([None, "a", "b"]),
            subscribed_topic_ids=tuple(
                shared
                if is_homogeneous
                else subscriptions(random, list(num_partitions), is_homogeneous=False)
            ),
            num_missing_topics=missing,
            assignment=before[member_id],
        )
        for member_id in ids
    }
    removed = [ids[-1]] if len(ids) > 1 and random.random() < 0.2 else []
    return Group(
        assignor=random.choice(["uniform", "uniform", "uniform", *NAMES]),
        subscription_type=SubscriptionType.HOMOGENEOUS if is_homogeneous else SubscriptionType.HETEROGENEOUS,
        num_partitions=num_partitions,
        members=members,
        removed=removed,
    )


def next_group(random: Random, group: Group, made: Mapping[MemberId, Assignment]) -> Group:
    """The group a little later: with what was made as its assignment before, and a change."""
    members = {
        member_id: replace(member, assignment=made.get(member_id, {}))
        for member_id, member in group.members.items()
        if member_id not in group.removed
    }
    match random.choice(["join", "leave", "grow", "subscribe"]):
        case "join":
            newcomer = next(iter(members.values()))
            members[MemberId(a_uuid(random))] = replace(newcomer, instance_id=None, assignment={})
        case "leave" if len(members) > 1:
            del members[random.choice(list(members))]
        case "subscribe" if group.subscription_type is SubscriptionType.HETEROGENEOUS:
            changed = random.choice(list(members))
            chosen = subscriptions(random, list(group.num_partitions), is_homogeneous=False)
            members[changed] = replace(members[changed], subscribed_topic_ids=tuple(chosen))
        case _:
            grown = random.choice(list(group.num_partitions))
            more = {**group.num_partitions, grown: group.num_partitions[grown] + random.randint(1, 5)}
            return replace(group, members=members, removed=(), num_partitions=more)
    return replace(group, members=members, removed=())


Answer = list[tuple[MemberId, Assignment]] | str
"""Who has what, in the order of Kafka's map of members; or what is thrown."""


def our_answer(group: Group, profile: Profile) -> Answer:
    spec = group.spec()
    try:
        made = assign(group.assignor, spec, group.topics(), profile)
    except PartitionAssignorError as error:
        return str(error)
    return [(member_id, made.get(member_id, {})) for member_id in spec.members]


def as_written(group: Group, answer: Answer) -> object:
    """An answer with all that has an order in it.

    An assignment that stays has none: Kafka writes no record of it.
    """
    if isinstance(answer, str):
        return answer
    return [(member_id, _as_written(group.members[member_id].assignment, has)) for member_id, has in answer]


def _as_written(before: Assignment, assignment: Assignment) -> object:
    return None if _as_sets(before) == _as_sets(assignment) else list(assignment.items())


def _as_sets(assignment: Assignment) -> object:
    return {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items()}
