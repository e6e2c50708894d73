"""The reference in the place of a broker that does as its release does, but not at every start."""

import json
from collections.abc import Collection
from typing import Any, Final

from typing_extensions import override

from harness.diff.model import Judgement
from harness.orchestration.tests.test_driving import Disguised
from harness.targets.base.interface import Broker, TargetError
from harness.targets.reference.target import ReferenceTarget

CLAIMED: Final = "3.9"
OTHER: Final = "2.6.0"
"""Answers otherwise in `TELLING`, and alike in the rest of its suite."""
TELLING: Final = "classic/heartbeat/before-assignments"
SUITE: Final = "classic/heartbeat"


class Moody(Disguised):
    """A target that does as another release at some of its starts, and is gone at others."""

    def __init__(self, name: str, *, wrong: Collection[int] = (), gone: Collection[int] = ()) -> None:
        super().__init__(name, CLAIMED)
        self._other = ReferenceTarget(OTHER)
        self._wrong = frozenset(wrong)
        self._gone = frozenset(gone)
        self.start_count = 0

    @override
    async def start(self, **asked: Any) -> Broker:
        self.start_count += 1
        if self.start_count in self._gone:
            raise TargetError("it is gone\nand its log")
        claimed = await super().start(**asked)
        if self.start_count not in self._wrong:
            return claimed
        broker = await self._other.start(**asked)
        broker._description = claimed.description  # type: ignore[attr-defined] # of the reference's broker
        return broker


def telling(judgements: Collection[Judgement], target: str) -> Judgement:
    """Return what became of the scenario in which the two releases differ."""
    (found,) = (each for each in judgements if (each.target, each.scenario_id) == (target, TELLING))
    return found


def group_of(fields: str | None) -> str:
    """Return the group that a request named on the wire."""
    return str(json.loads(fields or "{}")["group_id"])
