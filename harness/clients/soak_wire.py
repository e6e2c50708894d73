"""A share group under load, as a tap recorded it: each record is accepted once.

A member that is killed in a commit does not report whether that was answered; the recording does.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from harness.clients.soak import PARTITION_COUNT
from harness.clients.soak_account import GroupAccount, SoakResult
from harness.clients.soak_group import SHARE
from harness.invariants.exchange import NO_ERROR, Fields, items, number, text
from harness.tap.journal import read_journal
from harness.tap.reading import TraceReader
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

Place: TypeAlias = tuple[int, int]
"""The partition and the offset of a record."""
_ERRORS: Final = {"ShareAcknowledge": "error_code", "ShareFetch": "acknowledge_error_code"}
"""The APIs that acknowledge records, each with the field for the result in a partition."""
_ACCEPT: Final = 1
"""Source: AcknowledgeType.ACCEPT (4.3.1)."""


@dataclass(slots=True)
class Accepted:
    """The acceptances of one conversation, whose members read one topic in one share group."""

    counts: Counter[Place] = field(default_factory=Counter)
    """How often each record was accepted, without an error."""
    _open: dict[tuple[str | None, int | None], tuple[Place, ...]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Process the next request or answer of an API that acknowledges records."""
        exchange, fields = (event.connection, event.correlation_id), stored_fields(event)
        if event.kind == EventKind.REQUEST:
            self._open[exchange] = tuple(_accepts(fields))
        elif event.kind == EventKind.RESPONSE:
            asked, refused = self._open.pop(exchange, ()), set(_refused(fields, _ERRORS[str(event.api)]))
            if text(fields, "error_code") == NO_ERROR:
                self.counts.update(at for at in asked if at[0] not in refused)

    def wrong(self, produced: Mapping[int, int]) -> Iterator[str]:
        """Yield a line for each kind of error, given the number of records in each partition."""
        unanswered = {at for each in self._open.values() for at in each}
        wanted = {(number, offset) for number, count in produced.items() for offset in range(count)}
        found = {
            "were accepted more than once": {at for at, count in self.counts.items() if count > 1},
            "were not accepted": wanted - self.counts.keys() - unanswered,
        }
        for says, places in found.items():
            if places:
                partition, offset = min(places)
                yield f"on the wire, {len(places)} records {says}, the first is {partition}#{offset}"


def with_the_wire(results: Iterable[SoakResult], journal: Path) -> list[SoakResult]:
    """Return results with what a recording says of their share groups.

    Raises:
        TraceError: the recording is damaged.
    """
    accepted = accepted_in(journal)
    return [
        replace(
            each, groups=tuple(_with(group, accepted[each.library], each.produced) for group in each.groups)
        )
        for each in results
    ]


def _with(group: GroupAccount, accepted: Accepted, produced: int) -> GroupAccount:
    if group.group != SHARE:
        return group
    each = dict.fromkeys(range(PARTITION_COUNT), produced // PARTITION_COUNT)
    return replace(group, wrong=(*group.wrong, *accepted.wrong(each)))


def accepted_in(journal: Path) -> defaultdict[str, Accepted]:
    """Return the acceptances in a recording, by conversation.

    Raises:
        TraceError: the recording is damaged.
    """
    found: defaultdict[str, Accepted] = defaultdict(Accepted)
    reader = TraceReader(run_id="", target="", only=frozenset(_ERRORS))
    for event in reader.events(read_journal(journal)):
        if event.api in _ERRORS and event.fields is not None:
            found[event.scenario_id].take(event)
    return found


def _partitions(fields: Fields, topics: str) -> Iterable[Fields]:
    return (partition for topic in items(fields, topics) for partition in items(topic, "partitions"))


def _accepts(request: Fields) -> Iterator[Place]:
    for partition in _partitions(request, "topics"):
        for batch in items(partition, "acknowledgement_batches"):
            first, types = number(batch, "first_offset"), batch.get("acknowledge_types")
            said = [*types] if isinstance(types, list) else []
            for offset in range(first, number(batch, "last_offset") + 1):
                if said[offset - first if len(said) > 1 else 0] == _ACCEPT:
                    yield number(partition, "partition_index"), offset


def _refused(answer: Fields, error: str) -> Iterator[int]:
    for partition in _partitions(answer, "responses"):
        if text(partition, error) != NO_ERROR:
            yield number(partition, "partition_index")
