"""Answers in captures beside answers in scenarios, by API, version and error code."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from harness.apis.descriptor import OF_GROUP_COORDINATOR
from harness.apis.table import descriptor
from harness.spark.rows import ErrorCodeCount

Answered: TypeAlias = tuple[str, int, str]
"""An API, its version, and an error code of its answer: the top-level code, or else one within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """A combination of API, version and error code, and how often it occurred in answers."""

    api: str
    api_version: int
    error_code: str
    captured: int
    of_scenarios: int

    @property
    def is_in_both(self) -> bool:
        """Whether both captures and scenarios have the combination."""
        return bool(self.captured and self.of_scenarios)

    @property
    def is_captured_alone(self) -> bool:
        """Whether only captures have the combination."""
        return bool(self.captured and not self.of_scenarios)


def pairs_beside(
    captured: Mapping[Answered, int], of_scenarios: Iterable[ErrorCodeCount]
) -> tuple[AnswerPair, ...]:
    """Put the answers of captures and scenarios side by side, for APIs of the group coordinator only.

    Args:
        captured: counts of the captures.
        of_scenarios: counts of a run; those of its targets are added up.
    """
    scenarios: Counter[Answered] = Counter()
    for each in of_scenarios:
        scenarios[each.api, each.api_version, each.error_code] += each.response_count
    every = {key for key in (*captured, *scenarios) if descriptor(key[0]).subject in OF_GROUP_COORDINATOR}
    return tuple(
        AnswerPair(
            api=key[0],
            api_version=key[1],
            error_code=key[2],
            captured=captured.get(key, 0),
            of_scenarios=scenarios[key],
        )
        for key in sorted(every)
    )
