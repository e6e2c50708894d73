"""Members of share groups that fetch and acknowledge records."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from typing_extensions import Unpack

from harness.scenario import ANY, Actor, Answer, Conversation, GroupRef, PinText, Value, ask, expect
from harness.scenario.ask_shares import Acknowledged

FIND = "KafkaApis#getCoordinator"
SHARE_KEY = "any:AAAAAAAAAAAAAAAAAAAAAA:0"
"""A key for finding the share coordinator, which also creates its topic."""
_FOR_EVER_MS = str(2**63 - 1)
LONG_MS = 4_000
"""Longer than a broker needs before it answers a fetch."""
FIRST_MS = 1_500
"""Long enough for a broker to read the state of a partition."""
RELEASED_MS = 300
"""Long enough for a broker to release the records of a closed session, which its answer does not await.

Kafka 4.1 answers a fetch that comes before without any records.
"""


def topic_of(
    conversation: Conversation, actor: Actor, *batch_sizes: int, partitions: int = 1, name: str = "topic"
) -> GroupRef:
    """Create a topic of the scenario's own, and write batches of records to its partition 0."""
    topic = conversation.group(name)
    # The records have timestamps of 0. Without this, retention would delete them, and the marker of a
    # transaction, which has the current time, would begin a new segment.
    configs: Value = ({"name": "retention.ms", "value": "-1"}, {"name": "segment.ms", "value": _FOR_EVER_MS})
    wanted: Value = {
        "name": topic,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": configs,
    }
    creating = ask.request("CreateTopics", 4, topics=(wanted,), timeout_ms=5_000)
    actor.asks(creating, expect.create_topic(error_code="NONE"))
    actor.awaits_metadata()
    actor.looks_up(topic)
    writes(actor, topic, *batch_sizes)
    return topic


def writes(actor: Actor, topic: GroupRef, *batch_sizes: int, partition: int = 0) -> None:
    """Write batches with the given numbers of records."""
    for producing in ask.events(topic, *batch_sizes, partition=partition):
        actor.asks(producing, expect.response("Produce"))


def finds_share_coordinator(actor: Actor) -> None:
    """Wait for the share coordinator, which the first request creates."""
    finding = ask.find_coordinator(version=6, key=SHARE_KEY, key_type=2)
    actor.repeats(finding, until=expect.find_coordinator(coordinators=({"error_code": "NONE"},)))


def has_state(
    actor: Actor, topic: GroupRef, *, offset: int = 0, partitions: Sequence[int] = (0,), epoch: int = 0
) -> None:
    """Let the group read a topic from an offset on; -1 leaves that to its configuration."""
    finds_share_coordinator(actor)
    for partition in partitions:
        beginning = ask.initialize_share_group_state(
            topic, partition=partition, start_offset=offset, state_epoch=epoch
        )
        actor.repeats(beginning, until=expect.share_state("Initialize", "NONE"))


class Options(TypedDict, total=False):
    """The fields of a ShareFetch beside its topics."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int
    is_renew_ack: bool


class Reader:
    """A member with a share session, which tracks its next epoch."""

    def __init__(self, actor: Actor, topic: GroupRef, *, partitions: Sequence[int] = (0,)) -> None:
        self.actor = actor
        self.topic = topic
        self.partitions = tuple(partitions)
        self.member_id = f"{actor.name}{'A' * 22}"[:22]
        """In the form of a UUID, which releases before 4.2 require."""
        self.epoch = 0

    def sends_fetch(
        self,
        *,
        acks: Acknowledged = (),
        version: int = 1,
        epoch: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Send a ShareFetch without awaiting the answer; the first one opens a session.

        A broker reads the state of a partition while its first fetch waits, so the default wait is long.
        """
        options.setdefault("max_wait_ms", LONG_MS)
        names: Mapping[int, Acknowledged] = dict.fromkeys(self.partitions, ()) if not self.epoch else {}
        if acks:
            names = {**names, self.partitions[0]: acks}
        asked = self.epoch if epoch is None else epoch
        fetch = ask.share_fetch(
            version=version,
            member_id=self.member_id,
            share_session_epoch=asked,
            topics={self.topic: names} if names else {},
            **options,
        )
        self.actor.sends(fetch)
        if epoch is None:
            self.epoch += 1

    def is_given(
        self, *acquired: tuple[int, int, int], error_code: PinText = "NONE", due_ms: int | None = None
    ) -> Answer:
        """Expect the answer: records of the first partition, or no partition at all."""
        given = {self.topic: {self.partitions[0]: acquired}} if acquired else {}
        expected = expect.share_fetch(error_code=error_code, acquired=given)
        return self.actor.receives(expected, due_ms=due_ms)

    def fetches(
        self,
        *acquired: tuple[int, int, int],
        acks: Acknowledged = (),
        version: int = 1,
        **options: Unpack[Options],
    ) -> Answer:
        """Fetch, and expect records of the first partition; without any, the answer is not checked."""
        self.sends_fetch(acks=acks, version=version, **options)
        if acquired:
            return self.is_given(*acquired)
        return self.actor.receives(expect.share_fetch())

    def gets_nothing(self, *, acks: Acknowledged = (), version: int = 1, wait_ms: int = 200) -> None:
        """Fetch, and expect no records; only in a session that is already open."""
        self.sends_fetch(acks=acks, version=version, max_wait_ms=wait_ms)
        self.actor.receives(expect.share_fetch(acquired=None if acks else {}))

    def is_refused(self, error_code: str, *, epoch: int, acks: Acknowledged = ()) -> None:
        """Fetch, and expect a top-level error; the session's next epoch stays the same."""
        self.sends_fetch(epoch=epoch, acks=acks)
        self.actor.receives(expect.share_fetch(error_code=error_code))

    def acknowledges(
        self,
        *batches: tuple[int, int, Sequence[int]],
        error_code: str = "NONE",
        version: int = 1,
        epoch: int | None = None,
        renews: bool = False,
        partition: int = 0,
    ) -> Answer:
        """Acknowledge records of one partition, and expect the result."""
        asked = self.epoch if epoch is None else epoch
        if epoch is None:
            self.epoch += 1
        acknowledging = ask.share_acknowledge(
            version=version,
            member_id=self.member_id,
            share_session_epoch=asked,
            topics={self.topic: {partition: batches}},
            is_renew_ack=renews if version >= 2 else ANY,
        )
        results = {self.topic: {partition: error_code}}
        return self.actor.asks(acknowledging, expect.share_acknowledge(results=results))

    def closes(self) -> None:
        """Close the session, without acknowledging records; others get its records after `RELEASED_MS`."""
        closing = ask.share_acknowledge(member_id=self.member_id, share_session_epoch=-1)
        self.actor.asks(closing, expect.share_acknowledge())
        self.epoch = 0


def reader(conversation: Conversation, *batch_sizes: int, name: str = "ana", offset: int = 0) -> Reader:
    """Return a member of a group that reads a topic with these batches, in one partition."""
    actor = conversation.actor(name)
    topic = topic_of(conversation, actor, *batch_sizes)
    has_state(actor, topic, offset=offset)
    return Reader(actor, topic)


def another(conversation: Conversation, first: Reader, name: str = "bob") -> Reader:
    """Return another member of the same group."""
    return Reader(conversation.actor(name), first.topic, partitions=first.partitions)
