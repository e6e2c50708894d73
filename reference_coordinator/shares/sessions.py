"""Share sessions: the partitions that a member fetches from, and the epoch expected in its next request."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicId

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_LAST_EPOCH: Final = 0x7FFFFFFF


class TopicIdPartition(NamedTuple):
    """A partition by its topic's id."""

    topic_id: TopicId | None
    partition: int


class ShareSessionKey(NamedTuple):
    """A member of a group."""

    group_id: GroupId
    member_id: str


@dataclass(slots=True)
class ShareSession:
    """Source: ShareSession, CachedSharePartition (4.3.1)."""

    key: ShareSessionKey
    connection: int
    topics: dict[TopicIdPartition, str | None]
    """The name of each partition's topic; None if the topic never existed."""
    is_news: dict[TopicIdPartition, bool]
    """Whether a partition is included in the next response even without records."""
    epoch: int = INITIAL_EPOCH + 1

    def update(
        self, named: Iterable[tuple[TopicIdPartition, str | None]], forgotten: Iterable[TopicIdPartition]
    ) -> None:
        """Add and remove partitions. Source: ShareSession#update (4.3.1)."""
        for each, name in named:
            if each not in self.topics:
                self.topics[each], self.is_news[each] = name, True
        for each in forgotten:
            self.topics.pop(each, None)
            self.is_news.pop(each, None)

    def advance(self) -> None:
        """Expect the next request. Source: ShareRequestMetadata#nextEpoch (4.3.1)."""
        self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1

    def is_answered(self, partition: TopicIdPartition, *, has_records: bool, is_error: bool) -> bool:
        """Return whether a response includes a partition, which keeps its place in the session.

        Source: CachedSharePartition#maybeUpdateResponseData (4.3.1).
        """
        is_answered = has_records or is_error or self.is_news.get(partition, False)
        if partition in self.is_news:
            self.is_news[partition] = is_error
        return is_answered


class ShareSessions:
    """The sessions of a broker. Source: ShareSessionCache, SharePartitionManager#newContext (4.3.1)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._of_connection: dict[int, ShareSessionKey] = {}
        """The member that last opened a session over each connection."""
        self._counts: Counter[GroupId] = Counter()

    def open(
        self, key: ShareSessionKey, connection: int, named: Iterable[tuple[TopicIdPartition, str | None]]
    ) -> ShareSession:
        """Open a session, replacing another one of the same member.

        Raises:
            CoordinatorError: there are too many sessions.
        """
        self.remove(key)
        if len(self._sessions) >= self._most:
            raise CoordinatorError(Errors.SHARE_SESSION_LIMIT_REACHED)
        topics = dict(named)
        session = ShareSession(key, connection, topics, dict.fromkeys(topics, False))
        self._sessions[key] = session
        self._of_connection[connection] = key
        self._counts[key.group_id] += 1
        return session

    def get(self, key: ShareSessionKey, epoch: int) -> ShareSession:
        """Return the session that a request continues or closes.

        Raises:
            CoordinatorError: there is no such session, or it expects another epoch.
        """
        session = self._sessions.get(key)
        if session is None:
            raise CoordinatorError(Errors.SHARE_SESSION_NOT_FOUND)
        if epoch not in {FINAL_EPOCH, session.epoch}:
            raise CoordinatorError(Errors.INVALID_SHARE_SESSION_EPOCH)
        return session

    def remove(self, key: ShareSessionKey) -> ShareSession | None:
        """End a session, if there is one."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self._counts[key.group_id] -= 1
        return session

    def disconnected(self, connection: int) -> tuple[ShareSession | None, GroupId | None]:
        """Return the session that ends with a connection, and its group if that has no session left.

        Source: ShareSessionCache.ClientConnectionDisconnectListener#onDisconnect (4.3.1).
        """
        key = self._of_connection.pop(connection, None)
        if key is None:
            return None, None
        session = self._sessions.get(key)
        ended = self.remove(key) if session is not None and session.connection == connection else None
        return ended, None if self._counts[key.group_id] else key.group_id


def rotated(topics: dict[TopicIdPartition, str | None], epoch: int) -> dict[TopicIdPartition, str | None]:
    """Rotate the partitions by the epoch. Source: PartitionRotateStrategy#rotateRoundRobin (4.3.1)."""
    if not topics:
        return {}
    ordered = list(topics.items())
    at = epoch % len(ordered)
    return dict(ordered[at:] + ordered[:at])
