"""The topics that a recording shows, and the times between which they changed.

A consumer group's assignment depends on the topics that exist. A recording shows these only where a client
requests metadata or creates a topic. So a change is known to have happened after the last look that did not
show it, and before the first one that did.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from harness.invariants.exchange import NO_ERROR, Fields, items, number, text

SPREADS_MS: Final = 500.0
"""How long the coordinator may take to learn of a change that clients have seen."""
_MISSING: Final = "UNKNOWN_TOPIC_OR_PARTITION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The creation of a topic, or the addition of partitions."""

    name: str
    topic_id: str | None
    num_partitions: int
    after_ms: float
    before_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    num_partitions: int
    """0 if the topic does not exist."""
    topic_id: str | None
    asked_ms: float
    answered_ms: float


@dataclass(slots=True)
class TopicsSeen:
    """All looks at topics in a recording, in the order of the requests."""

    _looks: defaultdict[str, list[_Look]] = field(default_factory=lambda: defaultdict(list))

    def see(self, api: str, topic: Fields, asked_ms: float, answered_ms: float) -> None:
        """Record a look at a topic that an answer contains."""
        name, error = text(topic, "name"), text(topic, "error_code") or NO_ERROR
        count = max(len(list(items(topic, "partitions"))), number(topic, "num_partitions"))
        topic_id = text(topic, "topic_id") or None
        if not name or error not in (NO_ERROR, _MISSING):
            return
        if api == "CreateTopics" and error == NO_ERROR:
            absent = _Look(num_partitions=0, topic_id=None, asked_ms=asked_ms, answered_ms=asked_ms)
            self._looks[name].append(absent)
        if error == NO_ERROR and count <= 0:
            return  # CreateTopics says how many only from version 5 on.
        count = count if error == NO_ERROR else 0
        self._looks[name].append(
            _Look(num_partitions=count, topic_id=topic_id, asked_ms=asked_ms, answered_ms=answered_ms)
        )

    def at_first(self) -> dict[str, int]:
        """Return the partition counts of the topics that existed when they were first looked at."""
        return {
            name: looks[0].num_partitions for name, looks in self._looks.items() if looks[0].num_partitions
        }

    def changes(self) -> Iterator[Change]:
        """Yield the changes between two looks. A look that shows less than an earlier one is stale."""
        for name, looks in self._looks.items():
            for before, after in pairwise(_growing(looks)):
                if after.num_partitions > before.num_partitions:
                    yield Change(
                        name=name,
                        topic_id=after.topic_id,
                        num_partitions=after.num_partitions,
                        after_ms=before.asked_ms,
                        before_ms=after.answered_ms + SPREADS_MS,
                    )


def _growing(looks: list[_Look]) -> Iterator[_Look]:
    most = -1
    for look in looks:
        if look.num_partitions >= most:
            most = look.num_partitions
            yield look
