"""Scripts that write into the log behind the coordinator's back, or hold one of its partitions."""

import asyncio
from collections.abc import Callable

import pytest

from harness.runner.broker_actions import rounds_with_pauses
from harness.runner.rendezvous import Rendezvous
from harness.runner.sharing import broker_groups
from harness.runner.tests.test_sharing import pauses_at_loading, releases_loading
from harness.scenario import (
    Breakpoint,
    Capability,
    Conversation,
    ScenarioError,
    Script,
    ask,
    offset_record,
    offset_tombstone,
    record,
    record_of_type,
    scenario,
)
from harness.scenario.script import script_from_json, script_to_json, step_text
from harness.tests.stages import MemorySession, interpreted
from harness.trace.events import EventKind

CAN = frozenset(Capability)
NEEDS = (Capability.RESTART, Capability.WRITE_LOG, Capability.PAUSE_AT_LOADING)


def script(name: str, *actions: Callable[[Conversation], None]) -> Script:
    def conversations(conversation: Conversation) -> None:
        """Something is done, and a heartbeat is answered."""
        for action in actions:
            action(conversation)
        conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")

    return record(scenario(f"a/b/{name}", source="A#b", needs=NEEDS)(conversations))


def appends_one(conversation: Conversation) -> None:
    conversation.appends(offset_record("orders", 0, 1))


def appends_another(conversation: Conversation) -> None:
    conversation.appends(offset_tombstone("orders", 0), record_of_type(9, value=b"x"))


def spoils(conversation: Conversation) -> None:
    conversation.appends(offset_record("orders", 0, 1, version=9), spoils=True)


def restarts(conversation: Conversation) -> None:
    conversation.restarts_coordinator()


def pauses_at(partition: int | None) -> Callable[[Conversation], None]:
    def pauses(conversation: Conversation) -> None:
        group = conversation.group("three", partition=partition)
        conversation.pauses_at(Breakpoint.LOADING, of=group)

    return pauses


@pytest.mark.parametrize(
    ("one", "other", "sizes"),
    [
        (appends_one, appends_another, [2]),
        (appends_one, lambda _: None, [2]),
        (spoils, lambda _: None, [1, 1]),
        (spoils, spoils, [1, 1]),
        (pauses_at(3), pauses_at(3), [2]),
        (pauses_at(3), pauses_at(4), [1, 1]),
        (pauses_at(None), pauses_at(None), [1, 1]),
    ],
    ids=[
        "whatever they append",
        "with who appends nothing",
        "not with who appends nothing, if they spoil the log",
        "not if they spoil the log",
        "if they pause at the same partition",
        "not if at another",
        "not if wherever their group is",
    ],
)
def test_scripts_that_append_or_pause_share_a_broker(
    one: Callable[[Conversation], None], other: Callable[[Conversation], None], sizes: list[int]
) -> None:
    scripts = [script("x", one, restarts), script("y", other, restarts)]
    assert [len(broker_group.scripts) for broker_group in broker_groups(scripts, CAN)] == sizes


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
    text = step_text(script("x", pauses_at(3), restarts).steps[0])
    assert text.endswith("while it loads its log, in the partition of group:three")


def test_records_go_to_the_partition_of_their_group() -> None:
    session = MemorySession(lambda _: ())
    reported = script("x", appends_another, pauses_at(3), restarts)
    groups = {"main": "a", "three": "test"}
    events = asyncio.run(interpreted(reported, session, groups, partitions=50))
    assert session.actions[:3] == ["append 2 to 47", "hold loading of [48]", "restart"]
    assert [event.kind for event in events[:3]] == [EventKind.CONTROL.value] * 3


async def test_each_appends_by_itself_when_all_have_met() -> None:
    sessions = [MemorySession(lambda _: ()) for _ in range(2)]
    rendezvous = Rendezvous(2)

    async def take_part(session: MemorySession, reported: Script) -> None:
        await asyncio.to_thread(lambda: None)
        await interpreted(reported, session, {"main": "a"}, partitions=1, rendezvous=rendezvous)
        rendezvous.leave()

    scripts = [script("x", appends_one, restarts), script("y", appends_another, restarts)]
    await asyncio.gather(*map(take_part, sessions, scripts))
    actions = [action for session in sessions for action in session.actions]
    assert sorted(actions) == ["append 1 to 0", "append 2 to 0", "restart"]


async def test_who_appends_or_pauses_less_waits_for_the_end_of_the_others_round() -> None:
    happened: list[str] = []
    scripts = [
        script("appends", appends_one, restarts),
        script("restarts", restarts),
        script("pauses", pauses_at_loading, restarts, releases_loading),
    ]
    rendezvous = Rendezvous(len(scripts), rounds_with_pauses(scripts))

    async def take_part(reported: Script) -> None:
        session = MemorySession(lambda _: (), actions=happened)
        await interpreted(reported, session, {"main": "a"}, partitions=1, rendezvous=rendezvous)
        happened.append(reported.id.rpartition("/")[2])
        rendezvous.leave()

    await asyncio.gather(*map(take_part, scripts))

    assert happened[:4] == ["hold loading", "append 1 to 0", "restart", "release loading"]
    assert sorted(happened[4:]) == ["appends", "pauses", "restarts"]
