"""Runs on an external broker that a command starts again whenever a scenario has ended it.

A broker that ended takes the scenarios with it that were in progress. The suspects among them run again,
alone and one after the other, until one ends the broker again: that is its result, and no fault of others.
The rest is run on. What cannot be shown again alone is given up after a second try.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from harness.orchestration.on_cluster import Cluster
from harness.runner.drive import Drive, DriveResult, Watcher
from harness.runner.suspects import ENDED_COUNT, Suspect
from harness.scenario.script import Script
from harness.targets.base.interface import Lasting, Target, TargetError
from harness.targets.external.target import ExternalTarget
from harness.trace.canonical import digest
from harness.trace.events import BROKER_ENDED, TARGET_LOST, Event, EventKind

_SUSPECTS_MAX: Final = 40
"""How many suspects run again alone for one loss."""
_VAIN_MAX: Final = 2
"""After how many losses that nobody alone could repeat the target is given up."""
_TWICE: Final = "it ended with this scenario among others, and again with it alone"


@dataclass(slots=True)
class _Pending:
    """Events of scenarios that are not written until it is known that they need not run again."""

    write: Callable[[Event], None]
    hear: Callable[[Event], None]
    """Called for the events of a scenario that has ended by itself, long before they are written."""
    scenario_ended: Callable[[str], None]
    """Called once for each scenario, after its events."""
    lost: dict[str, list[Event]] = field(default_factory=dict)
    """Scenarios that the broker's end cut, in the order of their end."""
    _open: dict[str, list[Event]] = field(default_factory=dict)
    _ended: OrderedDict[str, list[Event]] = field(default_factory=OrderedDict)
    """The last scenarios that ended by themselves: one of them may have ended the broker."""

    def take(self, event: Event) -> None:
        """Keep an event."""
        self._open.setdefault(event.scenario_id, []).append(event)

    def end(self, scenario_id: str) -> None:
        """Take note that a scenario has ended."""
        events = self._open.pop(scenario_id, [])
        if any((event.note or "").startswith(TARGET_LOST) for event in events):
            self.lost[scenario_id] = events
            return
        self.lost.pop(scenario_id, None)
        self._tell(scenario_id, events)
        if not any(event.kind == EventKind.REQUEST for event in events):
            self._release(events)
            return
        self._ended[scenario_id] = events
        if len(self._ended) > ENDED_COUNT:
            self._release(self._ended.popitem(last=False)[1])

    def end_all(self) -> None:
        """Take note that no scenario is in progress any more."""
        for scenario_id in tuple(self._open):
            self.end(scenario_id)

    def settle(self, scenario_id: str, events: Sequence[Event]) -> None:
        """Write what a scenario did in the end, in place of what it did before."""
        if self.lost.pop(scenario_id, None) is not None:
            self._tell(scenario_id, events)
        self._ended.pop(scenario_id, None)
        self._release(events)

    def release(self) -> None:
        """Write all that is left."""
        self.end_all()
        for scenario_id in self.lost:
            self.scenario_ended(scenario_id)
        for events in (*self._ended.values(), *self.lost.values()):
            self._release(events)
        self._ended.clear()
        self.lost.clear()

    def _tell(self, scenario_id: str, events: Sequence[Event]) -> None:
        for event in events:
            self.hear(event)
        self.scenario_ended(scenario_id)

    def _release(self, events: Sequence[Event]) -> None:
        # A full trace says so itself, and takes what matters.
        with contextlib.suppress(TargetError):
            for event in events:
                self.write(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watching:
    """Forwards what a target says, and when the first pass begins; of later passes nothing lasts."""

    watcher: Watcher
    ended: Callable[[str], None] = lambda _: None
    is_first: bool = False

    def target_says(self, target: str, text: str) -> None:
        passes = isinstance(text, Lasting) and not self.is_first
        self.watcher.target_says(target, str(text) if passes else text)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        if self.is_first:
            self.watcher.drive_begins(target, scenario_count)

    def scenario_ended(self, _: str, scenario_id: str) -> None:
        self.ended(scenario_id)


def drives_of(
    target: Target, drive: Drive, cluster: Cluster | None
) -> Callable[[Sequence[Script]], Awaitable[DriveResult]]:
    """Return what runs scripts on a target: a drive, or several if a command starts its broker again."""
    if cluster is not None:
        return partial(cluster.drive, drive)
    if isinstance(target, ExternalTarget) and target.restart_command is not None:
        return Reviving(target=target, drive=drive).run
    return drive.run


@dataclass(slots=True, kw_only=True)
class Reviving:
    """Drives an external target that can be started again."""

    target: ExternalTarget
    drive: Drive
    """How it is driven; each pass over scenarios uses a copy."""
    _passed_ms: float = field(default=0.0, init=False)

    async def run(self, scripts: Sequence[Script]) -> DriveResult:
        """Run scripts, and start the broker again as often as one of them ends it.

        Raises:
            TargetError: the broker was not available in the first place.
        """
        by_id = {script.id: script for script in scripts}
        sinks, watcher, name = self.drive.sinks, self.drive.watcher, self.drive.target_name
        pending = _Pending(sinks.write, sinks.hear, partial(watcher.scenario_ended, name))
        vain_count = 0
        try:
            result = await self._pass(scripts, pending, is_first=True)
            while result.lost is not None and vain_count < _VAIN_MAX:
                try:
                    if not await self._found_killer(result.suspects, by_id, pending):
                        vain_count += 1
                        self._say(Lasting(f"the broker ended, and no suspect ended it alone: {result.lost}"))
                    rest = [by_id[name] for name in pending.lost]
                    result = (
                        await self._pass(rest, pending) if rest else replace(result, lost=None, suspects=())
                    )
                except TargetError as error:
                    self._say(Lasting(str(error)))
                    result = replace(result, lost=f"{result.lost}; {error}")
                    break
            return replace(result, drive_ms=self._passed_ms)
        finally:
            pending.release()
            await self.target.take_away_left(self._say)

    async def _pass(
        self, scripts: Sequence[Script], pending: _Pending, *, is_first: bool = False
    ) -> DriveResult:
        watcher = _Watching(watcher=self.drive.watcher, ended=pending.end, is_first=is_first)
        try:
            return await self._driven(scripts, pending.take, watcher)
        finally:
            pending.end_all()

    async def _driven(
        self, scripts: Sequence[Script], write: Callable[[Event], None], watcher: Watcher
    ) -> DriveResult:
        sinks = replace(self.drive.sinks, write=write, hear=lambda _: None)
        result = await replace(self.drive, sinks=sinks, watcher=watcher).run(scripts)
        self._passed_ms += result.drive_ms
        return result

    async def _found_killer(
        self, suspects: Sequence[Suspect], by_id: dict[str, Script], pending: _Pending
    ) -> bool:
        """Run suspects alone until one ends the broker, and start it again; return whether one did."""
        await self._revive()
        for suspect in suspects[:_SUSPECTS_MAX]:
            self._say(f"looking for what ended the broker: {suspect.scenario_id}")
            events: list[Event] = []
            watcher = _Watching(watcher=self.drive.watcher)
            result = await self._driven([by_id[suspect.scenario_id]], events.append, watcher)
            if result.lost is not None and any(each.kind == EventKind.REQUEST for each in events):
                self._say(Lasting(f"{suspect.scenario_id} ended the broker"))
                pending.settle(suspect.scenario_id, _ending(events, result.lost))
                await self._revive()
                return True
            if suspect.scenario_id in pending.lost:
                pending.settle(suspect.scenario_id, events)
        return False

    async def _revive(self) -> None:
        self._say("starting the broker again")
        await self.target.revive()

    def _say(self, text: str) -> None:
        self.drive.watcher.target_says(self.drive.target_name, text)


def _ending(events: Sequence[Event], cause: str) -> list[Event]:
    """Return the events of a scenario that ended its broker, the last of which says so."""
    kept = [event for event in events if not (event.note or "").startswith(TARGET_LOST)]
    last = max(kept, key=lambda event: event.step)
    closed = [event for event in kept if event.kind == EventKind.CLOSED and event.step == last.step]
    end = replace(
        closed[-1] if closed else last,
        kind=EventKind.CLOSED.value,
        correlation_id=None,
        elapsed_ms=None,
        raw=None,
        fields=None,
        canonical=None,
        digest=digest(EventKind.CLOSED.value, last.api, last.api_version, None),
        reencodes=None,
        permitted=None,
        note=f"{BROKER_ENDED}{cause}; {_TWICE}",
    )
    rest = [event for event in kept if event not in closed[-1:]]
    return [replace(event, sequence=number) for number, event in enumerate([*rest, end])]
