"""Scripts that do something to their broker: who shares one, and how they meet."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.capacity import BROKER_BYTES, Machine
from harness.runner.admission import Admission
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import (
    BROKER_GROUP_SIZE_MAX,
    MEETING_SIZE_MAX,
    BrokerGroup,
    Packing,
    broker_groups,
)
from harness.runner.tests.test_drive import MemoryBroker, MemoryTarget, Silent, answers_none
from harness.scenario import Breakpoint, Capability, Conversation, Script, ask, expect, record, scenario
from harness.scenario.script import Send
from harness.targets.base.interface import Broker, BrokerAction, BrokerSession, TargetError
from harness.tests.stages import MemorySession
from harness.trace.events import Event, EventKind

CAN = frozenset(Capability) - {Capability.CLUSTER}


def script(
    name: str, *actions: Callable[[Conversation], None], broker_config: Mapping[str, str] | None = None
) -> Script:
    """Return a script that does something to its broker between two heartbeats."""

    def conversations(conversation: Conversation) -> None:
        """A heartbeat is answered before and after."""
        ana = conversation.actor("ana")
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.receives(expect.heartbeat(error_code="NONE"))
        for action in actions:
            action(conversation)
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.receives(expect.heartbeat(error_code="NONE"))

    needs = (Capability.RESTART, Capability.KILL, Capability.PAUSE_AT_LOADING, Capability.PAUSE_AT_DEAD)
    marked = scenario(f"a/b/{name}", source="A#b", needs=needs, broker_config=broker_config)
    return record(marked(conversations))


def restarts(conversation: Conversation) -> None:
    conversation.restarts_coordinator()


def restarts_otherwise(conversation: Conversation) -> None:
    conversation.restarts_coordinator({"group.max.size": 2})


def kills(conversation: Conversation) -> None:
    conversation.kills_coordinator()


def pauses_at_loading(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.LOADING)


def releases_loading(conversation: Conversation) -> None:
    conversation.resumes_from(Breakpoint.LOADING)


def waits(conversation: Conversation) -> None:
    conversation.elapses(2_200)


def joins_for_a_moment(conversation: Conversation) -> None:
    bob = conversation.actor("bob")
    bob.sends(ask.join_group(member_id="", session_timeout_ms=6_000))


def dies(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.DEAD)
    eve = conversation.actor("eve")
    eve.sends(ask.delete_groups())
    conversation.resumes_from(Breakpoint.DEAD)
    eve.receives(expect.delete_groups("NONE"))


def names(found: list[BrokerGroup] | tuple[BrokerGroup, ...] | object) -> list[list[str]]:
    assert isinstance(found, list)
    return [[one.id.rpartition("/")[2] for one in broker_group.scripts] for broker_group in found]


def test_scripts_that_do_the_same_to_their_broker_share_it_and_others_do_not() -> None:
    found = broker_groups(
        [
            script("quiet"),
            script("r1", restarts),
            script("r2", restarts),
            script("kill", kills),
            script("twice", restarts, restarts),
            script("otherwise", restarts_otherwise),
            script("paused", pauses_at_loading, restarts, releases_loading),
        ],
        CAN,
    )

    assert names(found) == [["quiet"], ["r1", "r2"], ["kill"], ["twice"], ["otherwise"], ["paused"]]
    assert [broker_group.does_something for broker_group in found] == [False, *[True] * 5]
    assert found[-1].breakpoints == {Breakpoint.LOADING}


def test_who_wants_another_configuration_or_waits_longer_has_another_broker() -> None:
    found = broker_groups(
        [
            script("r1", restarts),
            script("small", restarts, broker_config={"group.max.size": "2"}),
            script("later", waits, restarts),
            script("later-too", waits, restarts),
        ],
        CAN,
    )

    assert names(found) == [["r1"], ["small"], ["later", "later-too"]]
    assert found[1].broker_config == {"group.max.size": "2"}


def test_short_sessions_have_a_broker_to_themselves_and_pauses_at_dead_groups_share_one() -> None:
    found = broker_groups(
        [
            script("r1", restarts),
            script("short", joins_for_a_moment, restarts),
            script("shorter", joins_for_a_moment, restarts),
            script("dead", dies),
            script("dead-too", dies),
        ],
        CAN,
    )

    assert names(found) == [["r1"], ["short"], ["shorter"], ["dead", "dead-too"]]


def test_a_broker_group_has_a_limit_and_those_who_do_nothing_else_have_none() -> None:
    many = [script(f"r{number}", restarts) for number in range(MEETING_SIZE_MAX + 1)]
    dead = [script(f"d{number}", dies) for number in range(BROKER_GROUP_SIZE_MAX + 1)]
    quiet = [script(f"q{number}") for number in range(MEETING_SIZE_MAX + 1)]

    found = broker_groups([*many, *dead, *quiet], CAN)

    sizes = [MEETING_SIZE_MAX, 1, BROKER_GROUP_SIZE_MAX, 1, MEETING_SIZE_MAX + 1]
    assert [len(broker_group.scripts) for broker_group in found] == sizes


def test_what_a_target_cannot_do_needs_no_broker_of_its_own() -> None:
    unable = frozenset({Capability.BROKER_CONFIG})

    assert names(broker_groups([script("quiet"), script("r1", restarts)], unable)) == [["quiet", "r1"]]
    assert names(broker_groups([script("quiet"), script("r1", restarts)], frozenset())) == [["quiet", "r1"]]


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
    broker: SharedBroker,
    scripts: list[Script],
    tmp_path: Path,
    can: frozenset[Capability] = CAN,
    packing: Packing | None = None,
) -> list[Event]:
    events: list[Event] = []
    limits = Limits(jobs=1)
    driving = Drive(
        run_id="r",
        target=SharedTarget(can=can, broker=broker),
        target_name="memory",
        limits=limits,
        sinks=DriveSinks(write=events.append, broker_ready=lambda *_: None, logs=tmp_path),
        watcher=Silent(),
        admission=Admission(frozenset({"memory"}), jobs=limits.jobs),
        packing=packing,
    )
    asyncio.run(driving.run(scripts))
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


def test_a_action_that_fails_fails_for_all_who_had_come() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise TargetError("it does not start")

    async def meet() -> list[object]:
        place = Rendezvous(2)
        return [*await asyncio.gather(place.meet(fails), place.meet(fails), return_exceptions=True)]

    assert [str(error) for error in asyncio.run(meet())] == ["it does not start"] * 2


def test_who_leaves_is_not_waited_for_and_who_gives_up_is_forgotten() -> None:
    done: list[str] = []

    async def action() -> None:
        done.append("deed")

    async def meet() -> None:
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

    asyncio.run(meet())
    assert done == ["deed"]


def test_a_action_that_nobody_waits_for_any_more_is_given_up() -> None:
    begun: list[str] = []

    async def action() -> None:
        begun.append("begun")
        await asyncio.Event().wait()
        begun.append("done")

    async def meet() -> None:
        place = Rendezvous(1)
        waiting = asyncio.create_task(place.meet(action))
        while not begun:  # noqa: ASYNC110 - a list sets no event
            await asyncio.sleep(0)
        waiting.cancel()
        await place.close()
        await place.close()

    asyncio.run(meet())
    assert begun == ["begun"]


def test_rounds_of_one_configuration_share_brokers_and_who_spoils_one_is_its_last() -> None:
    scripts = [
        script("talks", broker_config={"group.max.size": "2"}),
        script("alone", broker_config={"group.max.size": "2"}),
        script("r", restarts, broker_config={"group.max.size": "2"}),
        script("k", kills, broker_config={"group.max.size": "2"}),
        script("spoils", restarts_otherwise, broker_config={"group.max.size": "2"}),
    ]
    packing = Packing(
        alone=frozenset({"a/b/alone"}), to_clear=frozenset({"a/b/k"}), final=frozenset({"a/b/spoils"})
    )

    (broker_group,) = broker_groups(scripts, CAN, packing)

    rounds = [[one.id.rpartition("/")[2] for one in each.scripts] for each in broker_group.cohorts]
    assert rounds == [["talks"], ["alone"], ["r"], ["k"], ["spoils"]]
    assert [each.clears for each in broker_group.cohorts] == [False, False, False, True, False]
    assert broker_group.broker_actions == {BrokerAction.RESTART, BrokerAction.KILL}


def test_two_who_spoil_a_broker_have_one_each_and_rounds_are_dealt_by_their_length() -> None:
    def waits_long(conversation: Conversation) -> None:
        conversation.elapses(20_000)

    scripts = [
        script("s1", restarts_otherwise),
        script("s2", kills),
        script("long", waits_long, restarts),
        script("short", restarts, restarts),
    ]
    found = broker_groups(scripts, CAN, Packing(final=frozenset({"a/b/s1", "a/b/s2"})))

    assert names(found) == [["long", "s1"], ["short", "s2"]]


def test_a_cluster_has_a_fresh_broker_for_each_round() -> None:
    scripts = [script("r", restarts), script("k", kills)]
    assert len(broker_groups(scripts, CAN | {Capability.CLUSTER}, Packing())) == 2


def test_who_is_not_applicable_needs_no_broker_of_its_own() -> None:
    scripts = [script("talks"), script("small", restarts, broker_config={"group.max.size": "2"})]
    (broker_group,) = broker_groups(scripts, CAN - {Capability.PAUSE_AT_DEAD})
    assert not broker_group.broker_config
    assert not broker_group.does_something


def test_rounds_follow_one_another_and_a_log_that_is_not_cleared_ends_them(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    scripts = [script("one", restarts), script("two", kills), script("three", kills, restarts)]

    events_of(broker, scripts, tmp_path, packing=Packing())
    assert sorted(broker.actions) == ["kill", "kill", "restart", "restart"]

    # The broker in memory knows nothing of topics: its log cannot be cleared.
    events = events_of(broker, scripts, tmp_path, packing=Packing(to_clear=frozenset({"a/b/one"})))
    lost = {each.scenario_id: each.note for each in events if each.kind == EventKind.ABANDONED}
    assert lost
    assert all(note is not None and note.startswith("target lost: ") for note in lost.values())
    assert lost.keys() < {each.id for each in scripts}
