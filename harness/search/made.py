"""A conversation that was made, and what happened on the reference on which it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.scenario.script import Script
from harness.search.coverage import Pair
from harness.search.judging import Answer, answers
from harness.search.moves import Move
from harness.targets.reference.tape import Taped
from harness.trace.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A conversation that was made, and what happened on the reference on which it was made."""

    moves: tuple[Move, ...]
    script: Script
    tape: tuple[Taped, ...]
    """What was done to the reference, with the bytes of its answers."""
    answers: Sequence[Answer]
    """What the reference answered, if brokers are asked the same."""
    has_failed: bool
    """Whether the reference failed."""
    costs_the_log: bool
    """Whether the reference cannot load what was written any more."""
    reached: Mapping[Pair, int]
    """Pairs of a state and an answered request, with the number of moves by then."""

    def is_answered_by(self, events: Sequence[Event]) -> bool:
        """Return whether a target answered as the reference did."""
        return not self.has_failed and tuple(answers(events)) == self.answers
