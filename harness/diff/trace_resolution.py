"""Resolve a script's references in a recorded conversation, to compare expectations with answers.

Values are learnt in the order of the trace, as they were while the conversation was run: `ana.generation_id`
in step 12 is the value that ana knew before step 12.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TypeGuard

from harness.diff.raw_difference import ABSENT, leaf_text, read_fields, unindexed
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.matching import MISSING, Mismatch
from harness.scenario.script import Repeat, Script, Send
from harness.scenario.values import Containing, GroupRef, InAnyOrder, OneOf, Pattern, TopicId, parts, phrase
from harness.trace.canonical import Canonicaliser, FieldValue, member_prefixes, sort_key, sort_key_fields
from harness.trace.events import Event, EventKind


class TraceResolution:
    """The values that actors of a recorded conversation have learnt so far, and the names of all ids."""

    def __init__(self, script: Script, events: Sequence[Event]) -> None:
        groups = groups_of(script, events)
        self._learnt: Event | None = None
        self._bindings = Bindings(groups=groups)
        self._canonicaliser = Canonicaliser(
            groups={real: name for name, real in groups.items()},
            actors=member_prefixes(
                (sheet.name, prefix)
                for sheet in script.actors
                for prefix in (sheet.client_id, sheet.group_instance_id)
            ),
        )
        self._name_ids(events)

    def _name_ids(self, events: Sequence[Event]) -> None:
        """Learn all ids of the conversation: an answer may show one before its owner receives it."""
        for event in events:
            if event.actor is None or event.api is None:
                continue
            if event.kind in (EventKind.REQUEST, EventKind.RESPONSE, EventKind.POLL):
                is_asked, names = event.kind == EventKind.REQUEST, self._canonicaliser
                note = names.asked if is_asked else names.observe
                note(actor=event.actor, api=event.api, fields=read_fields(event.fields))
        self._canonicaliser.settle()

    def learn(self, event: Event) -> None:
        """Learn from a response or a poll; learning from the same event again has no effect."""
        is_telling = event.kind in (EventKind.RESPONSE, EventKind.POLL) and event is not self._learnt
        if is_telling and event.actor is not None and event.api is not None:
            self._learnt = event
            answered = read_fields(event.fields)
            self._bindings.learn(step=event.step, actor=event.actor, api=event.api, fields=answered)

    def answered(self, event: Event) -> FieldValue:
        """Return a response's decoded fields, in canonical order where Kafka defines no order."""
        return self._canonicaliser.arranged(read_fields(event.fields), api=event.api or "")

    def resolved(self, expected: Mapping[str, Pattern], event: Event) -> dict[str, Pattern]:
        """Replace references with values, and learn from the answer that is being checked.

        A reference means the value that was known before the answer, so that `ana.member_id` does not match
        just any id. Only a value that no earlier answer contained, such as an actor's first id, may come from
        the answer itself. A reference that is still unknown stays a reference, which nothing equals.
        """
        before = {name: self._resolve(pattern) for name, pattern in expected.items()}
        self.learn(event)
        return {name: self._resolve(pattern) for name, pattern in before.items()}

    def _resolve(self, pattern: Pattern) -> Pattern:
        try:
            return self._bindings.resolve(pattern)
        except UnboundReferenceError:
            return pattern

    def arranged(self, pattern: Pattern, *, api: str, path: str = "") -> Pattern:
        """Return a resolved pattern with its unordered collections in canonical order, where it pins one."""
        arranged = _rebuilt(pattern, path, lambda part, place: self.arranged(part, api=api, path=place))
        is_list = _is_sequence(arranged) and sort_key_fields(api, path) is not None
        if is_list or isinstance(pattern, InAnyOrder):
            return self._in_order(tuple(parts(arranged)), api, path)
        return arranged

    def _in_order(self, items: tuple[Pattern, ...], api: str, path: str) -> Pattern:
        """Sort items as the answer's items are sorted; items that do not pin their key match in any order."""
        key = sort_key_fields(api, path)
        keyed = {} if key is None else {self._key_of(item, api, path, key): item for item in items}
        if None in keyed or len(keyed) < len(items):
            return InAnyOrder(items)
        return tuple(item for _, item in sorted(keyed.items(), key=lambda pair: pair[0] or ()))

    def _key_of(
        self, item: Pattern, api: str, path: str, key: tuple[str, ...]
    ) -> tuple[tuple[bool, int, str], ...] | None:
        if not isinstance(item, Mapping):
            return None
        pinned = {name: value for name in key if isinstance(value := item.get(name), str | int)}
        if not pinned:
            return None
        return sort_key(self._canonicaliser.value(pinned, api=api, path=f"{path}[]"), key)

    def actual_text(self, mismatch: Mismatch, *, api: str) -> str:
        """Return the actual value with names instead of ids."""
        if mismatch.actual is MISSING:
            return leaf_text(ABSENT)
        actual: FieldValue = mismatch.actual  # type: ignore[assignment] # a part of decoded fields
        return leaf_text(self._canonicaliser.value(actual, api=api, path=unindexed(mismatch.path)))

    def expected_text(self, mismatch: Mismatch) -> str:
        """Return the expected value with names instead of ids: JSON for a value, a phrase for a choice."""
        named = self._named(mismatch.expected, unindexed(mismatch.path))
        return phrase(named) if _is_choice(named) else leaf_text(named)  # type: ignore[arg-type] # no choice within it

    def _named(self, pattern: Pattern, path: str) -> Pattern:
        if isinstance(pattern, str | int):
            return self._canonicaliser.value(pattern, path=path)  # type: ignore[return-value] # a text or a number
        return _rebuilt(pattern, path, self._named)


def _rebuilt(pattern: Pattern, path: str, change: Callable[[Pattern, str], Pattern]) -> Pattern:
    """Return a pattern with its parts changed, each of which has a path of its own."""
    match pattern:
        case OneOf(values):
            return OneOf(tuple(change(value, path) for value in values))
        case InAnyOrder(items):
            return InAnyOrder(tuple(change(item, f"{path}[]") for item in items))
        case Containing(items):
            return Containing(tuple(change(item, f"{path}[]") for item in items))
        case Mapping():
            return {name: change(item, f"{path}.{name}" if path else name) for name, item in pattern.items()}
        case _ if _is_sequence(pattern):
            return tuple(change(item, f"{path}[]") for item in pattern)
        case _:
            return pattern


def _is_choice(pattern: Pattern) -> bool:
    """Return whether a pattern contains anything that JSON cannot express."""
    return is_dataclass(pattern) or any(map(_is_choice, parts(pattern)))


def groups_of(script: Script, events: Sequence[Event]) -> dict[str, str]:
    """Map the names of groups to their real ids, by comparing scripted requests with those that were sent.

    A group that no request named gets a placeholder as its id, which no answer can contain.
    """
    groups: dict[str, str] = {}
    for event in events:
        step = script.steps[event.step] if 0 <= event.step < len(script.steps) else None
        if event.kind == EventKind.REQUEST and isinstance(step, Send | Repeat):
            groups.update(_named_groups(step.fields, read_fields(event.fields)))
    patterns = (getattr(step, name, None) for step in script.steps for name in ("fields", "until"))
    names = (name for pattern in patterns for name in _group_names(pattern))
    return {name: f"group:{name}" for name in names} | groups


def _named_groups(scripted: Pattern, sent: object) -> Iterator[tuple[str, str]]:
    if isinstance(scripted, GroupRef) and isinstance(sent, str):
        yield scripted.name, sent
    elif isinstance(sent, dict) and isinstance(scripted, Mapping):
        for name in scripted:
            yield from _named_groups(scripted[name], sent.get(name))
    elif isinstance(sent, list) and _is_sequence(scripted):
        for one, other in zip(scripted, sent, strict=False):
            yield from _named_groups(one, other)


def _group_names(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case GroupRef(name) | TopicId(GroupRef(name)):
            yield name
        case _:
            for item in parts(pattern):
                yield from _group_names(item)


def _is_sequence(value: object) -> TypeGuard[Sequence[Pattern]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
