"""What only some conversations are about: rights, configurations, logs, and what is done to a broker."""

import asyncio
from random import Random

import pytest

from harness.scenario.messages import OWN
from harness.scenario.script import ActorSheet, Send
from harness.scenario.values import GroupRef, Ref, TopicId
from harness.search.actions import KILLS, LENGTHENS, MOVES, RELOADS
from harness.search.by_field import AS_FIELDS, builder_of, request_of
from harness.search.hunt import common_versions
from harness.search.made import Made
from harness.search.maker import Maker, acts_next, next_action
from harness.search.moves import EVERYBODY, Act, Ask, HangUp, Move, Speaker
from harness.search.openings import OPENING
from harness.search.plan import planned
from harness.search.request_table import REQUESTS
from harness.search.sides import Side
from harness.search.tempo import REAL, VIRTUAL, Tempo
from harness.search.tests.made_findings import reference_of
from harness.search.theme import Theme
from harness.search.variation import is_fit_for_brokers, varied, varied_request


def _side(profile: str = "4.4") -> Side:
    return Side(reference_of(profile))


async def _made(count: int, tempo: Tempo = VIRTUAL) -> list[Made]:
    side = _side()
    versions = await common_versions(side, side, of_one_release=True)
    makers = [Maker(f"themes/{number}", versions, tempo) for number in range(count)]
    return [await each.make(side, script_id="search/x", steps_max=40) for each in makers]


@pytest.fixture(name="made", scope="module")
def _many() -> list[Made]:
    return asyncio.run(_made(150))


def _sheets(made: list[Made]) -> set[ActorSheet]:
    return {sheet for each in made for sheet in each.script.actors}


@pytest.mark.slow
def test_a_conversation_has_requests_of_its_own_theme_only(made: list[Made]) -> None:
    asked = [{step.api for step in each.script.steps if isinstance(step, Send)} for each in made]
    themes = [{REQUESTS[api].theme for api in each if api not in OPENING} for each in asked]

    # Rights matter for every request, so a conversation about them is about something else, too.
    assert all(len(each - {None, Theme.ACCESS}) <= 1 for each in themes)
    assert sum(each <= {None} for each in themes) > 40
    # Where offsets expire, what is asked is the same.
    assert {*Theme} - {Theme.STATES, Theme.EXPIRY} <= set().union(*themes)


@pytest.mark.slow
def test_where_offsets_expire_some_have_a_retention_time_of_their_own(made: list[Made]) -> None:
    expiring = [each for each in made if "offsets.retention.minutes" in each.script.broker_config]
    retained = {
        step.fields["retention_time_ms"]
        for each in expiring
        for step in each.script.steps
        if isinstance(step, Send) and step.api == "OffsetCommit" and "retention_time_ms" in step.fields
    }

    assert len(expiring) > 5
    assert {700, 200_000} <= retained


@pytest.mark.slow
def test_principals_are_there_where_an_authorizer_is_and_are_refused_and_allowed(made: list[Made]) -> None:
    guarded = [each for each in made if "authorizer.class.name" in each.script.broker_config]
    outcomes = {pair.outcome for each in guarded for pair in each.reached}

    assert any(sheet.principal for sheet in _sheets(guarded))
    assert all(
        "principals" in each.script.needs for each in guarded if any(map(_principal, each.script.actors))
    )
    assert not any(map(_principal, _sheets([each for each in made if each not in guarded])))
    assert {"GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "NONE"} <= outcomes


def _principal(sheet: ActorSheet) -> str | None:
    return sheet.principal


async def test_a_shared_broker_has_no_principals_and_nobody_hangs_up() -> None:
    made = await _made(40, REAL)

    assert not any(map(_principal, _sheets(made)))
    assert not any(isinstance(move, Act | HangUp) for each in made for move in each.moves)


def test_a_conversation_that_is_gone_on_with_keeps_its_theme_and_its_cast() -> None:
    side = _side()
    versions = asyncio.run(common_versions(side, side, of_one_release=True))
    of_rights, of_logs = (Ask(actor="kim", api="Heartbeat"),), (Ask(actor="ana", api="ListOffsets"),)

    for number in range(20):
        plan = planned(Random(number), versions, VIRTUAL, None, of_rights)
        assert plan.theme is Theme.ACCESS
        assert "kim" in [each.name for each in plan.cast]
        assert planned(Random(number), versions, VIRTUAL, None, of_logs).theme is Theme.LOGS


async def test_every_configuration_starts_in_every_release() -> None:
    some = [each for of_type in VIRTUAL.configs_of.values() for each in of_type]
    of_themes = [each for of_theme in VIRTUAL.theme_configs.values() for each in of_theme]
    for profile in ("2.8", "3.9", "4.0.0", "4.4"):
        side = _side(profile)
        for config in (*VIRTUAL.configs, *some, *of_themes):
            await side.broker(config)


def test_between_releases_nothing_is_asked_whose_answer_no_behaviour_names() -> None:
    one, other = _side("4.3"), _side("4.4")

    assert "DescribeConfigs" not in asyncio.run(common_versions(one, other))
    assert "DescribeConfigs" in asyncio.run(common_versions(one, one, of_one_release=True))


def test_one_value_in_a_request_is_varied() -> None:
    value = {"group": GroupRef("main"), "topics": ({"id": TopicId("orders"), "epoch": Ref("ana", "x")},)}
    others = [varied(value, Random(number), ("g",)) for number in range(40)]

    assert value not in others
    assert {"group": GroupRef("main"), "topics": ()} in others
    assert any(isinstance(each, dict) and each["group"] != GroupRef("main") for each in others)
    assert varied({}, Random(1), ()) == {}


def test_a_varied_request_is_written_field_by_field() -> None:
    arguments = varied_request("LeaveGroup", {"version": 3}, Random(1), ("g",))

    assert arguments[AS_FIELDS]
    assert builder_of("LeaveGroup", arguments) is None
    assert request_of("LeaveGroup", arguments).version == 3


def test_fields_that_a_version_lacks_are_left_out_at_any_depth() -> None:
    topic = {"topic": "orders", "name": "orders", "partitions": ({"partition": 0, "partition_index": 0},)}
    request = request_of("ListOffsets", {"version": 2, "topics": (topic,)})

    assert request.fields == {"topics": ({"name": "orders", "partitions": ({"partition_index": 0},)},)}
    assert request_of("DescribeGroups", {"include_authorized_operations": True}).fields == {
        "groups": (OWN,),
        "include_authorized_operations": True,
    }


def test_what_was_written_into_a_log_is_soon_loaded() -> None:
    appended = [Act(action="appends(group_tombstone())")]
    cast: tuple[Speaker, ...] = EVERYBODY[:1]

    assert sum(acts_next(Random(number), appended) for number in range(200)) > 30
    assert all(
        isinstance(action, Act) and action.action in RELOADS
        for action in (next_action(Random(number), appended, cast, {}) for number in range(20))
    )


def test_no_log_is_lengthened_where_messages_have_to_be_short() -> None:
    moves = [Ask(actor="ana", api="Heartbeat")]
    for config, is_done in (({}, True), ({"message.max.bytes": "1000"}, False)):
        done = [next_action(Random(number), moves, EVERYBODY[:1], config) for number in range(200)]
        assert (Act(action=LENGTHENS) in done) is is_done


@pytest.mark.slow
def test_share_groups_get_records_and_acknowledge_them(made: list[Made]) -> None:
    reached = {(pair.api, pair.outcome) for each in made for pair in each.reached}

    assert ("ShareFetch", "NONE with records") in reached
    assert ("ShareAcknowledge", "NONE with records") in reached


def test_nobody_moves_to_a_broker_that_is_not_there() -> None:
    killed: list[Move] = [Act(action=KILLS), Act(action=KILLS), Ask(actor="ana", api="Heartbeat")]
    appended: list[Move] = [*killed, Act(action="appends(group_tombstone())")]

    for moves in (killed, appended):
        done = [next_action(Random(number), moves, EVERYBODY[:1], {}) for number in range(200)]
        assert Act(action=MOVES) not in done
        assert Act(action=KILLS) in done
    assert Act(action=MOVES) in [
        next_action(Random(number), killed[1:], EVERYBODY[:1], {}) for number in range(200)
    ]


def test_a_broker_is_sent_no_protocol_twice_and_no_short_rebalance_timeout() -> None:
    one, other = {"name": "range", "metadata": b""}, {"name": "roundrobin", "metadata": b""}

    assert is_fit_for_brokers({"protocols": (one, other), "rebalance_timeout_ms": 30_000})
    assert is_fit_for_brokers({"group_id": "g", "rebalance_timeout_ms": -1})
    assert not is_fit_for_brokers({"protocols": (one, other, one)})
    assert not is_fit_for_brokers({"rebalance_timeout_ms": 1})
