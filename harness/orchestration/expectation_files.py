"""The locations of expectation files: beside the suites, and wherever the user says."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from harness.scenario.packages import packages_of


def expectation_files(suites: str, further: Sequence[Path]) -> tuple[Path, ...]:
    """Return the expectation files of suites packages, sorted within each package, then the user's."""
    roots = (root for each in packages_of(suites) for root in import_module(each).__path__)
    beside = (path for root in roots for path in sorted((Path(root) / "expectations").glob("*.toml")))
    return (*beside, *further)
