import asyncio
import errno
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import pytest

from harness.apis.descriptor import ANSWERED_WITHIN_MS
from harness.capacity import start_slots
from harness.runner.admission import Admission
from harness.runner.drive import LATE_S_MAX, Drive, DriveResult, DriveSinks, Limits, _Place
from harness.runner.placing import group_names
from harness.runner.sharing import Packing
from harness.scenario import Capability, Conversation, Script, ask, record, scenario
from harness.scenario.script import DoToBroker
from harness.targets.base.interface import (
    ApiRange,
    Broker,
    BrokerDescription,
    BrokerSession,
    Connection,
    Frame,
    NoAnswer,
    Role,
    Target,
    TargetError,
)
from harness.tests.made_events import BARE_BROKER
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.stages import CLOSE, MemoryConnection, MemorySession, Responder
from harness.trace.events import Event, EventKind
from harness.wire.schema import api_key

LIMIT_S = 60.0


def answers_none(request: bytes) -> bytes:
    return request[4:8] + b"\0" + b"\0\0\0\0" + b"\0\0" + b"\0"


@dataclass(slots=True)
class MemoryBroker(Broker):
    broker_config: Mapping[str, str]
    responder: Responder
    lost: str | None = None
    stopped: bool = False

    @property
    def description(self) -> BrokerDescription:
        served = (ApiRange(api_key=api_key("Heartbeat"), min_version=0, max_version=4),)
        return replace(BARE_BROKER, spec="memory", broker_config=self.broker_config, api_ranges=served)

    def open_session(self, scenario_id: str) -> BrokerSession:
        return MemorySession(self.responder)

    def failure(self) -> str | None:
        return self.lost

    async def stop(self) -> None:
        self.stopped = True


@dataclass(slots=True)
class MemoryTarget(Target):
    responder: Responder = answers_none
    can: frozenset[Capability] = frozenset()
    refuses: str | None = None
    brokers: list[MemoryBroker] = field(default_factory=list)
    lost: str | None = None

    @property
    def spec(self) -> str:
        return "memory"

    @property
    def name(self) -> str:
        return "memory"

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.can

    async def start(self, *, broker_config: Mapping[str, str], **_: object) -> Broker:
        if self.refuses is not None:
            raise TargetError(self.refuses)
        self.brokers.append(MemoryBroker(broker_config, self.responder, lost=self.lost))
        return self.brokers[-1]


@dataclass(slots=True)
class Silent:
    ended: list[str] = field(default_factory=list)

    def target_says(self, target: str, text: str) -> None:
        return

    def drive_begins(self, target: str, scenario_count: int) -> None:
        return

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        self.ended.append(scenario_id)


@scenario("classic/test/beat", source="GroupMetadataManager#x")
def beat(conversation: Conversation) -> None:
    """A heartbeat is answered."""
    conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")


@scenario("classic/test/late", source="GroupMetadataManager#x")
def late(conversation: Conversation) -> None:
    """A heartbeat is answered after a while."""
    conversation.elapses(1000)
    beat(conversation)


def scripts_named(*names: str, **changes: object) -> list[Script]:
    return [replace(record(beat), id=f"classic/test/{name}", **changes) for name in names]  # type: ignore[arg-type] # a script's own fields


def sinks(logs: Path, events: list[Event]) -> DriveSinks:
    return DriveSinks(write=events.append, broker_ready=lambda *_: None, logs=logs)


def drive(
    target: MemoryTarget, scripts: list[Script], tmp_path: Path, limits: Limits | None = None
) -> tuple[DriveResult, list[Event]]:
    events: list[Event] = []
    return asyncio.run(driving(target, sinks(tmp_path, events), limits).run(scripts)), events


def driving(target: MemoryTarget, ready: DriveSinks, limits: Limits | None = None) -> Drive:
    return Drive(
        run_id="r",
        target=target,
        target_name="memory",
        limits=limits or Limits(),
        sinks=ready,
        admission=Admission(frozenset(), jobs=(limits or Limits()).jobs),
        watcher=Silent(),
    )


def last_kinds(events: list[Event]) -> dict[str, str]:
    return {event.scenario_id.rpartition("/")[2]: event.kind for event in events}


def test_every_scenario_leaves_its_events_and_the_broker_is_stopped(tmp_path: Path) -> None:
    target = MemoryTarget()
    result, events = drive(target, scripts_named("a", "b", "c"), tmp_path)
    assert last_kinds(events) == dict.fromkeys("abc", EventKind.RESPONSE)
    assert [broker.stopped for broker in target.brokers] == [True]
    assert result.lost is None


def test_scenarios_that_want_the_same_configuration_share_a_broker(tmp_path: Path) -> None:
    target = MemoryTarget(can=frozenset({Capability.BROKER_CONFIG}))
    small = scripts_named("c", "d", broker_config={"group.max.size": "2"})
    drive(target, [*scripts_named("a", "b"), *small], tmp_path)
    assert sorted(len(broker.broker_config) for broker in target.brokers) == [0, 1]


def test_scenarios_that_follow_each_other_do_not_queue_behind_all_others(tmp_path: Path) -> None:
    target = MemoryTarget(can=frozenset({Capability.BROKER_CONFIG}))
    alone = [
        replace(record(late), id=f"classic/test/alone-{number}", broker_config={"group.max.size": "2"})
        for number in range(3)
    ]
    others = [replace(record(late), id=f"classic/test/other-{number}") for number in range(9)]
    driven = driving(target, sinks(tmp_path, []), Limits(jobs=1))
    driven.packing = Packing(alone=frozenset(each.id for each in alone))
    watcher = driven.watcher = Silent()
    asyncio.run(driven.run([*others, *alone]))
    assert {each.id for each in alone} <= set(watcher.ended[:8])


def test_a_broker_of_which_nothing_can_be_put_on_file_is_stopped(tmp_path: Path) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = MemoryTarget()
    ready = DriveSinks(write=lambda _: None, broker_ready=full, logs=tmp_path)
    with pytest.raises(ExceptionGroup):
        asyncio.run(driving(target, ready).run(scripts_named("a")))
    assert [broker.stopped for broker in target.brokers] == [True]


class Lingering(MemoryBroker):
    """A broker whose end takes until it may go on."""

    stopping = asyncio.Event()
    may_go_on = asyncio.Event()

    async def stop(self) -> None:
        self.stopping.set()
        await self.may_go_on.wait()
        await super().stop()


class LingeringTarget(MemoryTarget):
    async def start(self, *, broker_config: Mapping[str, str], **_: object) -> Broker:
        self.brokers.append(Lingering(broker_config, self.responder))
        return self.brokers[-1]


async def test_who_interrupts_while_a_broker_is_stopped_waits_until_it_is(tmp_path: Path) -> None:
    target = LingeringTarget()
    Lingering.stopping, Lingering.may_go_on = asyncio.Event(), asyncio.Event()
    run = asyncio.create_task(driving(target, sinks(tmp_path, [])).run(scripts_named("a")))
    await Lingering.stopping.wait()
    run.cancel()
    await asyncio.wait([run], timeout=0)
    Lingering.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [broker.stopped for broker in target.brokers] == [True]


def joins(conversation: Conversation) -> None:
    """A JoinGroup is sent."""
    ana = conversation.actor("ana")
    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"needs": ("restart",)}, "memory lacks the capability restart"),
        ({"steps": record(scenario("a/b/c", source="A#b")(joins)).steps}, "memory does not serve JoinGroup"),
        ({"broker_config": {"group.max.size": "2"}}, "needs group.max.size=2; on memory it is unknown"),
    ],
)
def test_what_a_target_cannot_give_is_not_applicable_with_the_reason(
    changes: dict[str, object], says: str, tmp_path: Path
) -> None:
    _, events = drive(MemoryTarget(), scripts_named("a", **changes), tmp_path)
    assert [(event.kind, event.note) for event in events] == [(EventKind.NOT_APPLICABLE, says)]


def test_our_own_fault_is_recorded_and_does_not_stop_the_others(tmp_path: Path) -> None:
    def fails_once(request: bytes) -> bytes:
        if b"wrong" in request:
            raise ZeroDivisionError
        return answers_none(request)

    wrong = scripts_named("wrong", actors=(replace(record(beat).actors[0], client_id="wrong"),))
    _, events = drive(MemoryTarget(fails_once), [*scripts_named("a"), *wrong], tmp_path)
    assert last_kinds(events) == {"a": EventKind.RESPONSE, "wrong": EventKind.HARNESS_ERROR}
    assert [event.note for event in events if event.note] == ["ZeroDivisionError()"]


def test_a_target_that_is_lost_is_said_of_every_scenario_left(tmp_path: Path) -> None:
    target = MemoryTarget(lambda _: CLOSE, lost="exit status 137")
    result, events = drive(target, scripts_named("a", "b"), tmp_path)
    assert last_kinds(events) == dict.fromkeys("ab", EventKind.ABANDONED)
    assert all("exit status 137" in (event.note or "") for event in events)
    assert result.lost == "exit status 137"


def test_a_target_that_cannot_be_had_is_reported_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no java"):
        drive(MemoryTarget(refuses="no java"), scripts_named("a"), tmp_path)


class HangingSession(MemorySession):
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


@pytest.fixture(name="hangs")
def _hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no broker take a connection."""
    monkeypatch.setattr(MemoryBroker, "open_session", lambda self, _: HangingSession(answers_none))


@pytest.mark.usefixtures("hangs")
def test_a_scenario_that_hangs_ends_at_its_limit(tmp_path: Path) -> None:
    _, events = drive(MemoryTarget(), scripts_named("a"), tmp_path, Limits(scenario_s=0.01))
    assert [(event.kind, event.note) for event in events] == [
        (EventKind.ABANDONED, "the scenario's limit of 0.01 s had passed")
    ]


def test_what_goes_on_with_other_brokers_when_one_cannot_be_had_was_not_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    class Begun(HangingSession):
        async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> NoReturn:
            begun.set()
            await super().connect(role)

    class OneOnly(MemoryTarget):
        async def start(self, *, broker_config: Mapping[str, str], **_: object) -> Broker:
            if broker_config:
                await begun.wait()
                raise TargetError("no port is free\nthe end of its log")
            self.brokers.append(MemoryBroker(broker_config, self.responder))
            return self.brokers[-1]

    monkeypatch.setattr(MemoryBroker, "open_session", lambda self, _: Begun(answers_none))
    target = OneOnly(can=frozenset({Capability.BROKER_CONFIG, Capability.RESTART}))
    script = record(beat)
    actions = {"needs": ("restart",), "steps": (*script.steps, DoToBroker(lever="restart"))}
    scripts = [
        *scripts_named("a", **actions),
        *scripts_named("b", **actions, broker_config={"group.max.size": "2"}),
    ]
    events: list[Event] = []
    with pytest.raises(TargetError, match="no port is free"):
        asyncio.run(driving(target, sinks(tmp_path, events)).run(scripts))
    assert [(event.scenario_id, event.note) for event in events] == [
        ("classic/test/a", "target lost: no port is free")
    ]
    assert target.brokers[0].stopped


async def test_a_wait_for_a_late_answer_is_added_to_the_scenarios_limit() -> None:
    place = _Place(rendezvous=None, slots=None)
    async with asyncio.timeout(LIMIT_S) as place.limit:
        end_s = place.limit.when()
        with place.late():
            assert place.limit.when() is None
            await asyncio.sleep(0)
        assert end_s is not None
        assert place.limit.when() == pytest.approx(end_s + place.late_s)
        place.late_s = LATE_S_MAX
        with place.late():
            assert place.limit.when() is not None


def test_waiting_for_late_answers_takes_no_slot(tmp_path: Path) -> None:
    waiting, all_wait, scripts = 0, asyncio.Event(), scripts_named("a", "b", "c")

    class LateConnection(MemoryConnection):
        """What is asked is answered once everybody asked, which is after the time for it."""

        async def receive(self, *, timeout_ms: float) -> Frame:
            if timeout_ms <= ANSWERED_WITHIN_MS:
                raise NoAnswer
            nonlocal waiting
            waiting += 1
            if waiting == len(scripts):
                all_wait.set()
            await all_wait.wait()
            return Frame(payload=self.frames.popleft())

    class LateSession(MemorySession):
        async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
            return LateConnection(self)

    class LateBroker(MemoryBroker):
        def open_session(self, scenario_id: str) -> BrokerSession:
            return LateSession(self.responder)

    class LateTarget(MemoryTarget):
        async def start(self, *, broker_config: Mapping[str, str], **_: object) -> Broker:
            return LateBroker(broker_config, self.responder)

    _, events = drive(LateTarget(), scripts, tmp_path, Limits(jobs=1))
    assert [event.kind for event in events].count(EventKind.RESPONSE) == len(scripts)


@pytest.mark.usefixtures("hangs")
def test_a_drive_that_hangs_ends_at_its_limit_and_says_so_of_every_scenario(tmp_path: Path) -> None:
    target = MemoryTarget()
    _, events = drive(target, scripts_named("a", "b", "c"), tmp_path, Limits(drive_s=0.01, jobs=1))
    assert sorted(last_kinds(events)) == ["a", "b", "c"]
    assert {event.note for event in events} == {"the drive's limit of 0.01 s had passed"}
    assert target.brokers[0].stopped


@pytest.mark.usefixtures("hangs")
def test_a_broker_that_starts_later_does_not_wait_for_scenarios_that_never_began(tmp_path: Path) -> None:
    target = MemoryTarget(can=frozenset({Capability.BROKER_CONFIG, Capability.RESTART}))
    steps = (*record(beat).steps, DoToBroker(lever="restart"))
    acting = scripts_named("acting", needs=("restart",), steps=steps, broker_config={"group.max.size": "2"})
    scripts = [*scripts_named(*(f"at-rest-{number}" for number in range(100))), *acting]
    events: list[Event] = []
    driven = driving(target, sinks(tmp_path, events), Limits(drive_s=0.01, jobs=1))
    driven.admission = Admission(frozenset({"memory"}), jobs=1)

    asyncio.run(asyncio.wait_for(driven.run(scripts), timeout=20))

    assert last_kinds(events)["acting"] == EventKind.ABANDONED
    assert len(target.brokers) == 2


async def test_timers_on_a_broker_that_starts_later_wait_for_other_starts(tmp_path: Path) -> None:
    target = MemoryTarget(can=frozenset({Capability.BROKER_CONFIG, Capability.RESTART}))
    config = {"group.max.size": "2"}
    steps = (*record(beat).steps, DoToBroker(lever="restart"))
    acting = scripts_named("acting", needs=("restart",), steps=steps, broker_config=config)
    timed = replace(record(late), id="classic/test/timed", broker_config=config)
    order: list[str] = []
    ordered = replace(sinks(tmp_path, []), write=lambda event: order.append(event.scenario_id))
    driven = driving(target, ordered)
    driven.packing = Packing(configs={script.id: config for script in (*acting, timed)})
    async with asyncio.timeout(NOW_OR_NEVER_S), start_slots().taken():
        running = asyncio.create_task(driven.run([*acting, timed]))
        await asyncio.wait([running], timeout=0.2)
        assert len(target.brokers) == 1
        order.append("started")
    await running

    assert list(dict.fromkeys(order)) == ["started", "classic/test/timed", "classic/test/acting"]


def test_every_group_of_a_script_is_found() -> None:
    def two_groups(conversation: Conversation) -> None:
        """Two groups are named."""
        other = conversation.group("other")
        heartbeat = ask.heartbeat(group_id=other, member_id="m", generation_id=1)
        conversation.actor("ana").asks(heartbeat, error_code="NONE")

    assert group_names(record(scenario("a/b/c", source="A#b")(two_groups))) == ("main", "other")
