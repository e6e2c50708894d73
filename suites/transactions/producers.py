"""Transactional producers, as used by the scenarios of this suite."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.scenario import OWN, TRANSACTION, Actor, AnswerRef, Conversation, GroupRef, Value, ask, expect
from harness.scenario.messages import Group, Own, Request
from harness.scenario.values import ProducedBatch

WITHIN_MS = 20_000
"""The first producer of a broker waits until the transaction log is created."""
ORDER_0 = {"orders": {0: 42}}
ONE_ANSWER = expect.response("TxnOffsetCommit", topics=({"partitions": ({"partition_index": 0},)},))
"""The answer to a commit of one partition; its error code depends on the version."""
TAKEN = expect.txn_offset_commit({"orders": {0: "NONE"}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """A producer with its id and epoch, and the requests that it sends."""

    actor: Actor
    transactional_id: Group
    producer_id: AnswerRef
    producer_epoch: AnswerRef

    def adds(self, *, version: int = 1, group_id: Group | Own = OWN) -> Request:
        """Return the request that adds a group's offsets to the transaction."""
        return ask.add_offsets_to_txn(
            version=version,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group_id,
        )

    def commits(
        self,
        topics: Mapping[str, Mapping[int, int | tuple[int, str | None]]],
        /,
        *,
        version: int = 2,
        group_id: Group | Own = OWN,
        **others: Value,
    ) -> Request:
        """Return the request that commits offsets in the transaction; `others` overrides its fields."""
        asked = ask.txn_offset_commit(
            version=version,
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topics=topics,
        )
        return ask.request(asked.api, asked.version, **{**asked.fields, **others})

    def adds_partition(self, topic: Group) -> Request:
        """Announce records of partition 0 of a topic."""
        return ask.request(
            "AddPartitionsToTxn",
            1,
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=({"name": topic, "partitions": (0,)},),
        )

    def produces(self, topic: Group, count: int, *, base_sequence: int = 0) -> Request:
        """Write a batch of so many records to partition 0 of a topic."""
        batch = ProducedBatch(count, self.producer_id, self.producer_epoch, base_sequence)
        return ask.produce_in_transaction(batch, transactional_id=self.transactional_id, topic=topic)

    def ends(self, *, committed: bool, version: int = 1) -> Request:
        """Return the request that commits or aborts the transaction."""
        return ask.end_txn(
            version=version,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=committed,
        )


def finds_its_coordinator(actor: Actor, transactional_id: GroupRef = TRANSACTION) -> None:
    """Wait for the transaction coordinator, which the first request creates."""
    actor.repeats(
        ask.find_coordinator(key=transactional_id, key_type=1),
        until=expect.find_coordinator(error_code="NONE"),
        within_ms=WITHIN_MS,
    )


def initialised(actor: Actor, transactional_id: GroupRef = TRANSACTION) -> Producer:
    """Make an actor a producer with a new transactional id."""
    finds_its_coordinator(actor, transactional_id)
    answer = actor.repeats(
        ask.init_producer_id(transactional_id=transactional_id),
        until=expect.init_producer_id(error_code="NONE", producer_epoch=0),
        within_ms=WITHIN_MS,
    )
    return Producer(
        actor=actor,
        transactional_id=transactional_id,
        producer_id=answer["producer_id"],
        producer_epoch=answer["producer_epoch"],
    )


def announced(actor: Actor, transactional_id: GroupRef = TRANSACTION) -> Producer:
    """Make an actor a producer whose transaction includes the actor's group."""
    producer = initialised(actor, transactional_id)
    announces(producer)
    return producer


def announces(producer: Producer, *, group_id: Group | Own = OWN) -> None:
    """Add a group's offsets to the transaction."""
    producer.actor.asks(producer.adds(group_id=group_id), error_code="NONE")


def pending(conversation: Conversation, name: str = "ana") -> Producer:
    """Return a producer whose open transaction has offset 42 of partition 0 of `orders`."""
    producer = announced(conversation.actor(name))
    producer.actor.asks(producer.commits(ORDER_0), TAKEN)
    return producer


def ends(producer: Producer, *, committed: bool) -> None:
    """Let a producer commit or abort, and expect success."""
    producer.actor.asks(producer.ends(committed=committed), error_code="NONE")


def is_through(producer: Producer, *, committed: bool) -> None:
    """Wait until every log has the marker; until then a repeated EndTxn gets CONCURRENT_TRANSACTIONS."""
    producer.actor.repeats(producer.ends(committed=committed), until=expect.end_txn(error_code="NONE"))


def sees(actor: Actor, offsets: dict[str, dict[int, int]]) -> None:
    """Wait until the group has these offsets, because committed ones take a while to become visible."""
    topics = {topic: tuple(partitions) for topic, partitions in offsets.items()}
    actor.repeats(ask.offset_fetch(topics=topics), until=expect.offset_fetch(offsets))
