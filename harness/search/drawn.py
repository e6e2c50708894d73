"""Which ids a target drew in a conversation, for the reference to have the same."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from harness.targets.reference.draws import Draws
from harness.trace.canonical import minted_prefix
from harness.trace.events import Event, EventKind
from harness.trace.schema import json_object

_OTHERS: Final = 8
"""How often the reference draws ids that the target drew and did not tell."""


def draws_of(events: Sequence[Event], topic_ids: Mapping[str, str]) -> Draws:
    """Return the ids that are known of a recorded conversation.

    Args:
        events: what is on record of it.
        topic_ids: those of the target, by name.
    """
    return Draws(topic_ids=topic_ids, member_ids=_drawn_ids(events)[0])


def all_draws(events: Sequence[Event], topic_ids: Mapping[str, str]) -> Sequence[Draws]:
    """Return what the target may have drawn: one alone, unless there are member ids that it did not tell."""
    member_ids, is_all = _drawn_ids(events)
    known = Draws(topic_ids=topic_ids, member_ids=member_ids)
    return [known, *(replace(known, salt=f"{number}") for number in range(0 if is_all else _OTHERS))]


def _drawn_ids(events: Sequence[Event]) -> tuple[Mapping[str, Sequence[str]], bool]:
    """Return member ids by prefix, as they were asked for, and whether those are all."""
    answers = {
        (each.actor, each.connection, each.correlation_id): each
        for each in events
        if each.kind == EventKind.RESPONSE
    }
    found: dict[str, list[str]] = {}
    is_all = True
    for event in events:
        if event.kind != EventKind.REQUEST or _member_id(event) != "":
            continue
        answer = answers.get((event.actor, event.connection, event.correlation_id))
        member_id = None if answer is None else _member_id(answer)
        prefix = None if member_id is None else minted_prefix(member_id)
        if prefix is not None and member_id is not None:
            found.setdefault(prefix, []).append(member_id)
        elif event.api in _DRAW:
            is_all = is_all and member_id == ""
    return found, is_all


_DRAW: Final = ("JoinGroup", "ConsumerGroupHeartbeat")
"""Requests without a member id for which a coordinator may draw one."""


def _member_id(event: Event) -> str | None:
    if event.fields is None:
        return None
    found = json_object(event.fields, where="`fields`").get("member_id")
    return found if isinstance(found, str) else None
