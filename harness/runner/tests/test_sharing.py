"""Scripts that do something to their broker: who shares one."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

import pytest

from harness.runner.sharing import (
    BROKER_GROUP_SIZE_MAX,
    MEETING_SIZE_MAX,
    BrokerGroup,
    Cohort,
    Packing,
    broker_groups,
)
from harness.scenario import (
    Breakpoint,
    Capability,
    Conversation,
    Script,
    ask,
    expect,
    offset_record,
    record,
    scenario,
)
from harness.targets.base.interface import BrokerAction

CAN = frozenset(Capability) - {Capability.CLUSTER}


def script(
    name: str, *actions: Callable[[Conversation], None], broker_config: Mapping[str, str] | None = None
) -> Script:
    """Return a script that does something to its broker between two heartbeats."""

    def conversations(conversation: Conversation) -> None:
        """A heartbeat is answered before and after."""
        ana = conversation.actor("ana")
        ana.asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")
        for action in actions:
            action(conversation)
        ana.asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")

    pauses = (Capability.PAUSE_AT_LOADING, Capability.PAUSE_AT_DEAD)
    needs = (Capability.RESTART, Capability.KILL, Capability.WRITE_LOG, *pauses)
    marked = scenario(f"a/b/{name}", source="A#b", needs=needs, broker_config=broker_config)
    return record(marked(conversations))


def restarts(conversation: Conversation) -> None:
    conversation.restarts_coordinator()


def restarts_otherwise(conversation: Conversation) -> None:
    conversation.restarts_coordinator({"group.max.size": 2})


def restarts_while_somebody_waits(conversation: Conversation) -> None:
    bob = conversation.actor("bob")
    bob.sends(ask.join_group())
    conversation.restarts_coordinator()
    bob.may_receive(expect.join_group(error_code="NOT_COORDINATOR", generation_id=-1))


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


SMALL = {"group.max.size": "2"}


def names(found: Iterable[BrokerGroup | Cohort]) -> list[list[str]]:
    return [[one.id.rpartition("/")[2] for one in each.scripts] for each in found]


def test_scripts_that_do_the_same_to_their_broker_share_it_and_others_do_not() -> None:
    scripts = [
        script("quiet"),
        script("r1", restarts),
        script("r2", restarts),
        script("kill", kills),
        script("twice", restarts, restarts),
        script("otherwise", restarts_otherwise),
        script("paused", pauses_at_loading, restarts, releases_loading),
    ]
    found = broker_groups(scripts, CAN)

    assert names(found) == [["quiet"], ["r1", "r2", "paused"], ["kill"], ["twice"], ["otherwise"]]
    assert [broker_group.does_something for broker_group in found] == [False, *[True] * 4]
    assert found[1].breakpoints == {Breakpoint.LOADING}


def test_who_awaits_what_a_broker_answers_that_shuts_down_has_another_broker() -> None:
    scripts = [
        script("r1", restarts),
        script("answered", restarts_while_somebody_waits),
        script("r2", restarts),
        script("answered-too", restarts_while_somebody_waits),
    ]

    assert names(broker_groups(scripts, CAN)) == [["r1", "r2"], ["answered", "answered-too"]]


def test_who_wants_another_configuration_or_waits_longer_has_another_broker() -> None:
    scripts = [
        script("r1", restarts),
        script("small", restarts, broker_config=SMALL),
        script("later", waits, restarts),
        script("later-too", waits, restarts),
    ]
    found = broker_groups(scripts, CAN)

    assert names(found) == [["r1"], ["small"], ["later", "later-too"]]
    assert found[1].broker_config == SMALL


def test_short_sessions_have_a_broker_to_themselves_and_pauses_at_dead_groups_share_one() -> None:
    scripts = [
        script("r1", restarts),
        script("short", joins_for_a_moment, restarts),
        script("shorter", joins_for_a_moment, restarts),
        script("dead", dies),
        script("dead-too", dies),
    ]

    assert names(broker_groups(scripts, CAN)) == [["r1"], ["short"], ["shorter"], ["dead", "dead-too"]]


def test_a_broker_group_has_a_limit_and_those_who_do_nothing_else_have_none() -> None:
    many = [script(f"r{number}", restarts) for number in range(MEETING_SIZE_MAX + 1)]
    dead = [script(f"d{number}", dies) for number in range(BROKER_GROUP_SIZE_MAX + 1)]
    quiet = [script(f"q{number}") for number in range(MEETING_SIZE_MAX + 1)]

    found = broker_groups([*many, *dead, *quiet], CAN)

    sizes = [MEETING_SIZE_MAX, 1, BROKER_GROUP_SIZE_MAX, 1, MEETING_SIZE_MAX + 1]
    assert [len(broker_group.scripts) for broker_group in found] == sizes


@pytest.mark.parametrize("can", [{Capability.BROKER_CONFIG}, set(), CAN - {Capability.PAUSE_AT_DEAD}])
def test_who_cannot_be_run_on_a_target_needs_no_broker_of_its_own(can: AbstractSet[Capability]) -> None:
    scripts = [script("quiet"), script("small", restarts, broker_config=SMALL)]

    (broker_group,) = broker_groups(scripts, frozenset(can))

    assert names([broker_group]) == [["quiet", "small"]]
    assert not broker_group.broker_config
    assert not broker_group.does_something


def test_on_a_broker_of_others_those_that_share_the_group_without_a_name_take_turns() -> None:
    def names_none(conversation: Conversation) -> None:
        conversation.actor("bob").asks(ask.heartbeat(group_id="", member_id="m", generation_id=1))

    scripts = [
        script("nameless", names_none),
        script("quiet"),
        script("other", names_none),
        script("r", restarts),
    ]

    (shared,) = broker_groups(scripts, CAN - {Capability.BROKER_CONFIG})
    assert names(shared.cohorts) == [["quiet"], ["nameless"], ["other"], ["r"]]
    (without_restarts,) = broker_groups(scripts, frozenset())
    assert names(without_restarts.cohorts) == [["quiet", "r"], ["nameless"], ["other"]]


def test_rounds_of_one_configuration_share_brokers_and_who_spoils_one_is_its_last() -> None:
    scripts = [
        script("talks", broker_config=SMALL),
        script("alone", broker_config=SMALL),
        script("r", restarts, broker_config=SMALL),
        script("k", kills, broker_config=SMALL),
        script("spoils", restarts_otherwise, broker_config=SMALL),
    ]
    packing = Packing(
        alone=frozenset({"a/b/alone"}), to_clear=frozenset({"a/b/k"}), final=frozenset({"a/b/spoils"})
    )

    (broker_group,) = broker_groups(scripts, CAN, packing)

    assert names(broker_group.cohorts) == [["talks"], ["alone"], ["r"], ["k"], ["spoils"]]
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


def rounds_of(scripts: list[Script], packing: Packing) -> list[list[str]]:
    """Return the rounds of the one broker of some scripts."""
    (broker_group,) = broker_groups(scripts, CAN, packing)
    return names(broker_group.cohorts)


def test_who_goes_on_to_do_more_shares_a_broker_with_those_who_end_before() -> None:
    scripts = [
        script("once", restarts),
        script("twice", restarts, restarts),
        script("otherwise", kills),
        script("lingers", restarts, waits),
        script("in-vain", kills, kills, waits),
    ]

    # Whoever goes on for long after the first restart would keep the second one waiting.
    assert rounds_of(scripts[:2], Packing()) == [["once", "twice"]]
    assert rounds_of(scripts, Packing()) == [["once", "lingers"], ["twice"], ["otherwise", "in-vain"]]


def test_those_behind_whom_the_log_is_cleared_come_with_others() -> None:
    scripts = [script(f"r{number}", restarts) for number in range(3)]
    packing = Packing(to_clear=frozenset({"a/b/r0"}), final=frozenset({"a/b/r1"}))

    assert rounds_of(scripts, packing) == [["r2", "r0", "r1"]]


@pytest.mark.parametrize(
    ("partitions", "rounds"),
    [
        ((0, 1), [["s0", "s1"]]),
        ((0, 0), [["s0"], ["s1"]]),
        ((None, 1), [["s1"], ["s0"]]),
    ],
)
def test_who_spoils_the_log_shares_it_with_those_that_spoil_other_partitions(
    partitions: tuple[int | None, ...], rounds: list[list[str]]
) -> None:
    def spoils(partition: int | None) -> Callable[[Conversation], None]:
        def appends(conversation: Conversation) -> None:
            group = conversation.group("spoilt", partition=partition)
            for spoilt in (True, False):
                conversation.appends(offset_record("orders", 0, 1), to=group, spoils=spoilt)
            conversation.restarts_coordinator()

        return appends

    scripts = [script(f"s{number}", spoils(partition)) for number, partition in enumerate(partitions)]

    assert sorted(rounds_of(scripts, Packing())) == sorted(rounds)


def test_a_cluster_has_a_fresh_broker_for_each_round() -> None:
    scripts = [script("r", restarts), script("k", kills)]
    assert len(broker_groups(scripts, CAN | {Capability.CLUSTER}, Packing())) == 2
