"""How long a member may keep records, and how often they are delivered."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE, RENEW
from suites.share_fetch.readers import RELEASED_MS, Reader, another, reader, writes

TIMES_OUT = "SharePartition#releaseAcquisitionLockOnTimeout"
COUNTS = "InFlightState#tryUpdateState"
THROTTLES = "SharePartition#shouldThrottleRecordsDelivery"
SHORT_LOCKS = {
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.record.lock.duration.ms": 1_000,
}
LOCK_MS = 1_000
BATCH_OF_TWO = 87
"""The size of a batch of two records in a log."""
PART_MS, REST_MS = 600, 700
"""Parts of a lock: it outlasts each part, but not both together."""


def goes_around(member: Reader, count: int, *, of: int) -> None:
    """Let a member fetch and release all records, until they were delivered the given number of times."""
    for deliveries in range(1, count + 1):
        member.fetches((0, of - 1, deliveries))
        member.acknowledges((0, of - 1, (RELEASE,)))


@scenario("share_fetch/deliveries/lock-ends", source=TIMES_OUT, clauses=("SF-25",), broker_config=SHORT_LOCKS)
def records_return_when_their_lock_ends(conversation: Conversation) -> None:
    """Records whose acquisition lock times out go to the next member that fetches."""
    ana = reader(conversation, 3)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1))
    conversation.elapses(LOCK_MS + 300)
    bob.fetches((0, 2, 2))
    ana.acknowledges((0, 2, (ACCEPT,)), error_code="INVALID_RECORD_STATE")


@scenario(
    "share_fetch/deliveries/lock-told",
    source="ShareGroupConfigProvider#recordLockDurationMsOrDefault",
    clauses=("SF-08", "SF-25"),
    broker_config=SHORT_LOCKS,
)
def a_member_learns_how_long_it_has(conversation: Conversation) -> None:
    """ShareFetch returns the acquisition lock timeout."""
    ana = reader(conversation, 1)
    ana.sends_fetch()
    ana.actor.receives(expect.share_fetch(acquired={ana.topic: {0: ((0, 0, 1),)}}, lock_timeout_ms=LOCK_MS))


@scenario(
    "share_fetch/deliveries/lock-wakes", source=TIMES_OUT, clauses=("SF-25",), broker_config=SHORT_LOCKS
)
def a_lock_that_ends_wakes_who_waits(conversation: Conversation) -> None:
    """A waiting ShareFetch acquires records whose lock times out."""
    ana = reader(conversation, 3)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1))
    bob.sends_fetch(max_wait_ms=4_000)
    bob.is_given((0, 2, 2))


@scenario(
    "share_fetch/deliveries/lock-of-the-rest", source=TIMES_OUT, clauses=("SF-25",), broker_config=SHORT_LOCKS
)
def only_what_is_left_returns(conversation: Conversation) -> None:
    """When an acquisition lock times out, only unacknowledged records are delivered again."""
    ana = reader(conversation, 5)
    ana.fetches((0, 4, 1))
    ana.acknowledges((1, 2, (ACCEPT,)))
    conversation.elapses(LOCK_MS + 300)
    ana.fetches()
    ana.acknowledges((0, 0, (ACCEPT,)), (3, 4, (ACCEPT,)))
    ana.gets_nothing()


@scenario(
    "share_fetch/deliveries/lock-renewed",
    source="SharePartition#acknowledgeCompleteBatch, KIP-1222",
    clauses=("SF-12", "SF-25"),
    broker_config=SHORT_LOCKS,
)
def a_renewed_lock_begins_anew(conversation: Conversation) -> None:
    """A renewal restarts the acquisition lock of a member's records."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    conversation.elapses(PART_MS)
    ana.acknowledges((0, 1, (RENEW,)), version=2, renews=True)
    conversation.elapses(REST_MS)
    bob.sends_fetch(max_wait_ms=100)
    bob.actor.receives(expect.share_fetch())
    ana.acknowledges((0, 1, (ACCEPT,)))


@scenario(
    "share_fetch/deliveries/lock-of-one-renewed",
    source="SharePartition#acknowledgePerOffsetBatchRecords, KIP-1222",
    clauses=("SF-12", "SF-25"),
    broker_config=SHORT_LOCKS,
)
def one_record_may_be_renewed(conversation: Conversation) -> None:
    """A renewal of one record does not affect the lock of the others."""
    ana = reader(conversation, 3)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1))
    conversation.elapses(PART_MS)
    ana.acknowledges((1, 1, (RENEW,)), version=2, renews=True)
    conversation.elapses(REST_MS)
    bob.fetches((0, 0, 2), (2, 2, 2))
    ana.acknowledges((1, 1, (ACCEPT,)))


@scenario(
    "share_fetch/deliveries/lock-of-a-group",
    source="ShareGroupConfigProvider#recordLockDurationMsOrDefault",
    clauses=("SF-25",),
    broker_config={"group.share.min.record.lock.duration.ms": 1_000},
)
def a_group_has_its_own_lock_duration(conversation: Conversation) -> None:
    """share.record.lock.duration.ms of a group applies to records acquired afterwards."""
    ana = reader(conversation, 2)
    configs = ask.group_configs({"share.record.lock.duration.ms": LOCK_MS})
    ana.actor.asks(configs, expect.group_configs(error_code="NONE"))
    ana.actor.awaits_metadata()
    ana.fetches((0, 1, 1))
    conversation.elapses(LOCK_MS + 300)
    ana.fetches((0, 1, 2))


@scenario(
    "share_fetch/deliveries/limit",
    source=COUNTS,
    clauses=("SF-26",),
    broker_config={"group.share.delivery.count.limit": 2},
)
def records_are_delivered_so_often(conversation: Conversation) -> None:
    """A record that is released after its last delivery is not delivered again."""
    ana = reader(conversation, 1)
    goes_around(ana, 2, of=1)
    ana.gets_nothing()
    writes(ana.actor, ana.topic, 1)
    ana.fetches((1, 1, 1))


@scenario(
    "share_fetch/deliveries/limit-by-lock",
    source=TIMES_OUT,
    clauses=("SF-26",),
    broker_config={**SHORT_LOCKS, "group.share.delivery.count.limit": 2},
)
def deliveries_count_by_locks_too(conversation: Conversation) -> None:
    """A record whose last lock times out is not delivered again."""
    ana = reader(conversation, 1)
    for deliveries in (1, 2):
        ana.fetches((0, 0, deliveries))
        conversation.elapses(LOCK_MS + 300)
    ana.gets_nothing()


@scenario("share_fetch/deliveries/limit-by-default", source=COUNTS, clauses=("SF-26",))
def a_record_is_delivered_five_times(conversation: Conversation) -> None:
    """By default a record is delivered five times."""
    ana = reader(conversation, 1)
    goes_around(ana, 5, of=1)
    ana.gets_nothing()


@scenario(
    "share_fetch/deliveries/limit-of-a-group",
    source="ShareGroupConfigProvider#deliveryCountLimitOrDefault",
    clauses=("SF-26",),
)
def a_group_has_its_own_limit(conversation: Conversation) -> None:
    """share.delivery.count.limit of a group applies since 4.3; before, there is no such configuration."""
    ana = reader(conversation, 1)
    configs = ask.group_configs({"share.delivery.count.limit": 2})
    ana.actor.asks(configs, expect.response("IncrementalAlterConfigs"))
    ana.actor.awaits_metadata()
    goes_around(ana, 2, of=1)
    ana.fetches(max_wait_ms=200)


@scenario("share_fetch/deliveries/throttled", source=THROTTLES, clauses=("SF-27",))
def records_delivered_often_come_in_few(conversation: Conversation) -> None:
    """From the fourth delivery on, a batch is delivered in ever smaller parts, finally single records."""
    ana = reader(conversation, 8)
    goes_around(ana, 3, of=8)
    for _ in range(4):
        ana.fetches(max_wait_ms=200)


@scenario("share_fetch/deliveries/throttled-apart", source=THROTTLES, clauses=("SF-27",))
def records_delivered_often_come_by_themselves(conversation: Conversation) -> None:
    """Records that were delivered often are not delivered together with new ones."""
    ana = reader(conversation, 4)
    goes_around(ana, 3, of=4)
    writes(ana.actor, ana.topic, 3)
    for _ in range(3):
        ana.fetches(max_wait_ms=200)


@scenario(
    "share_fetch/deliveries/close-counts",
    source="SharePartition#releaseAcquiredRecordsForCompleteBatch",
    clauses=("SF-15", "SF-26"),
)
def a_closed_session_counts(conversation: Conversation) -> None:
    """With ShareFetch v2, records of a closed session count as delivered."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    bob.fetches((0, 1, 1), version=2)
    ana.fetches(max_wait_ms=100)
    bob.closes()
    conversation.elapses(RELEASED_MS)
    ana.fetches()


def goes_on(member: Reader, first: int, last: int, *, until: int) -> None:
    """Let a member fetch and release these records, until they were delivered the given number of times."""
    for deliveries in range(1, until + 1):
        member.fetches((first, last, deliveries), version=2)
        member.acknowledges((first, last, (RELEASE,)))


@scenario("share_fetch/deliveries/throttled-behind", source=THROTTLES, clauses=("SF-27",))
def records_before_those_delivered_often_come_alone(conversation: Conversation) -> None:
    """A single record that was delivered three times is not delivered together with those before it."""
    ana = reader(conversation, 2, 1)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1), max_records=1, version=2)
    goes_on(bob, 2, 2, until=3)
    ana.acknowledges((0, 1, (RELEASE,)))
    bob.fetches((0, 1, 2), version=2)
    bob.fetches((2, 2, 4), version=2)


@scenario("share_fetch/deliveries/last-try-behind", source=THROTTLES, clauses=("SF-27",))
def a_record_before_one_on_its_last_try_comes_alone(conversation: Conversation) -> None:
    """Records of a batch are not delivered together with the next one if that is for the last time."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1), version=2)
    ana.acknowledges((1, 3, (RELEASE,)))
    for deliveries in (2, 3):
        ana.fetches((1, 3, deliveries), version=2)
        ana.acknowledges((1, 3, (RELEASE,)))
    ana.fetches((1, 2, 4), version=2)
    ana.acknowledges((1, 2, (RELEASE,)))
    ana.acknowledges((0, 0, (RELEASE,)))
    ana.fetches((0, 0, 2), version=2)
    ana.fetches((1, 1, 5), version=2)


@scenario("share_fetch/deliveries/last-try-before", source=THROTTLES, clauses=("SF-27",))
def a_record_on_its_last_try_comes_alone(conversation: Conversation) -> None:
    """A record that is delivered for the last time comes without those behind it."""
    ana = reader(conversation, 8)
    goes_on(ana, 0, 7, until=3)
    ana.fetches((0, 3, 4), version=2)
    ana.acknowledges((0, 0, (RELEASE,)))
    ana.fetches((0, 0, 5), version=2)
    ana.fetches((4, 7, 4), version=2)


@scenario(
    "share_fetch/deliveries/limit-of-two",
    source=THROTTLES,
    clauses=("SF-26", "SF-27"),
    broker_config={"group.share.delivery.count.limit": 2},
)
def two_deliveries_are_not_throttled(conversation: Conversation) -> None:
    """With a delivery count limit of 2, records of the second delivery come together."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1), version=2)
    ana.acknowledges((1, 2, (RELEASE,)))
    ana.fetches((1, 2, 2), version=2)


@scenario("share_fetch/deliveries/not-read", source=THROTTLES, clauses=("SF-27", "SF-28"))
def only_what_is_read_is_throttled(conversation: Conversation) -> None:
    """Records beyond max_bytes that were delivered often do not separate those before them."""
    ana = reader(conversation, 2, 2, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1), max_records=1, version=2)
    bob.fetches((2, 5, 1), version=2)
    bob.acknowledges((4, 5, (RELEASE,)))
    for deliveries in (2, 3):
        bob.fetches((4, 5, deliveries), version=2)
        bob.acknowledges((4, 5, (RELEASE,)))
    bob.acknowledges((2, 3, (RELEASE,)))
    ana.acknowledges((0, 1, (RELEASE,)))
    ana.fetches((0, 1, 2), (2, 3, 2), max_bytes=2 * BATCH_OF_TWO, version=2)
    ana.fetches((4, 5, 4), version=2)
