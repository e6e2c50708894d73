"""Choose the arguments of requests of share groups, of streams groups and of transactions."""

from typing import Final

from harness.scenario import streams
from harness.scenario.messages import Number
from harness.scenario.values import Ref
from harness.search.moves import MADE_TOPIC, OTHER_GROUP
from harness.search.situation import Situation

_TOPICS: Final = (("orders",), ("payments",), ("orders", "payments"), ("nowhere",), ())
_TOPOLOGIES: Final = (
    streams.topology(),
    streams.topology(streams.subtopology("0"), streams.subtopology("1", sources=("payments",))),
    streams.topology(streams.subtopology(sources=("orders", "payments"), copartitioned=(0, 1))),
    streams.topology(streams.subtopology(sources=("nowhere",))),
    streams.topology(epoch=1),
)
_WITH_STORE: Final = streams.topology(streams.subtopology(changelogs=(streams.topic_info("store"),)))
"""The coordinator has the store's topic created, which all conversations on a broker would share."""
_ODD_TOPOLOGIES: Final = (
    streams.topology(streams.subtopology(regexes=("pay.*",))),
    streams.topology(streams.subtopology(sources=(MADE_TOPIC,))),
    streams.topology(streams.subtopology("0"), streams.subtopology("1", sources=(MADE_TOPIC,))),
    streams.topology(streams.subtopology(regexes=("(",))),
    streams.topology(
        streams.subtopology("0", sinks=("through",)),
        streams.subtopology("1", sources=(), repartitions=(streams.topic_info("through"),)),
    ),
    streams.topology(
        streams.subtopology(
            "0", repartitions=(streams.topic_info("through", partitions=2),), sinks=("through",)
        )
    ),
    streams.topology(
        streams.subtopology(
            sources=("orders", "payments"),
            repartitions=(streams.topic_info("through", partitions=3),),
            copartitioned=(0,),
            copartitioned_repartitions=(0,),
        )
    ),
    streams.topology(streams.subtopology(changelogs=(streams.topic_info("store", partitions=1),))),
    streams.topology(streams.subtopology(sources=())),
)
"""Topologies that are rare, some of which are refused."""
_NO_TASKS: Final = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
_ACQUIRED: Final = (
    (0, 0, (1,)),
    (0, 1, (2,)),
    (0, 0, (3,)),
    (1, 1, (1,)),
    (0, 2, (1, 2, 3)),
    (5, 9, (1,)),
    (0, 2, (1,)),
    (0, 0, (0,)),
    (0, 0, (4,)),
    (0, 1, (1, 9)),
    (2, 1, (1,)),
)
"""First offset, last offset and acknowledgement types."""
_WITH_PRODUCER: Final = 3
"""The first version of InitProducerId that names the producer id from before."""
NOBODYS: Final = 9_999
"""A producer id that hardly any producer has."""


def share_group_heartbeat(at: Situation) -> None:
    """Join, stay in or leave a share group."""
    at.puts_version("ShareGroupHeartbeat", 0.1)
    if at.wants_to_join():
        at.arguments.update(member_epoch=0, subscribed_topic_names=at.rng.choice(_TOPICS[:3]))
        if not at.tempo.shares_broker:
            at.puts(0.15, "subscribed_topic_names", (MADE_TOPIC,), ("orders", MADE_TOPIC))
    else:
        at.puts(0.15, "member_epoch", -1, 0)
        at.puts_wrong_generation(0.15, "member_epoch")
        at.puts(0.15, "subscribed_topic_names", *_TOPICS)
    at.puts(0.06, "member_id", "", "nobody", *(at.id_of(each) for each in at.named))
    at.puts(0.05, "rack_id", "", "rack-1")
    at.puts_other_group(0.03)


def describe_share_group_offsets(at: Situation) -> None:
    """Describe the offsets of a share group."""
    at.puts_version("DescribeShareGroupOffsets")
    at.puts(0.6, "topics", {"orders": (0,)}, {"orders": (0, 9), "payments": (1,)}, {"nowhere": (0,)}, {})
    at.puts_other_group(0.15)


def alter_share_group_offsets(at: Situation) -> None:
    """Alter the offsets of a share group."""
    offsets = (
        {"orders": {0: 3}},
        {"payments": {1: 0, 9: 1}},
        {"nowhere": {0: 1}},
        {"orders": {0: -1}},
        {"orders": {-1: 3}},
    )
    at.arguments["topics"] = at.rng.choice(offsets)
    at.puts_other_group(0.15)


def delete_share_group_offsets(at: Situation) -> None:
    """Delete the offsets of a share group."""
    at.arguments["topics"] = at.rng.choice((("orders",), ("payments", "orders"), ("nowhere",), ()))
    at.puts_other_group(0.15)


def _share_session(at: Situation) -> None:
    at.arguments["share_session_epoch"] = at.session_epoch
    at.puts(0.08, "share_session_epoch", 0, -1, at.session_epoch + 1)
    at.puts(0.06, "member_id", "nobody", *(at.id_of(each) for each in at.named))
    at.puts_other_group(0.04)
    topic, partition = at.rng.choice((*("orders",) * 4, "payments")), at.rng.choice((*(0,) * 7, 1, 1, 9))
    count = at.rng.choice((1, 1, 1, 2)) if at.session_epoch and at.chance(0.5) else 0
    acknowledged = tuple(at.rng.sample(_ACQUIRED, count))
    at.puts(0.1, "is_renew_ack", *(True,))
    if at.acquired and at.chance(0.7):
        topic, partition, first, last, _ = at.rng.choice(at.acquired)
        acknowledged = _acknowledged(at, first, last)
        at.puts(0.1, "is_renew_ack", *(True,))
    at.puts(0.85 if at.session_epoch else 0.97, "topics", {topic: {partition: acknowledged}})


def _acknowledged(at: Situation, first: int, last: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Return acknowledgements of records that were acquired: of all, some, or each in its own way."""
    kind = at.rng.choice((1, 1, 2, 2, 3, 3, 4, 0))
    kinds = tuple(at.rng.choice((1, 2, 3, 3, 0)) for _ in range(last - first + 1))
    middle = first + (last - first) // 2
    return at.rng.choice(
        (
            ((first, last, (kind,)),),
            ((first, middle, (kind,)),),
            ((middle, last, (kind,)),),
            ((first, last, kinds),),
            ((first, first, (kind,)), (last, last, (1,))),
            ((first, last + 1, (kind,)),),
        )
    )


def share_fetch(at: Situation) -> None:
    """Fetch records, and acknowledge others."""
    at.puts_version("ShareFetch")
    if not at.tempo.shares_broker:
        at.puts(0.5, "version", at.versions["ShareFetch"][-1])
    _share_session(at)
    at.arguments["max_wait_ms"] = at.rng.choice((0, 500))
    at.puts(0.35, "max_records", 1, 2, 2, 0)
    at.puts(0.1, "batch_size", 1, 2)
    at.puts(0.08, "max_bytes", 1, 100)
    at.puts(0.3, "share_acquire_mode", *(1,))
    at.puts(0.08, "min_bytes", 0, 1_000)
    at.puts(0.08, "forgets", {"orders": (0,)}, {"payments": (1,)})


def share_acknowledge(at: Situation) -> None:
    """Acknowledge records."""
    at.puts_version("ShareAcknowledge")
    _share_session(at)


def metadata(at: Situation) -> None:
    """Request the ids of topics."""
    at.puts_version("Metadata", 0.2)
    at.arguments["topics"] = ("orders", "payments")
    if not at.tempo.shares_broker:
        at.puts(0.2, "topics", ("orders", "dlq.made"), ("made", "orders", "nowhere"))


def streams_group_heartbeat(at: Situation) -> None:
    """Join, stay in or leave a streams group."""
    at.puts_version("StreamsGroupHeartbeat", 0.1)
    joins = at.wants_to_join()
    if joins:
        at.arguments.update(
            _NO_TASKS,
            member_epoch=0,
            rebalance_timeout_ms=at.rng.choice(at.tempo.consumer_rebalances_ms),
            topology=at.rng.choices(_TOPOLOGIES, (14, 2, 2, 1, 1))[0],
            process_id=at.rng.choice(("process-1", "process-2")),
        )
        if not at.tempo.shares_broker:
            at.puts(0.3, "topology", _WITH_STORE)
    else:
        if at.chance(0.6):
            at.arguments.update(_NO_TASKS, active_tasks=Ref(at.speaker.name, "active_tasks"))
            # A group that takes a standby task away waits until its member says that it has none any more.
            at.puts(0.5, "standby_tasks", Ref(at.speaker.name, "standby_tasks"))
        at.puts(0.05, "active_tasks", (), ({"subtopology_id": "0", "partitions": (0, 9)},))
        at.puts(0.15, "member_epoch", -1, -2, 0)
        at.puts_wrong_generation(0.15, "member_epoch")
        at.puts(0.05, "topology", *_TOPOLOGIES)
        at.puts(0.08, "shutdown_application", *(True,))
    if not at.tempo.shares_broker:
        at.puts(0.05, "rebalance_timeout_ms", 1, 0)
    at.puts(0.05, "process_id", None, "", "process-2")
    at.puts(0.05, "rack_id", "", "rack-1")
    at.puts(0.05, "endpoint_information_epoch", 1, -1)
    if not at.tempo.shares_broker:
        _puts_more_of_streams(at, joins=joins)
    at.puts(0.06, "member_id", "", "nobody", *(at.id_of(each) for each in at.named))
    at.puts(0.05, "instance_id", None, "nowhere", *(each.instance_id for each in at.others))
    at.puts_other_group(0.03)


def _puts_more_of_streams(at: Situation, *, joins: bool) -> None:
    """Name what else a member may tell: where it is, what it has, and how far it has come."""
    endpoints = ({"host": "127.0.0.1", "port": 9}, {"host": "127.0.0.1", "port": 8})
    at.puts(0.4 if joins else 0.1, "user_endpoint", *endpoints)
    at.puts(0.12, "client_tags", {"zone": "a"}, {"zone": "b"}, {"rack": "a"}, {})
    progress = tuple(
        {
            "subtopology_id": at.rng.choice(("0", "0", "1")),
            "partition": each,
            "offset": at.rng.choice((0, 5, 99)),
        }
        for each in range(at.rng.choice((0, 1, 3)))
    )
    at.puts(0.15, "task_offsets", progress)
    at.puts(0.15, "task_end_offsets", progress)
    at.puts(0.08, "warmup_tasks", ({"subtopology_id": "0", "partitions": (0,)},), ())
    at.puts(0.04, "topology", *_ODD_TOPOLOGIES)


def init_producer_id(at: Situation) -> None:
    """Initialize the producer of the transactional id, of another one, or of none."""
    at.puts_version("InitProducerId")
    at.puts(0.15, "transactional_id", None, OTHER_GROUP)
    at.puts(0.2, "transaction_timeout_ms", 0, 5_000, 5_000, 900_001)
    if (
        at.next_in_transaction is not None
        and at.version("InitProducerId") >= _WITH_PRODUCER
        and at.chance(0.4)
    ):
        own_id, own_epoch = Ref(at.speaker.name, "producer_id"), Ref(at.speaker.name, "producer_epoch")
        at.arguments["producer_id"] = at.rng.choice((own_id, own_id, *_others_ids(at, own_id), -1))
        at.arguments["producer_epoch"] = at.rng.choice((own_epoch, own_epoch, own_epoch - 1, -1))


def _others_ids(at: Situation, own_id: Ref) -> tuple[Number, ...]:
    """Return producer ids of others; on a shared broker, nobody knows who got the next one."""
    return (NOBODYS,) if at.tempo.shares_broker else (NOBODYS, own_id + 1)


def _of_producer(at: Situation, *, writes: bool = False) -> None:
    """Name the actor as the producer, or another one, unless the log that others share would tell of it."""
    own_id, own_epoch = Ref(at.speaker.name, "producer_id"), Ref(at.speaker.name, "producer_epoch")
    at.arguments.update(producer_id=own_id, producer_epoch=own_epoch)
    at.puts(0.1, "producer_epoch", own_epoch - 1, own_epoch + 1)
    others = (own_id,) if writes and at.tempo.shares_broker else _others_ids(at, own_id)
    at.puts(0.06, "producer_id", *others)
    at.puts(0.05, "transactional_id", OTHER_GROUP)


def add_offsets_to_txn(at: Situation) -> None:
    """Add the offsets of a group to a transaction."""
    at.puts_version("AddOffsetsToTxn")
    _of_producer(at)
    at.puts_other_group(0.1)


def txn_offset_commit(at: Situation) -> None:
    """Commit offsets with a transaction, as a member or without membership."""
    at.puts_version("TxnOffsetCommit", 0.5)
    _of_producer(at, writes=True)
    at.arguments["topics"] = at.rng.choice(
        ({"orders": {0: 7}}, {"payments": {1: 5, 0: 1}}, {"nowhere": {0: 1}})
    )
    if at.chance(0.5):
        at.arguments.update(member_id=at.id_of(at.speaker), generation_id=at.own_generation)
        at.puts_wrong_id(0.1)
        at.puts_wrong_generation(0.15)
    at.puts_wrong_instance(0.06)
    at.puts_other_group(0.1)
    at.names_topics_by_id(api="TxnOffsetCommit", since=6)


def end_txn(at: Situation) -> None:
    """Commit or abort a transaction."""
    at.puts_version("EndTxn")
    _of_producer(at)
    at.arguments["committed"] = at.chance(0.6)
