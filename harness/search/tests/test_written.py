"""A conversation is written as a scenario that expects something, whatever its answers contain."""

import asyncio
import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.raw_difference import Against, RawDifference
from harness.scenario.messages import OWN
from harness.scenario.registry import record_each, scenario_functions
from harness.scenario.script import Receive
from harness.scenario.values import GroupRef
from harness.search.actions import ACTIONS
from harness.search.by_field import AS_FIELDS
from harness.search.explaining import Explanation
from harness.search.hunt import SCRIPT_ID, Cluster
from harness.search.moves import Act, Ask, HangUp, script_of
from harness.search.shrinking import Candidate
from harness.search.sides import Side
from harness.search.tempo import VIRTUAL
from harness.search.theme import Theme
from harness.search.written import scenario_of, write
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget
from harness.trace.events import EventKind
from harness.verdict import DifferenceClass


def test_errors_within_an_answer_are_expected_where_it_has_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # OffsetFetch v1 has neither a throttle time nor an error of its own.
    fetch = Ask(actor="ana", api="OffsetFetch", arguments={"version": 1, "topics": {"orders": (0, 1)}})
    candidate = Candidate(moves=(fetch,), broker_config={})
    script = script_of(candidate.moves, script_id=SCRIPT_ID, broker_config={})
    side = Side(VariantTarget(reference_profile("4.4")))
    events = asyncio.run(side.run(script))
    offset = "topics[0].partitions[0].committed_offset"
    difference = RawDifference(
        step=1,
        event_sequence=-1,
        api="OffsetFetch",
        api_version=1,
        against=Against.REFERENCE,
        difference_class=DifferenceClass.FIELD_VALUE,
        field=offset,
        expected="-1",
        actual="0",
    )
    cluster = Cluster(
        difference=difference,
        explanation=Explanation(behaviours=()),
        candidate=candidate,
        script=script,
        seed="1",
        after_steps=2,
        beside=(),
        is_mixture=False,
    )

    without = json.dumps({"topics": [{"name": "orders", "partitions": []}]})
    others = [replace(each, fields=without) if each.kind == EventKind.RESPONSE else each for each in events]
    names = ("reference:4.4", "another")
    written = scenario_of(
        cluster, names=names, traces=(events, others), reproduction="kafka-conformance search"
    )
    write(tmp_path / "found_in_parts", written)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"found_in_parts.{written.module}")
    (function,) = scenario_functions(module)
    # Recording refuses a scenario that expects nothing.
    record_each(function)
    sys.modules.pop(module.__name__)

    part = '{"partitions": in_any_order({"error_code": "NONE"}, {"error_code": "NONE"})}'
    assert f"topics=one_of(in_any_order({part}), in_any_order({{}}))" in written.text


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
    script = script_of(moves, script_id=SCRIPT_ID, broker_config=config)
    events = asyncio.run(Side(VariantTarget(reference_profile("4.4"))).run(script))
    cluster = Cluster(
        difference=_difference_in("ListGroups"),
        explanation=Explanation(behaviours=()),
        candidate=Candidate(moves=moves, broker_config=config),
        script=script,
        seed="1",
        after_steps=2,
        beside=(),
        is_mixture=False,
    )
    written = scenario_of(cluster, names=("a", "b"), traces=(events, events), reproduction="search")
    write(tmp_path / "found_by_field", written)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"found_by_field.{written.module}")
    (function,) = scenario_functions(module)
    (recorded,) = record_each(function)
    sys.modules.pop(module.__name__)

    assert recorded.needs == script.needs
    assert recorded.actors == script.actors
    asked = [each for each in script.steps if not isinstance(each, Receive)]
    assert [each for each in recorded.steps if not isinstance(each, Receive)] == asked


def _difference_in(api: str) -> RawDifference:
    return RawDifference(
        step=0,
        event_sequence=-1,
        api=api,
        api_version=3,
        against=Against.REFERENCE,
        difference_class=DifferenceClass.FIELD_VALUE,
        field="groups",
        expected="1",
        actual="2",
    )
