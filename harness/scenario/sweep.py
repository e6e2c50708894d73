"""Sweeps: one scenario function that runs on several versions of an API."""

from dataclasses import dataclass
from typing import Final

VERSION: Final = "{version}"
"""The placeholder for the version in the docstring of a swept scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The versions of an API on each of which one scenario function runs."""

    api: str
    lowest: int
    highest: int

    @property
    def versions(self) -> range:
        """Each version, from the lowest on."""
        return range(self.lowest, self.highest + 1)


def sweep(api: str, lowest: int, highest: int) -> Sweep:
    """Sweep over the versions of an API from the lowest to the highest, both included."""
    return Sweep(api=api, lowest=lowest, highest=highest)
