"""The assignors give each partition to whom Kafka's give it, in the same order."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.core.ids import MemberId, TopicId
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
from reference_coordinator.groups.consumer.tests.assignor_answers.groups import (
    SMALL,
    Group,
    a_group,
    as_written,
    next_group,
    our_answer,
    spec_of,
)
from reference_coordinator.groups.consumer.tests.assignor_answers.recorded import read
from reference_coordinator.profile.profiles import profile_for

ORDERS = TopicId("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
ORDERS_IN_BASE64 = "a9LhxV4KS9WM3mpK4vKwqg"
RELEASES = ("4.0.0", "4.0.2", "4.2.1", "4.4.0")
NEWEST = profile_for("4.4.0")
ANA, BEN, CAT = MemberId("ana"), MemberId("ben"), MemberId("cat")


@pytest.mark.parametrize("release", RELEASES)
def test_partitions_go_to_whom_kafka_gave_them(release: str) -> None:
    recorded = list(read())
    assert len(recorded) == 300

    for group, answers in recorded:
        ours = our_answer(group, profile_for(release))
        assert as_written(group, ours) == as_written(group, answers[release]), group


def test_the_recorded_groups_tell_4_0_0_from_later() -> None:
    assert sum(answers["4.0.0"] != answers["4.0.2"] for _, answers in read()) > 20


def homogeneous(members: Mapping[MemberId, Assignment]) -> GroupSpec:
    return spec_of(
        {
            member_id: MemberSubscription(subscribed_topic_ids=(ORDERS,), assignment=assignment)
            for member_id, assignment in members.items()
        },
        SubscriptionType.HOMOGENEOUS,
    )


@pytest.mark.parametrize(
    ("release", "given_to_ben"),
    [("4.0.0", (1,)), ("4.0.1", (1, 2)), ("4.4.0", (1, 2))],
)
def test_an_extra_partition_stays_where_it_is(release: str, given_to_ben: tuple[int, ...]) -> None:
    before: dict[MemberId, Assignment] = {ANA: {ORDERS: (0,)}, BEN: {ORDERS: (2, 1)}}

    made = assign(
        "uniform",
        homogeneous(before),
        {ORDERS: SubscribedTopic(num_partitions=3)},
        profile_for(release),
    )

    assert {ANA: {0, 1, 2} - set(given_to_ben), BEN: set(given_to_ben)} == {
        member_id: set(assigned[ORDERS]) for member_id, assigned in made.items()
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("subscription_type", SubscriptionType)
def test_nobody_gets_anything_in_a_group_without_members(
    name: str, subscription_type: SubscriptionType
) -> None:
    spec = spec_of({}, subscription_type)

    assert assign(name, spec, {ORDERS: SubscribedTopic(num_partitions=3)}, NEWEST) == {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("subscription_type", SubscriptionType)
def test_who_subscribes_to_nothing_gets_nothing(name: str, subscription_type: SubscriptionType) -> None:
    member = MemberSubscription(subscribed_topic_ids=(), assignment={ORDERS: (0,)})
    spec = spec_of({ANA: member}, subscription_type)

    made = assign(name, spec, {ORDERS: SubscribedTopic(num_partitions=3)}, NEWEST)

    assert made.get(ANA, {}) == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("range", "Member is subscribed to a non-existent topic"),
        (
            "uniform",
            f"Members are subscribed to topic {ORDERS_IN_BASE64} which doesn't exist in the topic metadata.",
        ),
    ],
)
@pytest.mark.parametrize("subscription_type", SubscriptionType)
def test_a_topic_that_does_not_exist_is_an_error(
    name: str, message: str, subscription_type: SubscriptionType
) -> None:
    spec = replace(homogeneous({ANA: {}, BEN: {}}), subscription_type=subscription_type)

    with pytest.raises(PartitionAssignorError) as raised:
        assign(name, spec, {}, NEWEST)

    assert str(raised.value) == message


def test_range_puts_static_members_first_and_sorts_by_utf_16() -> None:
    def member(instance_id: str | None) -> MemberSubscription:
        return MemberSubscription(instance_id=instance_id, subscribed_topic_ids=(ORDERS,), assignment={})

    ids = [MemberId(each) for each in ("a", "\uff5e", "\U0001f600", "s1", "s2")]
    instances = dict(zip(ids, (None, None, None, "z", "b"), strict=True))
    spec = spec_of(
        {each: member(instance) for each, instance in instances.items()},
        SubscriptionType.HOMOGENEOUS,
    )

    made = assign("range", spec, {ORDERS: SubscribedTopic(num_partitions=5)}, NEWEST)

    assert [member_id for member_id, _ in sorted(made.items(), key=lambda each: each[1][ORDERS])] == [
        "s2",
        "s1",
        "a",
        "\U0001f600",
        "\uff5e",
    ]


def test_of_topics_with_as_much_for_each_the_one_with_fewer_subscribers_comes_first() -> None:
    alone = TopicId("f0000000-0000-0000-0000-000000000001")
    shared = TopicId("00000000-0000-0000-0000-000000000001")
    spec = spec_of(
        {
            ANA: MemberSubscription(subscribed_topic_ids=(alone, shared), assignment={}),
            BEN: MemberSubscription(subscribed_topic_ids=(shared,), assignment={}),
        },
        SubscriptionType.HETEROGENEOUS,
    )
    topics = {alone: SubscribedTopic(num_partitions=2), shared: SubscribedTopic(num_partitions=4)}

    made = assign("uniform", spec, topics, NEWEST)

    assert made == {ANA: {alone: (0, 1), shared: (3,)}, BEN: {shared: (0, 1, 2)}}


def test_members_may_come_in_the_order_in_which_they_are_put() -> None:
    in_order = homogeneous({CAT: {}, BEN: {}, ANA: {}})
    turned = homogeneous({ANA: {}, BEN: {}, CAT: {}})
    topics = {ORDERS: SubscribedTopic(num_partitions=2)}

    # No two of the three share a bucket, so the order in which they come makes no difference.
    assert assign("uniform", in_order, topics, NEWEST) == assign("uniform", turned, topics, NEWEST)


SEEDS = st.integers(min_value=0, max_value=2**32)


def of_one_subscription(seed: int) -> tuple[Random, Group]:
    """A group for the uniform assignor whose members subscribe alike, and chance to go on with."""
    random = Random(seed)
    group = a_group(random, most=SMALL)
    while group.subscription_type is SubscriptionType.HETEROGENEOUS:
        group = a_group(random, most=SMALL)
    return random, replace(group, assignor="uniform", removed=())


def partitions_of(made: Mapping[MemberId, Assignment]) -> Counter[tuple[TopicId, int]]:
    return Counter(
        (topic_id, partition)
        for assignment in made.values()
        for topic_id, partitions in assignment.items()
        for partition in partitions
    )


def assignment_of(group: Group) -> dict[MemberId, Assignment]:
    answer = our_answer(group, NEWEST)
    assert not isinstance(answer, str)
    return dict(answer)


@given(SEEDS)
def test_every_subscribed_partition_has_one_owner_who_subscribes_to_it(seed: int) -> None:
    group = a_group(Random(seed), most=SMALL)
    members = group.spec().members

    made = assignment_of(group)

    subscribed = {topic_id for member in members.values() for topic_id in member.subscribed_topic_ids}
    assert partitions_of(made) == Counter(
        (topic_id, partition)
        for topic_id in subscribed
        for partition in range(group.num_partitions[topic_id])
    )
    assert all(has.keys() <= set(members[owner].subscribed_topic_ids) for owner, has in made.items())


@given(SEEDS)
def test_uniform_is_balanced_within_one_where_all_subscribe_alike(seed: int) -> None:
    _, group = of_one_subscription(seed)

    sizes = [sum(map(len, assignment.values())) for assignment in assignment_of(group).values()]

    assert max(sizes) - min(sizes) <= 1


@given(SEEDS)
def test_uniform_changes_nothing_if_nothing_changed(seed: int) -> None:
    _, group = of_one_subscription(seed)
    made = assignment_of(group)
    again = replace(
        group,
        members={
            each: replace(member, assignment=made.get(each, {})) for each, member in group.members.items()
        },
    )

    assert as_sets(assignment_of(again)) == as_sets(made)


@given(SEEDS)
def test_uniform_moves_partitions_to_a_newcomer_alone(seed: int) -> None:
    random, group = of_one_subscription(seed)
    made = assignment_of(group)
    later = next_group(random, group, made)
    newcomers = later.members.keys() - group.members.keys()
    if not newcomers:
        return

    after = as_sets(assignment_of(later))

    for member_id, had in as_sets(made).items():
        assert after[member_id] <= had


@given(SEEDS)
def test_uniform_leaves_those_who_stay_what_they_had(seed: int) -> None:
    random, group = of_one_subscription(seed)
    if len(group.members) == 1:
        return
    made = assignment_of(group)
    leaver = random.choice([*group.members])
    members = {
        each: replace(member, assignment=made.get(each, {}))
        for each, member in group.members.items()
        if each != leaver
    }

    after = as_sets(assignment_of(replace(group, members=members)))

    for member_id in members:
        assert as_sets(made).get(member_id, set()) <= after.get(member_id, set())


def as_sets(made: Mapping[MemberId, Assignment]) -> dict[MemberId, set[tuple[TopicId, int]]]:
    return {member_id: set(partitions_of({member_id: assignment})) for member_id, assignment in made.items()}
