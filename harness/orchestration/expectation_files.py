"""Where expectations lie: beside the suites, and wherever the user says."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path


def expectation_files(suites: str, further: Sequence[Path]) -> tuple[Path, ...]:
    """Return the expectation files of a suites package in alphabetical order, then the user's."""
    package = import_module(suites)
    beside = sorted(
        path for root in package.__path__ for path in (Path(root) / "expectations").glob("*.toml")
    )
    return (*beside, *further)
