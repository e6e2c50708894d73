"""The witness of starvation: how long the machine kept a conversation's two sides from running.

One sampler serves all conversations of an event loop. Many times a second, it checks how late the loop is and
whether a broker is stopped. Twice a second, it reads what a broker's threads waited for, which the kernel
counts. It finds stretches of time, which are the same for all conversations that share a broker.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from harness.targets.base.interface import Broker
from harness.targets.base.measured import DiskPressure, Gauge, MeasuredProcess
from harness.trace.starvation import Starvation, Waits

TICK_S: Final = 0.05
_READ_EVERY_S: Final = 0.5
"""A reading takes about half a millisecond for a JVM."""
_FRESH_S: Final = 0.02
_READ_AGAIN_S: Final = 0.1
"""A reading that is more recent than this is not repeated for a conversation that ends."""
_SUDDEN_S: Final = 0.1
"""A loop that is suddenly this late was kept from running just now: the stretch ends here."""
_BUSY_S: Final = 0.005
"""A loop that is this late is checked again at once: it may be late all the time."""
_LEAST_MS: Final = 5.0
"""Less starvation than this, in half a second, is normal on every machine."""
_PRESSED: Final = 0.5
"""A time in which the machine waits for disks for a smaller share is not looked into: that takes time."""
_MOSTLY: Final = 0.5
"""Adjacent stretches are joined if each is starved for at least this share of its time."""
FiguresT = TypeVar("FiguresT", Starvation, Waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time in which something was kept from running, on the monotonic clock, in seconds."""

    begin_s: float
    end_s: float
    starvation: Starvation


@dataclass(slots=True, kw_only=True)
class Watch:
    """What was measured of one broker, for all conversations with it."""

    broker: Broker
    since_s: float
    """When the stretch began that is not closed yet."""
    look_now: Callable[[], None] = lambda: None
    """Makes the sampler report how late the loop is up to now."""
    stretches: list[Stretch] = field(default_factory=list)
    user_count: int = 0
    _gauges: dict[MeasuredProcess, Gauge] = field(default_factory=dict)
    """By process, regardless of whether the script pauses it."""
    _late_s: float = 0.0
    _stopped_s: float = 0.0
    _waits: Waits = field(default_factory=Waits)
    _was_stopped: bool = False
    _disk: DiskPressure = field(init=False)
    _kept_ms: float = 0.0
    """How long the broker was kept from running in total."""
    _looked_s: float = field(init=False)
    _read_s: float = field(init=False)
    """When a reading that may end a stretch was last taken."""
    _gauged_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Take the first reading."""
        self._looked_s = self._read_s = self._gauged_s = self.since_s
        self._disk = DiskPressure()
        self._processes()

    def look(self, now_s: float, *, late_s: float) -> None:
        """Record how late the loop is and whether the broker is stopped; read its gauges if it is time.

        Args:
            now_s: the time.
            late_s: how late the loop was since the last look.
        """
        before_s, self._looked_s = self._looked_s, now_s
        gauges = self._processes()
        self._look_at_disk(gauges, (now_s - before_s) * 1000)
        is_stopped = any(gauge.is_stopped() for gauge in gauges)
        was_stopped, self._was_stopped = self._was_stopped, is_stopped
        if is_stopped and not was_stopped:
            self._read(now_s)
            self._close(before_s)
        self._late_s += late_s
        # The broker stopped, or went on, somewhere between two looks: count the longest possible stop.
        stopped_s = now_s - before_s if is_stopped or was_stopped else 0.0
        self._stopped_s += stopped_s
        self._kept_ms += stopped_s * 1000
        has_gone_on = was_stopped and not is_stopped
        is_sudden = late_s > _SUDDEN_S and now_s - self._read_s > _SUDDEN_S
        if has_gone_on or is_sudden or now_s - self._read_s >= _READ_EVERY_S:
            self._read(now_s)
            self._close(now_s)

    def _look_at_disk(self, gauges: Iterable[Gauge], length_ms: float) -> None:
        pressed_ms = self._disk.read_ms()
        if pressed_ms is not None:
            counted_ms = min(pressed_ms, length_ms) if pressed_ms > _PRESSED * length_ms else 0.0
            for gauge in gauges:
                gauge.count_disk(counted_ms)

    def flush(self) -> None:
        """Close the stretch up to now if it is long enough to report, since a conversation ends."""
        # In a late loop, a conversation may end before the sampler runs: the lateness is part of it.
        self.look_now()
        now_s = time.monotonic()
        self.look(now_s, late_s=0.0)
        if now_s - self._read_s >= _READ_AGAIN_S:
            self._read(now_s)
        # Starvation that is too short to report adds up, however many conversations end meanwhile.
        if self._starvation(now_s).starved_ms >= _LEAST_MS:
            self._close(now_s)

    def broker_kept_ms(self) -> float:
        """Return how long the broker was kept from running since the watch began, nearly up to now."""
        self.look_now()
        now_s = time.monotonic()
        if now_s - self._gauged_s >= _FRESH_S:
            self._gauge(now_s)
        return self._kept_ms

    def _read(self, now_s: float) -> None:
        self._read_s = now_s
        self._gauge(now_s)

    def _gauge(self, now_s: float) -> None:
        self._gauged_s = now_s
        waits = _worst([gauge.read() for gauge in self._processes()])
        self._waits = _sum(self._waits, waits)
        self._kept_ms += waits.longest_ms

    def _processes(self) -> list[Gauge]:
        """Return the gauges of the processes that the script does not pause at present."""
        found = {
            MeasuredProcess(pid=each.pid, pause_log=each.pause_log, in_container=each.in_container): each
            for each in self.broker.measured() or ()
        }
        self._gauges = {process: self._gauges.get(process) or Gauge(process) for process in found}
        return [gauge for process, gauge in self._gauges.items() if not found[process].is_paused]

    def _close(self, end_s: float) -> None:
        """End a stretch, and keep it if anything was starved in it."""
        reported = self._starvation(end_s)
        if reported.starved_ms >= _LEAST_MS:
            self.stretches.append(Stretch(begin_s=self.since_s, end_s=end_s, starvation=reported))
        self.since_s, self._late_s, self._stopped_s, self._waits = end_s, 0.0, 0.0, Waits()

    def _starvation(self, end_s: float) -> Starvation:
        """Return the figures since the last stretch ended."""
        figures = Starvation(
            starved_ms=0.0,
            harness_ms=self._late_s * 1000,
            run_queue_ms=self._waits.run_queue_ms,
            stopped_ms=self._stopped_s * 1000 if self._gauges else None,
            pause_ms=self._waits.pause_ms,
            throttled_ms=self._waits.throttled_ms,
            pressure_ms=self._waits.pressure_ms,
            disk_ms=self._waits.disk_ms,
        )
        return _limited(figures, (end_s - self.since_s) * 1000)


class Sampler:
    """Measures all brokers that have conversations on one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watches: dict[int, Watch] = {}
        self._handle: asyncio.Handle | None = None
        self._due_s = 0.0
        self._looked_s = 0.0
        self._late_s = 0.0

    @contextmanager
    def watching(self, broker: Broker) -> Iterator[Watch | None]:
        """Measure a broker while the block lasts; yield None for a broker in virtual time."""
        if broker.measured() is None:
            yield None
            return
        if self._handle is None:
            self._looked_s = time.monotonic()
            self._wake_later(self._looked_s)
        if id(broker) not in self._watches:
            self._watches[id(broker)] = Watch(
                broker=broker, since_s=time.monotonic(), look_now=self._look_now
            )
        watch = self._watches[id(broker)]
        watch.user_count += 1
        try:
            yield watch
        finally:
            watch.user_count -= 1
            if not watch.user_count:
                del self._watches[id(broker)]
            if not self._watches and self._handle is not None:
                self._handle.cancel()
                self._handle = None

    def _wake_later(self, now_s: float) -> None:
        self._due_s = now_s + TICK_S
        self._handle = self._loop.call_later(TICK_S, self._wake)

    def _wake(self) -> None:
        # A task that awaits an answer acts one turn of the loop after it was read; so does this.
        self._handle = self._loop.call_soon(self._find_lateness)

    def _find_lateness(self) -> None:
        now_s = time.monotonic()
        late_s = self._take_lateness(now_s)
        if now_s - self._looked_s >= TICK_S:
            self._look(now_s)
        if late_s > _BUSY_S:
            self._due_s = time.monotonic()
            self._handle = self._loop.call_soon(self._wake)
        else:
            self._wake_later(time.monotonic())

    def _take_lateness(self, now_s: float) -> float:
        """Add how late the loop is up to now, and return it; later lateness is counted from here."""
        late_s = max(0.0, now_s - self._due_s)
        self._late_s += late_s
        self._due_s = max(self._due_s, now_s)
        return late_s

    def _look_now(self) -> None:
        now_s = time.monotonic()
        if self._take_lateness(now_s):
            self._look(now_s)

    def _look(self, now_s: float) -> None:
        late_s, self._late_s, self._looked_s = self._late_s, 0.0, now_s
        for watch in self._watches.values():
            watch.look(now_s, late_s=late_s)


_SAMPLERS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Sampler]] = WeakKeyDictionary()


def sampler() -> Sampler:
    """Return the running event loop's sampler."""
    loop = asyncio.get_running_loop()
    if loop not in _SAMPLERS:
        _SAMPLERS[loop] = Sampler(loop)
    return _SAMPLERS[loop]


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessedStretch:
    """A stretch as a conversation records it, on its broker session's clock, in milliseconds."""

    begin_ms: float
    end_ms: float
    starvation: Starvation


@dataclass(slots=True, kw_only=True)
class Witness:
    """Reports to one conversation how it and its broker were starved since it began."""

    watch: Watch
    now_ms: Callable[[], float]
    """The broker session's clock."""
    _reported: int = field(init=False)
    _begin_ms: float = field(init=False)

    def __post_init__(self) -> None:
        """Skip the stretches from before the conversation."""
        self._reported = len(self.watch.stretches)
        self._begin_ms = self.now_ms()

    def news(self, *, is_last: bool = False) -> list[WitnessedStretch]:
        """Return the stretches that were not reported yet; adjacent ones that are mostly starved are joined.

        Args:
            is_last: whether this is the last call, so that stretches up to this moment are returned.
        """
        if is_last:
            self.watch.flush()
        if self._reported == len(self.watch.stretches):
            return []
        new, self._reported = self.watch.stretches[self._reported :], len(self.watch.stretches)
        clock_s = time.monotonic() - self.now_ms() / 1000
        return [found for each in _joined(new) if (found := self._witnessed(each, clock_s)) is not None]

    def _witnessed(self, stretch: Stretch, clock_s: float) -> WitnessedStretch | None:
        begin_ms = max(self._begin_ms, (stretch.begin_s - clock_s) * 1000)
        end_ms = (stretch.end_s - clock_s) * 1000
        if end_ms <= begin_ms:
            return None
        return WitnessedStretch(
            begin_ms=begin_ms, end_ms=end_ms, starvation=_limited(stretch.starvation, end_ms - begin_ms)
        )


def _joined(stretches: list[Stretch]) -> Iterator[Stretch]:
    """Join stretches that are starved for most of their time and have no gap between them."""
    before: Stretch | None = None
    for stretch in stretches:
        if before is None:
            before = stretch
        elif before.end_s == stretch.begin_s and _is_mostly_starved(before) and _is_mostly_starved(stretch):
            both = _sum(before.starvation, stretch.starvation)
            before = Stretch(begin_s=before.begin_s, end_s=stretch.end_s, starvation=both)
        else:
            yield before
            before = stretch
    if before is not None:
        yield before


def _is_mostly_starved(stretch: Stretch) -> bool:
    return stretch.starvation.starved_ms >= _MOSTLY * (stretch.end_s - stretch.begin_s) * 1000


def _sum(one: FiguresT, other: FiguresT) -> FiguresT:
    names = [each.name for each in fields(one)]
    sums: dict[str, Any] = {name: _added(getattr(one, name), getattr(other, name)) for name in names}
    return replace(one, **sums)


def _added(one: float | None, other: float | None) -> float | None:
    return one if other is None else other + (one or 0.0)


def _worst(waits: list[Waits]) -> Waits:
    """Return, for each kind of wait, the longest of several processes."""
    return Waits(
        run_queue_ms=_most(each.run_queue_ms for each in waits),
        pause_ms=_most(each.pause_ms for each in waits),
        throttled_ms=_most(each.throttled_ms for each in waits),
        pressure_ms=_most(each.pressure_ms for each in waits),
        disk_ms=_most(each.disk_ms for each in waits),
    )


def _most(figures: Iterator[float | None]) -> float | None:
    return max((each for each in figures if each is not None), default=None)


def _limited(figures: Starvation, length_ms: float) -> Starvation:
    """Set the starved time to the sum of the figures, but to no more than the stretch's length."""
    return replace(figures, starved_ms=min(length_ms, figures.harness_ms + figures.broker_ms))
