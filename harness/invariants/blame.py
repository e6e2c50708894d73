"""Who is to blame for a refusal: one sentence for each, with its cause, as far as the recording shows it.

A client to blame is named only on evidence that the recording has: a request, or a silence, of before. What
clients of any library meet when all goes well gets no sentence: an id to join with, a rebalance under way, a
request that was sent before its client could know better.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Final, TypeAlias

from harness.apis.descriptor import Access
from harness.invariants.exchange import (
    COORDINATOR_CHANGED,
    HEARTBEATS,
    NO_ERROR,
    Exchange,
    instance_of,
    items,
    number,
    partitions_in,
    structure,
    text,
)
from harness.invariants.laws import Owned, owned_partitions

GRACE_MS: Final = 1_000.0
"""How long a request may be under way that was made before its client could know better."""
_REPEATS: Final = 10
"""How often a refused request may be repeated, without which a client could not get on."""
_MISSED_BEATS: Final = 4
"""After so many heartbeats that did not come, a member of a modern group counts as silent."""
_JOINS: Final = 0
_OF_COORDINATOR: Final = COORDINATOR_CHANGED | {"UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT"}
_WAIT: Final = frozenset(("CONCURRENT_TRANSACTIONS", "UNSTABLE_OFFSET_COMMIT"))
"""Errors after which a client is to ask again until something else has ended."""
_EPOCHS: Final = frozenset(("ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH"))
_OF_PRODUCER: Final = frozenset(("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"))
_NO_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"
_OF_MEMBERS: Final = MappingProxyType(
    {
        "NON_EMPTY_GROUP": "deletes or rewinds a group that has members",
        "GROUP_SUBSCRIBED_TO_TOPIC": "deletes offsets of a topic that members read",
    }
)
"""Errors of administrators that are due to the members of the group."""
_BY_ITSELF: Final = MappingProxyType(
    {
        "INCONSISTENT_GROUP_PROTOCOL": "offers no protocol that all other members have",
        "INVALID_SESSION_TIMEOUT": "asks for a session timeout that the broker does not permit",
        "UNSUPPORTED_ASSIGNOR": "asks for an assignor that the broker does not have",
        "INVALID_REGULAR_EXPRESSION": "subscribes with a regular expression that cannot be read",
        "INVALID_REQUEST": "the request contradicts itself",
        "INVALID_GROUP_ID": "the group's id is empty",
        "OFFSET_METADATA_TOO_LARGE": "commits more metadata than the broker permits",
    }
)
"""Errors that a request causes by what it says, whatever came before."""


class ToBlame(StrEnum):
    """Who is to blame."""

    COORDINATOR = "coordinator"
    CLIENT = "client"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal that a client was given, or another fault of a client. Grain: exchange."""

    party: ToBlame
    cause: str
    """The cause in the words that are the same for all refusals with it."""
    says: str
    """The sentence."""
    group: str
    client: str
    api: str
    error: str
    at_ms: float


_Cause: TypeAlias = tuple[ToBlame, str, str]
"""The party, the cause, and what the recording shows of it."""


@dataclass(slots=True, kw_only=True)
class _Member:
    """A member as the recording shows it."""

    client: str
    connection: str
    heard_ms: float
    """When it sent the last request that was accepted."""
    session_ms: float = inf
    """How long it may be silent: its session, or some intervals of a modern group's heartbeats."""
    limit: str = ""
    """That time in words."""
    rebalance_ms: int = 1
    epoch: int = -1
    """The last generation or epoch that an answer gave it."""
    epoch_ms: float = -inf
    is_left: bool = False
    left_ms: float = -inf
    left_by: str = ""
    left_on: str = ""
    reason: str = ""
    """Why it left, in its own words."""
    given: Owned = frozenset()
    """All partitions that it was ever assigned."""
    assigned: Owned = frozenset()
    is_followed: bool = False
    """Whether it joined within the recording."""


def in_words(refusals: Iterable[Refusal]) -> list[str]:
    """Return a line for each cause, with the first sentence of it; clients to blame and the most first."""
    alike: dict[tuple[ToBlame, str, str], list[Refusal]] = {}
    for each in refusals:
        alike.setdefault((each.party, each.cause, each.client), []).append(each)
    most_first = sorted(alike.items(), key=lambda each: (each[0][0] is ToBlame.UNKNOWN, -len(each[1])))
    return [
        f"{party}, {len(found)} times: group {found[0].group}, at {_seconds(found[0].at_ms)}: {found[0].says}"
        for (party, _, _), found in most_first
    ]


@dataclass(slots=True, kw_only=True)
class Blame:
    """Follows one group through its recording, and explains what its clients were refused."""

    group: str
    is_whole: bool = False
    """Whether the recording has everything that was ever sent about the group."""
    changes_ms: list[float] = field(default_factory=list)
    """When the coordinator may have changed, as far as that is known: whom it knew then is not certain."""
    lost_ms: Mapping[str, float] = field(default_factory=dict)
    """When the first bytes of a connection were lost; after that, nothing is certain about it."""
    _members: dict[str, _Member] = field(default_factory=dict)
    _instances: dict[str, list[tuple[float, str, str, str]]] = field(default_factory=dict)
    """Joins by instance id: time, connection, client, member id."""
    _pending: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Ids that were given and not used to join yet: when, and for how long they are good."""
    _unused: dict[str, str] = field(default_factory=dict)
    """By connection, the id that its client was given last, until it joins with it."""
    _epoch: int = -1
    _epoch_ms: float = -inf
    _deleted_ms: float = -inf
    _protocol_type: str = ""
    """That of the member that joined last."""
    _producers: dict[str, tuple[int, float, str]] = field(default_factory=dict)
    """By transactional id, the last epoch that a producer was given, when, and to which client."""
    _accepted_topics: set[tuple[str, int]] = field(default_factory=set)
    """Partitions of which an offset was accepted, so that they were there."""
    _repeats: dict[tuple[str, str, str], tuple[str, int]] = field(default_factory=dict)
    """By connection, API and member, the last error and how often it came in a row."""

    def take_all(self, exchanges: Sequence[Exchange]) -> Iterator[Refusal]:
        """Process exchanges whose requests and answers are all known, in the order of their times."""
        happened = [(each.asked_ms, 0, place) for place, each in enumerate(exchanges)]
        happened += [
            (each.answered_ms, 1, place) for place, each in enumerate(exchanges) if each.answer is not None
        ]
        for _, is_answer, place in sorted(happened):
            yield from (self.answered if is_answer else self.asked)(exchanges[place])

    def asked(self, exchange: Exchange) -> Iterator[Refusal]:
        """Process a request; yield what is wrong with it whatever its answer is."""
        if exchange.fault:
            if not exchange.is_answered and exchange.is_malformed:
                cause = "sends a request that nobody can read", "the broker ended the connection"
                yield self._refusal(exchange, "", (ToBlame.CLIENT, *cause))
            return
        member_id, instance = text(exchange.request, "member_id"), instance_of(exchange.request)
        if exchange.api == "JoinGroup" and member_id:
            self._unused = {line: each for line, each in self._unused.items() if each != member_id}
        if instance and _is_join(exchange):
            joined = (exchange.asked_ms, exchange.connection, exchange.actor or "", member_id)
            self._instances.setdefault(instance, []).append(joined)
        if exchange.api == "LeaveGroup":
            yield from self._leaving(exchange)
        if _is_join(exchange) and (exchange.api in HEARTBEATS or not member_id):
            yield from self._back(exchange)
        if exchange.api in HEARTBEATS and (member := self._members.get(member_id)) is not None:
            yield from self._claims(exchange, member_id, member)

    def answered(self, exchange: Exchange) -> Iterator[Refusal]:
        """Process an answer; yield the refusal in it with its cause, unless it is an ordinary one."""
        error = _error_of(exchange.response, self.group)
        member_id = text(exchange.request, "member_id")
        self._note_accepted(exchange, error)
        if self.group not in exchange.groups:
            return
        if error in COORDINATOR_CHANGED:
            self.changes_ms.append(exchange.answered_ms)
        count = self._count_repeats(exchange, member_id, error)
        if error in (NO_ERROR, "REBALANCE_IN_PROGRESS"):
            self._accepted(exchange, member_id)
            return
        found = self._cause(exchange, error, member_id)
        is_storm = count > _REPEATS and exchange.descriptor.access is not Access.READS
        if is_storm and error not in _OF_COORDINATOR | _WAIT:
            found = (ToBlame.CLIENT, "repeats a refused request without end", f"{count} times in a row")
        if error == "MEMBER_ID_REQUIRED":
            given, session_ms = (
                text(exchange.response, "member_id"),
                number(exchange.request, "session_timeout_ms"),
            )
            self._pending[given] = exchange.answered_ms, float(session_ms)
            self._unused[exchange.connection] = given
        if found is not None:
            yield self._refusal(exchange, error, found)

    def _note_accepted(self, exchange: Exchange, error: str) -> None:
        """Note a producer's new epoch, and the partitions of which an offset was accepted."""
        if exchange.api == "InitProducerId" and error == NO_ERROR:
            given = number(exchange.response, "producer_epoch"), exchange.answered_ms, exchange.actor or ""
            self._producers[exchange.transactional_id] = given
        elif "topics" in exchange.response:
            self._accepted_topics.update(_partitions_with(exchange.response, NO_ERROR))

    def _count_repeats(self, exchange: Exchange, member_id: str, error: str) -> int:
        line = (exchange.connection, exchange.api, member_id)
        last, count = self._repeats.get(line, ("", 0))
        count = count + 1 if error == last else 1
        self._repeats[line] = error, count
        return count

    def _refusal(self, exchange: Exchange, error: str, found: _Cause) -> Refusal:
        party, cause, shown = found
        if party is ToBlame.CLIENT and exchange.asked_ms > self.lost_ms.get(exchange.connection, inf):
            party, shown = ToBlame.UNKNOWN, f"{shown}; but bytes of this connection were lost"
        client = exchange.actor or "a client without a name"
        refused = f" was answered {error}" if error else ""
        return Refusal(
            party=party,
            cause=cause,
            says=f"{exchange.api} of {client}{refused}: {cause}" + (f" ({shown})" if shown else ""),
            group=self.group,
            client=client,
            api=exchange.api,
            error=error,
            at_ms=exchange.asked_ms if exchange.answered_ms == inf else exchange.answered_ms,
        )

    def _cause(self, exchange: Exchange, error: str, member_id: str) -> _Cause | None:
        if error in _OF_COORDINATOR:
            return ToBlame.UNKNOWN, "the coordinator is elsewhere, loads, or fails", ""
        if error == "MEMBER_ID_REQUIRED" and (unused := self._unused.get(exchange.connection)):
            return ToBlame.CLIENT, "ignores MEMBER_ID_REQUIRED", f"it was to join with the id {unused}"
        # Admin clients ask for a group by one type after the other.
        is_search = error == "GROUP_ID_NOT_FOUND" and exchange.descriptor.access is Access.READS
        if error == "MEMBER_ID_REQUIRED" or is_search:
            return None
        if error in _BY_ITSELF:
            return self._by_itself(exchange, error)
        if error in _OF_PRODUCER:
            return self._zombie(exchange)
        if error in _OF_MEMBERS or error == _NO_TOPIC:
            return self._misplaced(exchange, error)
        return self._of_member(exchange, error, member_id)

    def _by_itself(self, exchange: Exchange, error: str) -> _Cause:
        said = text(exchange.request, "protocol_type")
        if error == "INCONSISTENT_GROUP_PROTOCOL" and self._protocol_type not in ("", said):
            shown = f"`{said}`, the group has `{self._protocol_type}`"
            return ToBlame.CLIENT, "joins with another protocol type than the group has", shown
        return ToBlame.CLIENT, _BY_ITSELF[error], _details(exchange)

    def _of_member(self, exchange: Exchange, error: str, member_id: str) -> _Cause | None:
        if error == "FENCED_INSTANCE_ID":
            return self._fenced(exchange, member_id)
        member = self._members.get(member_id)
        if not member_id and not _is_join(exchange):
            # A client that gave up its id names none.
            known = (each for each in self._members.values() if each.connection == exchange.connection)
            member = max(known, key=lambda each: each.heard_ms, default=None)
        if error == "UNKNOWN_MEMBER_ID":
            return self._unknown(exchange, member_id) if member is None else self._removed(exchange, member)
        if error in _EPOCHS:
            return self._past(exchange, member)
        return ToBlame.UNKNOWN, f"refused with {error}", ""

    def _fenced(self, exchange: Exchange, member_id: str) -> _Cause:
        instance = instance_of(exchange.request)
        others = [
            each
            for each in self._instances.get(instance, ())
            if each[0] < exchange.answered_ms and each[1] != exchange.connection and each[3] != member_id
        ]
        if not others:
            return ToBlame.UNKNOWN, "fenced, and the recording does not show by whom", ""
        at_ms, _, client, _ = max(others)
        ago = _seconds(exchange.answered_ms - at_ms)
        shown = f"{client or 'a client without a name'} joined with `{instance}` on another connection {ago}"
        return ToBlame.CLIENT, "fenced: two clients have one instance id", f"{shown} before"

    def _zombie(self, exchange: Exchange) -> _Cause | None:
        said, name = number(exchange.request, "producer_epoch"), exchange.transactional_id
        epoch, at_ms, client = self._producers.get(name, (-1, -inf, ""))
        if said >= epoch:
            return ToBlame.UNKNOWN, "a producer is fenced, and the recording does not show by whom", ""
        ago_ms = exchange.asked_ms - at_ms
        if ago_ms < GRACE_MS:
            return None
        got = f"{client or 'a client'} got {epoch} for `{name}` {_seconds(ago_ms)} before"
        shown = f"it has epoch {said}, and {got}"
        return ToBlame.CLIENT, "fenced: a newer producer has its transactional id", shown

    def _misplaced(self, exchange: Exchange, error: str) -> _Cause:
        """Return the cause of a refusal that is due to members, or to topics, that are or are not there."""
        if error == _NO_TOPIC:
            missing = set(_partitions_with(exchange.response, error))
            names = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(missing))
            if missing & self._accepted_topics:
                return ToBlame.UNKNOWN, "a topic is gone", names
            return ToBlame.CLIENT, "names a topic or partition that does not exist", names
        there = [
            each.client
            for each in self._members.values()
            if not each.is_left and exchange.asked_ms - each.heard_ms < each.session_ms
        ]
        if not there:
            return ToBlame.UNKNOWN, f"refused with {error}, and the recording shows no member", ""
        return ToBlame.CLIENT, _OF_MEMBERS[error], f"{there[0]} is one of {len(there)}"

    def _unknown(self, exchange: Exchange, member_id: str) -> _Cause | None:
        given_ms, good_ms = self._pending.get(member_id, (inf, inf))
        if exchange.asked_ms - given_ms > good_ms:
            shown = (
                f"{_seconds(exchange.asked_ms - given_ms)} after it was given, good for {_seconds(good_ms)}"
            )
            return ToBlame.CLIENT, "joins too late with the id that it was given", shown
        if self.is_whole and member_id and not self._has_changed(-inf, exchange):
            return ToBlame.CLIENT, "names a member that this group never had", f"member id {member_id}"
        return ToBlame.UNKNOWN, "not a member, and the recording does not show since when", ""

    def _removed(self, exchange: Exchange, member: _Member) -> _Cause | None:
        silent_ms = exchange.asked_ms - member.heard_ms
        if member.is_left:
            return self._goes_on(exchange, member)
        if self._has_changed(member.heard_ms, exchange) or self._deleted_ms > member.heard_ms:
            return ToBlame.UNKNOWN, "the group was deleted, or its coordinator changed", ""
        if member.rebalance_ms <= 0:
            shown = f"it joined with a rebalance timeout of {member.rebalance_ms}"
            return ToBlame.CLIENT, "joined with a rebalance timeout that is over at once", shown
        if silent_ms > member.session_ms:
            shown = f"{member.limit}, silent for {_seconds(silent_ms)}"
            return ToBlame.CLIENT, "removed after its session without a heartbeat", shown
        if self._epoch > member.epoch and self._epoch_ms > member.epoch_ms:
            shown = (
                f"the group went on from {member.epoch} to {self._epoch}, and it did not join again in time"
            )
            return ToBlame.CLIENT, "missed a rebalance", shown
        return ToBlame.UNKNOWN, "no member any more, and the recording does not show why", ""

    def _has_changed(self, since_ms: float, exchange: Exchange) -> bool:
        return any(since_ms <= each <= exchange.answered_ms for each in self.changes_ms)

    def _goes_on(self, exchange: Exchange, member: _Member) -> _Cause | None:
        ago_ms = exchange.asked_ms - member.left_ms
        if member.left_on != member.connection and member.left_by != member.client:
            shown = f"by LeaveGroup of {member.left_by} {_seconds(ago_ms)} before"
            return ToBlame.UNKNOWN, "removed by somebody else", shown
        if ago_ms < GRACE_MS:
            return None
        return ToBlame.CLIENT, "goes on after it left the group", f"{_seconds(ago_ms)} before"

    def _past(self, exchange: Exchange, member: _Member | None) -> _Cause | None:
        said, verb = _epoch_said(exchange.request), "commits" if "Commit" in exchange.api else "speaks"
        known, since_ms = (self._epoch, self._epoch_ms) if member is None else (member.epoch, member.epoch_ms)
        if member is not None and said > member.epoch and self.is_whole and said > self._epoch:
            shown = f"{said}, while the last one was {max(known, self._epoch)}"
            return ToBlame.CLIENT, f"{verb} with a generation or epoch that it was never given", shown
        if said < known:
            ago_ms = exchange.asked_ms - since_ms
            shown = f"with {said} after the group went on to {known} {_seconds(ago_ms)} before"
            cause = f"{verb} with a generation or epoch of the past"
            return None if ago_ms < GRACE_MS else (ToBlame.CLIENT, cause, shown)
        return ToBlame.UNKNOWN, "of another generation or epoch, and the recording does not show why", ""

    def _accepted(self, exchange: Exchange, member_id: str) -> None:
        if exchange.api == "DeleteGroups":
            self._deleted_ms = exchange.answered_ms
        if exchange.api == "JoinGroup" and exchange.error == NO_ERROR:
            self._joined(exchange)
        elif exchange.api in HEARTBEATS:
            self._beat(exchange, member_id)
        elif (member := self._members.get(member_id)) is not None:
            member.heard_ms = max(member.heard_ms, exchange.asked_ms)

    def _joined(self, exchange: Exchange) -> None:
        request, answer = exchange.request, exchange.response
        member_id, epoch = text(answer, "member_id"), number(answer, "generation_id")
        self._pending.pop(member_id, None)
        self._protocol_type = text(request, "protocol_type")
        rebalance_ms = number(request, "rebalance_timeout_ms") if "rebalance_timeout_ms" in request else 1
        self._members[member_id] = _Member(
            client=exchange.actor or "",
            connection=exchange.connection,
            heard_ms=exchange.answered_ms,
            session_ms=number(request, "session_timeout_ms"),
            limit=f"session {_seconds(number(request, 'session_timeout_ms'))}",
            rebalance_ms=rebalance_ms,
            epoch=epoch,
            epoch_ms=exchange.answered_ms,
            is_followed=True,
        )
        self._went_on(epoch, exchange.answered_ms)

    def _beat(self, exchange: Exchange, member_id: str) -> None:
        answer, said = exchange.response, number(exchange.request, "member_epoch")
        member_id = text(answer, "member_id") or member_id
        if said < _JOINS:
            self._left(member_id, exchange)
            return
        client, connection = exchange.actor or "", exchange.connection
        known = self._members.get(member_id)
        if known is None or (said == _JOINS and known.is_left):
            known = self._members[member_id] = _Member(client=client, connection=connection, heard_ms=-inf)
        known.is_followed = known.is_followed or said == _JOINS
        known.heard_ms = max(known.heard_ms, exchange.asked_ms)
        if (rebalance_ms := number(exchange.request, "rebalance_timeout_ms")) > 0:
            known.rebalance_ms = rebalance_ms
        interval_ms = max(number(answer, "heartbeat_interval_ms"), 1)
        known.session_ms, known.limit = _MISSED_BEATS * interval_ms, f"an interval of {_seconds(interval_ms)}"
        if (epoch := number(answer, "member_epoch")) != known.epoch:
            known.epoch, known.epoch_ms = epoch, exchange.answered_ms
        assignment = structure(answer, "assignment")
        if assignment is not None:
            known.assigned = owned_partitions(assignment) or frozenset()
            known.given |= known.assigned
        self._went_on(epoch, exchange.answered_ms)

    def _went_on(self, epoch: int, at_ms: float) -> None:
        if epoch > self._epoch:
            self._epoch, self._epoch_ms = epoch, at_ms

    def _leaving(self, exchange: Exchange) -> Iterator[Refusal]:
        for each in [*items(exchange.request, "members")] or [exchange.request]:
            self._left(text(each, "member_id"), exchange, reason := text(each, "reason"))
            if "poll" in reason:
                found = (ToBlame.CLIENT, "left because it had not polled for max.poll.interval.ms", reason)
                yield self._refusal(exchange, "", found)

    def _left(self, member_id: str, exchange: Exchange, reason: str = "") -> None:
        if (member := self._members.get(member_id)) is not None and not member.is_left:
            member.is_left, member.left_ms, member.reason = True, exchange.asked_ms, reason
            member.left_by, member.left_on = exchange.actor or "", exchange.connection
            member.assigned = frozenset()

    def _back(self, exchange: Exchange) -> Iterator[Refusal]:
        """Yield that a member, which left without a reason when it may not have polled, is back.

        librdkafka never says why it leaves. Its rebalance timeout is its max.poll.interval.ms, and it joins
        again when its application polls again.
        """
        for each in self._members.values():
            after_ms = each.left_ms - each.epoch_ms
            is_same = each.left_on == each.connection == exchange.connection
            if is_same and not each.reason and 1 < each.rebalance_ms <= after_ms < inf:
                each.left_on = ""
                shown = (
                    f"it left {_seconds(after_ms)} after its last rebalance, with a limit of "
                    f"{_seconds(each.rebalance_ms)}, and is back after "
                    f"{_seconds(exchange.asked_ms - each.left_ms)}"
                )
                cause = "left, as clients do that have not polled for max.poll.interval.ms, or unsubscribed"
                yield self._refusal(exchange, "", (ToBlame.UNKNOWN, cause, shown))

    def _claims(self, exchange: Exchange, member_id: str, member: _Member) -> Iterator[Refusal]:
        claimed = (owned_partitions(exchange.request) or frozenset()) - member.given
        for other_id, other in self._members.items() if claimed and member.is_followed else ():
            if other_id != member_id and (others := claimed & other.assigned):
                shown = f"{len(others)} partitions of {other.client or other_id}"
                found = (ToBlame.CLIENT, "claims partitions that others own", shown)
                yield self._refusal(exchange, "", found)


def _is_join(exchange: Exchange) -> bool:
    if exchange.api in HEARTBEATS:
        return number(exchange.request, "member_epoch") == _JOINS
    return exchange.api == "JoinGroup"


def _epoch_said(request: Mapping[str, object]) -> int:
    names = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
    return next((number(request, name) for name in names if name in request), -1)


def _details(exchange: Exchange) -> str:
    """Return the values of a request that a refusal may be about."""
    names = ("session_timeout_ms", "server_assignor", "subscribed_topic_regex")
    said = [f"{name} {exchange.request[name]}" for name in names if exchange.request.get(name)]
    protocols = ", ".join(text(each, "name") for each in items(exchange.request, "protocols"))
    return "; ".join([*said, *([f"protocols {protocols}"] if protocols else [])])


def _error_of(value: object, group: str) -> str:
    """Return the first error in an answer, outermost first, without entries about other groups."""
    if isinstance(value, Mapping):
        if value.get("group_id", group) != group:
            return NO_ERROR
        if (error := value.get("error_code", NO_ERROR)) != NO_ERROR:
            return str(error)
        value = [each for each in value.values() if isinstance(each, Mapping | list)]
    found = (_error_of(each, group) for each in value) if isinstance(value, list) else ()
    return next((each for each in found if each != NO_ERROR), NO_ERROR)


def _partitions_with(answer: Mapping[str, object], error: str) -> Iterator[tuple[str, int]]:
    """Yield the partitions of which an answer to a commit or a deletion of offsets says this."""
    for topic, partition in partitions_in(answer):
        if "committed_offset" not in partition and text(partition, "error_code") == error:
            name = text(topic, "name") or text(topic, "topic_id")
            yield name, number(partition, "partition_index")


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1_000:.1f} s"
