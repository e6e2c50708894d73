"""What a ShareFetch returns of open, committed and aborted transactions."""

from harness.scenario import Conversation, ask, expect, scenario
from suites.share_fetch.readers import Reader, has_state, topic_of, writes
from suites.transactions.producers import Producer, ends, initialised, is_through

FILTERS = "SharePartition#filterAbortedTransactionalAcquiredRecords"
READS = "GroupConfig#shareIsolationLevel"


def readers(conversation: Conversation, *, reads_committed: bool) -> tuple[Reader, Producer]:
    """Return a member that reads a topic of two records, and a producer of transactions."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 2)
    if reads_committed:
        level = {"share.isolation.level": "read_committed"}
        actor.asks(ask.group_configs(level), expect.group_configs(error_code="NONE"))
        actor.awaits_metadata()
    has_state(actor, topic)
    return Reader(actor, topic), initialised(conversation.actor("zoe"))


def writes_in_transaction(producer: Producer, reader: Reader, count: int, *, base_sequence: int = 0) -> None:
    """Open a transaction, and write records in it."""
    adding = producer.adds_partition(reader.topic)
    producer.actor.repeats(
        adding,
        until=expect.response(
            "AddPartitionsToTxn",
            results_by_topic_v3_and_below=({"results_by_partition": ({"partition_error_code": "NONE"},)},),
        ),
    )
    producing = producer.produces(reader.topic, count, base_sequence=base_sequence)
    producer.actor.asks(producing, expect.response("Produce"))


@scenario("share_fetch/isolation/uncommitted", source=READS, clauses=("SF-32",))
def by_default_open_transactions_are_read(conversation: Conversation) -> None:
    """By default a ShareFetch returns records of open transactions, and of aborted ones."""
    ana, zoe = readers(conversation, reads_committed=False)
    writes_in_transaction(zoe, ana, 3)
    ana.fetches((0, 1, 1), (2, 4, 1), batch_size=1)
    ends(zoe, committed=False)
    is_through(zoe, committed=False)
    writes(ana.actor, ana.topic, 2)
    ana.fetches((5, 7, 1))


@scenario("share_fetch/isolation/committed", source=READS, clauses=("SF-32",))
def records_come_once_they_are_committed(conversation: Conversation) -> None:
    """With read_committed a ShareFetch returns the records of a transaction once it is committed."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_in_transaction(zoe, ana, 3)
    ana.fetches((0, 1, 1))
    ana.gets_nothing()
    ends(zoe, committed=True)
    is_through(zoe, committed=True)
    ana.fetches((2, 5, 1))


@scenario("share_fetch/isolation/aborted", source=FILTERS, clauses=("SF-32",))
def records_of_an_aborted_transaction_never_come(conversation: Conversation) -> None:
    """With read_committed a ShareFetch returns the marker of an aborted transaction, but not its records."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_in_transaction(zoe, ana, 3)
    ana.fetches((0, 1, 1))
    ends(zoe, committed=False)
    is_through(zoe, committed=False)
    ana.fetches((5, 5, 1))
    writes(ana.actor, ana.topic, 2)
    ana.fetches((6, 7, 1))


@scenario("share_fetch/isolation/behind-an-open-one", source=READS, clauses=("SF-32",))
def what_comes_behind_an_open_transaction_waits(conversation: Conversation) -> None:
    """With read_committed a ShareFetch returns no records behind an open transaction until it ends."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_in_transaction(zoe, ana, 1)
    writes(ana.actor, ana.topic, 2)
    ana.fetches((0, 1, 1))
    ana.gets_nothing()
    ends(zoe, committed=True)
    is_through(zoe, committed=True)
    ana.fetches((2, 5, 1))
