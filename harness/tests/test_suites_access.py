"""Scenarios of access share brokers, and with them entries about names that are no scenario's own."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.orchestration.run import orchestrate
from harness.scenario.own_settings import preceded
from harness.scenario.script import MAIN, Receive, Script, Send, Step
from harness.scenario.values import GroupRef, Value
from harness.tests.completed_runs import Quiet, catalogue, plan_of, unexpected
from harness.verdict import Outcome

ADMINISTRATOR = "administrator"


def written(script: Script) -> Iterator[Mapping[str, Value]]:
    """Return the entries of a script about names that others have too."""
    for step in script.steps:
        if isinstance(step, Send) and step.api == "CreateAcls" and step.actor == ADMINISTRATOR:
            for entry in step.fields["creations"]:  # type: ignore[union-attr] # rows
                name = entry["resource_name"]  # type: ignore[index,call-overload] # a row
                if name and not isinstance(name, GroupRef):
                    yield entry  # type: ignore[misc] # likewise


def beside(script: Script, others: list[Script]) -> Script:
    """Return a script that begins when the entries of all others on its broker are there."""
    steps: list[Step] = []
    entries = [each for other in others if other is not script for each in written(other)]
    for entry in entries:
        on = {"actor": ADMINISTRATOR, "connection": MAIN, "api": "CreateAcls", "api_version": 3}
        steps.append(Send(**on, fields={"creations": (entry,)}))  # type: ignore[arg-type] # as they are named
        expected = {"results": ({"error_code": "NONE"},)}
        steps.append(Receive(**on, fields=expected, sent_at=len(steps) - 1, within_ms=5_000))  # type: ignore[arg-type] # likewise
    return preceded(script, steps)


@pytest.mark.slow
def test_no_scenario_of_access_minds_the_entries_of_others(tmp_path: Path) -> None:
    scripts = {name: each for name, each in catalogue().items() if each.suite == "access"}
    with_entries = {
        name: beside(each, [other for other in scripts.values() if other.broker_config == each.broker_config])
        for name, each in scripts.items()
        if any(sheet.name == ADMINISTRATOR for sheet in each.actors)
    }
    assert sum(each != scripts[name] for name, each in with_entries.items()) > 15

    run = orchestrate(replace(plan_of(tmp_path, ["reference"]), scripts=with_entries), Quiet())

    assert unexpected(run) == []
    assert {each.outcome for each in run.checked.judgements} == {Outcome.CONFORMS}
