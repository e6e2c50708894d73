"""Offsets of transactions: who may bring them, and when they count."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import commit, join, txn_commit

NONE = (-1, Errors.NONE)
UNSTABLE = (-1, Errors.UNSTABLE_OFFSET_COMMIT)
UNKNOWN = Errors.UNKNOWN_MEMBER_ID
ILLEGAL = Errors.ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("profile", "generation", "zero", "member", "of_both"),
    [
        ("2.4", Errors.NONE, Errors.NONE, Errors.NONE, Errors.NONE),
        ("2.8", ILLEGAL, Errors.NONE, UNKNOWN, UNKNOWN),
        ("3.1", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
        (SCALA, UNKNOWN, UNKNOWN, Errors.NONE, UNKNOWN),
        (JAVA, ILLEGAL, ILLEGAL, Errors.NONE, ILLEGAL),
    ],
)
def test_a_missing_group_is_judged_by_release(
    broker: Broker, generation: Errors, zero: Errors, member: Errors, of_both: Errors
) -> None:
    asked = [
        txn_commit({0: 1}, generation=3, group="a"),
        txn_commit({0: 1}, generation=0, group="b"),
        txn_commit({0: 1}, member_id="nobody", group="c"),
        txn_commit({0: 1}, member_id="nobody", generation=3, group="d"),
    ]

    reported = [broker.send(each).partition_errors for each in asked]

    assert reported == [[generation], [zero], [member], [of_both]]


@pytest.mark.parametrize(
    ("error", "by_chance"),
    [(Errors.INVALID_TXN_STATE, {"topics"}), (Errors.INVALID_PRODUCER_ID_MAPPING, set())],
)
def test_an_unverified_transaction_is_refused_and_leaves_a_group_in_scala(
    broker: Broker, profile: str, error: Errors, by_chance: set[str]
) -> None:
    refused = broker.txn_commit({0: 1}, verification=error)

    assert refused.partition_errors == [error]
    assert broker.state() == ("Empty" if profile == SCALA else "Dead")
    assert set(refused.permitted) == by_chance
    assert broker.fetch(0, stable=True) == [NONE]


@pytest.mark.parametrize(
    ("profile", "error"), [(SCALA, Errors.NOT_COORDINATOR), (JAVA, Errors.INVALID_TXN_STATE)]
)
def test_only_the_java_coordinator_asks_for_a_transaction_that_is_not_its_own(
    profile: str, error: Errors
) -> None:
    broker = Broker(profile, owned=False)

    refused = broker.txn_commit({0: 1}, verification=Errors.INVALID_TXN_STATE)

    assert refused.partition_errors == [error]


@pytest.mark.parametrize("profile", ["2.4", "2.8", SCALA, JAVA])
def test_instance_member_and_generation_are_checked_from_2_5_on(broker: Broker, profile: str) -> None:
    former, _ = broker.stable_group(join(instance="i"), join())
    current = broker.join(instance="i").join.member_id

    reported = [
        broker.txn_commit({0: 1}, member_id=member, instance=instance, generation=generation)
        for member, instance, generation in (
            (former, "i", 0),
            ("nobody", None, 0),
            (current, "i", 0),
            (current, "i", 1),
        )
    ]

    checked = [Errors.FENCED_INSTANCE_ID, UNKNOWN, ILLEGAL, Errors.NONE]
    assert [each.partition_errors[0] for each in reported] == (
        [Errors.NONE] * 4 if profile == "2.4" else checked
    )


@pytest.mark.parametrize(
    ("profile", "errors"),
    [
        ("2.8", [Errors.NONE, Errors.NONE, Errors.NONE, ILLEGAL]),
        (SCALA, [ILLEGAL, UNKNOWN, UNKNOWN, UNKNOWN]),
        (JAVA, [ILLEGAL, UNKNOWN, UNKNOWN, UNKNOWN]),
    ],
)
def test_who_is_named_by_half_is_refused_from_3_0_on(broker: Broker, errors: list[Errors]) -> None:
    (ana,) = broker.stable_group(join())

    reported = [
        broker.txn_commit({0: 1}, member_id=member, instance=instance, generation=generation)
        for member, instance, generation in ((ana, None, -1), ("", None, 1), (ana, "x", 1), ("", None, 2))
    ]

    assert [each.partition_errors[0] for each in reported] == errors


@pytest.mark.parametrize("profile", ["3.7.0", "3.7.1", JAVA])
def test_until_3_7_0_metadata_that_is_too_large_costs_the_offset_behind_it(profile: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})
    asked = txn_commit({0: 1, 1: 2}, metadata={1: "xx"})

    assert broker.send(asked).partition_errors == [Errors.NONE, Errors.OFFSET_METADATA_TOO_LARGE]
    assert broker.fetch(1, stable=True) == [UNSTABLE if profile == "3.7.0" else NONE]
    broker.end(7, committed=True)

    fetched = broker.fetch(0)
    broker.restart()
    assert broker.fetch(0) == [(1, Errors.NONE)]
    assert fetched in ([NONE], [(1, Errors.NONE)]) if profile == "3.7.0" else fetched == [(1, Errors.NONE)]


def test_an_epoch_that_no_log_takes_breaks_the_request(broker: Broker, profile: str) -> None:
    assert broker.txn_commit({0: 1}, producer_epoch=-1).partition_errors == [Errors.UNKNOWN_SERVER_ERROR]
    assert broker.fetch(0, stable=True) == [NONE]
    assert broker.state() == ("Empty" if profile == SCALA else "Dead")


def test_without_a_producer_id_the_scala_coordinator_commits_at_once() -> None:
    broker = Broker("3.6")

    assert broker.txn_commit({0: 1}, producer_id=-1).partition_errors == [Errors.NONE]
    assert broker.fetch(0) == [(1, Errors.NONE)]


def test_what_was_deleted_on_its_way_to_the_log_does_not_come_back() -> None:
    broker = Broker(SCALA)
    broker.commit({1: 1})
    broker.delays_appends = True
    waiting = broker.txn_commit({0: 1})
    broker.offset_delete(0)

    broker.release()

    assert waiting.partition_errors == [Errors.NONE]
    assert broker.fetch(0, stable=True) == [NONE]


def test_one_transaction_ends_for_all_groups_of_a_partition(profile: str) -> None:
    broker = Broker(profile, {"offsets.topic.num.partitions": "1"})
    for group in ("a", "b"):
        broker.txn_commit({0: 1}, group=group)

    broker.end(7, committed=True, group="a")

    assert broker.fetch(0, group="a") == broker.fetch(0, group="b") == [(1, Errors.NONE)]


def test_a_deleted_partition_loses_what_is_pending(broker: Broker, profile: str) -> None:
    broker.txn_commit({0: 1, 1: 2})

    assert broker.offset_delete(0).error is Errors.NONE
    assert broker.fetch(0, 1, stable=True) == [NONE, UNSTABLE]
    broker.end(7, committed=True)
    assert broker.fetch(0, 1) == [NONE, (2, Errors.NONE)]
    broker.restart()
    # The Scala coordinator has written nothing about the deletion.
    assert broker.fetch(0) == [(1, Errors.NONE) if profile == SCALA else NONE]


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Empty"), ("4.0.0", "Dead"), ("4.0.1", "Empty")])
def test_a_group_with_pending_offsets_only_expires_in_4_0_0_alone(broker: Broker, state: str) -> None:
    broker.txn_commit({0: 1})

    broker.elapse(600_000)
    assert broker.state() == state
    broker.end(7, committed=True)
    assert broker.fetch(0) == [NONE if state == "Dead" else (1, Errors.NONE)]


def test_a_committed_offset_expires_below_a_pending_one_in_scala_alone(broker: Broker, profile: str) -> None:
    broker.send(commit({0: 10}, retention_ms=0), version=2)
    broker.txn_commit({0: 1})

    broker.elapse(600_000)

    assert broker.fetch(0) == [NONE if profile == SCALA else (10, Errors.NONE)]
    assert broker.fetch(0, stable=True) == [UNSTABLE]
    assert broker.state() == "Empty"


def test_a_deleted_topic_is_when_the_scala_coordinator_removes_groups_without_offsets() -> None:
    broker = Broker(SCALA)
    broker.join(group="waiting")
    broker.commit({0: 1})

    broker.settle(broker.coordinator.topics_deleted(["t"], now_ms=broker.now))

    assert (broker.state("waiting"), broker.state()) == ("Dead", "Dead")


def test_a_stable_read_waits_for_writes_in_java_and_is_unstable_in_scala(
    broker: Broker, profile: str
) -> None:
    broker.commit({0: 1})
    broker.delays_appends = True
    broker.commit({0: 2})

    assert broker.fetch(0) == [(1, Errors.NONE)]
    if profile == SCALA:
        assert broker.fetch(0, stable=True) == [UNSTABLE]
    else:
        with pytest.raises(AssertionError, match="not answered"):
            broker.fetch(0, stable=True)
    broker.release()
    assert broker.fetch(0, stable=True) == [(2, Errors.NONE)]
    assert all(token in broker.answers for token in range(1, 5))
