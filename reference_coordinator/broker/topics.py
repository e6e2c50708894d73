"""The topics of the cluster: names, partitions and ids, in memory."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reference_coordinator.core.ids import OFFSETS_TOPIC, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.topic_logs.logs import TopicLogs

TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"
_INTERNAL: Final = frozenset({OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_STATE_TOPIC})
_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@value
class Topic:
    """A topic; its partitions are numbered from 0."""

    name: str
    topic_id: TopicId
    """Derived from the name and the number of its creations, so that a topic has the same id in every run."""
    num_partitions: int
    configs: tuple[tuple[str, str], ...] = ()
    """The topic's own configuration, by name."""

    @property
    def is_internal(self) -> bool:
        """Whether it is a coordinator's log."""
        return is_internal_topic_name(self.name)


class Topics:
    """The topics of Kafka's metadata cache."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self.creations: Counter[str] = Counter()
        """How often a topic of each name was created, from which its id is derived."""
        self.drawn_ids: dict[str, TopicId] = {}
        """Ids for topics that are not created yet, by name, as another broker chose them."""
        self.changed: list[str] = []
        """The names of topics that were created, deleted or given partitions, oldest first."""
        self._first_version = 0
        self.logs = TopicLogs()
        """The logs that clients write to."""

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    @property
    def version(self) -> int:
        """Increases with each entry of `changed`."""
        return self._first_version + len(self.changed)

    def continue_from(self, version: int) -> None:
        """Continue from the version that the topics had before the process ended."""
        self._first_version = version

    def changed_since(self, version: int) -> frozenset[str]:
        """Return the names of topics that may have changed since a version."""
        return frozenset(self.changed[max(version - self._first_version, 0) :])

    def create(self, name: str, num_partitions: int, topic_id: TopicId | None = None) -> Topic:
        """Add a topic with a legal and unused name; its id is derived from the name unless it is given."""
        assert name not in self._by_name, name
        topic_id = topic_id or self.drawn_ids.pop(name, None)
        made_id = _topic_id(f"{name}#{self.creations[name]}" if self.creations[name] else name)
        self.creations[name] += 1
        topic = Topic(name=name, topic_id=topic_id or made_id, num_partitions=num_partitions)
        self._by_name[name] = topic
        self.changed.append(name)
        return topic

    def delete(self, name: str) -> Topic | None:
        """Delete a topic, if it exists; a new topic with the same name gets another id."""
        self.logs.delete(name)
        self.changed.append(name)
        return self._by_name.pop(name, None)

    def add_partitions(self, name: str, num_partitions: int) -> None:
        """Add partitions to an existing topic, up to a number; existing partitions do not change."""
        topic = self._by_name[name]
        assert num_partitions > topic.num_partitions, name
        self._by_name[name] = replace(topic, num_partitions=num_partitions)
        self.changed.append(name)

    def configure(self, name: str, configs: Mapping[str, str]) -> Topic:
        """Replace the configuration of an existing topic."""
        topic = replace(self._by_name[name], configs=tuple(sorted(configs.items())))
        self._by_name[name] = topic
        return topic

    def get(self, name: str) -> Topic | None:
        """Return the topic with a name."""
        return self._by_name.get(name)

    def get_by_id(self, topic_id: TopicId) -> Topic | None:
        """Return the topic with an id."""
        return next((topic for topic in self if topic.topic_id == topic_id), None)

    def has_partition(self, name: str, partition_index: int) -> bool:
        """Return whether a partition exists."""
        topic = self._by_name.get(name)
        return topic is not None and 0 <= partition_index < topic.num_partitions


def is_internal_topic_name(name: str) -> bool:
    """Return whether a topic is a coordinator's log. Source: Topic#isInternal (4.3.1)."""
    return name in _INTERNAL


def is_legal_topic_name(name: str) -> bool:
    """Return whether Kafka accepts a topic name. Source: Topic#validate (4.3.1)."""
    return name not in {".", ".."} and _LEGAL_NAME.fullmatch(name) is not None


def _topic_id(name: str) -> TopicId:
    digits = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return TopicId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])))
