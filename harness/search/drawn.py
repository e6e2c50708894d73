"""Find out which ids a target drew in a conversation, and which leaders it chose, for the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from harness.targets.reference.draws import Draws
from harness.trace.canonical import minted_prefix
from harness.trace.events import Event, EventKind
from harness.trace.schema import json_object

_OTHERS: Final = 8
"""How many guesses the reference makes for ids that the target drew but did not return."""


def draws_of(events: Sequence[Event], topic_ids: Mapping[str, str]) -> Draws:
    """Return the ids that are known from a recorded conversation.

    Args:
        events: the recorded events of the conversation.
        topic_ids: the target's topic ids, by name.
    """
    return Draws(topic_ids=topic_ids, member_ids=_drawn_ids(events)[0], leaders=_leaders(events))


def all_draws(events: Sequence[Event], topic_ids: Mapping[str, str]) -> Sequence[Draws]:
    """Return the draws that the target may have made; several only if it did not return all member ids."""
    member_ids, is_all = _drawn_ids(events)
    known = Draws(topic_ids=topic_ids, member_ids=member_ids, leaders=_leaders(events))
    return [known, *(replace(known, salt=f"{number}") for number in range(0 if is_all else _OTHERS))]


def _drawn_ids(events: Sequence[Event]) -> tuple[Mapping[str, Sequence[str]], bool]:
    """Return the drawn member ids by prefix, in request order, and whether no others were drawn."""
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


def _leaders(events: Sequence[Event]) -> Sequence[str]:
    """Return the leaders that answers name, in their order: until 3.9 a coordinator may choose any member."""
    named = (
        _text(each, "leader")
        for each in events
        if each.kind == EventKind.RESPONSE and each.api == "JoinGroup"
    )
    return [each for each, _ in groupby(named) if each]


_DRAW: Final = ("JoinGroup", "ConsumerGroupHeartbeat")
"""Requests without a member id for which a coordinator may draw one."""


def _member_id(event: Event) -> str | None:
    return _text(event, "member_id")


def _text(event: Event, name: str) -> str | None:
    if event.fields is None:
        return None
    found = json_object(event.fields, where="`fields`").get(name)
    return found if isinstance(found, str) else None
