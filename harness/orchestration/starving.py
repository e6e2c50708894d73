"""The reference's answers to a script when it is starved as a target was.

The script is run again with an in-process reference, in virtual time. The client acts as late as it did in
the recorded run, as far as the witness accounts for the delay. The brokers are halted where the witness saw
the target's brokers wait. The witness does not show where in a stretch a broker waited, nor for how much of
it, so several ways are tried.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import ceil, inf
from pathlib import Path
from typing import Final

from harness.diff.starved import RunStarved, StarvedStretch, starved_ms, starved_stretches
from harness.runner.interpreter import Interpreter
from harness.runner.placing import group_ids, num_partitions
from harness.runner.recorder import recorder_of
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
from harness.targets.base.conformance import CHECK_INTERVAL, CONFORMANCE_CONFIG
from harness.targets.base.interface import Broker, TargetError
from harness.targets.reference.draws import Draws
from harness.targets.reference.starved import StarvedReference, StarvedSession, starved_session
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder
from harness.trace.schema import json_object

_RUN_ID: Final = "starved"
_LATEST_ACTS: Final = 6
_LEAST_SHARES: Final = 2
_MOST_SHARES: Final = 8
_NEXT_SHARE_MS: Final = 200.0
"""The intended difference between a broker's waits in one way and in the next."""
_OFTEN_MS: Final = "10"
_HALTED_AFTER_MS: Final = 1
DrawsOf = Callable[[Script, Sequence[Event]], Draws]
_ACTS: Final = (EventKind.REQUEST, EventKind.DISCONNECTED)


class _Place(Enum):
    """Where in a stretch a broker waited; BEGINNING means as soon as it had received anything."""

    BEGINNING = auto()
    ACT = auto()
    """From the client's first act within the stretch."""
    END = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """One way in which starvation may have come about."""

    halt_share: float = 1.0
    """The share of its waiting time during which the broker could do nothing."""
    place: _Place = _Place.BEGINNING
    requests_first: bool = False
    last_connection_first: bool = False
    """What the broker read first when it went on; connections are independent of each other."""
    acts_late: bool = True
    """Whether the client acted as late as it did in the recorded run."""
    waits_longer: bool = False
    """Whether the client's waits ended as late as its event loop was, and a broker got longer to settle."""
    sweeps_often: bool = False
    """Whether offsets expire as soon as they are due: it is unknown when the broker swept them."""
    since_ms: float = 0.0
    """The recorded time from which starvation mattered."""


_FURTHER_WAYS: Final = (
    _Way(halt_share=0.0),
    _Way(halt_share=0.0, waits_longer=True),
    _Way(acts_late=False),
    _Way(sweeps_often=True),
)


def _ways(halts_ms: float) -> Iterator[_Way]:
    """Yield the ways in which starvation may have come about.

    The longer a broker could do nothing during its wait, the later its timers expire. So the shares of the
    wait are close to each other, for the reference's answers to be close as well.

    Args:
        halts_ms: how long the broker waited in total.
    """
    count = min(_MOST_SHARES, max(_LEAST_SHARES, ceil(halts_ms / _NEXT_SHARE_MS)))
    shares = [each / count for each in range(count, 0, -1)]
    for share, last_connection_first in (*((each, False) for each in shares), (1.0, True)):
        for place in _Place:
            for requests_first in (False, True):
                yield _Way(
                    halt_share=share,
                    place=place,
                    requests_first=requests_first,
                    last_connection_first=last_connection_first,
                )
    yield from _FURTHER_WAYS


def starved_runner(folder: RunFolder, oracle: str) -> RunStarved:
    """Return a function that runs scripts again on a starved reference that a target was compared with.

    Args:
        folder: the run's folder.
        oracle: the reference's name in the run.
    """
    headers = folder.read_headers(oracle)
    properties = [dict(_read_properties(header.broker_config)) for header in headers]
    shared = set.intersection(*(set(each.items()) for each in properties))
    return starved_runner_of(headers[0].profile, dict(shared))


def starved_runner_of(
    profile: str, base_config: Mapping[str, str], draws_of: DrawsOf = lambda _script, _events: Draws()
) -> RunStarved:
    """Return a function that runs scripts again on a starved reference.

    Args:
        profile: the reference's profile.
        base_config: the properties of its brokers; a script's own override them.
        draws_of: returns the ids that the target drew, given a script and its recorded events.
    """
    brokers = _Brokers(profile=profile, base_config=base_config)

    def run_starved(script: Script, events: Sequence[Event], until: int) -> Iterator[Sequence[Event]]:
        shortened = replace(script, steps=script.steps[: until + 1])
        draws = draws_of(script, events)
        for since_ms in _beginnings(events, until):
            for way in _ways(sum(map(_halt_ms, _stretches_since(events, since_ms)))):
                rerun = _in_a_thread(brokers, shortened, events, replace(way, since_ms=since_ms), draws)
                if rerun is not None:
                    yield rerun

    return run_starved


def _beginnings(events: Sequence[Event], until: int) -> list[float]:
    """Return the times from which starvation may have mattered: the beginning, and the last few acts."""
    acts = [each.at_ms for each in events if each.kind in _ACTS and each.step <= until]
    return [0.0, *acts[:0:-1][:_LATEST_ACTS]]


def _stretches_since(events: Sequence[Event], since_ms: float) -> tuple[StarvedStretch, ...]:
    """Return the starved stretches after a time; one that contains the time is cut to begin there."""
    return tuple(
        replace(each, begin_ms=max(each.begin_ms, since_ms))
        for each in starved_stretches(events)
        if each.end_ms > since_ms
    )


def _halt_ms(stretch: StarvedStretch) -> float:
    """Return for how long a broker can have waited in a stretch."""
    return min(stretch.figures.broker_ms, stretch.end_ms - stretch.begin_ms)


def _read_properties(text: str) -> Mapping[str, str]:
    return {name: str(value) for name, value in json_object(text, where="`broker_config`").items()}


@dataclass(slots=True, kw_only=True)
class _Brokers:
    """Reference brokers with the configurations that scripts need, each started once."""

    profile: str
    base_config: Mapping[str, str]
    _made: dict[tuple[tuple[str, str], ...], Broker] = field(default_factory=dict, init=False)

    async def of(self, script: Script, way: _Way) -> Broker:
        config = {**self.base_config, **script.broker_config}
        if way.sweeps_often and config.get(CHECK_INTERVAL) not in (None, CONFORMANCE_CONFIG[CHECK_INTERVAL]):
            config[CHECK_INTERVAL] = _OFTEN_MS
        key = tuple(sorted(config.items()))
        if key not in self._made:
            target = StarvedReference(self.profile)
            self._made[key] = await target.start(
                broker_config=config, directory=Path(), progress=lambda _: None
            )
        return self._made[key]


def _in_a_thread(
    brokers: _Brokers, script: Script, events: Sequence[Event], way: _Way, draws: Draws
) -> Sequence[Event] | None:
    """Run a script again in a thread of its own: an event loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _starved_run(brokers, script, events, way, draws)).result()


async def _starved_run(
    brokers: _Brokers, script: Script, events: Sequence[Event], way: _Way, draws: Draws
) -> Sequence[Event] | None:
    """Run a script again, and return its events; return None if the reference cannot serve it."""
    try:
        broker = await brokers.of(script, way)
    except TargetError:
        return None
    reported: list[Event] = []
    partitions = num_partitions(broker.description)
    groups = group_ids(script, run_id=_RUN_ID, partitions=partitions)
    session = starved_session(broker, script.id, draws)
    session.requests_first = way.requests_first
    session.last_connection_first = way.last_connection_first
    recorder = recorder_of(script, run_id=_RUN_ID, target=_RUN_ID, groups=groups, write=reported.append)
    recorder.now_ms = session.now_ms
    interpreter = Interpreter(
        script=script,
        session=session,
        recorder=recorder,
        bindings=Bindings(groups=groups),
        partitions=partitions,
        broker_failure=lambda: None,
        before_step=_Pace(session=session, way=way, events=events).before,
    )
    try:
        await interpreter.run()
    except TargetError:
        return None
    finally:
        await session.close()
    return reported


@dataclass(slots=True, kw_only=True)
class _Pace:
    """The timing of a script that is run again: as in the recorded run, as far as the witness explains it."""

    session: StarvedSession
    way: _Way
    events: Sequence[Event]
    _stretches: tuple[StarvedStretch, ...] = field(init=False)
    _acts: dict[int, float] = field(default_factory=dict, init=False)
    """By step, the recorded time of its first act."""
    _halts: tuple[tuple[float, float], ...] = field(init=False)
    """The recorded times at which a broker begins to wait, and for how long."""
    _ends: dict[int, float] = field(default_factory=dict, init=False)
    """By step, the recorded time of its last event."""
    _real_ms: float = field(default=0.0, init=False)
    _virtual_ms: float = field(default=0.0, init=False)
    """When the last act was: in the recorded run, and in this one."""

    def __post_init__(self) -> None:
        """Compute the times of acts, halts and last events."""
        self._stretches = _stretches_since(self.events, self.way.since_ms)
        for event in self.events:
            if event.kind != EventKind.STARVED and event.step >= 0:
                self._ends[event.step] = event.at_ms
                if event.kind in _ACTS:
                    self._acts.setdefault(event.step, event.at_ms)
        self._halts = tuple(map(self._halt, self._stretches))

    async def before(self, step: int) -> None:
        """Let as much time pass before a step as in the recorded run, and set when to halt the brokers."""
        if self.way.waits_longer:
            self.session.late_ms = self._lateness_ms(step)
            self.session.settles_longer_ms = self._settles_longer_ms(step)
        real_ms = self._acts.get(step)
        if real_ms is None:
            return
        if self.way.acts_late:
            passed_ms = self.session.now_ms() - self._virtual_ms
            slipped_ms = real_ms - self._real_ms - passed_ms
            begin_ms = max(self._real_ms, self.way.since_ms)
            due_to_machine_ms = starved_ms(self._stretches, begin_ms=begin_ms, end_ms=real_ms)
            await self.session.elapse(max(0.0, min(slipped_ms, due_to_machine_ms)))
        self._real_ms, self._virtual_ms = real_ms, self.session.now_ms()
        until_ms = min((at_ms for at_ms in self._acts.values() if at_ms > real_ms), default=inf)
        for begin_ms, length_ms in self._halts:
            if real_ms <= begin_ms < until_ms and length_ms >= 1:
                await self.session.halt(self._virtual_ms + begin_ms - real_ms, length_ms)
                if begin_ms == real_ms:
                    # What the client sends now reaches a broker that is waiting already.
                    await self.session.elapse(_HALTED_AFTER_MS)

    def _halt(self, stretch: StarvedStretch) -> tuple[float, float]:
        """Return the recorded time at which a broker began to wait in a stretch, and for how long."""
        acts_ms = [at_ms for at_ms in self._acts.values() if at_ms <= stretch.end_ms]
        begin_ms = max(stretch.begin_ms, min(acts_ms, default=stretch.begin_ms))
        length_ms = min(stretch.figures.broker_ms, stretch.end_ms - begin_ms) * self.way.halt_share
        if self.way.place == _Place.END:
            begin_ms = stretch.end_ms - length_ms
        elif self.way.place == _Place.ACT:
            begin_ms = min((at_ms for at_ms in acts_ms if at_ms >= begin_ms), default=begin_ms)
        return begin_ms, min(length_ms, stretch.end_ms - begin_ms)

    def _lateness_ms(self, step: int) -> float:
        end_ms = self._ends.get(step)
        if end_ms is None:
            return 0.0
        begin_ms = max((at_ms for before, at_ms in self._ends.items() if before < step), default=0.0)
        return sum(each.within(begin_ms, end_ms).harness_ms for each in self._stretches)

    def _settles_longer_ms(self, step: int) -> float:
        """Return how much longer a broker that was kept from running may have got to process a request."""
        begin_ms = self._acts.get(step)
        if begin_ms is None:
            return 0.0
        end_ms = min((at_ms for after, at_ms in self._ends.items() if after > step), default=begin_ms)
        return sum(
            max(0.0, min(each.figures.broker_ms, min(each.end_ms, end_ms) - max(each.begin_ms, begin_ms)))
            for each in self._stretches
        )
