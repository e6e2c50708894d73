"""The coordinator's broker goes away under a running group and comes back, or another one coordinates.

"Moves" means that another leader is elected and the former broker lives on. "Restarts" means an orderly stop
and start. "Killed" means SIGKILL: a broker that is alone starts again; in a cluster another takes over.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.clients.language import RANGE, Feature, Play, TestClient, Topic, assigned, client_script
from suites.clients.assignments import both_at_rest, settles_shared

_SESSION_MS = 30_000
_LONG_SESSION_MS = 60_000
_RETRIED = (
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT",
    "COMMIT_FAILED",
    "KAFKA_CONNECTION",
    "KAFKA_TIMEOUT",
    "_TIMED_OUT",
    "_TRANSPORT",
    "_WAIT_COORD",
)
"""The errors that a commit may get while its coordinator is away; the next commit succeeds."""


def _member(play: Play, name: str, instance: str = "", session_timeout_ms: int = _SESSION_MS) -> TestClient:
    instances = {"group_instance_id": instance, "group_remote_assignor": RANGE} if instance else {}
    return play.client(
        name,
        assignor=RANGE,
        auto_offset_reset="earliest",
        session_timeout_ms=session_timeout_ms,
        **instances,
    )


def _around(play: Play, *happenings: Callable[[], None]) -> None:
    """Let two members consume and commit before each of the given events, and after the last."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = _member(play, "ana"), _member(play, "bob")

    both_at_rest(play, orders, ana, bob)
    writer.produces(orders, each=5)
    play.delivers([ana, bob], orders.values())
    ana.commits()
    bob.commits()
    for number, happens in enumerate(happenings, start=1):
        happens()
        ana.sees_committed(dict.fromkeys(orders.partitions, 5 * number))
        writer.produces(orders, each=5)
        play.delivers([ana, bob], orders.values(since=5 * number))
        settles_shared(play, {ana: [orders], bob: [orders]})
        ana.commits()
        bob.commits()
    ana.sees_committed(dict.fromkeys(orders.partitions, 5 + 5 * len(happenings)))


@client_script(
    "clients/coordinator/restarts",
    source="GroupMetadataManager#loadGroupsAndOffsets",
    consumer_source="GroupMetadataManager#onLoaded",
)
def restarts(play: Play) -> None:
    """A restart of the coordinator loses no commit, and no partition has two owners before or after it."""
    _around(play, play.restarts_broker)


@client_script(
    "clients/coordinator/moves",
    source="GroupMetadataManager#loadGroupsAndOffsets",
    consumer_source="GroupMetadataManager#onLoaded",
)
def moves(play: Play) -> None:
    """A broker that takes over as coordinator has every commit, and no partition has two owners."""
    _around(play, play.moves_coordinator)


@client_script("clients/coordinator/moves-to-and-fro", source="GroupMetadataManager#removeGroupsForPartition")
def moves_to_and_fro(play: Play) -> None:
    """A coordinator that gets its groups back discards what it had before and uses the newest state."""
    _around(play, *[play.moves_coordinator] * 4)


@client_script(
    "clients/coordinator/killed",
    source="GroupMetadataManager#loadGroupsAndOffsets",
    consumer_source="GroupMetadataManager#onLoaded",
)
def killed(play: Play) -> None:
    """A killed coordinator has logged every commit that it acknowledged: no commit is lost."""
    _around(play, play.kills_broker)


@client_script(
    "clients/coordinator/killed-in-rebalance",
    source="GroupMetadataManager#loadGroup",
    consumer_source="GroupMetadataManager#onLoaded",
)
def killed_in_rebalance(play: Play) -> None:
    """A group of three whose coordinator is killed during a rebalance settles with the next one."""
    orders = play.topic("orders", partitions=6)
    writer = play.client("writer", group=None)
    ana, bob, cid = _member(play, "ana"), _member(play, "bob"), _member(play, "cid")

    both_at_rest(play, orders, ana, bob)
    writer.produces(orders, each=2)
    play.delivers([ana, bob], orders.values())
    ana.commits()
    bob.commits()
    cid.subscribes(orders)
    bob.notices("revoked")
    play.kills_broker()

    settles_shared(play, {ana: [orders], bob: [orders], cid: [orders]})
    writer.produces(orders, each=2)
    play.delivers([ana, bob, cid], orders.values(since=2))
    for each in (ana, bob, cid):
        each.commits()
    ana.sees_committed(dict.fromkeys(orders.partitions, 4))


@client_script(
    "clients/coordinator/killed-under-commits",
    source="GroupMetadataManager#storeOffsets",
    consumer_source="GroupMetadataManager#onLoaded",
)
def killed_under_commits(play: Play) -> None:
    """Of the commits in flight when the coordinator is killed, none that was acknowledged is lost."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana = _member(play, "ana")

    writer.produces(orders, each=500)
    ana.works(orders, may_be_told=_RETRIED)
    ana.notices("delivered")
    play.kills_broker()
    ana.stands_still()

    ana.has_lost_no_commit()
    ana.goes_on()
    play.delivers([ana], orders.values())
    ana.commits()
    ana.sees_committed(dict.fromkeys(orders.partitions, 500))


def _static_around(play: Play, happens: Callable[[], None]) -> None:
    """Let two static members consume and commit before and after an event."""
    orders = play.topic("orders", partitions=4)
    writer = play.client("writer", group=None)
    ana, bob = (
        _member(play, name, instance, _LONG_SESSION_MS) for name, instance in (("ana", "one"), ("bob", "two"))
    )

    both_at_rest(play, orders, ana, bob)
    writer.produces(orders, each=3)
    play.delivers([ana, bob], orders.values())
    ana.commits()
    bob.commits()
    happens()
    writer.produces(orders, each=3)

    play.delivers([ana, bob], orders.values(since=3))
    ana.commits()
    bob.commits()
    settles_shared(play, {ana: [orders], bob: [orders]}, callbacks={ana: [], bob: []})
    ana.sees_committed(dict.fromkeys(orders.partitions, 6))


@client_script(
    "clients/coordinator/static-members-restart",
    source="GroupMetadataManager#loadGroup (KIP-345)",
    consumer_source="GroupMetadataManager#onLoaded",
    uses=[Feature.STAYING],
)
def static_members_over_a_restart(play: Play) -> None:
    """A restart of the coordinator causes no rebalance for static members."""
    _static_around(play, play.restarts_broker)


@client_script(
    "clients/coordinator/static-members-move",
    source="GroupMetadataManager#loadGroup (KIP-345)",
    consumer_source="GroupMetadataManager#onLoaded",
)
def static_members_over_a_move(play: Play) -> None:
    """A move to another coordinator causes no rebalance for static members."""
    _static_around(play, play.moves_coordinator)


@client_script(
    "clients/coordinator/static-member-away",
    source="GroupCoordinator#updateStaticMemberAndRebalance",
    consumer_source="GroupMetadataManager#onLoaded",
    uses=[Feature.STAYING],
)
def static_member_away(play: Play) -> None:
    """A static member that was away during a coordinator restart gets its partitions when it is back."""
    orders = play.topic("orders", partitions=4)
    ana = _member(play, "ana", "one", _LONG_SESSION_MS)
    bob = _member(play, "bob", "two", _LONG_SESSION_MS)
    back = _member(play, "bob-is-back", "two", _LONG_SESSION_MS)

    both_at_rest(play, orders, ana, bob)
    # In a consumer group a crashed member is not replaced before its session ends.
    play.by_protocol(classic=bob.crashes, consumer=bob.closes)()
    play.restarts_broker()
    back.subscribes(orders)

    settles_shared(play, {ana: [orders], back: [orders]}, callbacks={ana: [], back: [assigned(2)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workshop:
    """An input topic with a writer and a result topic with a reader; a worker turns orders into results."""

    orders: Topic
    results: Topic
    writer: TestClient
    reader: TestClient


def _workshop(play: Play) -> _Workshop:
    return _Workshop(
        orders=play.topic("orders", partitions=1),
        results=play.topic("results", partitions=1),
        writer=play.client("writer", group=None),
        reader=play.client(
            "reader", group="readers", auto_offset_reset="earliest", isolation_level="read_committed"
        ),
    )


def _worker(play: Play, name: str) -> TestClient:
    return play.client(
        name,
        assignor=RANGE,
        auto_offset_reset="earliest",
        session_timeout_ms=_SESSION_MS,
        transactional_id="worker",
        isolation_level="read_committed",
    )


def _begins_with_three(worker: TestClient, shop: _Workshop) -> None:
    shop.writer.produces(shop.orders, each=3)
    worker.takes(3)
    worker.begins_transaction()
    worker.forwards(shop.results)
    worker.sends_offsets()


def _shows_three(play: Play, worker: TestClient, shop: _Workshop, *, since: int = 0) -> None:
    play.delivers([shop.reader], {"results-0": shop.orders.values(since=since)["orders-0"]})
    worker.sees_committed({"orders-0": since + 3})


def _transaction_around(play: Play, happens: Callable[[], None]) -> tuple[_Workshop, TestClient]:
    """Commit a transaction with records and offsets that is open during an event."""
    shop, ana = _workshop(play), _worker(play, "ana")
    ana.subscribes(shop.orders, polls=False)
    _begins_with_three(ana, shop)
    happens()
    ana.commits_transaction()
    shop.reader.assigns("results-0")

    _shows_three(play, ana, shop)
    return shop, ana


def _next_transaction(play: Play, worker: TestClient, shop: _Workshop) -> None:
    _begins_with_three(worker, shop)
    worker.commits_transaction()

    _shows_three(play, worker, shop, since=3)


@client_script(
    "clients/coordinator/transaction-over-a-restart",
    source="TransactionStateManager#loadTransactionMetadata",
    consumer_source="GroupMetadataManager#onLoaded",
)
def transaction_over_a_restart(play: Play) -> None:
    """A transaction that is open when its coordinator restarts can be committed, records and offsets."""
    _transaction_around(play, play.restarts_broker)


@client_script(
    "clients/coordinator/transaction-over-a-kill",
    source="TransactionStateManager#loadTransactionMetadata",
    uses=[Feature.OUTLIVING],
)
def transaction_over_a_kill(play: Play) -> None:
    """A transaction that is open when its coordinator is killed can be committed, records and offsets."""
    _transaction_around(play, play.kills_broker)


@client_script(
    "clients/coordinator/transaction-over-a-move", source="TransactionStateManager#loadTransactionMetadata"
)
def transaction_over_a_move(play: Play) -> None:
    """A transaction that is open when its coordinator moves, and the next one, are committed there."""
    shop, ana = _transaction_around(play, play.moves_coordinator)
    _next_transaction(play, ana, shop)


@client_script(
    "clients/coordinator/next-transaction-after-a-restart",
    source="TransactionStateManager#loadTransactionMetadata",
    uses=[Feature.NEXT_TRANSACTION],
)
def next_transaction_after_a_restart(play: Play) -> None:
    """A producer whose coordinator restarted during a transaction commits the next one there."""
    shop, ana = _transaction_around(play, play.restarts_broker)
    _next_transaction(play, ana, shop)


@client_script(
    "clients/coordinator/next-transaction-after-a-kill",
    source="TransactionStateManager#loadTransactionMetadata",
    uses=[Feature.NEXT_TRANSACTION, Feature.OUTLIVING],
)
def next_transaction_after_a_kill(play: Play) -> None:
    """A producer whose coordinator was killed during a transaction commits the next one after failover."""
    shop, ana = _transaction_around(play, play.kills_broker)
    _next_transaction(play, ana, shop)


@client_script(
    "clients/coordinator/next-producer-after-a-kill",
    source="TransactionCoordinator#handleInitProducerId",
    uses=[Feature.OUTLIVING],
)
def next_producer_after_a_kill(play: Play) -> None:
    """After a coordinator is killed, a new producer with the same id continues after the last commit."""
    shop, ana = _transaction_around(play, play.kills_broker)
    ana.closes()
    bob = _worker(play, "bob")
    bob.subscribes(shop.orders, polls=False)
    _next_transaction(play, bob, shop)


@client_script(
    "clients/coordinator/zombie-over-a-restart", source="TransactionCoordinator#handleInitProducerId"
)
def zombie_over_a_restart(play: Play) -> None:
    """A restarted coordinator aborts a crashed producer's open transaction before its successor begins."""
    orders = play.topic("orders", partitions=1)
    results = play.topic("results", partitions=1)
    writer = play.client("writer", group=None)
    ana = play.client("ana", assignor=RANGE, auto_offset_reset="earliest", transactional_id="worker")
    bob = play.client("bob", group=None, transactional_id="worker")
    reader = play.client(
        "reader", group="readers", auto_offset_reset="earliest", isolation_level="read_committed"
    )

    writer.produces(orders, each=2)
    ana.subscribes(orders, polls=False)
    ana.takes(2)
    ana.begins_transaction()
    ana.forwards(results)
    ana.sends_offsets()
    ana.crashes()
    play.restarts_broker()
    bob.begins_transaction()
    bob.produces(results, each=1)
    bob.commits_transaction()
    reader.assigns("results-0")

    play.delivers([reader], results.values())
