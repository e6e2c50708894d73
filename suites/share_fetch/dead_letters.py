"""Dead letters: records that a share group rejects, or does not process in time, in a topic of their own."""

from collections.abc import Mapping

from harness.scenario import Conversation, GroupRef, Value, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, GAP, REJECT, RELEASE
from suites.share_fetch.deliveries import LOCK_MS, SHORT_LOCKS, goes_around
from suites.share_fetch.readers import FIRST_MS, Reader, another, has_state, reader, topic_of, writes

SENDS = "SharePartition#initiateDLQAndArchive (4.4.0)"
CHECKS = "ShareGroupDLQStateManager.ProduceRequestHandler#validateDlqTopic (4.4.0)"
WRITES = "ShareGroupDLQStateManager.ProduceRequestHandler#topicProduceData (4.4.0)"
RESUMES = "SharePartition#maybeResumeDlqArchiving (4.4.0)"
TOPIC = "errors.deadletterqueue.topic.name"
COPIES = "errors.deadletterqueue.copy.record.enable"
ENABLED = "errors.deadletterqueue.group.enable"
ANY_NAME = {"errors.deadletterqueue.topic.name.prefix": ""}
"""Topics of scenarios do not begin with `dlq.`, as the broker's default demands."""
CREATES = {"errors.deadletterqueue.auto.create.topics.enable": "true"}
TWO_DELIVERIES = {"group.share.delivery.count.limit": 2}
ARCHIVING, ARCHIVED = 3, 4


def configures(reader: Reader, letters: GroupRef | str, *, copies: bool = False) -> None:
    """Name the group's dead letter topic, which releases before 4.4 refuse."""
    # One by one: an older release names one of the names that it does not know, and which one is chance.
    for configs in ({TOPIC: letters}, {COPIES: str(copies).lower()}):
        reader.actor.asks(ask.group_configs(configs), expect.response("IncrementalAlterConfigs"))
    reader.actor.awaits_metadata()


def letters_of(
    conversation: Conversation,
    reader: Reader,
    *,
    copies: bool = False,
    partitions: int = 1,
    configs: Mapping[str, str | int] | None = None,
) -> Reader:
    """Return a member of the group that reads the group's dead letter topic."""
    letters = topic_of(conversation, reader.actor, partitions=partitions, name="letters")
    settings = ask.topic_configs(configs or {ENABLED: "true"}, topic=letters)
    reader.actor.asks(settings, expect.response("IncrementalAlterConfigs"))
    configures(reader, letters, copies=copies)
    return reads(conversation, letters, partition=partitions - 1)


def reads(conversation: Conversation, letters: GroupRef, *, partition: int = 0) -> Reader:
    """Return a member that reads the dead letter topic."""
    zoe = conversation.actor("zoe")
    has_state(zoe, letters, partitions=(partition,))
    return Reader(zoe, letters, partitions=(partition,))


def is_archived(reader: Reader, *batches: tuple[int, int, int, int], partition: int = 0) -> None:
    """Wait until the share state is as given: first and last offset, state, delivery count."""
    wanted = tuple(
        {"first_offset": first, "last_offset": last, "delivery_state": state, "delivery_count": count}
        for first, last, state, count in batches
    )
    reading = ask.read_share_group_state(reader.topic, partition=partition)
    reader.actor.repeats(reading, until=expect.share_state("Read", "NONE", state_batches=wanted))


def rejects(reader: Reader, *, last_offset: int) -> None:
    """Let a member reject all records in their first delivery, and wait until they are archived."""
    reader.fetches((0, last_offset, 1))
    reader.acknowledges((0, last_offset, (REJECT,)))
    is_archived(reader, (0, last_offset, ARCHIVED, 1))


@scenario("share_fetch/dead-letters/rejected", source=SENDS, clauses=("SF-36",), broker_config=ANY_NAME)
def rejected_records_are_dead_letters(conversation: Conversation) -> None:
    """Rejected records are archived, since 4.4 by way of the dead letter topic, with headers only."""
    ana = reader(conversation, 3)
    zoe = letters_of(conversation, ana)
    rejects(ana, last_offset=2)
    zoe.fetches(max_wait_ms=FIRST_MS, max_records=1)
    ana.gets_nothing()


@scenario("share_fetch/dead-letters/one-by-one", source=SENDS, clauses=("SF-36",), broker_config=ANY_NAME)
def only_rejected_records_are_dead_letters(conversation: Conversation) -> None:
    """Of released, accepted and missing records none is a dead letter; rejected ones come in their order."""
    ana = reader(conversation, 6)
    zoe = letters_of(conversation, ana)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 5, (RELEASE, GAP, REJECT, ACCEPT, REJECT, REJECT)))
    is_archived(ana, (0, 0, 0, 1), (1, 2, ARCHIVED, 1), (3, 3, 2, 1), (4, 5, ARCHIVED, 1))
    zoe.fetches(max_wait_ms=FIRST_MS)
    ana.fetches((0, 0, 2))


@scenario(
    "share_fetch/dead-letters/copies", source=WRITES, clauses=("SF-36", "SF-37"), broker_config=ANY_NAME
)
def dead_letters_may_be_copies(conversation: Conversation) -> None:
    """Since 4.4, with errors.deadletterqueue.copy.record.enable, dead letters have the keys and values."""
    ana = reader(conversation, 2, 2)
    zoe = letters_of(conversation, ana, copies=True)
    ana.fetches((0, 3, 1))
    ana.acknowledges((1, 3, (REJECT,)))
    is_archived(ana, (1, 3, ARCHIVED, 1))
    zoe.fetches(max_wait_ms=FIRST_MS)


@scenario(
    "share_fetch/dead-letters/limit",
    source=SENDS,
    clauses=("SF-26", "SF-36"),
    broker_config={**ANY_NAME, **TWO_DELIVERIES},
)
def records_delivered_in_vain_are_dead_letters(conversation: Conversation) -> None:
    """A record that is released after its last delivery is, since 4.4, a dead letter with another message."""
    ana = reader(conversation, 1)
    zoe = letters_of(conversation, ana)
    goes_around(ana, 2, of=1)
    is_archived(ana, (0, 0, ARCHIVED, 2))
    zoe.fetches(max_wait_ms=FIRST_MS)


@scenario(
    "share_fetch/dead-letters/limit-by-lock",
    source="SharePartition#releaseAcquisitionLockOnTimeoutForCompleteBatch (4.4.0)",
    clauses=("SF-26", "SF-36"),
    broker_config={**ANY_NAME, **TWO_DELIVERIES, **SHORT_LOCKS},
)
def records_whose_last_lock_ends_are_dead_letters(conversation: Conversation) -> None:
    """A record whose lock times out in its last delivery is, since 4.4, a dead letter."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana)
    for deliveries in (1, 2):
        ana.fetches((0, 1, deliveries))
        conversation.elapses(LOCK_MS + 300)
    is_archived(ana, (0, 1, ARCHIVED, 2))
    zoe.fetches(max_wait_ms=FIRST_MS)
    ana.gets_nothing()


@scenario(
    "share_fetch/dead-letters/limit-by-closing",
    source="SharePartition#releaseAcquiredRecordsForCompleteBatch (4.4.0)",
    clauses=("SF-15", "SF-36"),
    broker_config={**ANY_NAME, **TWO_DELIVERIES},
)
def records_of_a_closed_session_may_be_dead_letters(conversation: Conversation) -> None:
    """Records of a session that closes in their last delivery are, since 4.4, dead letters."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana)
    ana.fetches((0, 1, 1), version=2)
    ana.acknowledges((0, 1, (RELEASE,)), version=2)
    ana.fetches((0, 1, 2), version=2)
    ana.closes()
    is_archived(ana, (0, 1, ARCHIVED, 2))
    zoe.fetches(max_wait_ms=FIRST_MS)


@scenario(
    "share_fetch/dead-letters/makes-room",
    source=SENDS,
    clauses=("SF-30", "SF-36"),
    broker_config={**ANY_NAME, "group.share.partition.max.record.locks": 100},
)
def dead_letters_make_room(conversation: Conversation) -> None:
    """A ShareFetch that waits at the limit of records in flight gets more when others were archived."""
    ana = reader(conversation, 100, 2)
    letters_of(conversation, ana)
    bob = another(conversation, ana)
    # Up to 4.1 a fetch may exceed the limit by its last batch.
    ana.fetches((0, 99, 1), max_records=100)
    bob.sends_fetch()
    ana.acknowledges((0, 99, (REJECT,)))
    bob.is_given((100, 101, 1))


@scenario("share_fetch/dead-letters/wakes", source=SENDS, clauses=("SF-36",), broker_config=ANY_NAME)
def a_dead_letter_wakes_who_waits(conversation: Conversation) -> None:
    """A ShareFetch that waits for dead letters gets the next one, since 4.4."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana)
    ana.fetches((0, 1, 1))
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.sends_fetch(max_wait_ms=2_000)
    ana.acknowledges((1, 1, (REJECT,)))
    zoe.actor.receives(expect.share_fetch())


@scenario("share_fetch/dead-letters/again", source=SENDS, clauses=("SF-36",), broker_config=ANY_NAME)
def a_dead_letter_may_be_rejected(conversation: Conversation) -> None:
    """Since 4.4, a record of the dead letter topic that is rejected itself is written there again."""
    ana = reader(conversation, 1)
    zoe = letters_of(conversation, ana)
    writes(ana.actor, zoe.topic, 1)
    zoe.fetches((0, 0, 1))
    zoe.acknowledges((0, 0, (REJECT,)))
    is_archived(zoe, (0, 0, ARCHIVED, 1))
    zoe.fetches(max_wait_ms=200)


@scenario("share_fetch/dead-letters/partition", source=WRITES, clauses=("SF-36",), broker_config=ANY_NAME)
def a_dead_letter_goes_to_a_partition_by_its_own(conversation: Conversation) -> None:
    """Since 4.4, records of partition 3 go to partition 1 of a dead letter topic with two partitions."""
    ana = conversation.actor("ana")
    topic = topic_of(conversation, ana, partitions=4)
    writes(ana, topic, 2, partition=3)
    has_state(ana, topic, partitions=(3,))
    member = Reader(ana, topic, partitions=(3,))
    zoe = letters_of(conversation, member, partitions=2)
    member.fetches((0, 1, 1))
    member.acknowledges((0, 1, (REJECT,)), partition=3)
    is_archived(member, (0, 1, ARCHIVED, 1), partition=3)
    zoe.fetches(max_wait_ms=FIRST_MS)


@scenario(
    "share_fetch/dead-letters/not-enabled", source=CHECKS, clauses=("SF-36", "SF-38"), broker_config=ANY_NAME
)
def a_topic_has_to_agree(conversation: Conversation) -> None:
    """A topic without errors.deadletterqueue.group.enable gets no dead letters; records are archived."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana, configs={"segment.bytes": 1 << 20})
    rejects(ana, last_offset=1)
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing()
    ana.gets_nothing()


@scenario("share_fetch/dead-letters/prefix", source=CHECKS, clauses=("SF-38",))
def the_name_has_to_begin_as_the_broker_demands(conversation: Conversation) -> None:
    """A topic whose name does not begin with `dlq.` gets no dead letters by default; records are archived."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana)
    rejects(ana, last_offset=1)
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing()


@scenario(
    "share_fetch/dead-letters/prefix-fits", source=CHECKS, clauses=("SF-38", "SF-39"), broker_config=CREATES
)
def a_name_that_begins_so_is_taken(conversation: Conversation) -> None:
    """Since 4.4, a topic whose name begins with `dlq.` is created and gets dead letters."""
    ana = reader(conversation, 1)
    configures(ana, "dlq.orders")
    rejects(ana, last_offset=0)
    wanted: Value = {"name": "dlq.orders", "num_partitions": 1, "replication_factor": 1}
    creating = ask.request("CreateTopics", 4, topics=(wanted,), timeout_ms=5_000, validate_only=True)
    ana.actor.asks(creating, expect.response("CreateTopics"))


@scenario("share_fetch/dead-letters/missing", source=CHECKS, clauses=("SF-39",), broker_config=ANY_NAME)
def a_missing_topic_is_not_created(conversation: Conversation) -> None:
    """By default a dead letter topic that there is not is not created; records are archived."""
    ana = reader(conversation, 2)
    letters = conversation.group("letters")
    configures(ana, letters)
    rejects(ana, last_offset=1)
    ana.actor.asks(ask.create_topic(letters), expect.create_topic(error_code="NONE"))


@scenario(
    "share_fetch/dead-letters/created",
    source=CHECKS,
    clauses=("SF-39",),
    broker_config={**ANY_NAME, **CREATES},
)
def a_missing_topic_may_be_created(conversation: Conversation) -> None:
    """Since 4.4, with errors.deadletterqueue.auto.create.topics.enable, the topic is created."""
    ana = reader(conversation, 2)
    letters = conversation.group("letters")
    configures(ana, letters)
    ana.fetches((0, 1, 1))
    ana.acknowledges((1, 1, (REJECT,)))
    is_archived(ana, (1, 1, ARCHIVED, 1))
    ana.acknowledges((0, 0, (REJECT,)))
    is_archived(ana, (0, 1, ARCHIVED, 1))
    ana.actor.asks(ask.create_topic(letters), expect.response("CreateTopics"))
    ana.actor.awaits_metadata()
    ana.actor.looks_up(letters)
    zoe = reads(conversation, letters)
    zoe.fetches(max_wait_ms=FIRST_MS)


@scenario("share_fetch/dead-letters/compacted", source=WRITES, clauses=("SF-40",), broker_config=ANY_NAME)
def a_topic_that_refuses_gets_none(conversation: Conversation) -> None:
    """A compacted topic refuses dead letters, which have no keys; records are archived."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana, configs={ENABLED: "true", "cleanup.policy": "compact"})
    rejects(ana, last_offset=1)
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing()


@scenario("share_fetch/dead-letters/in-parts", source=WRITES, clauses=("SF-40",), broker_config=ANY_NAME)
def dead_letters_may_need_several_batches(conversation: Conversation) -> None:
    """Since 4.4, dead letters come in as many batches as the topic's max.message.bytes demands."""
    ana = reader(conversation, 3)
    zoe = letters_of(conversation, ana, copies=True, configs={ENABLED: "true", "max.message.bytes": 600})
    rejects(ana, last_offset=2)
    zoe.fetches(max_wait_ms=FIRST_MS, max_records=1)
    zoe.fetches(max_wait_ms=200)


@scenario("share_fetch/dead-letters/too-large", source=WRITES, clauses=("SF-40",), broker_config=ANY_NAME)
def a_dead_letter_may_be_too_large(conversation: Conversation) -> None:
    """A dead letter that exceeds the topic's max.message.bytes is lost, and so are those after it."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana, configs={ENABLED: "true", "max.message.bytes": 100})
    rejects(ana, last_offset=1)
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing()


def resumes(conversation: Conversation, delivery_count: int) -> None:
    """Let a leader read the state of records on their way to the dead letter topic."""
    ana = reader(conversation, 6)
    zoe = letters_of(conversation, ana)
    read = ((0, 0, 0, 1), (1, 2, ARCHIVING, delivery_count))
    writing = ask.write_share_group_state(ana.topic, batches=read)
    ana.actor.asks(writing, expect.share_state("Write", "NONE"))
    ana.fetches()
    zoe.fetches(max_wait_ms=FIRST_MS)
    # Brokers write the state when the dead letters are there; in 4.3 there are none, and nothing to wait for.
    conversation.elapses(1_000)
    ana.actor.asks(ask.read_share_group_state(ana.topic), expect.share_state("Read", "NONE"))


@scenario("share_fetch/dead-letters/resumed", source=RESUMES, clauses=("SF-41",), broker_config=ANY_NAME)
def archiving_is_resumed(conversation: Conversation) -> None:
    """Records in the state ARCHIVING are sent on by who reads it since 4.4; before 4.3 nobody can read it."""
    resumes(conversation, delivery_count=1)


@scenario(
    "share_fetch/dead-letters/resumed-in-vain", source=RESUMES, clauses=("SF-41",), broker_config=ANY_NAME
)
def archiving_is_resumed_after_the_last_delivery(conversation: Conversation) -> None:
    """Since 4.4, records in the state ARCHIVING count as rejected unless they were delivered too often."""
    resumes(conversation, delivery_count=5)


@scenario(
    "share_fetch/dead-letters/feature",
    source="SharePartition#isDLQEnabledForGroup (4.4.0)",
    clauses=("SF-36",),
    broker_config={**ANY_NAME, "share.version": "1"},
)
def a_cluster_may_lack_dead_letters(conversation: Conversation) -> None:
    """With the feature share.version at level 1 there are no dead letters; records are archived."""
    ana = reader(conversation, 2)
    zoe = letters_of(conversation, ana)
    rejects(ana, last_offset=1)
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing()


@scenario("share_fetch/dead-letters/taken-back", source=SENDS, clauses=("SF-36",), broker_config=ANY_NAME)
def a_group_may_do_without_its_topic_again(conversation: Conversation) -> None:
    """A group whose configuration no longer names a topic has no more dead letters."""
    ana = reader(conversation, 3)
    zoe = letters_of(conversation, ana)
    ana.fetches((0, 2, 1))
    ana.acknowledges((2, 2, (REJECT,)))
    is_archived(ana, (2, 2, ARCHIVED, 1))
    ana.actor.asks(ask.group_configs({TOPIC: ""}), expect.response("IncrementalAlterConfigs"))
    ana.actor.awaits_metadata()
    ana.acknowledges((1, 1, (REJECT,)))
    is_archived(ana, (1, 2, ARCHIVED, 1))
    zoe.fetches(max_wait_ms=FIRST_MS)
    zoe.gets_nothing(acks=())


@scenario("share_fetch/dead-letters/names", source="GroupConfig#validateValues (4.4.0)", clauses=("SF-42",))
def names_of_internal_topics_are_refused(conversation: Conversation) -> None:
    """A dead letter topic whose name begins with `__` is INVALID_CONFIG; before 4.4, any is."""
    ana = conversation.actor("ana")
    refused = expect.group_configs(error_code="INVALID_CONFIG")
    ana.asks(ask.group_configs({TOPIC: "__letters"}), refused)
    ana.asks(ask.group_configs({COPIES: "perhaps"}), refused)
    for configs in (
        {TOPIC: ""},
        {TOPIC: "dlq.letters"},
        {COPIES: "true"},
        {TOPIC: "no name!"},
        {TOPIC: None},
    ):
        ana.asks(ask.group_configs(configs), expect.response("IncrementalAlterConfigs"))
        ana.awaits_metadata()
        ana.asks(ask.described_group_configs(TOPIC, COPIES), expect.response("DescribeConfigs"))
