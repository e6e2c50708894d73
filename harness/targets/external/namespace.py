"""Names on an external broker: everything that a run makes there has a prefix that no other run uses.

The prefix alone shows that the harness made a thing, when, and in which run. `kafka-conformance clean` only
uses this prefix.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from harness.targets.base.java_hash import hashed_to_zero
from harness.wire.codec import Fields, FieldValue

MARK: Final = "kafka-conformance."
"""The first part of every name that the harness creates on an external broker."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_MADE: Final = re.compile(
    re.escape(MARK) + r"(?P<stamp>\d{8}T\d{6}Z)-[0-9A-Za-z_]{8,14}\.(?P<run>[A-Za-z0-9._-]*?)\.\."
)
_RANDOM_CHARACTERS: Final = 14
_RUN_CHARACTERS_MAX: Final = 48
_DIGEST_CHARACTERS: Final = 8
_LENGTH_BYTES: Final = 2
_INTERNAL: Final = "__"
"""Prefix of Kafka's own topics, and of those of software built on Kafka."""
_NO_TOPIC: Final = frozenset({"", ".", ".."})
"""Names that are not valid topics, but would be with a prefix. Source: Topic#validate."""
_LISTS_TOPICS: Final = frozenset(
    {"topics", "repartition_source_topics", "state_changelog_topics"},
)
_LISTS_NAMES: Final = frozenset(
    {"topic_names", "subscribed_topic_names", "source_topics", "repartition_sink_topics"}
)


@dataclass(frozen=True, slots=True)
class Namespace:
    """The names of one run on one broker.

    Attributes:
        prefix: the prefix of all names of the run.
        existing: topics of others that the run may read, by the scenarios' names for them.
    """

    prefix: str
    existing: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def new(
        cls, run_id: str, *, now: datetime | None = None, existing: Mapping[str, str] | None = None
    ) -> "Namespace":
        """Return a namespace that no run used before, even one with the same id.

        The prefix hashes to 0. Until 3.7.0, whether a commit in a transaction counts may depend on the order
        of a hash map of topics, and the run's topics must have the same order in it as the reference's.
        """
        stamp = (now or datetime.now(UTC)).strftime(_STAMP)
        before, after = f"{MARK}{stamp}-", f".{run_part(run_id)}.."
        prefix = f"{before}{hashed_to_zero(before, after, length=_RANDOM_CHARACTERS)}{after}"
        return cls(prefix, existing or {})

    def owns(self, name: object) -> bool:
        """Return whether a group, topic or transactional id belongs to the run."""
        return isinstance(name, str) and name.startswith(self.prefix)

    def may_read(self, topic: object) -> bool:
        """Return whether a topic belongs to the run, or is one of others that it may read."""
        return self.owns(topic) or topic in self.existing.values()

    def topic(self, name: str) -> str:
        """Return the real name of a scenario's topic; Kafka's own topics and invalid names are unchanged."""
        if name in self.existing:
            return self.existing[name]
        is_kept = name in _NO_TOPIC or name.startswith(_INTERNAL) or self.owns(name)
        return name if is_kept else f"{self.prefix}{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The run and the time that a name contains."""

    run_part: str
    at: datetime


def made(name: str) -> Made | None:
    """Return which run made a thing, by its name; None if the harness did not make it."""
    found = _MADE.match(name)
    if found is None:
        return None
    try:
        at = datetime.strptime(found["stamp"], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return Made(run_part=found["run"], at=at)


def run_part(run_id: str) -> str:
    """Return the part of names that identifies a run: its id, or the beginning of a long id and a digest.

    A topic name has at most 249 characters, and the scenario's name needs some of them. There are no two
    consecutive dots, since these end the prefix.
    """
    reported = re.sub(r"\.{2,}", ".", run_id).strip(".")
    if len(reported) <= _RUN_CHARACTERS_MAX and reported == run_id:
        return reported
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{reported[: _RUN_CHARACTERS_MAX - _DIGEST_CHARACTERS - 1].rstrip('.')}-{digest}"


class TopicNames:
    """Replaces a scenario's topic names by the run's in requests, and vice versa in answers.

    Bytes that only clients read (subscriptions, assignments) contain topic names with their length in front.

    Source: ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json.
    """

    def __init__(self, namespace: Namespace, topics: Sequence[str]) -> None:
        """Start with the topics that scenarios name inside bytes."""
        self._namespace = namespace
        self._real = {_sized(name): _sized(namespace.topic(name)) for name in topics}
        self._said = {namespace.topic(name): name for name in topics}

    @property
    def said(self) -> Collection[str]:
        """The scenario's names of all topics so far."""
        return self._said.values()

    def outgoing(self, fields: Fields) -> dict[str, FieldValue]:
        """Return a request's fields with the run's topic names."""
        return {name: self._sent(name, value) for name, value in fields.items()}

    def incoming(self, fields: Fields) -> dict[str, FieldValue]:
        """Return a response's fields with the scenario's topic names, also in error messages."""
        return {name: self._reported(value) for name, value in fields.items()}

    def _sent(self, name: str, value: FieldValue) -> FieldValue:
        if isinstance(value, bytes):
            return self._sent_bytes(value)
        if isinstance(value, Mapping):
            return self.outgoing(value)
        if not isinstance(value, Sequence) or isinstance(value, str):
            return value
        if name in _LISTS_TOPICS:
            return [self._sent_topic(item) for item in value]
        if name in _LISTS_NAMES:
            return [self._real_name(item) if isinstance(item, str) else item for item in value]
        return [self._sent(name, item) for item in value]

    def _sent_topic(self, item: FieldValue) -> FieldValue:
        if isinstance(item, str):
            return self._real_name(item)
        if not isinstance(item, Mapping):
            return item
        fields = self.outgoing(item)
        for key in ("name", "topic_name"):
            if isinstance(name := fields.get(key), str):
                fields[key] = self._real_name(name)
        return fields

    def _real_name(self, name: str) -> str:
        """Return and record a topic's real name, even if it does not exist: an answer may name it too."""
        real = self._namespace.topic(name)
        if real != name:
            self._said[real] = name
        return real

    def _sent_bytes(self, value: bytes) -> bytes:
        for said, real in self._real.items():
            value = value.replace(said, real)
        return value

    def _reported(self, value: FieldValue) -> FieldValue:
        if isinstance(value, bytes):
            for said, real in self._real.items():
                value = value.replace(real, said)
            return value
        if isinstance(value, str):
            return self._reported_text(value)
        if isinstance(value, Mapping):
            return self.incoming(value)
        if isinstance(value, Sequence):
            return [self._reported(item) for item in value]
        return value

    def _reported_text(self, text: str) -> str:
        """Remove the prefix from topics that scenarios name without `group`; group ids remain complete."""
        for real, said in self._said.items():
            if self._namespace.owns(real):
                text = text.replace(real, said)
            elif real in text:
                text = re.sub(rf"(?<![\w.-]){re.escape(real)}(?![\w-]|\.\w)", said, text)
        return text


def topics_in(fields: Fields) -> frozenset[str]:
    """Return the names of topics in a scenario's request, without those in bytes that only clients read."""
    names = TopicNames(Namespace(MARK), ())
    names.outgoing(fields)
    return frozenset(names.said)


def _sized(name: str) -> bytes:
    encoded = name.encode()
    return len(encoded).to_bytes(_LENGTH_BYTES) + encoded
