"""Groups are configured not to wait on a broker that would let them wait."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.scenario.fitting import fitted
from harness.scenario.own_settings import assumptions
from harness.scenario.script import AwaitMetadata, Receive, Script, Send
from harness.scenario.values import AnswerRef, GroupRef, Plus
from harness.tests.completed_runs import catalogue

SCRIPTS = catalogue()
DELAY, INTERVAL = "streams.initial.rebalance.delay.ms", "streams.assignment.interval.ms"
OF_CONSUMERS = "consumer.assignment.interval.ms"
STOCK = {f"group.{DELAY}": "3000", f"group.{INTERVAL}": "1000", f"group.{OF_CONSUMERS}": "1000"}
SINCE_4_2 = {f"group.{DELAY}": "3000"}
QUICK = dict.fromkeys(STOCK, "0")


def configured(script: Script) -> Mapping[object, Mapping[str, str]]:
    """Return what groups are configured to before the wait for metadata."""
    wait = next(at for at, step in enumerate(script.steps) if isinstance(step, AwaitMetadata))
    rows: list[Any] = [step.fields["resources"] for step in script.steps[:wait] if isinstance(step, Send)]
    return {row["resource_name"]: {each["name"]: each["value"] for each in row["configs"]} for (row,) in rows}


@pytest.mark.parametrize(
    ("scenario_id", "configs"),
    [
        ("streams_groups/membership/heartbeat", {DELAY: "0", INTERVAL: "0"}),
        ("consumer_groups/assignors/range", {OF_CONSUMERS: "0"}),
    ],
)
def test_a_group_is_configured_to_what_its_members_need(scenario_id: str, configs: Mapping[str, str]) -> None:
    assert configured(fitted(SCRIPTS[scenario_id], STOCK)) == {GroupRef("main"): configs}


@pytest.mark.parametrize("settings", [QUICK, SINCE_4_2, {}], ids=["quick", "4.2", "not told"])
def test_nothing_is_configured_where_nobody_waits_or_groups_cannot_be(settings: Mapping[str, str]) -> None:
    script = SCRIPTS["streams_groups/membership/heartbeat"]
    assert fitted(script, settings) is script


def test_a_script_that_asks_for_a_setting_of_its_own_keeps_it() -> None:
    for each in SCRIPTS.values():
        own = {name for name in STOCK if name in each.broker_config}
        if own and (other := fitted(each, STOCK)) is not each:
            assert not any(f"group.{name}" in own for of in configured(other).values() for name in of)


def test_steps_go_on_speaking_of_the_same_steps() -> None:
    script = SCRIPTS["streams_groups/membership/heartbeat"]
    by = len(fitted(script, STOCK).steps) - len(script.steps)
    moved = fitted(script, STOCK).steps[by:]
    assert by == 3
    answers = [
        (before, after)
        for before, after in zip(script.steps, moved, strict=True)
        if isinstance(before, Receive) and isinstance(after, Receive)
    ]
    assert all(after.sent_at == before.sent_at + by for before, after in answers)
    referring = [
        (before.fields["member_epoch"], after.fields["member_epoch"]) for before, after in answers[1:]
    ]
    assert all(isinstance(each, AnswerRef | Plus) for pair in referring for each in pair)
    assert [after.step - before.step for before, after in referring] == [by]  # type: ignore[union-attr] # as is known now


@pytest.mark.parametrize(
    ("scenario_id", "is_named"), [("migration/refused/joins-in-flight", True), ("admin/list/blanks", False)]
)
def test_a_migration_hangs_on_the_policy_that_is_assumed(scenario_id: str, *, is_named: bool) -> None:
    policy = {"group.consumer.migration.policy": "bidirectional"}
    assert bool(assumptions(SCRIPTS[scenario_id], policy)) == is_named
