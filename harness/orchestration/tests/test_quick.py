"""What a quick run has, and what it leaves out."""

import pytest

from harness.orchestration.plan import PlanError, is_quick, select_scripts
from harness.tests.completed_runs import catalogue


@pytest.mark.parametrize(
    ("scenario_id", "why_not"),
    [
        ("classic/heartbeat/before-assignments", None),
        ("static_membership/undone/session", "waits"),
        ("loading/restart/sessions-begin-anew", "restart"),
    ],
)
def test_a_quick_run_has_what_a_broker_answers_at_once(scenario_id: str, why_not: str | None) -> None:
    assert is_quick(catalogue()[scenario_id]) is (why_not is None)


def test_a_quick_run_has_most_of_the_suites_and_no_scenario_with_a_broker_of_its_own() -> None:
    quick = select_scripts(catalogue(), [], quick=True)
    suites = {name.partition("/")[0] for name in quick}

    assert not any(each.needs or each.broker_config for each in quick.values())
    assert any(each.broker_config and not each.needs for each in catalogue().values())
    assert len(quick) > len(catalogue()) / 2
    assert suites >= {"admin", "classic", "consumer_groups", "migration", "offsets", "transactions"}


def test_a_selection_without_any_quick_scenario_is_refused() -> None:
    with pytest.raises(PlanError, match="the selection leaves no scenario to run"):
        select_scripts(catalogue(), ["loading/restart"], quick=True)
