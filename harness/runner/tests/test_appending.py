"""Scripts that write into the log behind the coordinator's back, or hold one of its partitions."""

import asyncio
from collections.abc import Callable

import pytest

from harness.runner.interpreter import Interpreter
from harness.runner.recorder import Recorder
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import broker_groups
from harness.scenario import (
    Breakpoint,
    Capability,
    Conversation,
    ScenarioError,
    Script,
    ask,
    expect,
    offset_record,
    offset_tombstone,
    record,
    record_of_type,
    scenario,
)
from harness.scenario.bindings import Bindings
from harness.scenario.script import script_from_json, script_to_json, step_text
from harness.tests.stages import MemorySession
from harness.trace.canonical import Canonicaliser
from harness.trace.events import Event, EventKind

CAN = frozenset(Capability)
NEEDS = (Capability.RESTART, Capability.WRITE_LOG, Capability.PAUSE_AT_LOADING)


def script(name: str, *actions: Callable[[Conversation], None]) -> Script:
    def conversations(conversation: Conversation) -> None:
        """Something is done, and a heartbeat is answered."""
        for action in actions:
            action(conversation)
        ana = conversation.actor("ana")
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.receives(expect.heartbeat(error_code="NONE"))

    return record(scenario(f"a/b/{name}", source="A#b", needs=NEEDS)(conversations))


def appends_one(conversation: Conversation) -> None:
    conversation.appends(offset_record("orders", 0, 1))


def appends_another(conversation: Conversation) -> None:
    conversation.appends(offset_tombstone("orders", 0), record_of_type(9, value=b"x"))


def spoils(conversation: Conversation) -> None:
    conversation.appends(offset_record("orders", 0, 1, version=9), spoils=True)


def restarts(conversation: Conversation) -> None:
    conversation.restarts_coordinator()


def pauses_at_three(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.LOADING, of=conversation.group("three", partition=3))


def pauses_at_four(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.LOADING, of=conversation.group("three", partition=4))


def pauses_somewhere(conversation: Conversation) -> None:
    conversation.pauses_at(Breakpoint.LOADING, of=conversation.group("main"))


def broker_group_sizes(*scripts: Script) -> list[int]:
    return sorted(len(broker_group.scripts) for broker_group in broker_groups(scripts, CAN))


def test_scripts_that_append_share_a_broker_whatever_they_append() -> None:
    assert broker_group_sizes(script("x", appends_one, restarts), script("y", appends_another, restarts)) == [
        2
    ]
    assert broker_group_sizes(script("x", appends_one, restarts), script("y", restarts)) == [1, 1]


def test_a_script_that_spoils_the_log_has_a_broker_to_itself() -> None:
    assert broker_group_sizes(script("x", spoils, restarts), script("y", spoils, restarts)) == [1, 1]


def test_scripts_that_pause_at_the_same_partition_share_a_broker() -> None:
    assert broker_group_sizes(
        script("x", pauses_at_three, restarts), script("y", pauses_at_three, restarts)
    ) == [2]
    assert broker_group_sizes(
        script("x", pauses_at_three, restarts), script("y", pauses_at_four, restarts)
    ) == [1, 1]


def test_scripts_that_pause_wherever_their_group_is_share_none() -> None:
    assert broker_group_sizes(
        script("x", pauses_somewhere, restarts), script("y", pauses_somewhere, restarts)
    ) == [
        1,
        1,
    ]


def test_whoever_appends_and_goes_on_has_to_say_that_others_mind() -> None:
    with pytest.raises(ScenarioError, match="nothing is done to the broker: state spoils=True"):
        script("x", appends_one)
    assert script("x", spoils).steps


def test_appending_has_to_be_stated_as_a_need() -> None:
    def conversations(conversation: Conversation) -> None:
        """Records are appended."""
        spoils(conversation)
        restarts(conversation)

    with pytest.raises(ScenarioError, match=r"needs Capability\.WRITE_LOG"):
        record(scenario("a/b/c", source="A#b", needs=(Capability.RESTART,))(conversations))


def test_what_is_appended_outlives_the_script_file_and_says_itself() -> None:
    reported = script("x", appends_another, restarts)
    assert script_from_json(script_to_json(reported)) == reported
    assert step_text(reported.steps[0]) == (
        "written into the log of group:main: an offset (a tombstone), a record of type 9 (1 bytes)"
    )


def test_a_step_names_the_partition_that_is_paused() -> None:
    text = step_text(script("x", pauses_at_three, restarts).steps[0])
    assert text.endswith("while it loads its log, in the partition of group:three")


def run(reported: Script, session: MemorySession, rendezvous: Rendezvous | None = None) -> list[Event]:
    events: list[Event] = []
    recorder = Recorder(
        run_id="r",
        target="t",
        script=reported,
        canonicaliser=Canonicaliser(groups={"a": "main"}),
        write=events.append,
        now_ms=session.now_ms,
    )
    interpreter = Interpreter(
        script=reported,
        session=session,
        recorder=recorder,
        bindings=Bindings(groups={"main": "a", "three": "test"}),
        broker_failure=lambda: None,
        partitions=50,
        rendezvous=rendezvous,
    )
    asyncio.run(interpreter.run())
    return events


def test_records_go_to_the_partition_of_their_group() -> None:
    session = MemorySession(lambda _: ())
    events = run(script("x", appends_another, pauses_at_three, restarts), session)
    assert session.actions[:3] == ["append 2 to 47", "hold loading of [48]", "restart"]
    assert [event.kind for event in events[:3]] == [EventKind.CONTROL.value] * 3


def test_each_appends_by_itself_when_all_have_met() -> None:
    async def meet() -> list[str]:
        sessions = [MemorySession(lambda _: ()) for _ in range(2)]
        rendezvous = Rendezvous(2)

        async def take_part(session: MemorySession, reported: Script) -> None:
            await asyncio.to_thread(lambda: None)
            interpreter = Interpreter(
                script=reported,
                session=session,
                recorder=Recorder(
                    run_id="r",
                    target="t",
                    script=reported,
                    canonicaliser=Canonicaliser(groups={}),
                    write=lambda _: None,
                    now_ms=session.now_ms,
                ),
                bindings=Bindings(groups={"main": "a"}),
                broker_failure=lambda: None,
                partitions=1,
                rendezvous=rendezvous,
            )
            await interpreter.run()
            rendezvous.leave()

        scripts = [script("x", appends_one, restarts), script("y", appends_another, restarts)]
        await asyncio.gather(*map(take_part, sessions, scripts))
        return [action for session in sessions for action in session.actions]

    assert sorted(asyncio.run(meet())) == ["append 1 to 0", "append 2 to 0", "restart"]
