import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest

from harness.runner import witness
from harness.runner.recorder import EventPosition, recorder_of
from harness.runner.tests.test_drive import MemoryBroker, answers_none
from harness.runner.witness import Stretch, Watch, Witness, WitnessedStretch, sampler
from harness.targets.base.measured import MeasuredProcess
from harness.targets.reference.target import ReferenceTarget
from harness.tests.diff_traces import script
from harness.trace.events import Event, EventKind
from harness.trace.schema import from_json
from harness.trace.starvation import Starvation, Waits

BROKER = MeasuredProcess(pid=1)


@dataclass(slots=True)
class MeasuredBroker(MemoryBroker):
    process: MeasuredProcess | None = BROKER

    def measured(self) -> Sequence[MeasuredProcess]:
        return () if self.process is None else (self.process,)


@dataclass(slots=True)
class FakeGauge:
    """A gauge that a test moves."""

    process: MeasuredProcess
    stopped: bool = False
    waits: Waits = field(default_factory=Waits)

    def is_stopped(self) -> bool:
        return self.stopped

    def count_disk(self, pressed_ms: float) -> None:
        self.waits = replace(self.waits, disk_ms=(self.waits.disk_ms or 0.0) + pressed_ms)

    def read(self) -> Waits:
        waits, self.waits = self.waits, Waits(run_queue_ms=0.0, pause_ms=0.0)
        return waits


@pytest.fixture(name="gauges")
def _gauges(monkeypatch: pytest.MonkeyPatch) -> list[FakeGauge]:
    made: list[FakeGauge] = []

    def make(process: MeasuredProcess) -> FakeGauge:
        made.append(FakeGauge(process))
        return made[-1]

    monkeypatch.setattr(witness, "Gauge", make)
    monkeypatch.setattr(witness, "DiskPressure", FakeDisk)
    return made


class FakeDisk:
    """A machine on which tasks wait for disks as a test says."""

    pressed_ms: ClassVar[list[float]] = []
    """For each of the next looks."""

    def read_ms(self) -> float | None:
        return self.pressed_ms.pop(0) if self.pressed_ms else None


def broker(process: MeasuredProcess | None = BROKER) -> MeasuredBroker:
    return MeasuredBroker({}, answers_none, process=process)


def watch_of(one: MeasuredBroker) -> Watch:
    return Watch(broker=one, since_s=0.0)


def look(watch: Watch, *times_s: float) -> None:
    """Look at some times, each of which was due 50 ms after the one before."""
    for now_s in times_s:
        watch.look(now_s, late_s=max(0.0, now_s - watch._looked_s - 0.05))


def ticks(begin_s: float, end_s: float) -> list[float]:
    return [begin_s + 0.05 * each for each in range(1, round((end_s - begin_s) / 0.05) + 1)]


@pytest.mark.usefixtures("gauges")
def test_a_machine_that_keeps_nobody_from_running_is_not_reported() -> None:
    watch = watch_of(broker())
    look(watch, *ticks(0.0, 2.0))
    assert watch.stretches == []


@pytest.mark.usefixtures("gauges")
def test_a_loop_that_is_late_at_once_ends_a_stretch() -> None:
    watch = watch_of(broker())
    look(watch, 0.05, 0.5)
    (stretch,) = watch.stretches
    assert (stretch.begin_s, stretch.end_s) == (0.0, 0.5)
    assert stretch.starvation.harness_ms == pytest.approx(400)
    assert stretch.starvation.starved_ms == pytest.approx(400)


def test_what_threads_wait_for_is_read_twice_a_second(gauges: list[FakeGauge]) -> None:
    watch = watch_of(broker())
    gauges[0].waits = Waits(run_queue_ms=80.0, pause_ms=7.0)
    look(watch, *ticks(0.0, 0.6))
    (stretch,) = watch.stretches
    assert stretch.end_s == pytest.approx(0.5)
    assert (stretch.starvation.run_queue_ms, stretch.starvation.pause_ms) == (80.0, 7.0)
    assert stretch.starvation.starved_ms == pytest.approx(80)


def test_a_stop_lasts_from_the_look_before_it_to_the_look_after_it(gauges: list[FakeGauge]) -> None:
    watch = watch_of(broker())
    look(watch, 0.05)
    gauges[0].stopped = True
    look(watch, *ticks(0.05, 0.25))
    gauges[0].stopped = False
    look(watch, *ticks(0.25, 1.5))
    (stretch,) = watch.stretches
    assert (stretch.begin_s, stretch.end_s) == pytest.approx((0.05, 0.3))
    assert stretch.starvation.stopped_ms == pytest.approx(250)


def test_waits_for_a_disk_count_where_the_machine_mostly_waits(
    gauges: list[FakeGauge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeDisk, "pressed_ms", [20.0, 45.0, 70.0, 10.0])
    watch = watch_of(broker())
    look(watch, *ticks(0.0, 0.6))
    assert len(gauges) == 1
    stretch, *_ = watch.stretches
    assert stretch.starvation.disk_ms == pytest.approx(95)
    assert stretch.starvation.broker_ms == pytest.approx(95)


def test_a_pause_of_the_scripts_own_is_no_starvation(gauges: list[FakeGauge]) -> None:
    one = broker(MeasuredProcess(pid=1, is_paused=True))
    watch = watch_of(one)
    gauges[0].stopped = True
    look(watch, *ticks(0.0, 1.0))
    assert watch.stretches == []
    one.process = BROKER
    look(watch, *ticks(1.0, 1.6))
    assert [round(each.starvation.stopped_ms or 0) for each in watch.stretches] == [550]


def test_no_more_is_accounted_for_than_there_was_time(gauges: list[FakeGauge]) -> None:
    watch = watch_of(broker())
    gauges[0].waits = Waits(run_queue_ms=450.0)
    look(watch, 0.05, 0.5)
    assert watch.stretches[0].starvation.starved_ms == pytest.approx(500)


def test_little_waits_add_up_however_many_conversations_end_meanwhile(
    gauges: list[FakeGauge], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watch_of(broker())
    for number in range(1, 9):
        monkeypatch.setattr("harness.runner.witness.time.monotonic", lambda number=number: 0.125 * number)
        gauges[0].waits = Waits(run_queue_ms=2.0)
        watch.flush()
    assert sum(each.starvation.run_queue_ms or 0 for each in watch.stretches) == pytest.approx(12)


@pytest.mark.usefixtures("gauges")
def test_of_a_broker_out_of_sight_only_the_loop_is_reported_and_it_says_so() -> None:
    watch = watch_of(broker(None))
    look(watch, 0.05, 0.5)
    reported = watch.stretches[0].starvation
    assert (reported.run_queue_ms, reported.stopped_ms, reported.pause_ms) == (None, None, None)
    assert reported.words().endswith("the harness 400 ms; the broker cannot be measured from here")


def figures(stopped_ms: float) -> Starvation:
    return Starvation(
        starved_ms=stopped_ms, harness_ms=0.0, run_queue_ms=0.0, stopped_ms=stopped_ms, pause_ms=0.0
    )


def reported_at(monkeypatch: pytest.MonkeyPatch, stretches: list[Stretch]) -> list[WitnessedStretch]:
    """Return what a conversation is told that began at 10 s and is at 20 s now."""
    watch = watch_of(broker(None))
    one = Witness(watch=watch, now_ms=lambda: 0.0)
    watch.stretches += stretches
    one.now_ms = lambda: 10_000.0
    monkeypatch.setattr("harness.runner.witness.time.monotonic", lambda: 20.0)
    return one.news()


@pytest.mark.usefixtures("gauges")
def test_a_conversation_hears_of_its_own_time_on_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Stretch(begin_s=8.0, end_s=10.0, starvation=figures(2000))
    half = Stretch(begin_s=9.5, end_s=10.5, starvation=figures(1000))
    (reported,) = reported_at(monkeypatch, [before, half])
    assert (reported.begin_ms, reported.end_ms, reported.starvation.starved_ms) == pytest.approx(
        (0, 500, 500)
    )


@pytest.mark.usefixtures("gauges")
def test_one_stop_is_one_stretch_and_a_load_that_goes_on_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = [Stretch(begin_s=12 + i, end_s=13 + i, starvation=figures(1000)) for i in range(3)]
    load = [Stretch(begin_s=15 + i, end_s=16 + i, starvation=figures(100)) for i in range(3)]
    reported = reported_at(monkeypatch, [*stop, *load])
    assert [round(each.starvation.starved_ms) for each in reported] == [3000, 100, 100, 100]


@pytest.mark.usefixtures("gauges")
def test_everybody_is_reported_the_same_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watch_of(broker(None))
    one, other = (Witness(watch=watch, now_ms=lambda: 0.0) for _ in range(2))
    monkeypatch.setattr("harness.runner.witness.time.monotonic", lambda: 0.0)
    watch.stretches.append(Stretch(begin_s=1.0, end_s=2.0, starvation=figures(900)))
    assert one.news() == other.news() != []
    assert one.news() == []


def test_starvation_is_an_event_with_its_figures_and_the_time_of_the_stretch() -> None:
    events: list[Event] = []
    recorder = recorder_of(script(), run_id="r", target="t", groups={}, write=events.append)
    recorder.starved(
        EventPosition(step=3), WitnessedStretch(begin_ms=100.0, end_ms=512.0, starvation=figures(412.00049))
    )
    (event,) = events
    assert (event.kind, event.step, event.at_ms, event.elapsed_ms) == (EventKind.STARVED, 3, 512.0, 412.0)
    assert from_json(Starvation, event.fields or "").stopped_ms == 412.0


async def test_virtual_time_has_no_witness(tmp_path: Path) -> None:
    started = await ReferenceTarget().start(broker_config={}, directory=tmp_path, progress=print)
    with sampler().watching(started) as watch:
        assert watch is None


async def test_those_who_share_a_broker_share_its_watch_and_nobody_looks_after_the_last() -> None:
    one = broker(None)
    with sampler().watching(one) as watch:
        with sampler().watching(one) as same:
            assert watch is same
        assert sampler()._handle is not None
    assert sampler()._handle is None


@pytest.mark.usefixtures("gauges")
async def test_a_conversation_that_ends_before_the_samplers_turn_is_reported_how_late_the_loop_was() -> None:
    began_s = time.monotonic()
    with sampler().watching(broker(None)) as watch:
        assert watch is not None
        one = Witness(watch=watch, now_ms=lambda: (time.monotonic() - began_s) * 1000)
        await asyncio.sleep(0)
        time.sleep(0.4)  # noqa: ASYNC251 - that is what a starved loop does
        assert sum(each.starvation.harness_ms for each in one.news(is_last=True)) > 300


def test_what_a_broker_was_kept_from_running_adds_up(
    gauges: list[FakeGauge], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = watch_of(broker())
    now_s = [1.0]
    monkeypatch.setattr("harness.runner.witness.time.monotonic", lambda: now_s[0])
    found = []
    for waits in (Waits(run_queue_ms=30.0, pause_ms=200.0), Waits(run_queue_ms=40.0)):
        gauges[0].waits = waits
        now_s[0] += 0.1
        found.append(watch.broker_kept_ms())

    assert found == [200.0, 240.0]
