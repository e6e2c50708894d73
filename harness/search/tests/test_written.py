"""A conversation is written as a scenario that expects something, whatever its answers contain."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.diff.model import Difference
from harness.scenario.messages import OWN
from harness.scenario.script import Receive, Script
from harness.scenario.values import GroupRef
from harness.search.actions import ACTIONS
from harness.search.by_field import AS_FIELDS
from harness.search.hunt import SCRIPT_ID, Cluster
from harness.search.moves import Act, Ask, HangUp, Move, script_of
from harness.search.shrinking import Candidate
from harness.search.sides import Side
from harness.search.tempo import VIRTUAL
from harness.search.tests.made_findings import DIFFERENCE, recorded_scenario, reference_of
from harness.search.theme import Theme
from harness.search.written import scenario_of
from harness.trace.events import Event, EventKind


def _recorded(
    moves: Sequence[Move],
    difference: Difference,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    *,
    broker_config: Mapping[str, str] = MappingProxyType({}),
    others: Callable[[Event], Event] = lambda event: event,
) -> tuple[Script, Script, str]:
    """Write a finding as a scenario; return its script, what the scenario is recorded as, and its text."""
    script = script_of(moves, script_id=SCRIPT_ID, broker_config=broker_config)
    events = asyncio.run(Side(reference_of()).run(script))
    cluster = Cluster(
        difference=difference,
        behaviours=(),
        candidate=Candidate(moves=tuple(moves), broker_config=broker_config),
        script=script,
        seed="1",
        after_steps=2,
        beside=(),
        is_mixture=False,
    )
    traces = (events, [others(each) for each in events])
    written = scenario_of(cluster, names=("a", "b"), traces=traces, reproduction="search")
    # Recording refuses a scenario that expects nothing.
    return script, recorded_scenario(written, folder / "found", monkeypatch), written.text


def test_errors_within_an_answer_are_expected_where_it_has_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # OffsetFetch v1 has neither a throttle time nor an error of its own.
    fetch = Ask(actor="ana", api="OffsetFetch", arguments={"version": 1, "topics": {"orders": (0, 1)}})
    without = json.dumps({"topics": [{"name": "orders", "partitions": []}]})
    difference = replace(
        DIFFERENCE,
        api="OffsetFetch",
        api_version=1,
        field="topics[0].partitions[0].committed_offset",
        expected="-1",
        actual="0",
    )

    def others(event: Event) -> Event:
        return replace(event, fields=without) if event.kind == EventKind.RESPONSE else event

    _, _, text = _recorded([fetch], difference, monkeypatch, tmp_path, others=others)

    part = '{"partitions": in_any_order({"error_code": "NONE"}, {"error_code": "NONE"})}'
    assert f"topics=one_of(in_any_order({part}), in_any_order({{}}))" in text


_OVERLAP = next(each for each in ACTIONS if "record_of_type" in each)
_RIGHTS = {
    "version": 3,
    "creations": (
        {
            "resource_type": 3,
            "resource_name": GroupRef("main"),
            "resource_pattern_type": 3,
            "principal": "User:carol",
            "host": "*",
            "operation": 3,
            "permission_type": 3,
        },
    ),
}


def test_what_has_no_builder_is_written_so_that_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = (
        Ask(actor="ana", api="CreateAcls", arguments=_RIGHTS),
        Ask(actor="kim", api="LeaveGroup", arguments={"group_id": OWN, "members": (), AS_FIELDS: True}),
        Act(action=_OVERLAP),
        Act(action="lengthens_log()"),
        Ask(actor="kim", api="JoinGroup", is_answered=False),
        HangUp(actor="kim"),
        Act(action='appends(group_record(logged_member("nobody")))'),
        Act(action="moves_coordinator()"),
        Ask(actor="kim", api="ListGroups"),
    )
    config = VIRTUAL.theme_configs[Theme.ACCESS][0]
    script, recorded, _ = _recorded(moves, DIFFERENCE, monkeypatch, tmp_path, broker_config=config)

    assert recorded.needs == script.needs
    assert recorded.actors == script.actors
    asked = [each for each in script.steps if not isinstance(each, Receive)]
    assert [each for each in recorded.steps if not isinstance(each, Receive)] == asked
