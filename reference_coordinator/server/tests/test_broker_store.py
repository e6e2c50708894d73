"""What a broker keeps in a directory: whatever it answered is there when it starts again, or is refused."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.server.broker_store import JOURNAL_NAME
from reference_coordinator.shares.state import ShareGroupOffset
from reference_coordinator.shares.state_batches import StateBatch
from reference_coordinator.tests.crashing_disk import Crashed, CrashingDisk
from reference_coordinator.tests.kept_broker import DIRECTORY, KeptBroker
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.tests.wire_topic_client import TopicClient, batch, values_of

LOG = DIRECTORY / "orders-0.log"
JOURNAL = DIRECTORY / JOURNAL_NAME
GROUP = GroupId("group")


def restarted(disk: CrashingDisk) -> KeptBroker:
    return KeptBroker(next(again for name, again in disk.disks_after() if name.startswith("nothing")))


def create(broker: KeptBroker, name: str, num_partitions: int) -> str:
    topic = {"name": name, "num_partitions": num_partitions, "replication_factor": 1}
    answer = broker.connect().ask("create_topics", 7, topics=(topic,), timeout=1000)
    assert answer.topics[0].error_code == Errors.NONE
    return str(answer.topics[0].topic_id)


def read_committed(broker: KeptBroker, partition: int) -> list[bytes]:
    """The values that count, those of aborted transactions left out."""
    fetched = TopicClient(broker).fetch(partition=partition, isolation_level=1)
    aborted = {each.producer_id for each in fetched.aborted_transactions or ()}
    return [] if aborted else values_of(fetched.records)


def test_records_are_there_and_their_producer_goes_on_where_it_was() -> None:
    disk = CrashingDisk()
    client = TopicClient(KeptBroker(disk))
    assert client.produce(batch(b"a", b"b", producer=(7, 0), sequence=0)) == (Errors.NONE, 0)
    assert client.produce(batch(b"c", producer=(7, 0), sequence=2)) == (Errors.NONE, 2)

    client = TopicClient(restarted(disk))

    assert client.values() == [b"a", b"b", b"c"]
    assert client.produce(batch(b"c", producer=(7, 0), sequence=2)) == (Errors.NONE, 2)
    assert (
        client.produce(batch(b"e", producer=(7, 0), sequence=4)).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    assert client.produce(batch(b"d", producer=(7, 0), sequence=3)) == (Errors.NONE, 3)


def test_a_topic_keeps_the_id_that_it_was_given() -> None:
    disk = CrashingDisk()
    given = TopicId("abababab-abab-44cc-abbb-abababababab")
    KeptBroker(disk, topic_ids={"orders": given})

    again = restarted(disk)

    assert again.state.topics.get_by_id(given) == again.state.topics.get("orders")


def test_a_topic_that_is_there_takes_no_other_id() -> None:
    disk = CrashingDisk()
    known = KeptBroker(disk).state.topics.get("orders")

    again = KeptBroker(disk, topic_ids={"orders": TopicId("abababab-abab-44cc-abbb-abababababab")})

    assert again.state.topics.get("orders") == known


def test_a_topic_that_was_deleted_and_made_anew_has_another_id() -> None:
    disk = CrashingDisk()
    given = TopicId("abababab-abab-44cc-abbb-abababababab")
    broker = KeptBroker(disk, topic_ids={"orders": given})
    broker.connect().ask("delete_topics", 6, topics=({"name": "orders"},), timeout=1000)
    made_anew = create(broker, "orders", 1)

    assert made_anew != given
    assert restarted(disk).state.topics.get_by_id(TopicId(made_anew)) is not None


def test_deleted_records_stay_deleted() -> None:
    disk = CrashingDisk()
    client = TopicClient(KeptBroker(disk))
    client.produce(batch(b"a"))
    client.produce(batch(b"b"))
    row = {"partition_index": 0, "offset": 1}
    client.client.ask("delete_records", 1, topics=({"name": "orders", "partitions": (row,)},), timeout=1000)

    client = TopicClient(restarted(disk))

    assert client.list_offset(-2).offset == 1
    assert client.values(1) == [b"b"]


def test_topics_are_there_with_their_ids_and_what_was_deleted_is_not() -> None:
    disk = CrashingDisk()
    broker = KeptBroker(disk)
    created, first = create(broker, "plain", 2), create(broker, "doomed", 1)
    TopicClient(broker).produce(batch(b"lost"), topic="doomed")
    broker.connect().ask("delete_topics", 4, topic_names=("doomed",), timeout=1000)

    broker = restarted(disk)

    topic = broker.state.topics.get("plain")
    assert topic is not None
    assert (topic.topic_id, topic.num_partitions) == (created, 2)
    assert broker.state.topics.get("doomed") is None
    assert create(broker, "doomed", 1) != first
    assert TopicClient(broker).values(topic="doomed") == []


def test_topics_are_configured_as_they_were() -> None:
    disk = CrashingDisk()
    broker = KeptBroker(disk)
    configured = {"name": "plain", "num_partitions": 1, "replication_factor": 1}
    configs = ({"name": "retention.ms", "value": "5"},)
    broker.connect().ask("create_topics", 7, topics=({**configured, "configs": configs},))

    topic = restarted(disk).state.topics.get("plain")
    assert topic is not None
    assert topic.configs == (("retention.ms", "5"),)

    broker.connect().ask("delete_topics", 4, topic_names=("plain",), timeout=1000)
    broker.connect().ask("create_topics", 7, topics=(configured,))
    again = restarted(disk).state.topics.get("plain")
    assert again is not None
    assert again.configs == ()


def test_what_a_kill_left_of_a_batch_is_cut_off_and_reported() -> None:
    disk = CrashingDisk()
    TopicClient(KeptBroker(disk)).produce(batch(b"a"))
    disk.append(LOG, batch(b"b")[:-3])
    disk.append(JOURNAL, b'["topic half", ')
    disk.sync(LOG)
    disk.sync(JOURNAL)

    broker = restarted(disk)

    assert TopicClient(broker).values() == [b"a"]
    assert len(broker.notices) == 2
    assert all("cut off" in notice for notice in broker.notices)
    assert TopicClient(broker).produce(batch(b"c")) == (Errors.NONE, 1)


@pytest.mark.parametrize("path", [LOG, JOURNAL])
def test_damage_elsewhere_is_refused(path: object) -> None:
    disk = CrashingDisk()
    client = TopicClient(KeptBroker(disk))
    client.produce(batch(b"a"))
    client.produce(batch(b"b"))
    damaged = next(again for _, again in disk.disks_after())
    where = LOG if path == LOG else JOURNAL
    content = damaged.read(where)
    damaged.create(where)
    damaged.append(
        where, content[:2] + b"!!" + content[4:] if path == JOURNAL else content[:30] + b"!!" + content[32:]
    )

    with pytest.raises(DamagedLogError, match="is damaged"):
        KeptBroker(damaged)


def crashes(work: Callable[[CrashingDisk], None]) -> Iterator[CrashingDisk]:
    """Every disk that may be found if the machine stops at some step of some work."""
    whole = CrashingDisk()
    work(whole)
    for step in range(1, whole.steps + 1):
        torn = {0, 1, whole.unsynced_bytes_of[step - 1] // 2} if whole.unsynced_bytes_of[step - 1] else {0}
        for torn_after in torn:
            disk = CrashingDisk(crash_at=step, torn_after=torn_after)
            with suppress(Crashed):
                work(disk)
            for _, found in disk.disks_after():
                yield found


def test_whatever_was_acknowledged_outlives_a_crash_at_any_step() -> None:
    acknowledged: list[bytes] = []

    def work(disk: CrashingDisk) -> None:
        acknowledged.clear()
        client = TopicClient(KeptBroker(disk))
        for number in range(4):
            value = b"%d" % number
            assert client.produce(batch(value, producer=(7, 0), sequence=number)).error is Errors.NONE
            acknowledged.append(value)

    for disk in crashes(work):
        found = TopicClient(KeptBroker(disk)).values()
        assert found[: len(acknowledged)] == acknowledged
        assert found == [b"%d" % number for number in range(len(found))]


@pytest.mark.slow
@pytest.mark.parametrize("has_offsets", [True, False])
@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_happens_whole_or_not_at_all_wherever_a_crash_comes(
    *, committed: bool, has_offsets: bool
) -> None:
    ended: list[bool] = []

    def work(disk: CrashingDisk) -> None:
        ended.clear()
        broker = KeptBroker(disk)
        producer = Producer(broker)
        producer.add_partitions(0, 1)
        for partition in (0, 1):
            producer.sequence = 0
            assert producer.write(b"x", partition=partition).error is Errors.NONE
        if has_offsets:
            producer.add()
            assert producer.commit() == [Errors.NONE]
        assert producer.end(committed=committed) == Errors.NONE
        ended.append(True)

    outcomes: set[bool] = set()
    for disk in crashes(work):
        broker = KeptBroker(disk)
        broker.elect()
        happened = [bool(read_committed(broker, partition)) for partition in (0, 1)]
        if has_offsets:
            happened.append(broker.connect().committed() == (42, Errors.NONE))
        assert len(set(happened)) == 1, happened
        assert not ended or happened[0] == committed
        outcomes.add(happened[0])
    assert outcomes == {False, committed}


@pytest.mark.slow
def test_a_topic_is_deleted_whole_or_not_at_all_wherever_a_crash_comes() -> None:
    acknowledged: list[int] = []
    deleted: list[bool] = []

    def work(disk: CrashingDisk) -> None:
        acknowledged.clear()
        deleted.clear()
        broker = KeptBroker(disk)
        create(broker, "doomed", 2)
        for partition in (0, 1):
            written = TopicClient(broker).produce(batch(b"x"), topic="doomed", partition=partition)
            assert written.error is Errors.NONE
            acknowledged.append(partition)
        broker.connect().ask("delete_topics", 4, topic_names=("doomed",), timeout=1000)
        deleted.append(True)

    outcomes: set[bool] = set()
    for disk in crashes(work):
        broker = KeptBroker(disk)
        is_there = broker.state.topics.get("doomed") is not None
        assert not (is_there and deleted)
        if is_there:
            client = TopicClient(broker)
            assert all(client.values(topic="doomed", partition=each) == [b"x"] for each in acknowledged)
        outcomes.add(is_there)
    assert outcomes == {False, True}


def test_an_open_transaction_is_open_after_a_restart_and_times_out_when_it_would_have() -> None:
    disk = CrashingDisk()
    broker = KeptBroker(disk)
    producer = Producer(broker)
    producer.add_partitions()
    producer.write(b"x")

    broker = restarted(disk)

    client = TopicClient(broker)
    assert client.values(isolation_level=1) == []
    broker.elapse(60_000)
    assert client.values(isolation_level=1) == []
    broker.elapse(10)
    fetched = client.fetch(isolation_level=1)
    assert [each.producer_id for each in fetched.aborted_transactions] == [producer.id_and_epoch[0]]


def test_producer_ids_are_given_out_once() -> None:
    disk = CrashingDisk()
    ids = set()
    for broker in (KeptBroker(disk), restarted(disk)):
        for _ in range(2):
            reported = broker.connect().ask(
                "init_producer_id", 1, transactional_id=None, transaction_timeout=60_000
            )
            ids.add(reported.producer_id)

    assert len(ids) == 4


def test_share_groups_are_where_they_were_and_those_that_were_deleted_are_not() -> None:
    disk = CrashingDisk()
    broker = KeptBroker(disk)
    topic_id = TopicId(create(broker, "plain", 2))
    states = broker.state.share_states
    for partition in (0, 1):
        states.initialize(GROUP, topic_id, partition, state_epoch=3, start_offset=0)
    states.read(GROUP, topic_id, 0, leader_epoch=5)
    released = StateBatch(first_offset=4, last_offset=6, delivery_state=0, delivery_count=2)
    written = ShareGroupOffset(
        state_epoch=3, leader_epoch=5, start_offset=4, delivery_complete_count=0, state_batches=(released,)
    )
    assert states.write(GROUP, topic_id, 0, written) is Errors.NONE
    states.delete(GROUP, topic_id, 1)
    broker.connect().ask("delete_topics", 4, topic_names=("doomed",), timeout=1000)

    again = restarted(disk).state.share_states

    assert again.read(GROUP, topic_id, 0, leader_epoch=4) is Errors.FENCED_LEADER_EPOCH
    assert again.read(GROUP, topic_id, 0, leader_epoch=5) == written
    assert again.read(GROUP, topic_id, 1, leader_epoch=5) is Errors.INVALID_REQUEST
