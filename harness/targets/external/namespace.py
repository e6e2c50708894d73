"""Names on a broker of others: all that a run makes there begins with a prefix that no other run has.

The prefix tells, by itself, that the harness made a thing, when, and in which run. `kafka-conformance clean`
goes by nothing else.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from harness.targets.base.java_hash import hashed_to_zero
from harness.wire.codec import Fields, FieldValue

MARK: Final = "kafka-conformance."
"""How every name begins that the harness makes on a broker of others."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_MADE: Final = re.compile(
    re.escape(MARK) + r"(?P<stamp>\d{8}T\d{6}Z)-[0-9A-Za-z_]{8,14}\.(?P<run>[A-Za-z0-9._-]*?)\.\."
)
_RANDOM_CHARACTERS: Final = 14
_RUN_CHARACTERS_MAX: Final = 48
_DIGEST_CHARACTERS: Final = 8
_LENGTH_BYTES: Final = 2
_INTERNAL: Final = "__"
"""How Kafka's own topics begin, and those of what is built on it."""
_NO_TOPIC: Final = frozenset({"", ".", ".."})
"""What no topic is called, but would be with a prefix. Source: Topic#validate."""
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
        prefix: of every name that is the run's.
    """

    prefix: str

    @classmethod
    def new(cls, run_id: str, *, now: datetime | None = None) -> "Namespace":
        """Return names that no run had before, whatever this one is called.

        The prefix hashes to 0: until 3.7.0 a commit in a transaction may count or not by the order of a
        hash map of topics, and topics of the run are to stand in it as those of the reference do.
        """
        stamp = (now or datetime.now(UTC)).strftime(_STAMP)
        before, after = f"{MARK}{stamp}-", f".{run_part(run_id)}.."
        return cls(f"{before}{hashed_to_zero(before, after, length=_RANDOM_CHARACTERS)}{after}")

    def owns(self, name: object) -> bool:
        """Tell whether a group, topic or transactional id is the run's."""
        return isinstance(name, str) and name.startswith(self.prefix)

    def topic(self, name: str) -> str:
        """Return what a topic of a scenario is called here; Kafka's own, and no name, stay as they are."""
        is_kept = name in _NO_TOPIC or name.startswith(_INTERNAL) or self.owns(name)
        return name if is_kept else f"{self.prefix}{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a name tells of the run that made the thing."""

    run_part: str
    at: datetime


def made(name: str) -> Made | None:
    """Return which run made a thing, by its name; None for what the harness did not make."""
    found = _MADE.match(name)
    if found is None:
        return None
    try:
        at = datetime.strptime(found["stamp"], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return Made(run_part=found["run"], at=at)


def run_part(run_id: str) -> str:
    """Return how names tell a run: its id, or the beginning of a long one and a digest of all of it.

    Topics have 249 characters, and a scenario's name needs its part of them. No two dots stand together,
    since these end the prefix.
    """
    reported = re.sub(r"\.{2,}", ".", run_id).strip(".")
    if len(reported) <= _RUN_CHARACTERS_MAX and reported == run_id:
        return reported
    digest = hashlib.sha256(run_id.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{reported[: _RUN_CHARACTERS_MAX - _DIGEST_CHARACTERS - 1].rstrip('.')}-{digest}"


class TopicNames:
    """Puts the run's names of topics where a scenario says its own, and takes them back.

    Bytes that clients alone read (subscriptions, assignments) name topics with their length in front.

    Source: ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json.
    """

    def __init__(self, namespace: Namespace, topics: Sequence[str]) -> None:
        """Begin with the topics that scenarios speak of within bytes."""
        self._namespace = namespace
        self._real = {_sized(name): _sized(namespace.topic(name)) for name in topics}
        self._said = {namespace.topic(name): name for name in topics}

    def outgoing(self, fields: Fields) -> dict[str, FieldValue]:
        """Return a request's fields with the run's topics in them."""
        return {name: self._sent(name, value) for name, value in fields.items()}

    def incoming(self, fields: Fields) -> dict[str, FieldValue]:
        """Return a response's fields with the scenario's topics in them, texts of errors among them."""
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
        for field in ("name", "topic_name"):
            if isinstance(name := fields.get(field), str):
                fields[field] = self._real_name(name)
        return fields

    def _real_name(self, name: str) -> str:
        """Remember a topic that a request names, be it there or not: an answer may name it too."""
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
        """Only topics that scenarios name without `group` lose the prefix: ids of groups are whole."""
        for real, said in self._said.items():
            text = text.replace(real, said)
        return text


def _sized(name: str) -> bytes:
    encoded = name.encode()
    return len(encoded).to_bytes(_LENGTH_BYTES) + encoded
