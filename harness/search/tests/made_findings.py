"""Findings for tests to vary, and scenarios written of them."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.diff.raw_difference import difference_at
from harness.scenario.registry import record_each, scenario_functions
from harness.scenario.script import Script
from harness.search.written import Written, write
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget
from harness.tests.made_events import ANSWER
from harness.verdict import DifferenceClass

_ANSWER: Final = replace(ANSWER, step=1, sequence=-1, api="ListGroups", api_version=3)
DIFFERENCE: Final = difference_at(
    _ANSWER,
    DifferenceClass.FIELD_VALUE,
    field="error_code",
    expected='"NONE"',
    actual='"NOT_COORDINATOR"',
)


def reference_of(profile: str = "4.4") -> VariantTarget:
    """Return the reference of a release."""
    return VariantTarget(reference_profile(profile))


def recorded_scenario(written: Written, package: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Write a scenario into a package, import it from there, and record it."""
    write(package, written)
    monkeypatch.syspath_prepend(str(package.parent))
    module = importlib.import_module(f"{package.name}.{written.module}")
    (function,) = scenario_functions(module)
    (script,) = record_each(function)
    for name in (module.__name__, package.name):
        sys.modules.pop(name)
    return script
