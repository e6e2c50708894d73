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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("subscription_type", SubscriptionType)
def test_nobody_gets_anything_in_a_group_without_members(
    name: str, subscription_type: SubscriptionType
) -> None:
    spec = spec_of({}, subscription_type)

    assert assign(name, spec, {ORDERS: SubscribedTopic(num_partitions=3)}, NEWEST) == {}


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


def test_members_may_come_in_the_order_in_which_they_are_put() -> None:
    in_order = homogeneous({CAT: {}, BEN: {}, ANA: {}})
    turned = homogeneous({ANA: {}, BEN: {}, CAT: {}})
    topics = {ORDERS: SubscribedTopic(num_partitions=2)}

    # No two of the three share a bucket, so the order in which they come makes no difference.
    assert assign("uniform", in_order, topics, NEWEST) == assign("uniform", turned, topics, NEWEST)


SEEDS = st.integers(min_value=0, max_value=2**32)


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
