"""Choose the arguments of requests about transactions with records, and states of share partitions."""

from collections.abc import Callable
from typing import Final

from harness.scenario.ask import TRANSACTION
from harness.scenario.values import ProducedBatch, Ref, TopicId
from harness.search.moves import OTHER_GROUP
from harness.search.other_requests import NOBODYS
from harness.search.situation import Arguments, Situation
from harness.search.tool_requests import MAIN, of_forms, topic_of

_OFFSETS_TOPIC: Final = "__consumer_offsets"


def _producer_of(at: Situation) -> Arguments:
    return {
        "producer_id": Ref(at.speaker.name, "producer_id"),
        "producer_epoch": Ref(at.speaker.name, "producer_epoch"),
    }


def _partitions(at: Situation) -> Arguments:
    name, partitions = at.rng.choice(
        (("orders", (0,)), ("orders", (0, 1)), ("payments", (1,)), ("nowhere", (0,)))
    )
    producer, topics = _producer_of(at), ({"name": name, "partitions": partitions},)
    alone = {"transactional_id": TRANSACTION, **producer, "topics": topics}
    return {
        **{f"v3_and_below_{key}": value for key, value in alone.items()},
        "transactions": ({**alone, "verify_only": at.chance(0.5)},),
    }


def _markers(at: Situation) -> Arguments:
    topics = (
        {"name": _OFFSETS_TOPIC, "partition_indexes": (at.rng.choice((0, 1, 17)),)},
        {"name": topic_of(at), "partition_indexes": (0, 1)},
    )
    marker = {
        **_producer_of(at),
        "transaction_result": at.chance(0.5),
        "topics": at.rng.choice((topics, topics[:1], topics[1:])),
        "coordinator_epoch": at.rng.choice((0, 0, 1)),
    }
    return {"markers": (marker,)}


def _listed(at: Situation) -> Arguments:
    states = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareCommit", "unknown")
    return {
        "state_filters": tuple(at.rng.sample(states, at.rng.choice((0, 0, 1, 2)))),
        "producer_id_filters": at.rng.choice(((), (), (Ref(at.speaker.name, "producer_id"),), (NOBODYS,))),
        "duration_filter": at.rng.choice((-1, -1, 0, 1_000)),
        "transactional_id_pattern": at.rng.choice((None, ".*", "none", "(")),
    }


def produce(at: Situation) -> None:
    """Write some records; a producer may do so in its transaction."""
    if at.next_in_transaction is not None and at.chance(0.7):
        batch = ProducedBatch(
            count=at.rng.choice((1, 2)),
            producer_id=Ref(at.speaker.name, "producer_id"),
            producer_epoch=Ref(at.speaker.name, "producer_epoch"),
            base_sequence=at.rng.choice((0, 0, 0, 1, 2)),
        )
        name, partition = topic_of(at), {"index": at.rng.choice((0, 0, 1)), "records": batch}
        at.puts_version("Produce", 0.3)
        at.arguments.update(
            transactional_id=TRANSACTION,
            acks=-1,
            timeout_ms=5_000,
            topic_data=({"name": name, "topic_id": TopicId(name), "partition_data": (partition,)},),
        )
        return
    at.arguments.update(topic=topic_of(at), partition=at.rng.choice((0, 1)))
    at.arguments["size"] = at.rng.choice((1, 3))


add_partitions_to_txn: Final = of_forms("AddPartitionsToTxn", _partitions)
write_txn_markers: Final = of_forms("WriteTxnMarkers", _markers)
list_transactions: Final = of_forms("ListTransactions", _listed)


def _state(**choices: Callable[[Situation], object]) -> Callable[[Situation], Arguments]:
    """Return a form of a request about a share partition, with other values each time."""

    def chosen(at: Situation) -> Arguments:
        fields = {name: choose(at) for name, choose in choices.items()}
        partition = {"partition": at.rng.choice((0, 0, 0, 1)), **fields}
        topic = {"topic_id": TopicId(topic_of(at)), "partitions": (partition,)}
        group = at.rng.choice((MAIN, MAIN, MAIN, MAIN, OTHER_GROUP))
        return {"group_id": group, "topics": (topic,)}

    return chosen


def _one_of(*values: object) -> Callable[[Situation], object]:
    return lambda at: at.rng.choice(values)


_BATCHES: Final = (
    (),
    ({"first_offset": 0, "last_offset": 1, "delivery_state": 2, "delivery_count": 1},),
    ({"first_offset": 1, "last_offset": 2, "delivery_state": 0, "delivery_count": 1},),
    (
        {"first_offset": 0, "last_offset": 0, "delivery_state": 4, "delivery_count": 1},
        {"first_offset": 3, "last_offset": 5, "delivery_state": 0, "delivery_count": 2},
    ),
)
"""Batches of the state of a share partition. Source: RecordState."""
initialize_share_group_state: Final = of_forms(
    "InitializeShareGroupState",
    _state(state_epoch=_one_of(0, 0, 1, 2), start_offset=_one_of(0, -1, 2)),
)
read_share_group_state: Final = of_forms("ReadShareGroupState", _state(leader_epoch=_one_of(0, 0, 1)))
write_share_group_state: Final = of_forms(
    "WriteShareGroupState",
    _state(
        state_epoch=_one_of(0, 0, 1, 2),
        leader_epoch=_one_of(0, 0, 1),
        start_offset=_one_of(-1, 0, 1, 2),
        delivery_complete_count=_one_of(-1, 0, 1),
        state_batches=_one_of(*_BATCHES),
    ),
)
delete_share_group_state: Final = of_forms("DeleteShareGroupState", _state())
read_share_group_state_summary: Final = of_forms(
    "ReadShareGroupStateSummary", _state(leader_epoch=_one_of(0, 0, 1))
)


def _topology_described(at: Situation) -> Arguments:
    node = {"name": "source", "node_type": at.rng.choice((0, 1, 2)), "source_topics": ("orders",)}
    described = {"subtopologies": ({"subtopology_id": "0", "nodes": (node,)},), "global_stores": ()}
    return {
        "group_id": MAIN,
        "member_id": at.id_of(at.speaker),
        "topology_epoch": at.rng.choice((0, 1)),
        "topology_description": described,
    }


update_topology_description: Final = of_forms("StreamsGroupTopologyDescriptionUpdate", _topology_described)
