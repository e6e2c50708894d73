"""Who gets which partition hangs on ids that brokers draw, and that is no difference between them."""

import asyncio
from pathlib import Path

from harness.diff.raw_difference import RawDifference
from harness.search.comparison import Comparison
from harness.search.differences import first_difference
from harness.search.driven import DrivenTarget
from harness.search.moves import Ask, script_of
from harness.search.sides import Side
from harness.targets.reference.draws import Draws
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget

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


def _reference(draws: Draws | None = None) -> VariantTarget:
    target = VariantTarget(reference_profile("4.4"))
    target.draws = draws or target.draws
    return target


def _found(folder: Path, target: VariantTarget, against: VariantTarget | None) -> RawDifference | None:
    async def compared() -> RawDifference | None:
        driven = DrivenTarget(target, run_id="test", logs=folder / "ours", jobs=1)
        other = None
        if against is not None:
            other = DrivenTarget(against, run_id="test", logs=folder / "theirs", jobs=1)
        comparison = Comparison(driven, other)
        await comparison.begin(lambda _: None)
        found, _ = await comparison.alone(_SCRIPT)
        await comparison.stop()
        return found

    return asyncio.run(compared())


def test_the_reference_assigns_otherwise_with_other_ids() -> None:
    async def events() -> RawDifference | None:
        return first_difference(
            await Side(_reference()).run(_SCRIPT), await Side(_reference(_OTHERS)).run(_SCRIPT)
        )

    found = asyncio.run(events())

    assert found is not None
    assert found.field == "groups[0].members[0].target_assignment.topic_partitions[0].partitions[0]"


def test_a_target_that_drew_other_ids_does_not_differ_from_its_reference(tmp_path: Path) -> None:
    assert _found(tmp_path, _reference(_OTHERS), None) is None


def test_two_targets_that_drew_different_ids_do_not_differ(tmp_path: Path) -> None:
    assert _found(tmp_path, _reference(_OTHERS), _reference()) is None
