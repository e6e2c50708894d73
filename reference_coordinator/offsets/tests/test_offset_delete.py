"""OffsetDelete: catalogue rows OD-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import join, subscription

NONE = Errors.NONE


def test_offsets_of_a_missing_group_cannot_be_deleted(broker: Broker) -> None:
    call = broker.offset_delete(0)

    assert (call.error, call.partition_errors) == (Errors.GROUP_ID_NOT_FOUND, [])


def test_an_empty_group_forgets_offsets_it_has_and_has_not(broker: Broker) -> None:
    broker.commit({0: 1, 1: 2})

    call = broker.offset_delete(0, 5)

    assert (call.error, call.partition_errors) == (NONE, [NONE, NONE])
    assert broker.fetch(0, 1) == [(-1, NONE), (2, NONE)]


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Dead"), (JAVA, "Empty")])
def test_the_last_offset_takes_the_group_with_it_on_scala(broker: Broker, state: str) -> None:
    broker.commit({0: 1})

    assert broker.offset_delete(0).error is NONE
    assert broker.state() == state


def test_offsets_of_topics_that_are_read_stay(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(metadata=subscription("read", "too")))
    for topic in ("read", "unread"):
        broker.commit({0: 1}, member_id=ana, generation=1, topic=topic)

    read = broker.offset_delete(0, topic="read")
    unread = broker.offset_delete(0, topic="unread")

    assert (read.error, read.partition_errors) == (NONE, [Errors.GROUP_SUBSCRIBED_TO_TOPIC])
    assert unread.partition_errors == [NONE]
    assert broker.fetch(0, topic="read") == [(1, NONE)]
    assert broker.fetch(0, topic="unread") == [(-1, NONE)]


def test_what_a_group_reads_survives_a_restart(broker: Broker) -> None:
    broker.stable_group(join(metadata=subscription("read")))

    broker.restart()

    read = broker.offset_delete(0, topic="read")
    assert read.partition_errors == [Errors.GROUP_SUBSCRIBED_TO_TOPIC]
    assert broker.offset_delete(0, topic="unread").partition_errors == [NONE]


def test_a_subscription_that_cannot_be_read_means_every_topic(broker: Broker) -> None:
    broker.stable_group(join(metadata=b"\0"))

    assert broker.offset_delete(0).partition_errors == [Errors.GROUP_SUBSCRIBED_TO_TOPIC]


def test_groups_of_others_than_consumers_must_be_empty(broker: Broker) -> None:
    (worker,) = broker.stable_group(join(kind="connect"))

    call = broker.offset_delete(0)
    assert (call.error, call.partition_errors) == (Errors.NON_EMPTY_GROUP, [])
    broker.leave(worker)
    assert broker.offset_delete(0).error is NONE


@pytest.mark.parametrize(("profile", "reported"), [(SCALA, NONE), (JAVA, Errors.UNKNOWN_SERVER_ERROR)])
def test_an_offset_deletion_that_cannot_be_written_fails_on_java(broker: Broker, reported: Errors) -> None:
    broker.commit({0: 1, 1: 2})
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    assert broker.offset_delete(0).error is reported
    assert broker.fetch(0) == [(-1 if reported is NONE else 1, NONE)]


def test_a_first_rebalance_counts_as_reading_everything(broker: Broker) -> None:
    broker.parked_members(join())

    assert broker.offset_delete(0).partition_errors == [Errors.GROUP_SUBSCRIBED_TO_TOPIC]


@pytest.mark.parametrize(("profile", "reported"), [(SCALA, [NONE, NONE]), (JAVA, [NONE, NONE, NONE])])
def test_a_partition_that_is_named_twice_is_answered_once_by_scala(
    broker: Broker, reported: list[Errors]
) -> None:
    broker.commit({0: 1, 1: 2})

    assert broker.offset_delete(0, 1, 0).partition_errors == reported
    assert broker.fetch(0, 1) == [(-1, NONE), (-1, NONE)]


def test_who_deletes_nothing_leaves_an_empty_group_alone(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)

    assert broker.offset_delete().error is NONE
    assert broker.state() == "Empty"
