"""Who gets which partition hangs on ids that brokers draw, and that is no difference between them."""

import asyncio
from pathlib import Path

import pytest

from harness.diff.model import Difference
from harness.scenario.script import Script
from harness.search.comparison import Comparison
from harness.search.differences import first_difference
from harness.search.drawn import all_draws
from harness.search.driven import DrivenTarget
from harness.search.moves import Ask, Hear, Wait, script_of
from harness.search.sides import Side
from harness.search.tests.made_findings import reference_of
from harness.targets.reference.draws import Draws
from harness.targets.reference.variants import VariantTarget
from harness.trace.events import EventKind

_TOPICS = ("orders", "payments")
_ENTERS = {
    "member_epoch": 0,
    "topic_partitions": (),
    "rebalance_timeout_ms": 30_000,
    "subscribed_topic_names": _TOPICS,
}
_SCRIPT = script_of(
    [
        Ask(actor="pia", api="ConsumerGroupHeartbeat", arguments=_ENTERS),
        Ask(actor="mia", api="ConsumerGroupHeartbeat", arguments=_ENTERS),
        Ask(actor="mia", api="ConsumerGroupDescribe"),
    ],
    script_id="search/made/1",
    broker_config={},
)
_OTHERS = Draws(
    topic_ids={
        "orders": "78e51061-7311-48a3-82ce-6f447ed4d57b",
        "payments": "35bf992d-c9e9-4616-a12e-7696a6cecc1b",
    },
    salt="other",
)
_JOINS = {"version": 3, "member_id": ""}
_LEADERLESS = script_of(
    [
        Ask(actor="ana", api="JoinGroup", arguments=_JOINS, is_answered=False),
        Wait(duration_ms=400),
        Hear(actor="ana"),
        Ask(actor="ana", api="SyncGroup"),
        Ask(actor="bob", api="JoinGroup", arguments=_JOINS, is_answered=False),
        Ask(actor="cat", api="JoinGroup", arguments=_JOINS, is_answered=False),
        Ask(actor="ana", api="LeaveGroup"),
        Hear(actor="bob"),
        Hear(actor="cat"),
        Ask(actor="bob", api="SyncGroup"),
    ],
    script_id="search/made/1",
    broker_config={},
)
"""A group whose leader goes, so that a Scala coordinator chooses one of two others."""
_CAT = "cat-1d9283d8-48ea-941a-ae1f-e0d2378ef8b7"
_CAT_LEADS = Draws(member_ids={"cat": (_CAT,)}, leaders=(_CAT,))


def _reference(draws: Draws | None = None, profile: str = "4.4") -> VariantTarget:
    target = reference_of(profile)
    target.draws = draws or target.draws
    return target


async def _found(
    folder: Path, target: VariantTarget, against: VariantTarget | None, script: Script = _SCRIPT
) -> Difference | None:
    driven = DrivenTarget(target, run_id="test", logs=folder / "ours", jobs=1)
    other = None
    if against is not None:
        other = DrivenTarget(against, run_id="test", logs=folder / "theirs", jobs=1)
    comparison = Comparison(driven, other)
    await comparison.begin(lambda _: None)
    found, _ = await comparison.alone(script)
    await comparison.stop()
    return found


def test_ids_that_a_consumer_group_gave_are_given_to_the_reference() -> None:
    joins = {"version": 6, "member_id": ""}
    moves = [
        Ask(actor="mia", api="ConsumerGroupHeartbeat", arguments=_ENTERS),
        *(Ask(actor=each, api="JoinGroup", arguments=joins) for each in ("ana", "bob")),
    ]
    script = script_of(moves, script_id="search/made/1", broker_config={})
    given = Draws(in_order=("lNvVXexyRSupGgMz_QtvFg", "DPkJOFzGTdqOj0CWFtVGvw"))
    events = asyncio.run(Side(_reference()).run(script, draws=given))

    (drawn,) = all_draws(events, {})

    assert tuple(drawn.in_order) == given.in_order


def test_the_reference_assigns_otherwise_with_other_ids() -> None:
    usual, other = (asyncio.run(Side(_reference(each)).run(_SCRIPT)) for each in (None, _OTHERS))

    found = first_difference(usual, other)

    assert found is not None
    assert found.field == "groups[0].members[0].target_assignment.topic_partitions[0].partitions[0]"


@pytest.mark.parametrize("against", [None, _reference()], ids=["its reference", "another target"])
async def test_a_target_that_drew_other_ids_does_not_differ(
    against: VariantTarget | None, tmp_path: Path
) -> None:
    assert await _found(tmp_path, _reference(_OTHERS), against) is None


async def test_a_target_that_chose_another_leader_does_not_differ_from_its_reference(tmp_path: Path) -> None:
    target = _reference(_CAT_LEADS, profile="3.9")
    with_bob = await Side(_reference(profile="3.9")).run(_LEADERLESS)
    with_cat = await Side(target).run(_LEADERLESS)

    assert first_difference(with_cat, with_bob) is not None
    assert await _found(tmp_path, target, None, _LEADERLESS) is None


_MIXED = script_of(
    [
        Ask(actor="pia", api="ConsumerGroupHeartbeat", arguments=_ENTERS),
        Ask(actor="bob", api="JoinGroup", arguments={"member_id": "", "protocol_type": "connect"}),
        Ask(actor="bob", api="JoinGroup", arguments={"member_id": ""}),
        Ask(actor="bob", api="JoinGroup"),
    ],
    script_id="search/made/1",
    broker_config={},
)
"""A consumer group that refuses a classic member, and then takes it in."""


def test_who_is_refused_takes_none_of_the_known_ids() -> None:
    known = "yBXd3AlIS8qdHwPQgUVYvw"
    side = Side(_reference())

    events = asyncio.run(side.run(_MIXED, draws=Draws(in_order=(known,))))

    answers = [(each.fields or "") for each in events if each.kind == EventKind.RESPONSE]
    assert "INCONSISTENT_GROUP_PROTOCOL" in answers[-3]
    assert known in answers[-1]
