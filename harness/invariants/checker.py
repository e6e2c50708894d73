"""A checker of all invariants over a stream of events, one event after another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from harness.invariants.blame import Blame, Refusal
from harness.invariants.exchange import (
    HEARTBEATS,
    LOOKED_AT,
    NO_ERROR,
    EventPairing,
    Exchange,
    Fields,
    items,
    text,
)
from harness.invariants.laws import Commits, ConsumerGroup, Group
from harness.invariants.violation import AtFault, Found, Invariant, Violation
from harness.trace.events import Event, EventKind

ConversationKey: TypeAlias = tuple[str, str, str]
"""Run, target, conversation."""

_LOG: Final = "__consumer_offsets"
_COORDINATOR_ENDS: Final = frozenset((EventKind.CONTROL, EventKind.CLOSED))


@dataclass(slots=True)
class Identity:
    """The connections on which each member of one group joins, and on which it heartbeats.

    A member may join on one connection and heartbeat on another, and it may connect anew. They are two
    members if a connection goes on after another one did the same.
    """

    _last: dict[tuple[str, str], list[Exchange]] = field(default_factory=dict)
    """By member id and API, the last request on each of the last two connections."""
    _given: dict[str, set[str]] = field(default_factory=dict)
    """The connections on which the coordinator gave out a member id."""
    _found: set[str] = field(default_factory=set)

    def asked(self, asked: Exchange) -> Iterator[Found]:
        """Process a request and yield the violation that it shows."""
        member_id = text(asked.request, "member_id")
        if not member_id or asked.api not in ("JoinGroup", "Heartbeat", *HEARTBEATS):
            return
        last = self._last.setdefault((member_id, asked.api), [])
        if last and last[-1].connection == asked.connection:
            last[-1] = asked
            return
        if member_id not in self._found and any(each.connection == asked.connection for each in last):
            self._found.add(member_id)
            clients = " and ".join(f"{each.actor} ({each.connection})" for each in (last[-1], asked))
            given = {last[-1].connection, asked.connection} <= self._given.get(member_id, set())
            what = f"{member_id} sends {asked.api} on two live connections, of {clients}"
            yield Invariant.IDENTITY, AtFault.COORDINATOR if given else AtFault.CLIENTS, what
        self._last[member_id, asked.api] = [*last[-1:], asked]

    def answered(self, answered: Exchange) -> None:
        """Process an answer, which may give out a member id."""
        given = text(answered.response, "member_id")
        if given and not text(answered.request, "member_id"):
            self._given.setdefault(given, set()).add(answered.connection)


@dataclass(slots=True, kw_only=True)
class _Followed:
    """What is known of one group."""

    identity: Identity
    leaders: Group
    consumers: ConsumerGroup
    commits: Commits
    blame: Blame


@dataclass(slots=True)
class _Conversation:
    """The groups of one conversation."""

    groups: dict[str, _Followed] = field(default_factory=dict)
    topic_names: dict[str, str] = field(default_factory=dict)


class Checker:
    """Tracks the state of every group, and checks each event as it comes."""

    def __init__(self, *, offsets_expire: bool = False, is_whole: bool = False) -> None:
        """Start with no known groups.

        Args:
            offsets_expire: whether brokers remove committed offsets within the time of the trace.
            is_whole: whether the trace has everything that was ever sent about its groups.
        """
        self.refusals: list[Refusal] = []
        self._offsets_expire, self._is_whole = offsets_expire, is_whole
        self._pairing = EventPairing(LOOKED_AT)
        self._conversations: dict[ConversationKey, _Conversation] = {}

    def feed(self, event: Event) -> tuple[Violation, ...]:
        """Process the next event and return the violations that it shows."""
        conversation = self._conversations.setdefault(
            (event.run_id, event.target, event.scenario_id), _Conversation()
        )
        if event.kind in _COORDINATOR_ENDS:
            for group in conversation.groups.values():
                group.blame.changes_ms.append(event.at_ms)
        exchange = self._pairing.take(event)
        if exchange is None or (event.kind != EventKind.REQUEST and exchange.answer is None):
            return ()
        is_request = event.kind == EventKind.REQUEST
        for group_id in exchange.groups:
            blame = self._group(conversation, group_id).blame
            self.refusals += (blame.asked if is_request else blame.answered)(exchange)
        found = (self._asked if is_request else self._answered)(conversation, exchange)
        return tuple(_violation(event, group_id, each) for group_id, each in found)

    def _asked(self, conversation: _Conversation, asked: Exchange) -> Iterator[tuple[str, Found]]:
        if group_id := text(asked.request, "group_id"):
            group = self._group(conversation, group_id)
            group.consumers.asked(asked)
            group.commits.asked(asked)
            yield from ((group_id, found) for found in group.identity.asked(asked))

    def _answered(self, conversation: _Conversation, answered: Exchange) -> Iterator[tuple[str, Found]]:
        match answered.api:
            case "Metadata":
                for topic in items(answered.response, "topics"):
                    conversation.topic_names[text(topic, "topic_id")] = text(topic, "name")
            case "DeleteGroups":
                self._groups_deleted(conversation, answered)
            case "DeleteTopics":
                for topic in items(answered.response, "responses"):
                    _topic_deleted(conversation, text(topic, "name"), answered)
            case _:
                for group_id, fields in _of_groups(answered):
                    group = self._group(conversation, group_id)
                    group.identity.answered(answered)
                    every = group.leaders.answered(answered), group.consumers.answered(answered)
                    for found in chain(*every, group.commits.answered(answered, fields)):
                        yield group_id, found

    def _groups_deleted(self, conversation: _Conversation, answered: Exchange) -> None:
        for result in items(answered.response, "results"):
            if text(result, "error_code") == NO_ERROR:
                group = self._group(conversation, text(result, "group_id"))
                group.leaders.removed()
                group.consumers.removed()
                group.commits.removed(answered)

    def _group(self, conversation: _Conversation, group_id: str) -> _Followed:
        if group_id not in conversation.groups:
            names = conversation.topic_names
            conversation.groups[group_id] = _Followed(
                identity=Identity(),
                leaders=Group(),
                consumers=ConsumerGroup(names=names, consumers={}),
                commits=Commits(may_expire=self._offsets_expire, names=names),
                blame=Blame(group=group_id, is_whole=self._is_whole),
            )
        return conversation.groups[group_id]


def _topic_deleted(conversation: _Conversation, name: str, answered: Exchange) -> None:
    for group in conversation.groups.values():
        group.commits.topic_removed(name, answered)
        if name == _LOG:
            group.consumers.removed()


def check(events: Iterable[Event], *, offsets_expire: bool = False) -> tuple[Violation, ...]:
    """Return all violations in a trace."""
    checker = Checker(offsets_expire=offsets_expire)
    return tuple(violation for event in events for violation in checker.feed(event))


def _of_groups(answered: Exchange) -> Iterator[tuple[str, Fields]]:
    """Yield the groups that an answer is about, each with the fields of the answer for that group."""
    group_id = text(answered.request, "group_id")
    if group_id:
        yield group_id, answered.response
        return
    for part in items(answered.response, "groups"):
        yield text(part, "group_id"), part


def _violation(event: Event, group_id: str, found: Found) -> Violation:
    invariant, fault, detail = found
    return Violation(
        invariant=invariant,
        party=fault,
        run_id=event.run_id,
        target=event.target,
        scenario_id=event.scenario_id,
        group_id=group_id,
        sequence=event.sequence,
        at_ms=event.at_ms,
        detail=detail,
    )
