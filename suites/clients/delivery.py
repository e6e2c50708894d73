"""How often a record is processed when a consumer crashes between processing and commit."""

from harness.clients.language import RANGE, Play, TestClient, client_script

_SESSION_MS = 6000


def _worker(play: Play, name: str, **settings: str) -> TestClient:
    return play.client(
        name,
        assignor=RANGE,
        auto_offset_reset="earliest",
        session_timeout_ms=_SESSION_MS,
        **settings,
    )


@client_script(
    "clients/delivery/at-most-once",
    source="KafkaConsumer#commitSync",
    consumer_source="KafkaConsumer#commitSync",
)
def at_most_once(play: Play) -> None:
    """Committing before processing loses only the records in hand at a crash; none is processed twice."""
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    ana, bob = _worker(play, "ana"), _worker(play, "bob")

    writer.produces(orders, each=10)
    ana.subscribes(orders, polls=False)
    ana.takes(3)
    ana.commits()
    ana.processes()
    ana.takes(4)
    ana.commits()
    ana.crashes()
    bob.subscribes(orders, polls=False)
    bob.takes(3)
    bob.commits()
    bob.processes()

    bob.sees_committed({"orders-0": 10})
    play.accounts(orders, {f"orders-0#{number}": 1 for number in (0, 1, 2, 7, 8, 9)})


@client_script(
    "clients/delivery/at-least-once",
    source="KafkaConsumer#commitSync",
    consumer_source="KafkaConsumer#commitSync",
)
def at_least_once(play: Play) -> None:
    """Processing before committing repeats the uncommitted records after a crash; none is lost."""
    orders = play.topic("orders", partitions=1)
    writer = play.client("writer", group=None)
    ana, bob = _worker(play, "ana"), _worker(play, "bob")

    writer.produces(orders, each=10)
    ana.subscribes(orders, polls=False)
    ana.takes(3)
    ana.processes()
    ana.commits()
    ana.takes(4)
    ana.processes()
    ana.crashes()
    bob.subscribes(orders, polls=False)
    bob.takes(7)
    bob.processes()
    bob.commits()

    bob.sees_committed({"orders-0": 10})
    play.accounts(orders, {f"orders-0#{number}": 2 if number in range(3, 7) else 1 for number in range(10)})


@client_script(
    "clients/delivery/exactly-once",
    source="KIP-98, KIP-447",
    consumer_source="ConsumerGroup#validateOffsetCommit (KIP-447, KIP-848)",
)
def exactly_once(play: Play) -> None:
    """With results and offsets in one transaction, each record is processed exactly once despite a crash."""
    orders = play.topic("orders", partitions=1)
    results = play.topic("results", partitions=1)
    writer = play.client("writer", group=None)
    ana = _worker(play, "ana", transactional_id="worker", isolation_level="read_committed")
    bob = _worker(play, "bob", transactional_id="worker", isolation_level="read_committed")
    reader = play.client(
        "reader", group="readers", auto_offset_reset="earliest", isolation_level="read_committed"
    )

    writer.produces(orders, each=10)
    ana.subscribes(orders, polls=False)
    ana.takes(3)
    ana.begins_transaction()
    ana.forwards(results)
    ana.sends_offsets()
    ana.commits_transaction()
    ana.takes(4)
    ana.begins_transaction()
    ana.forwards(results)
    ana.sends_offsets()
    ana.crashes()
    bob.begins_transaction()
    bob.subscribes(orders, polls=False)
    bob.takes(7)
    bob.forwards(results)
    bob.sends_offsets()
    bob.commits_transaction()
    reader.assigns("results-0")

    play.delivers([reader], {"results-0": orders.values()["orders-0"]})
    bob.sees_committed({"orders-0": 10})


@client_script(
    "clients/delivery/aborted",
    source="KIP-98",
    consumer_source="KIP-98",
)
def aborted(play: Play) -> None:
    """A read_committed consumer sees neither results nor offsets of an aborted transaction."""
    orders = play.topic("orders", partitions=1)
    results = play.topic("results", partitions=1)
    writer = play.client("writer", group=None)
    ana = _worker(play, "ana", transactional_id="worker")
    reader = play.client(
        "reader", group="readers", auto_offset_reset="earliest", isolation_level="read_committed"
    )

    writer.produces(orders, each=4)
    ana.subscribes(orders, polls=False)
    ana.takes(2)
    ana.begins_transaction()
    ana.forwards(results)
    ana.sends_offsets()
    ana.aborts_transaction()
    ana.sees_committed({"orders-0": None})
    ana.takes(2)
    ana.begins_transaction()
    ana.forwards(results)
    ana.sends_offsets()
    ana.commits_transaction()
    reader.assigns("results-0")

    play.delivers([reader], {"results-0": orders.values(since=2)["orders-0"]})
    ana.sees_committed({"orders-0": 4})


@client_script(
    "clients/delivery/zombie-is-fenced",
    source="KIP-98, KIP-447",
    consumer_source="KIP-98, KIP-447",
)
def zombie_is_fenced(play: Play) -> None:
    """A new producer with the same transactional id fences the older one, whose transaction is aborted."""
    orders = play.topic("orders", partitions=1)
    results = play.topic("results", partitions=1)
    writer = play.client("writer", group=None)
    ana = _worker(play, "ana", transactional_id="worker")
    bob = play.client("bob", group=None, transactional_id="worker")
    reader = play.client(
        "reader", group="readers", auto_offset_reset="earliest", isolation_level="read_committed"
    )

    writer.produces(orders, each=2)
    ana.subscribes(orders, polls=False)
    ana.takes(2)
    ana.begins_transaction()
    ana.forwards(results)
    bob.begins_transaction()
    ana.commits_transaction(refused_as=["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "_FENCED", "_FATAL"])
    bob.produces(results, each=1)
    bob.commits_transaction()
    reader.assigns("results-0")

    play.delivers([reader], results.values())


@client_script(
    "clients/delivery/goes-on-where-it-was",
    source="KafkaConsumer#committed",
    consumer_source="KafkaConsumer#committed",
)
def goes_on_where_it_was(play: Play) -> None:
    """A group that had no members for a while continues from its committed offsets."""
    orders = play.topic("orders", partitions=2)
    writer = play.client("writer", group=None)
    ana, bob = _worker(play, "ana"), _worker(play, "bob")

    writer.produces(orders, each=5)
    ana.subscribes(orders)
    play.delivers([ana], orders.values())
    ana.commits()
    ana.closes()
    writer.produces(orders, each=5)
    bob.subscribes(orders)

    play.delivers([bob], orders.values(since=5))
