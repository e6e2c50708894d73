"""All families of requests are asked where they are served, and where that makes sense."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from harness.scenario.script import ActorSheet, DoToBroker, Send, Step
from harness.search.actions import ACTIONS
from harness.search.made import Made
from harness.search.maker import Maker
from harness.search.moves import Act, Ask, Move, Wait
from harness.search.request_table import REQUESTS
from harness.search.sides import LiveRun, Side
from harness.search.tempo import REAL, VIRTUAL, Tempo
from harness.search.tests.made_findings import reference_of
from harness.wire.errors import WireError


async def _made(
    count: int,
    profile: str = "4.4",
    tempo: Tempo = VIRTUAL,
    *,
    versions: Mapping[str, Sequence[int]] | None = None,
    begins: Sequence[Move] = (),
    steps_max: int = 40,
) -> list[Made]:
    """Make conversations of whatever a release serves, unless versions say otherwise."""
    side = Side(reference_of(profile))
    served = {api: list(each) for api, each in (await side.versions()).items() if api in REQUESTS}
    makers = [
        Maker(f"families/{number}", versions or served, tempo, begins=begins) for number in range(count)
    ]
    return [await each.make(side, script_id="search/x", steps_max=steps_max) for each in makers]


def _asked(made: list[Made]) -> Counter[str]:
    return Counter(step.api for each in made for step in each.script.steps if isinstance(step, Send))


@pytest.mark.slow
async def test_everything_in_the_table_is_asked_and_done() -> None:
    made = await _made(400)

    assert _asked(made).keys() == REQUESTS.keys()
    done = {move.action for each in made for move in each.moves if isinstance(move, Act)}
    assert done == ACTIONS.keys()
    assert not any(each.has_failed for each in made)
    succeeded = {pair.api for each in made for pair in each.reached if pair.outcome == "NONE"}
    assert {"ShareFetch", "StreamsGroupHeartbeat", "InitProducerId", "TxnOffsetCommit"} <= succeeded


@pytest.mark.parametrize(("profile", "absent"), [("3.9", "Share"), ("3.9", "Streams"), ("4.1", "Streams")])
async def test_what_a_release_does_not_serve_is_not_asked(profile: str, absent: str) -> None:
    asked = _asked(await _made(25, profile))

    assert asked
    assert not [api for api in asked if api.startswith(absent)]


async def test_topics_are_named_by_id_where_a_version_has_no_names() -> None:
    versions = {"JoinGroup": [6], "Metadata": [12], "OffsetCommit": [10], "OffsetFetch": [10]}
    made = await _made(24, versions=versions, steps_max=30)
    outcomes = {(pair.api, pair.outcome) for each in made for pair in each.reached}

    for api in ("OffsetCommit", "OffsetFetch"):
        assert {(api, "NONE"), (api, "UNKNOWN_TOPIC_ID")} <= outcomes


@pytest.mark.parametrize("profile", ["2.8", "3.9", "4.4"])
async def test_every_request_can_be_written_in_its_version(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwritten: list[str] = []
    take = LiveRun.take

    async def watched(self: LiveRun, step: Step, sheets: tuple[ActorSheet, ...]) -> None:
        try:
            await take(self, step, sheets)
        except WireError as error:
            unwritten.append(str(error))
            raise

    monkeypatch.setattr(LiveRun, "take", watched)
    await _made(40, profile)

    assert not unwritten


async def test_who_says_nothing_any_more_is_looked_for_in_the_end() -> None:
    made = await _made(6)

    for each in made:
        # What share groups have stored is asked for after that.
        last_wait = max(index for index, move in enumerate(each.moves) if isinstance(move, Wait))
        after = each.moves[last_wait + 1]
        assert isinstance(after, Ask)
        assert after.api.endswith("Describe") or after.api == "DescribeGroups"
    groups = [each for each in made if "ShareGroupDescribe" not in _asked([each])]
    assert groups
    assert all(isinstance(each.moves[-2], Wait) for each in groups)


async def test_what_conversations_on_a_broker_would_share_is_not_touched() -> None:
    made = await _made(40, tempo=REAL)

    assert not [api for api in _asked(made) if REQUESTS[api].is_alone]
    assert not [step for each in made for step in each.script.steps if isinstance(step, DoToBroker)]


@pytest.mark.slow
async def test_on_a_broker_no_time_out_ends_beside_something_else() -> None:
    made = await _made(150, tempo=REAL)
    timeouts = {
        step.fields["rebalance_timeout_ms"]
        for each in made
        for step in each.script.steps
        if isinstance(step, Send) and "rebalance_timeout_ms" in step.fields
    }

    assert {1_500, 30_000} <= timeouts
    assert not [each for each in timeouts if isinstance(each, int) and 0 <= each < 1_000]


@pytest.mark.slow
async def test_on_a_broker_a_transaction_ends_before_anybody_goes_on() -> None:
    made = await _made(60, tempo=REAL)
    after = [
        each.moves[place + 1]
        for each in made
        for place, move in enumerate(each.moves[:-1])
        if isinstance(move, Ask) and move.api == "EndTxn"
    ]

    assert after
    assert all(isinstance(each, Wait) and each.duration_ms >= REAL.settles_ms for each in after)


async def test_on_a_broker_transactions_are_looked_for_whatever_is_gone_on_with() -> None:
    begins = (Ask(actor="mia", api="InitProducerId"),)

    (made,) = await _made(1, tempo=REAL, begins=begins, steps_max=6)
    moves = [each for each in made.moves if isinstance(each, Ask)]

    assert [(each.api, each.is_repeated) for each in moves[:3]] == [
        ("FindCoordinator", True),
        ("InitProducerId", True),
        ("InitProducerId", False),
    ]


async def test_whoever_awaits_an_answer_stops_before_a_broker_restarts() -> None:
    made = await _made(30)
    restarted = [each for each in made if any(isinstance(step, DoToBroker) for step in each.script.steps)]
    side = Side(reference_of())

    assert restarted
    assert all([await side.answers_alike(each.script, each.tape) for each in restarted])


async def test_what_another_conversation_asked_is_left_out_where_it_is_not_served() -> None:
    begins = (
        Ask(actor="mia", api="ConsumerGroupHeartbeat", arguments={"member_epoch": 0}),
        Ask(actor="mia", api="ListGroups", arguments={"version": 5}),
        Ask(actor="mia", api="ListGroups", arguments={"version": 4}),
        Act(action="restarts_coordinator()"),
    )

    versions = {"ListGroups": [4], "JoinGroup": [5]}
    (made,) = await _made(1, tempo=REAL, versions=versions, begins=begins, steps_max=2)

    assert [each.arguments for each in made.moves if isinstance(each, Ask)] == [{"version": 4}]
    assert not any(isinstance(each, Act) for each in made.moves)
