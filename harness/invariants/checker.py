"""A checker of all invariants over a stream of events, one event after another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.invariants.commits import Commits
from harness.invariants.consumer_group import ConsumerGroup
from harness.invariants.exchange import NO_ERROR, Answered, Asked, Fields, Pairing, items, text
from harness.invariants.group import Group
from harness.invariants.violation import Found, Violation
from harness.trace.events import Event, EventKind

ConversationKey: TypeAlias = tuple[str, str, str]
"""Run, target, conversation."""

_LOG: Final = "__consumer_offsets"
_COORDINATOR_ENDS: Final = frozenset((EventKind.CONTROL, EventKind.CLOSED))


@dataclass(slots=True)
class _Conversation:
    """The groups of one conversation."""

    groups: dict[str, Group] = field(default_factory=dict)
    consumer_groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    commits: dict[str, Commits] = field(default_factory=dict)
    topic_names: dict[str, str] = field(default_factory=dict)


class Checker:
    """Tracks the state of every group, and checks each event as it comes."""

    def __init__(self, *, offsets_expire: bool = False) -> None:
        """Start with no known groups.

        Args:
            offsets_expire: whether brokers remove committed offsets within the time of the trace.
        """
        self._offsets_expire = offsets_expire
        self._pairing = Pairing()
        self._conversations: dict[ConversationKey, _Conversation] = {}

    def feed(self, event: Event) -> tuple[Violation, ...]:
        """Process the next event and return the violations that it shows."""
        conversation = self._conversations.setdefault(
            (event.run_id, event.target, event.scenario_id), _Conversation()
        )
        if event.kind in _COORDINATOR_ENDS:
            for group in conversation.groups.values():
                group.coordinator_may_have_changed()
            for consumer_group in conversation.consumer_groups.values():
                consumer_group.coordinator_may_have_changed()
        match self._pairing.take(event):
            case Asked() as asked:
                self._asked(conversation, asked)
                return ()
            case Answered() as answered:
                found = self._answered(conversation, answered)
                return tuple(_violation(event, group_id, each) for group_id, each in found)
            case None:
                return ()

    def _asked(self, conversation: _Conversation, asked: Asked) -> None:
        group_id = text(asked.fields, "group_id")
        if group_id:
            self._group(conversation, group_id).asked(asked)
            self._consumer_group(conversation, group_id).asked(asked)
            self._commits(conversation, group_id).asked(asked)

    def _answered(self, conversation: _Conversation, answered: Answered) -> Iterator[tuple[str, Found]]:
        match answered.asked.api:
            case "Metadata":
                for topic in items(answered.fields, "topics"):
                    conversation.topic_names[text(topic, "topic_id")] = text(topic, "name")
            case "DeleteGroups":
                self._groups_deleted(conversation, answered)
            case "DeleteTopics":
                for topic in items(answered.fields, "responses"):
                    self._topic_deleted(conversation, text(topic, "name"), answered)
            case _:
                for group_id, fields in _of_groups(answered):
                    group = self._group(conversation, group_id)
                    yield from ((group_id, found) for found in group.answered(answered))
                    consumer_group = self._consumer_group(conversation, group_id)
                    yield from ((group_id, found) for found in consumer_group.answered(answered, fields))
                    commits = self._commits(conversation, group_id)
                    yield from ((group_id, found) for found in commits.answered(answered, fields))

    def _groups_deleted(self, conversation: _Conversation, answered: Answered) -> None:
        for result in items(answered.fields, "results"):
            if text(result, "error_code") == NO_ERROR:
                self._group(conversation, text(result, "group_id")).removed()
                self._consumer_group(conversation, text(result, "group_id")).removed()
                self._commits(conversation, text(result, "group_id")).removed(answered)

    def _topic_deleted(self, conversation: _Conversation, name: str, answered: Answered) -> None:
        for commits in conversation.commits.values():
            commits.topic_removed(name, answered)
        for group in conversation.consumer_groups.values() if name == _LOG else ():
            group.removed()

    def _group(self, conversation: _Conversation, group_id: str) -> Group:
        return conversation.groups.setdefault(group_id, Group())

    def _consumer_group(self, conversation: _Conversation, group_id: str) -> ConsumerGroup:
        return conversation.consumer_groups.setdefault(
            group_id, ConsumerGroup(names=conversation.topic_names)
        )

    def _commits(self, conversation: _Conversation, group_id: str) -> Commits:
        if group_id not in conversation.commits:
            conversation.commits[group_id] = Commits(
                may_expire=self._offsets_expire, names=conversation.topic_names
            )
        return conversation.commits[group_id]


def check(events: Iterable[Event], *, offsets_expire: bool = False) -> tuple[Violation, ...]:
    """Return all violations in a trace."""
    checker = Checker(offsets_expire=offsets_expire)
    return tuple(violation for event in events for violation in checker.feed(event))


def _of_groups(answered: Answered) -> Iterator[tuple[str, Fields]]:
    """Yield the groups that an answer is about, each with the fields of the answer for that group."""
    group_id = text(answered.asked.fields, "group_id")
    if group_id:
        yield group_id, answered.fields
        return
    for part in items(answered.fields, "groups"):
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
