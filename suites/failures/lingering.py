"""A Java coordinator that gathers writes for a while: requests behind a batch, and a write too large for it.

Kafka lingers 10 ms in 3.9 and 5 ms from 4.0 on; a whole second here gives clients time in between.
"""

from typing import Final

from harness.scenario import Actor, Conversation, ask, expect, one_of, scenario
from suites.failures.too_large import SMALL_LOG

APPENDS: Final = "CoordinatorRuntime#append"
FLUSHES: Final = "CoordinatorRuntime#flushCurrentBatch"
LINGER_MS: Final = 1_000
TOO_LARGE: Final = ("UNKNOWN_SERVER_ERROR", "INVALID_COMMIT_OFFSET_SIZE")
"""The error codes of the Java and the Scala coordinator."""
SHORT_COMMITS: Final = {"offsets.commit.timeout.ms": SMALL_LOG["offsets.commit.timeout.ms"]}
LINGERING: Final = {"group.coordinator.append.linger.ms": str(LINGER_MS)}


def _commits_too_much(conversation: Conversation, actor: Actor) -> None:
    """Commit more than the log accepts, to another group of the same partition."""
    topics = {"orders": {0: (7, "short"), 1: (8, "m" * 3000)}}
    actor.sends(
        ask.offset_commit(group_id=conversation.group("large"), generation_id=-1, member_id="", topics=topics)
    )
    actor.receives(expect.offset_commit({"orders": dict.fromkeys((0, 1), one_of(*TOO_LARGE))}))


# This scenario needs no commit timeout, but has the others' one so that they share a broker. It does not need
# a small log, which an external broker does not report.
@scenario(
    "failures/lingering/commit", source=APPENDS, clauses=("OC-49",), broker_config=SHORT_COMMITS | LINGERING
)
def a_commit_is_written_when_its_batch_is(conversation: Conversation) -> None:
    """Until its batch is written, a commit has no answer and is not visible; a heartbeat behind it waits."""
    (ana,) = conversation.stable_group("ana")
    bob, eve = conversation.actors("bob", "eve")
    conversation.elapses(2 * LINGER_MS)

    ana.sends(ask.offset_commit(topics={"orders": {0: 7}}))
    eve.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch"))
    bob.sends(ask.heartbeat(generation_id=ana.generation_id, member_id=ana.member_id))
    bob.receives(expect.heartbeat(error_code="NONE"), within_ms=3 * LINGER_MS)
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)
    eve.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 7}}))


@scenario(
    "failures/lingering/deletion",
    source="GroupCoordinatorService#deleteGroups",
    clauses=("DL-10",),
    broker_config=SHORT_COMMITS | LINGERING,
)
def a_deletion_awaits_the_batch_before_it(conversation: Conversation) -> None:
    """Since 4.1, DeleteGroups awaits the batch before it, and then refuses a group that got a member."""
    ana, bob, eve = conversation.actors("ana", "bob", "eve")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}}))
    conversation.elapses(LINGER_MS // 4)
    eve.sends(ask.delete_groups())
    conversation.elapses(LINGER_MS // 4)
    bob.sends(ask.join_group(version=3))

    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)
    bob.receives(expect.join_group(error_code="NONE", generation_id=1), within_ms=3 * LINGER_MS)
    eve.receives(expect.delete_groups(one_of("NONE", "NON_EMPTY_GROUP")), within_ms=3 * LINGER_MS)


@scenario(
    "failures/lingering/behind-a-refused-write",
    source=FLUSHES,
    clauses=("FI-01", "ER-04"),
    broker_config=SMALL_LOG | LINGERING,
)
def a_heartbeat_comes_behind_a_write_that_is_too_large(conversation: Conversation) -> None:
    """The Java coordinator of 3.8 and 3.9 fails a heartbeat behind a refused write, but no later ones."""
    (ana,) = conversation.stable_group("ana")
    conversation.elapses(2 * LINGER_MS)

    eve = conversation.actor("eve")
    _commits_too_much(conversation, eve)
    ana.sends(ask.heartbeat())
    ana.receives(expect.heartbeat(error_code=one_of("NONE", "UNKNOWN_SERVER_ERROR")), within_ms=3 * LINGER_MS)
    conversation.elapses(2 * LINGER_MS)
    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.sends(ask.offset_commit(topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)


@scenario(
    "failures/lingering/written-after-a-refused-write",
    source=APPENDS,
    clauses=("FI-01", "ER-04"),
    broker_config=SMALL_LOG | LINGERING,
)
def a_write_joins_the_batch_that_a_refused_one_left(conversation: Conversation) -> None:
    """A commit behind a write that is too large is written with the batch, and then a heartbeat gets NONE."""
    (ana,) = conversation.stable_group("ana")
    conversation.elapses(2 * LINGER_MS)

    eve = conversation.actor("eve")
    _commits_too_much(conversation, eve)
    ana.sends(ask.offset_commit(topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)
    ana.sends(ask.heartbeat())
    ana.receives(expect.heartbeat(error_code="NONE"), within_ms=3 * LINGER_MS)


@scenario(
    "failures/lingering/refused-behind-a-write",
    source=APPENDS,
    clauses=("FI-01", "ER-04"),
    broker_config=SMALL_LOG | LINGERING,
)
def a_write_that_is_too_large_comes_behind_another(conversation: Conversation) -> None:
    """A write that is too large fails alone: what the batch had before is still written."""
    (ana,) = conversation.stable_group("ana")
    conversation.elapses(2 * LINGER_MS)

    eve = conversation.actor("eve")
    ana.sends(ask.offset_commit(topics={"orders": {0: 7}}))
    _commits_too_much(conversation, eve)
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: 7, 1: -1}}))


@scenario(
    "failures/lingering/afterwards",
    source=FLUSHES,
    clauses=("FI-01", "ER-04", "ER-09"),
    broker_config=SMALL_LOG | LINGERING,
)
def a_refused_write_delays_nobody_for_long(conversation: Conversation) -> None:
    """A group continues once the batch is over for which a write was too large."""
    ana, bob = conversation.stable_group("ana", "bob")

    _commits_too_much(conversation, ana)
    conversation.elapses(2 * LINGER_MS)
    for member in (ana, bob):
        member.sends(ask.heartbeat())
        member.receives(expect.heartbeat(error_code="NONE"), within_ms=3 * LINGER_MS)
    ana.sends(ask.offset_commit(topics={"orders": {0: 9}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}), within_ms=3 * LINGER_MS)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: 9, 1: -1}}))
