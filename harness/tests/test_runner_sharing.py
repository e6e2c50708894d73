"""Scripts that do something to their broker: who shares one, and how they meet."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.runner.drive import Drive, DriveSinks, Gate, Limits
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import PARTY_SIZE_MAX, Party, parties
from harness.scenario import (
    Capability,
    Conversation,
    HoldPoint,
    Script,
    delete_groups,
    delete_groups_response,
    heartbeat,
    heartbeat_response,
    join_group,
    record,
    scenario,
)
from harness.scenario.script import Send
from harness.targets.base import Broker, Stage, TargetError
from harness.tests.stages import MemoryStage
from harness.tests.test_runner_drive import MemoryBroker, MemoryTarget, Silent, answers_none
from harness.trace.events import Event, EventKind

CAN = frozenset(Capability) - {Capability.CLUSTER}


def script(
    name: str, *deeds: Callable[[Conversation], None], broker_config: Mapping[str, str] | None = None
) -> Script:
    """Return a script that does something to its broker between two heartbeats."""

    def talks(talk: Conversation) -> None:
        """A heartbeat is answered before and after."""
        ana = talk.actor("ana")
        ana.sends(heartbeat(member_id="m", generation_id=1))
        ana.receives(heartbeat_response(error_code="NONE"))
        for deed in deeds:
            deed(talk)
        ana.sends(heartbeat(member_id="m", generation_id=1))
        ana.receives(heartbeat_response(error_code="NONE"))

    needs = (Capability.RESTART, Capability.KILL, Capability.HOLD_LOADING, Capability.HOLD_DEAD)
    marked = scenario(f"a/b/{name}", source="A#b", needs=needs, broker_config=broker_config)
    return record(marked(talks))


def restarts(talk: Conversation) -> None:
    talk.restarts_coordinator()


def restarts_otherwise(talk: Conversation) -> None:
    talk.restarts_coordinator({"group.max.size": 2})


def kills(talk: Conversation) -> None:
    talk.kills_coordinator()


def holds_loading(talk: Conversation) -> None:
    talk.holds(HoldPoint.LOADING)


def releases_loading(talk: Conversation) -> None:
    talk.releases(HoldPoint.LOADING)


def waits(talk: Conversation) -> None:
    talk.elapses(1_200)


def joins_for_a_moment(talk: Conversation) -> None:
    bob = talk.actor("bob")
    bob.sends(join_group(member_id="", session_timeout_ms=6_000))


def dies(talk: Conversation) -> None:
    talk.holds(HoldPoint.DEAD)
    eve = talk.actor("eve")
    eve.sends(delete_groups())
    talk.releases(HoldPoint.DEAD)
    eve.receives(delete_groups_response("NONE"))


def names(found: list[Party] | tuple[Party, ...] | object) -> list[list[str]]:
    assert isinstance(found, list)
    return [[one.id.rpartition("/")[2] for one in party.scripts] for party in found]


def test_scripts_that_do_the_same_to_their_broker_share_it_and_others_do_not() -> None:
    found = parties(
        [
            script("quiet"),
            script("r1", restarts),
            script("r2", restarts),
            script("kill", kills),
            script("twice", restarts, restarts),
            script("otherwise", restarts_otherwise),
            script("held", holds_loading, restarts, releases_loading),
        ],
        CAN,
    )

    assert names(found) == [["quiet"], ["r1", "r2"], ["kill"], ["twice"], ["otherwise"], ["held"]]
    assert [party.does_something for party in found] == [False, *[True] * 5]
    assert found[-1].holds == {HoldPoint.LOADING}


def test_who_wants_another_configuration_or_waits_longer_has_another_broker() -> None:
    found = parties(
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


def test_short_sessions_have_a_broker_to_themselves_and_held_deaths_share_one() -> None:
    found = parties(
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


def test_a_party_has_a_limit_and_those_who_only_talk_have_none() -> None:
    many = [script(f"r{number}", restarts) for number in range(PARTY_SIZE_MAX + 1)]
    quiet = [script(f"q{number}") for number in range(PARTY_SIZE_MAX + 1)]

    found = parties([*many, *quiet], CAN)

    assert [len(party.scripts) for party in found] == [PARTY_SIZE_MAX, 1, PARTY_SIZE_MAX + 1]


def test_what_a_target_cannot_do_needs_no_broker_of_its_own() -> None:
    unable = frozenset({Capability.BROKER_CONFIG})

    assert names(parties([script("quiet"), script("r1", restarts)], unable)) == [["quiet", "r1"]]
    assert names(parties([script("quiet"), script("r1", restarts)], frozenset())) == [["quiet", "r1"]]


@dataclass(slots=True)
class SharedBroker(MemoryBroker):
    """One whose stages note what is done to it in one list."""

    deeds: list[str] = field(default_factory=list)

    def open_stage(self, scenario_id: str) -> Stage:
        return MemoryStage(self.responder, deeds=self.deeds)


@dataclass(slots=True)
class OwnBroker(SharedBroker):
    """One whose stages each have a coordinator."""

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


def held(
    broker: SharedBroker, scripts: list[Script], tmp_path: Path, can: frozenset[Capability] = CAN
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
        gate=Gate(frozenset({"memory"}), jobs=limits.jobs),
    )
    asyncio.run(driving.run(scripts))
    return events


def test_what_all_of_a_party_want_is_done_once_and_needs_no_slots(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    scripts = [script(f"s{number}", holds_loading, restarts, releases_loading) for number in range(5)]

    events = held(broker, scripts, tmp_path)

    assert broker.deeds == ["hold loading", "restart", "release loading"]
    kinds = [event.kind for event in events if event.scenario_id == "a/b/s3"]
    assert kinds == ["request", "response", "control", "control", "control", "request", "response"]


def test_where_each_has_a_coordinator_it_is_done_to_each(tmp_path: Path) -> None:
    broker = OwnBroker({}, answers_none)

    held(broker, [script(f"s{number}", restarts) for number in range(3)], tmp_path)

    assert broker.deeds == ["restart"] * 3


def test_clusters_of_their_own_configurations_are_not_all_there_at_once(tmp_path: Path) -> None:
    broker = CountingBroker({}, answers_none)
    scripts = [script(f"s{number}", broker_config={"group.max.size": str(number)}) for number in range(2, 12)]

    events = held(broker, scripts, tmp_path, can=CAN | {Capability.CLUSTER})

    assert broker.most <= 4
    assert len({event.scenario_id for event in events}) == 10


def test_who_cannot_be_held_is_not_waited_for(tmp_path: Path) -> None:
    broker = SharedBroker({}, answers_none)
    unserved = script("unserved", restarts)
    steps = [replace(step, api_version=9) if isinstance(step, Send) else step for step in unserved.steps]
    scripts = [script("s1", restarts), script("s2", restarts), replace(unserved, steps=tuple(steps))]

    events = held(broker, scripts, tmp_path)

    assert broker.deeds == ["restart"]
    told = [event.kind for event in events if event.scenario_id == "a/b/unserved"]
    assert told == [EventKind.NOT_APPLICABLE.value]


def test_a_deed_that_fails_fails_for_all_who_had_come() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise TargetError("it does not start")

    async def meet() -> list[object]:
        place = Rendezvous(2)
        return [*await asyncio.gather(place.meet(fails), place.meet(fails), return_exceptions=True)]

    assert [str(error) for error in asyncio.run(meet())] == ["it does not start"] * 2


def test_who_leaves_is_not_waited_for_and_who_gives_up_is_forgotten() -> None:
    done: list[str] = []

    async def deed() -> None:
        done.append("deed")

    async def meet() -> None:
        place = Rendezvous(3)
        first = asyncio.create_task(place.meet(deed))
        impatient = asyncio.create_task(place.meet(deed))
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


def test_a_deed_that_nobody_waits_for_any_more_is_given_up() -> None:
    begun: list[str] = []

    async def deed() -> None:
        begun.append("begun")
        await asyncio.Event().wait()
        begun.append("done")

    async def meet() -> None:
        place = Rendezvous(1)
        waiting = asyncio.create_task(place.meet(deed))
        while not begun:  # noqa: ASYNC110 - a list sets no event
            await asyncio.sleep(0)
        waiting.cancel()
        await place.close()
        await place.close()

    asyncio.run(meet())
    assert begun == ["begun"]
