"""Reduction of an unexplained history to the operations that contradict each other."""

from math import inf
from typing import Final

from harness.races.history import History
from harness.races.outcomes import label, outcome_of
from harness.races.search import SearchOutcome, explain
from harness.races.specification import MachineFactory

_MOVES_MAX: Final = 2_000
"""Smaller than the search's own, so an operation that is hard to rule out is soon kept."""
_SCALE_CHARACTERS: Final = 40


def contradiction(history: History, specification: MachineFactory) -> frozenset[int]:
    """Return a minimal set of operations whose answers contradict each other.

    All other operations still take effect, with any answer.
    """
    everything = frozenset(range(len(history.operations)))
    rivals = frozenset(index for index in everything if history.operations[index].is_rival)
    unheeded: frozenset[int] = frozenset()
    for sparable in (
        everything - rivals,
        *(frozenset((index,)) for index in sorted(everything, reverse=True)),
    ):
        further = unheeded | sparable
        if further != unheeded:
            found = explain(history, specification, unheeded=further, moves_max=_MOVES_MAX)
            unheeded = further if found.finding is SearchOutcome.UNEXPLAINED else unheeded
    return everything - unheeded


def timeline(history: History, core: frozenset[int]) -> tuple[str, ...]:
    """Draw the operations of a core, and all rivals, one per line."""
    shown = [(index, each) for index, each in enumerate(history.operations) if index in core or each.is_rival]
    begin_ms = min(each.asked_ms for _, each in shown)
    end_ms = max(each.asked_ms if each.answered_ms == inf else each.answered_ms for _, each in shown)
    scale = _SCALE_CHARACTERS / max(end_ms - begin_ms, 0.001)
    lines = []
    for index, each in shown:
        is_open = each.answered_ms == inf
        first = int((each.asked_ms - begin_ms) * scale)
        last = _SCALE_CHARACTERS if is_open else int((each.answered_ms - begin_ms) * scale)
        bar = " " * first + "├" + "─" * max(last - first - 1, 0) + ("…" if is_open else "┤")
        mark = "*" if index in core else " "
        reported = f"{label(each.api, each.request)}: {outcome_of(each)}"
        after_ms = each.asked_ms - begin_ms
        lines.append(f"{mark} {after_ms:8.2f} ms  {bar:<{_SCALE_CHARACTERS + 2}} {each.actor:<4} {reported}")
    return tuple(lines)
