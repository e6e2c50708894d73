"""A real client and a real cluster: every connection to every broker goes through the tap."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from harness.invariants import check
from harness.tap import Tap
from harness.targets.base.interface import BrokerAction, closing
from harness.targets.spec import parse_target
from harness.tests.tapped import RUN_ID
from harness.trace.events import Event, EventKind

pytestmark = pytest.mark.broker

SPEC = "kafka:4.3.1*3"
TOPICS = ("orders", "payments")
RECORD_COUNT = 30
READ = ("Produce", "Fetch", "JoinGroup", "SyncGroup", "OffsetCommit", "FindCoordinator")
"""Not Metadata, behind whose last field librdkafka 2.16 sends three bytes."""
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Talked:
    found: Counter[str]
    """How many records of each topic a group of one was given."""
    known: set[str]
    """The brokers' addresses that it was told."""


def produced_and_consumed(bootstrap: str) -> Talked:
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "producer"})
    for number in range(RECORD_COUNT):
        for topic in TOPICS:
            producer.produce(topic, b"small", partition=number % 2)
    assert producer.flush(PATIENCE_S) == 0
    configured = {
        "bootstrap.servers": bootstrap,
        "client.id": "consumer",
        "group.id": "tapped",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(configured)
    consumer.subscribe(list(TOPICS))
    found: Counter[str] = Counter()
    try:
        while found.total() < RECORD_COUNT * len(TOPICS):
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"no more records after {found}"
            assert message.error() is None, message.error()
            found[str(message.topic())] += 1
        consumer.commit(asynchronous=False)
        known = consumer.list_topics(timeout=PATIENCE_S).brokers.values()
        return Talked(found=found, known={f"{broker.host}:{broker.port}" for broker in known})
    finally:
        consumer.close()


def answers(events: list[Event], api: str) -> list[Event]:
    return [event for event in events if event.kind == EventKind.RESPONSE and event.api == api]


async def test_all_that_clients_and_a_cluster_say_goes_through_the_tap_and_a_death_too(
    tmp_path: Path,
) -> None:
    broker = await parse_target(SPEC).start(broker_config={}, directory=tmp_path, progress=lambda _: None)
    async with closing(broker.open_session("kill")) as session:
        with Tap(broker.description.bootstrap, tmp_path / "tap") as tap:
            before = await asyncio.to_thread(produced_and_consumed, tap.bootstrap_servers)
            await session.carry_out(BrokerAction.KILL, {})
            after = await asyncio.to_thread(produced_and_consumed, tap.bootstrap_servers)
            events = list(tap.events(run_id=RUN_ID, target="kafka"))
            assert tap.failure() is None
        await broker.stop()

    for conversation in (before, after):
        assert conversation.found == dict.fromkeys(TOPICS, RECORD_COUNT)
        assert not conversation.known & set(broker.description.bootstrap.split(","))
    assert (len(before.known), len(after.known)) == (3, 2)
    produced_on = {(event.connection or "").partition(" ")[2] for event in answers(events, "Produce")}
    assert produced_on <= {"node 1", "node 2", "node 3"}
    assert len(produced_on) > 1
    assert answers(events, "OffsetCommit")
    assert all(event.fields is not None for event in events if event.api in READ)
    assert check(events) == ()
