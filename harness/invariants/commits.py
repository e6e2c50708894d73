"""Committed offsets of one group: which values are possible, given the writes and when they were answered.

Sequence numbers of events serve as time. A write that was answered before another was sent precedes it;
of two writes that overlap, either may be the later one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.apis.descriptor import NAMES_WRITTEN_OFFSETS, OffsetUse
from harness.apis.table import descriptor
from harness.invariants.exchange import NO_ERROR, Exchange, Fields, items, number, text
from harness.invariants.violation import AtFault, Found, Invariant

TopicPartition: TypeAlias = tuple[str, int]

_WRITES_KEPT: Final = 32
_NO_OFFSET: Final = -1
UNDECIDED: Final = frozenset(
    (
        *(
            "REQUEST_TIMED_OUT",
            "COORDINATOR_NOT_AVAILABLE",
            "NOT_COORDINATOR",
            "COORDINATOR_LOAD_IN_PROGRESS",
        ),
        *("UNKNOWN_SERVER_ERROR", "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR"),
    )
)
"""Errors of a commit that may be in the log all the same."""


@dataclass(slots=True)
class Write:
    """A value that may have been written as a committed offset."""

    value: int
    asked_at: int
    answered_at: int | None = None
    """None while it is unknown when the write took effect, or whether it took effect at all."""


@dataclass(slots=True)
class Commits:
    """The committed offsets of one group."""

    may_expire: bool
    """Whether an offset may disappear without a request that deletes it."""
    names: dict[str, str]
    """Topic ids to names."""
    _writes: dict[TopicPartition, list[Write]] = field(default_factory=dict)
    _open: dict[int, list[tuple[TopicPartition, Write]]] = field(default_factory=dict)
    """Writes of unanswered requests, by the request's sequence number."""

    def asked(self, asked: Exchange) -> None:
        """Process a request that writes offsets."""
        use = descriptor(asked.api).offsets
        if use not in NAMES_WRITTEN_OFFSETS:
            return
        if number(asked.request, "retention_time_ms") >= 0:
            self.may_expire = True
        written: list[tuple[TopicPartition, Write]] = []
        for partition, entry in self._entries(asked.request):
            value = _NO_OFFSET if use is OffsetUse.DELETES else number(entry, "committed_offset")
            written.append((partition, self._add(partition, Write(value=value, asked_at=asked.asked_at))))
        if use is not OffsetUse.COMMITS_AT_END:
            # The offsets that a transaction commits take effect when it ends, whenever that is.
            self._open[asked.asked_at] = written

    def answered(self, answered: Exchange, of_group: Fields) -> Iterator[Found]:
        """Process an answer and yield the violations that it shows.

        Args:
            answered: the whole answer.
            of_group: the part of the answer's fields that is about this group.
        """
        match descriptor(answered.api).offsets:
            case OffsetUse.COMMITS | OffsetUse.DELETES:
                self._decided(answered)
            case OffsetUse.FETCHES:
                yield from self._fetched(answered, of_group)
            case _:
                pass

    def removed(self, answered: Exchange) -> None:
        """Record that the group was removed with all its offsets."""
        for partition in self._writes:
            self._add(
                partition,
                Write(value=_NO_OFFSET, asked_at=answered.asked_at, answered_at=answered.answered_at),
            )

    def topic_removed(self, topic: str, answered: Exchange) -> None:
        """Record that a topic was removed; its offsets are removed some time later."""
        for partition in self._writes:
            if partition[0] == topic:
                self._add(partition, Write(value=_NO_OFFSET, asked_at=answered.asked_at))

    def _decided(self, answered: Exchange) -> None:
        errors = {
            partition: text(entry, "error_code") for partition, entry in self._entries(answered.response)
        }
        overall = text(answered.response, "error_code") or NO_ERROR
        for partition, write in self._open.pop(answered.asked_at, ()):
            error = errors.get(partition, overall) if overall == NO_ERROR else overall
            if error == NO_ERROR:
                write.answered_at = answered.answered_at
            elif error not in UNDECIDED:
                self._writes[partition].remove(write)

    def _fetched(self, answered: Exchange, of_group: Fields) -> Iterator[Found]:
        if text(of_group, "error_code") not in ("", NO_ERROR):
            return
        for partition, entry in self._entries(of_group):
            value = number(entry, "committed_offset")
            if text(entry, "error_code") != NO_ERROR or self._is_explained(partition, value, answered):
                continue
            latest = self._latest_before(partition, answered.asked_at)
            seen = Write(value=value, asked_at=answered.asked_at, answered_at=answered.answered_at)
            self._add(partition, seen)
            if latest is not None and value < latest and not (value == _NO_OFFSET and self.may_expire):
                topic, index = partition
                yield (
                    Invariant.COMMITS_STAY,
                    AtFault.COORDINATOR,
                    f"{topic}-{index} was committed at {latest} and found at {value}, where nobody put it",
                )

    def _is_explained(self, partition: TopicPartition, value: int, answered: Exchange) -> bool:
        candidates = (write for write in self._writes.get(partition, ()) if write.value == value)
        return any(
            write.asked_at < answered.answered_at and not self._is_past(partition, write, answered)
            for write in candidates
        )

    def _is_past(self, partition: TopicPartition, write: Write, answered: Exchange) -> bool:
        """Return whether another value had certainly replaced the write before the fetch was sent."""
        if write.answered_at is None:
            return False
        return any(
            other.asked_at > write.answered_at
            and other.answered_at is not None
            and other.answered_at < answered.asked_at
            for other in self._writes[partition]
        )

    def _latest_before(self, partition: TopicPartition, at: int) -> int | None:
        certain = [
            (write.answered_at, write.value)
            for write in self._writes.get(partition, ())
            if write.answered_at is not None and write.answered_at < at
        ]
        return max(certain)[1] if certain else None

    def _add(self, partition: TopicPartition, write: Write) -> Write:
        writes = self._writes.setdefault(partition, [])
        writes.append(write)
        del writes[:-_WRITES_KEPT]
        return write

    def _entries(self, fields: Fields) -> Iterator[tuple[TopicPartition, Fields]]:
        for topic in items(fields, "topics"):
            topic_id = text(topic, "topic_id")
            name = text(topic, "name") or self.names.get(topic_id, topic_id)
            for entry in items(topic, "partitions"):
                yield (name, number(entry, "partition_index")), entry
