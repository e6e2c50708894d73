"""The events of clients, in order of arrival, and what follows from them: ownership and deliveries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.clients.steps import Callback

_CALLBACKS = frozenset(kind.value for kind in Callback)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEvent:
    """An observation of a client, with the script's names."""

    client: str
    kind: str
    """A `Callback`, `delivered`, `processed` or `error`."""
    at_ms: float
    """The time on a clock that all clients share."""
    partitions: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    """Partitions with values, for `delivered` and `processed`."""
    name: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two clients that both believed to own a partition at the same time."""

    partition: str
    earlier: str
    later: str


@dataclass(slots=True)
class Book:
    """The events of one script's clients; marks show which callbacks and deliveries were already examined."""

    events: list[ClientEvent] = field(default_factory=list)
    gone_at_ms: dict[str, float] = field(default_factory=dict)
    """The times at which clients were killed or closed."""
    observed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Names of errors that a script allows or has examined, by client."""
    _callbacks_mark: int = 0
    _delivered_mark: int = 0

    def owned(self, client: str) -> frozenset[str]:
        """Return the partitions that a client owns according to its callbacks."""
        if client in self.gone_at_ms:
            return frozenset()
        owned: set[str] = set()
        for event in self.events:
            if event.client == client and event.kind in _CALLBACKS:
                owned = _after(owned, event)
        return frozenset(owned)

    def callbacks(self, *, clients: Iterable[str] | None = None) -> dict[str, list[ClientEvent]]:
        """Return the callbacks since the mark, by client, without those that contain no partition."""
        wanted = None if clients is None else set(clients)
        reported: dict[str, list[ClientEvent]] = {}
        for event in self.events[self._callbacks_mark :]:
            has_part = event.kind in _CALLBACKS and bool(event.partitions)
            if has_part and (wanted is None or event.client in wanted):
                reported.setdefault(event.client, []).append(event)
        return reported

    def mark_callbacks(self) -> None:
        """Mark all callbacks so far as examined."""
        self._callbacks_mark = len(self.events)

    def delivered(self, clients: Sequence[str]) -> dict[str, list[str]]:
        """Return the values delivered since the mark, by partition, in order of arrival."""
        came: dict[str, list[str]] = {}
        for event in self.events[self._delivered_mark :]:
            if event.kind == "delivered" and event.client in clients:
                for partition, value in event.values:
                    came.setdefault(partition, []).append(value)
        return came

    def mark_delivered(self) -> None:
        """Mark all deliveries so far as examined."""
        self._delivered_mark = len(self.events)

    def processed(self) -> Mapping[str, int]:
        """Return how often each value was processed."""
        counts: dict[str, int] = defaultdict(int)
        for event in self.events:
            if event.kind == "processed":
                for _, value in event.values:
                    counts[value] += 1
        return dict(counts)

    def has_heard_of(self, client: str, names: Sequence[str]) -> str | None:
        """Return the first unexamined error or callback of a client that has one of some names."""
        for event in self.events:
            name = event.name if event.kind == "error" else event.kind
            if event.client == client and name in names and name not in self.observed[client]:
                return name
        return None

    def errors(self) -> dict[str, list[str]]:
        """Return the errors that no step has examined, by client, each name once."""
        reported: dict[str, list[str]] = {}
        for event in self.events:
            if event.kind == "error" and event.name not in self.observed[event.client]:
                names = reported.setdefault(event.client, [])
                if event.name not in names:
                    names.append(event.name)
        return reported

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return the pairs of clients that owned a partition at the same time, by their callbacks."""
        owners: dict[str, set[str]] = defaultdict(set)
        found: dict[Overlap, None] = {}
        for event in sorted(self.events, key=lambda each: each.at_ms):
            for partition in event.partitions:
                if event.kind != Callback.ASSIGNED:
                    owners[partition].discard(event.client)
                    continue
                for other in sorted(owners[partition] - {event.client}):
                    if self.gone_at_ms.get(other, float("inf")) > event.at_ms:
                        found[Overlap(partition=partition, earlier=other, later=event.client)] = None
                owners[partition].add(event.client)
        return tuple(found)


def _after(owned: set[str], event: ClientEvent) -> set[str]:
    if event.kind == Callback.ASSIGNED:
        return owned | set(event.partitions)
    return owned - set(event.partitions)
