"""A checker of all invariants over a stream of events, one event after another, or over a stored run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TypeAlias

from harness.invariants.blame import Blame, Refusal
from harness.invariants.exchange import LOOKED_AT, NO_ERROR, EventPairing, Exchange, Fields, items, text
from harness.invariants.laws import Commits, ConsumerGroup, Found, Group, Identity, Violation
from harness.trace.embedded import broker_properties
from harness.trace.events import Event, EventKind, TraceHeader
from harness.trace.files import RunFolder, read_events, write_records

ConversationKey: TypeAlias = tuple[str, str, str]
"""Run, target, conversation."""

VIOLATIONS: Final = "violations.jsonl.zst"
"""Name of the file in a run's record: one `Violation` a line; empty where no invariant is broken."""
_RETENTION: Final = "offsets.retention"
"""Prefix of all properties that let offsets expire within minutes; the default is days."""
_LOG: Final = "__consumer_offsets"
_COORDINATOR_ENDS: Final = frozenset((EventKind.CONTROL, EventKind.CLOSED))


@dataclass(slots=True, kw_only=True)
class _Followed:
    identity: Identity
    leaders: Group
    consumers: ConsumerGroup
    commits: Commits
    blame: Blame

    def topics_deleted(self, names: Iterable[str], answered: Exchange) -> None:
        for name in names:
            self.commits.topic_removed(name, answered)
            if name == _LOG:
                self.consumers.removed()


@dataclass(slots=True)
class _Conversation:
    groups: dict[str, _Followed] = field(default_factory=dict)
    topic_names: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Checker:
    """Tracks the state of every group, and checks each event as it comes."""

    offsets_expire: bool = False
    """Whether brokers remove committed offsets within the time of the trace."""
    is_whole: bool = False
    """Whether the trace has everything that was ever sent about its groups."""
    refusals: list[Refusal] = field(default_factory=list)
    _pairing: EventPairing = field(default_factory=lambda: EventPairing(LOOKED_AT))
    _conversations: dict[ConversationKey, _Conversation] = field(default_factory=dict)

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
                names = {text(topic, "name") for topic in items(answered.response, "responses")}
                for group in conversation.groups.values():
                    group.topics_deleted(names, answered)
            case _:
                for group_id, fields in _of_groups(answered):
                    group = self._group(conversation, group_id)
                    group.identity.answered(answered)
                    of_members = group.leaders.answered(answered), group.consumers.answered(answered)
                    for found in chain(*of_members, group.commits.answered(answered, fields)):
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
                commits=Commits(may_expire=self.offsets_expire, names=names),
                blame=Blame(group=group_id, is_whole=self.is_whole),
            )
        return conversation.groups[group_id]


def check(events: Iterable[Event], *, offsets_expire: bool = False) -> tuple[Violation, ...]:
    """Return all violations in a trace."""
    checker = Checker(offsets_expire=offsets_expire)
    return tuple(violation for event in events for violation in checker.feed(event))


def checker_for(headers: Iterable[TraceHeader]) -> Checker:
    """Return a checker for brokers that ran with these configurations."""
    configured = (name for header in headers for name in broker_properties(header))
    return Checker(offsets_expire=any(name.startswith(_RETENTION) for name in configured))


def check_run(folder: RunFolder) -> tuple[Violation, ...]:
    """Check every trace of a run, and write the violations to its folder.

    Raises:
        TraceError: a file of the run is damaged.
    """
    found: list[Violation] = []
    for target in folder.targets():
        checker = checker_for(folder.read_headers(target))
        events = read_events(folder.events(target))
        # Concurrent conversations are interleaved in a trace.
        for event in sorted(events, key=lambda each: (each.scenario_id, each.sequence)):
            found += checker.feed(event)
    write_records(folder.record / VIOLATIONS, found)
    return tuple(found)


def _of_groups(answered: Exchange) -> Iterator[tuple[str, Fields]]:
    """Yield the groups that an answer is about, each with the part of the answer for it."""
    if group_id := text(answered.request, "group_id"):
        yield group_id, answered.response
    else:
        yield from ((text(part, "group_id"), part) for part in items(answered.response, "groups"))


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
