"""Find out which ids a target drew in a conversation, and which leaders it chose, for the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from harness.search.moves import client_id_of
from harness.targets.reference.draws import Draws
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
    return _draws(topic_ids, _drawn_ids(events), events)


def all_draws(events: Sequence[Event], topic_ids: Mapping[str, str]) -> Sequence[Draws]:
    """Return the draws that the target may have made; several only if it did not return all member ids."""
    drawn = _drawn_ids(events)
    known = _draws(topic_ids, drawn, events)
    return [known, *(replace(known, salt=f"{number}") for number in range(0 if drawn.is_all else _OTHERS))]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Member ids that a target drew, in request order, and whether it drew no others."""

    by_prefix: Mapping[str, Sequence[str]]
    """Those that JoinGroup brought."""
    in_order: Sequence[str]
    is_all: bool


def _draws(topic_ids: Mapping[str, str], drawn: _Drawn, events: Sequence[Event]) -> Draws:
    return Draws(
        topic_ids=topic_ids, member_ids=drawn.by_prefix, in_order=drawn.in_order, leaders=_leaders(events)
    )


def _drawn_ids(events: Sequence[Event]) -> _Drawn:
    answers = {
        (each.actor, each.connection, each.correlation_id): each
        for each in events
        if each.kind == EventKind.RESPONSE
    }
    found: dict[str, list[str]] = {}
    in_order: list[str] = []
    is_all = True
    for event in events:
        if event.kind != EventKind.REQUEST or event.api not in _DRAW or _member_id(event) != "":
            continue
        answer = answers.get((event.actor, event.connection, event.correlation_id))
        member_id = None if answer is None else _member_id(answer)
        if not member_id:
            is_all = is_all and member_id == ""
            continue
        in_order.append(member_id)
        if event.api == "JoinGroup":
            instance_id = _text(event, "group_instance_id")
            client_id = client_id_of(event.actor or "") or ""
            prefix = client_id if instance_id is None else instance_id
            found.setdefault(prefix, []).append(member_id)
    return _Drawn(by_prefix=found, in_order=in_order, is_all=is_all)


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
