"""A conversation is written as a scenario that expects something, whatever its answers contain."""

import asyncio
import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.raw_difference import Against, RawDifference
from harness.scenario.registry import record_each, scenario_functions
from harness.search.explaining import Explanation
from harness.search.hunt import SCRIPT_ID, Cluster
from harness.search.moves import Ask, script_of
from harness.search.shrinking import Candidate
from harness.search.sides import Side
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
