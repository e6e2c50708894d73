"""Scripts that do something to a broker that they share: how they meet."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.capacity import BROKER_BYTES, Machine
from harness.runner.admission import Admission
from harness.runner.drive import Limits
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import Packing
from harness.runner.tests.test_drive import MemoryBroker, MemoryTarget, answers_none, driving, sinks
from harness.runner.tests.test_sharing import (
    CAN,
    kills,
    pauses_at_loading,
    releases_loading,
    restarts,
    restarts_otherwise,
    script,
)
from harness.scenario import Conversation, Script, offset_record
from harness.scenario.script import Send
from harness.targets.base.interface import Broker, BrokerSession, TargetError
from harness.tests.stages import MemorySession
from harness.trace.events import Event, EventKind


@dataclass(slots=True)
class SharedBroker(MemoryBroker):
    """One whose broker sessions note what is done to it in one list."""

    actions: list[str] = field(default_factory=list)

    def open_session(self, scenario_id: str) -> BrokerSession:
        return MemorySession(self.responder, actions=self.actions)


@dataclass(slots=True)
class OwnBroker(SharedBroker):
    """One whose broker sessions each have a coordinator."""

    @property
    def shares_coordinator(self) -> bool:
        return False


@dataclass(slots=True)
class CountingBroker(SharedBroker):
    """One that knows how many of it were there at once."""

    running: int = 0
    most: int = 0

    async def stop(self) -> None:
        self.running -= 1


@dataclass(slots=True)
class SharedTarget(MemoryTarget):
    broker: SharedBroker = field(default_factory=lambda: SharedBroker({}, answers_none))

    async def start(self, *, broker_config: Mapping[str, str], **_: object) -> Broker:
        if isinstance(self.broker, CountingBroker):
            self.broker.running += 1
            self.broker.most = max(self.broker.most, self.broker.running)
            await asyncio.sleep(0)
        return self.broker


def events_of(
    broker: SharedBroker, scripts: list[Script], tmp_path: Path, packing: Packing | None = None
) -> list[Event]:
    events: list[Event] = []
    driven = driving(SharedTarget(can=CAN, broker=broker), sinks(tmp_path, events), Limits(jobs=1))
    driven.admission = Admission(frozenset({"memory"}), jobs=1)
    driven.packing = packing
    asyncio.run(driven.run(scripts))
    return events


def test_what_all_of_a_broker_group_want_is_done_once_and_needs_no_slots(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    scripts = [script(f"s{number}", pauses_at_loading, restarts, releases_loading) for number in range(5)]

    events = events_of(broker, scripts, tmp_path)

    assert broker.actions == ["hold loading", "restart", "release loading"]
    kinds = [event.kind for event in events if event.scenario_id == "a/b/s3"]
    assert kinds == ["request", "response", "control", "control", "control", "request", "response"]


def test_where_each_has_a_coordinator_it_is_done_to_each(tmp_path: Path) -> None:
    broker = OwnBroker({}, answers_none)

    events_of(broker, [script(f"s{number}", restarts) for number in range(3)], tmp_path)

    assert broker.actions == ["restart"] * 3


def test_no_more_brokers_are_up_than_the_machine_carries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.capacity.machine", lambda: Machine(cores=1, memory_bytes=64 * BROKER_BYTES))
    broker = CountingBroker({}, answers_none)
    scripts = [script(f"s{number}", broker_config={"group.max.size": str(number)}) for number in range(2, 12)]

    events = events_of(broker, scripts, tmp_path)

    assert broker.most == 3
    assert {event.scenario_id for event in events} == {each.id for each in scripts}


def test_who_cannot_be_run_is_not_waited_for(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    unserved = script("unserved", restarts)
    steps = [replace(step, api_version=9) if isinstance(step, Send) else step for step in unserved.steps]
    scripts = [script("s1", restarts), script("s2", restarts), replace(unserved, steps=tuple(steps))]

    events = events_of(broker, scripts, tmp_path)

    assert broker.actions == ["restart"]
    reported = [event.kind for event in events if event.scenario_id == "a/b/unserved"]
    assert reported == [EventKind.NOT_APPLICABLE.value]


async def test_a_action_that_fails_fails_for_all_who_had_come() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise TargetError("it does not start")

    place = Rendezvous(2)
    errors = await asyncio.gather(place.meet(fails), place.meet(fails), return_exceptions=True)
    assert [str(error) for error in errors] == ["it does not start"] * 2


async def test_who_leaves_is_not_waited_for_and_who_gives_up_is_forgotten() -> None:
    done: list[str] = []

    async def action() -> None:
        done.append("deed")

    place = Rendezvous(3)
    first = asyncio.create_task(place.meet(action))
    impatient = asyncio.create_task(place.meet(action))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    place.leave()
    assert not done
    place.leave()
    await first
    assert done == ["deed"]


async def test_a_action_that_nobody_waits_for_any_more_is_given_up() -> None:
    begun: list[str] = []

    async def action() -> None:
        begun.append("begun")
        await asyncio.Event().wait()
        begun.append("done")

    place = Rendezvous(1)
    waiting = asyncio.create_task(place.meet(action))
    while not begun:  # noqa: ASYNC110 - a list sets no event
        await asyncio.sleep(0)
    waiting.cancel()
    await place.close()
    await place.close()
    assert begun == ["begun"]


def test_what_is_shared_by_who_ends_and_who_goes_on_is_done_once(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    scripts = [script("once", restarts), script("twice", restarts, kills)]

    events = events_of(broker, scripts, tmp_path, packing=Packing())

    assert broker.actions == ["restart", "kill"]
    ended = [index for index, each in enumerate(events) if each.scenario_id == "a/b/once"][-1]
    killed = [index for index, each in enumerate(events) if each.kind == EventKind.CONTROL][-1]
    assert ended < killed


def test_records_in_a_row_are_written_when_all_have_met_once(tmp_path: Path) -> None:
    def appends(count: int) -> Callable[[Conversation], None]:
        def appending(conversation: Conversation) -> None:
            for number in range(count):
                conversation.appends(offset_record("orders", 0, number))
            conversation.restarts_coordinator()

        return appending

    broker = SharedBroker({"offsets.topic.num.partitions": "1"}, answers_none)
    events = events_of(broker, [script("one", appends(1)), script("two", appends(2))], tmp_path)

    assert broker.actions == [*["append 1 to 0"] * 3, "restart"]
    assert not [each for each in events if each.kind == EventKind.ABANDONED]


def test_rounds_follow_one_another_and_a_log_that_is_not_cleared_ends_them(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    scripts = [script("one", restarts), script("two", kills), script("three", restarts_otherwise, kills)]

    events_of(broker, scripts, tmp_path, packing=Packing())
    assert sorted(broker.actions) == ["kill", "kill", "restart", "restart"]

    # The broker in memory knows nothing of topics: its log cannot be cleared.
    events = events_of(broker, scripts, tmp_path, packing=Packing(to_clear=frozenset({"a/b/one"})))
    lost = {each.scenario_id: each.note for each in events if each.kind == EventKind.ABANDONED}
    assert lost
    assert all(note is not None and note.startswith("target lost: ") for note in lost.values())
    assert lost.keys() < {each.id for each in scripts}
