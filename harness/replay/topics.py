"""The topics that a recording shows, and the times between which they changed.

A consumer group's assignment depends on the topics that exist. A recording shows these only where a client
requests metadata or creates a topic, and where a streams group waits for its internal topics. So a change is
known to have happened after the last look that did not show it, and before the first one that did.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from harness.invariants.exchange import NO_ERROR, Exchange, Fields, items, number, text

SHOWS_MISSING: Final = "StreamsGroupHeartbeat"
"""The API whose answers name internal topics that do not exist yet."""
SPREADS_MS: Final = 500.0
"""How long the coordinator may take to learn of a change that clients have seen."""
_MISSING: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_MISSING_INTERNAL_TOPICS: Final = 3
"""The status of a group that waits for topics. Source: StreamsGroupHeartbeatResponse.Status (4.3.1)."""
_NAMES: Final = re.compile(r"[A-Za-z0-9._-]+")
_AND_OTHERS: Final = "additional topics"
"""The end of a list that is cut off. Source: InternalTopicManager#summarizeTopics (4.3.1)."""
_INTERNAL: Final = ("repartition_source_topics", "state_changelog_topics")


@dataclass(slots=True, kw_only=True)
class TopicChange(Exchange):
    """The creation or growth of a topic, at an unknown time before it was seen: an exchange of no client."""

    name: str
    topic_id: str | None
    num_partitions: int


class _Look(NamedTuple):
    asked_ms: float
    answered_ms: float
    num_partitions: int = 0
    """0 if the topic does not exist."""
    topic_id: str | None = None


@dataclass(slots=True)
class TopicsSeen:
    """All looks at topics in a recording, in the order of the requests."""

    _looks: defaultdict[str, list[_Look]] = field(default_factory=lambda: defaultdict(list))
    _internal: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The internal topics of streams groups, until tasks were given: then the topics were there."""
    _without_size: set[str] = field(default_factory=set)
    """Topics that were created, with as many partitions as the broker likes."""
    _missed: dict[str, _Look] = field(default_factory=dict)
    """The last time that a coordinator missed a topic, which clients may have seen by then."""

    def see(self, api: str, topic: Fields, asked_ms: float, answered_ms: float) -> None:
        """Record a look at a topic that an answer contains."""
        name, error = text(topic, "name"), text(topic, "error_code") or NO_ERROR
        count = max(len(list(items(topic, "partitions"))), number(topic, "num_partitions"))
        topic_id = text(topic, "topic_id") or None
        if not name or error not in (NO_ERROR, _MISSING):
            return
        if api == "CreateTopics" and error == NO_ERROR:
            self._looks[name].append(_Look(asked_ms, asked_ms))
        if error == NO_ERROR and count <= 0:
            self._without_size.add(name)
            return
        count = count if error == NO_ERROR else 0
        self._looks[name].append(_Look(asked_ms, answered_ms, count, topic_id))

    def see_missing(self, request: Fields, answer: Fields, asked_ms: float, answered_ms: float) -> None:
        """Record the internal topics that a streams group waits for, by a member's heartbeat."""
        internal = self._internal[text(request, "group_id")]
        internal.update(internal_in(request))
        if not (details := waits_for_topics(answer)):
            if list(items(answer, "active_tasks")):
                internal.clear()
            return
        named = set(_NAMES.findall(details))
        unseen = (each for each in internal if _AND_OTHERS in details and not self._is_there(each))
        for name in sorted({*(internal & named), *unseen}):
            self._missed[name] = absent = _Look(asked_ms, answered_ms)
            self._looks[name].append(absent)

    def names(self) -> frozenset[str]:
        """Return the names of the topics that are known to exist, with their sizes, or not to exist."""
        unknown = {each for each in self._without_size if not self._is_there(each)}
        return frozenset(self._looks.keys() - unknown)

    def _is_there(self, name: str) -> bool:
        return any(each.num_partitions for each in self._looks.get(name, ()))

    def at_first(self) -> dict[str, int]:
        """Return the partition counts of the topics that existed when they were first looked at."""
        return {
            name: looks[0].num_partitions
            for name, looks in self._looks.items()
            if looks[0].num_partitions and name not in self._missed
        }

    def changes(self) -> Iterator[TopicChange]:
        """Yield the changes between two looks. A look that shows less than an earlier one is stale."""
        for name, looks in self._looks.items():
            missed = self._missed.get(name)
            growing = list(_growing(looks if missed is None else [missed, *looks]))
            for index, (before, after) in enumerate(pairwise(growing), start=1):
                if after.num_partitions > before.num_partitions:
                    since_ms, until_ms = before.asked_ms, after.answered_ms
                    if missed is not None and not before.num_partitions:
                        since_ms, until_ms = missed.asked_ms, max(until_ms, missed.answered_ms)
                    yield TopicChange(
                        api="",
                        api_version=0,
                        actor=None,
                        request={},
                        answer={},
                        name=name,
                        topic_id=next((look.topic_id for look in growing[index:] if look.topic_id), None),
                        num_partitions=after.num_partitions,
                        asked_ms=since_ms,
                        free_ms=since_ms,
                        answered_ms=until_ms + SPREADS_MS,
                    )


def with_partitions(created: Fields, asked: Fields) -> Fields:
    """Return CreateTopics' answer about a topic with its size, which is in answers from version 5 on only."""
    if number(created, "num_partitions") > 0:
        return created
    assigned = len(list(items(asked, "assignments")))
    return {**created, "num_partitions": max(assigned, number(asked, "num_partitions"))}


def _growing(looks: list[_Look]) -> Iterator[_Look]:
    most = -1
    for look in looks:
        if look.num_partitions >= most:
            most = look.num_partitions
            yield look


def waits_for_topics(answer: Fields) -> str:
    """Return what a streams group says of the internal topics that are missing; empty if none are."""
    waiting = (
        each for each in items(answer, "status") if number(each, "status_code") == _MISSING_INTERNAL_TOPICS
    )
    return next((text(each, "status_detail") for each in waiting), "")


def internal_in(request: Fields) -> Iterator[str]:
    """Yield the internal topics of the topology in a heartbeat."""
    for subtopology in _subtopologies(request):
        for kind in _INTERNAL:
            yield from (text(each, "name") for each in items(subtopology, kind))


def named_in(request: Fields) -> Iterator[str]:
    """Yield all topics that the tasks of the topology in a heartbeat read or restore from."""
    for subtopology in _subtopologies(request):
        sources = subtopology.get("source_topics")
        yield from (str(each) for each in (sources if isinstance(sources, list) else ()))
    yield from internal_in(request)


def _subtopologies(request: Fields) -> Iterator[Fields]:
    topology = request.get("topology")
    return items(topology, "subtopologies") if isinstance(topology, Mapping) else iter(())
