"""Who may have ended a broker: what conversations with it sent and heard last.

The request that ends a broker is one of the last that it got. So the requests without an answer come first,
the nearest to its end before the others, and then the last ones that were answered. When it ended is not
known exactly: brokers also close connections and go on, and a conversation that finds one closed takes a
while to see what has become of the broker.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.scenario.script import Script, step_text
from harness.trace.events import TARGET_LOST, Event, EventKind

ENDED_COUNT: Final = 10
"""How many of the last answers and closes are suspicious, beside the requests without an answer."""

_ASKS_S: Final = 10.0
"""The longest that a conversation asks what has become of the broker, once a connection is closed."""
_CAME: Final = frozenset((EventKind.RESPONSE, EventKind.MALFORMED, EventKind.POLL, EventKind.CLOSED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A conversation that may have ended the broker."""

    scenario_id: str
    what: str
    """Its last request, and what became of it."""

    def __str__(self) -> str:
        return f"{self.scenario_id}, {self.what}"


@dataclass(slots=True, kw_only=True)
class _Last:
    """The last request of a conversation, and what came of it."""

    step: int
    text: str
    sent_s: float
    came: str | None = None
    came_s: float = 0.0

    def may_wait_at(self, lost_s: float) -> bool:
        """Return whether no answer had come by a time; a connection may close because its broker ends."""
        if self.came is None or self.came_s > lost_s:
            return True
        return self.came == EventKind.CLOSED and self.came_s > lost_s - _ASKS_S


@dataclass(slots=True)
class LastWords:
    """The last request of each conversation with one broker, until the first that finds the broker gone."""

    clock: Callable[[], float] = time.monotonic
    _last: OrderedDict[str, _Last] = field(default_factory=OrderedDict)
    _closed: dict[str, float] = field(default_factory=dict)
    """When conversations found a connection closed that have sent and heard nothing since."""
    _answered_s: float = 0.0
    """When the last answer came before anybody found the broker gone."""
    _lost_s: float | None = None
    """About when the broker ended."""
    _missed_s: float | None = None
    """When a conversation first found it gone."""

    def hear(self, script: Script, event: Event) -> None:
        """Take note of an event of a conversation."""
        now_s = self.clock()
        if event.kind == EventKind.REQUEST:
            text = step_text(script.steps[event.step]).split(",", 1)[0]
            self._last[script.id] = _Last(step=event.step, text=text, sent_s=now_s)
            self._last.move_to_end(script.id)
            self._closed.pop(script.id, None)
        elif event.kind in _CAME and script.id in self._last:
            self._last[script.id].came, self._last[script.id].came_s = event.kind, now_s
            if event.kind == EventKind.CLOSED:
                self._closed[script.id] = now_s
                return
            self._closed.pop(script.id, None)
            if self._missed_s is None:
                self._answered_s = now_s
        elif (event.note or "").startswith(TARGET_LOST):
            closed_s = self._closed.get(script.id, now_s)
            lost_s = now_s if closed_s < now_s - _ASKS_S else closed_s
            self._lost_s = lost_s if self._lost_s is None else min(self._lost_s, lost_s)
            self._missed_s = self._missed_s or now_s

    def suspects(self) -> tuple[Suspect, ...]:
        """Return who may have ended the broker, the most suspicious first."""
        now_s = self.clock()
        lost_s = max(now_s if self._lost_s is None else self._lost_s, self._answered_s)
        sent = [(name, each) for name, each in self._last.items() if each.sent_s <= (self._missed_s or now_s)]
        waiting = [(name, each) for name, each in sent if each.may_wait_at(lost_s)]
        waiting.sort(key=lambda one: abs(lost_s - one[1].sent_s))
        ended = [one for one in sent if one not in waiting and one[1].came != EventKind.CLOSED]
        ended.sort(key=lambda one: -one[1].came_s)
        return tuple(
            Suspect(scenario_id=name, what=_what(each, lost_s))
            for name, each in waiting + ended[:ENDED_COUNT]
        )


def _what(last: _Last, lost_s: float) -> str:
    sent = f"step {last.step} ({last.text}), sent {_away(last.sent_s, lost_s)}"
    if last.came is None or last.came_s > lost_s:
        return f"{sent}, not answered"
    return f"{sent}, {last.came} {_away(last.came_s, lost_s)}"


def _away(when_s: float, lost_s: float) -> str:
    return f"{abs(lost_s - when_s) * 1000:.0f} ms {'before' if when_s <= lost_s else 'after'}"
