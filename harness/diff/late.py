"""Late answers, and what may only follow from the wait for them.

While a conversation awaits a late answer, its members send nothing, and a timer of theirs may run out: a
session, a rebalance, a transaction. The reference answers at once, so that it saw none of that. From then on
no difference counts, except that the answer was late.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.diff.paths import read_fields
from harness.diff.raw_difference import RawDifference
from harness.scenario.script import Script
from harness.trace.events import LATE, Event, EventKind

_TIMERS: Final = {
    "session_timeout_ms": "session",
    "rebalance_timeout_ms": "rebalance timeout",
    "transaction_timeout_ms": "transaction",
}
"""The timers that a request starts, by the field that says how long they run."""
_GROUP_HEARTBEATS: Final = frozenset(
    ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
)
_SESSION_MS: Final = 45_000
"""Of such a member by default. Source: GroupCoordinatorConfig (4.3.1)."""
_CONFIGURED: Final = re.compile(r"session\.timeout\.ms\D{1,40}?(\d+)")
"""A session timeout in a request that configures a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanOut:
    """A timer that ran out while an answer was late."""

    step: int
    """The step that awaited the answer."""
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timer:
    begin_ms: float
    limit_ms: float


def is_late(event: Event) -> bool:
    """Return whether an answer came after its time."""
    return (event.note or "").startswith(LATE)


def timer_run_out(script: Script, events: Sequence[Event]) -> RanOut | None:
    """Return the first timer that ran out only because a conversation awaited a late answer."""
    if not any(map(is_late, events)):
        return None
    timers: dict[tuple[str, str], _Timer] = {}
    waits: list[tuple[float, float]] = []
    session_ms, before_ms = min([_SESSION_MS, *_configured(script)]), 0.0
    for event in events:
        if event.kind == EventKind.REQUEST and event.actor is not None:
            session_ms = min([session_ms, *map(int, _CONFIGURED.findall(event.fields or ""))])
            _start(timers, event, session_ms)
        elif is_late(event):
            waits.append((before_ms, event.at_ms))
            for (actor, name), timer in timers.items():
                ran_ms = event.at_ms - timer.begin_ms
                waited_ms = sum(max(0.0, end - max(begin, timer.begin_ms)) for begin, end in waits)
                if ran_ms - waited_ms < timer.limit_ms <= ran_ms:
                    words = f"{actor}'s {name} of {timer.limit_ms / 1000:g} s"
                    return RanOut(step=event.step, words=words)
        if event.kind != EventKind.STARVED:
            before_ms = event.at_ms
    return None


def _start(timers: dict[tuple[str, str], _Timer], event: Event, session_ms: float) -> None:
    """Start the timers of a request, and its member's session again."""
    assert event.actor is not None
    fields = read_fields(event.fields)
    limits = {words: fields[name] for name, words in _TIMERS.items() if name in fields}
    if event.api in _GROUP_HEARTBEATS:
        limits["session"] = session_ms
    running = timers.get((event.actor, "session"))
    if running is not None:
        limits.setdefault("session", running.limit_ms)
    for words, limit_ms in limits.items():
        if isinstance(limit_ms, int | float) and limit_ms > 0:
            timers[event.actor, words] = _Timer(begin_ms=event.at_ms, limit_ms=limit_ms)


def _configured(script: Script) -> Iterator[int]:
    """Yield the session timeouts that a script's broker is configured with."""
    return (int(value) for name, value in script.broker_config.items() if name.endswith("session.timeout.ms"))


def without_consequences_of_waits(
    script: Script, seen: Sequence[RawDifference], events: Sequence[Event]
) -> Sequence[RawDifference]:
    """Return differences without those that may only follow from the wait for a late answer."""
    over = timer_run_out(script, events)
    if over is None:
        return seen
    late = {event.sequence for event in events if is_late(event)}
    return [one for one in seen if one.step < over.step or (one.field is None and one.event_sequence in late)]
