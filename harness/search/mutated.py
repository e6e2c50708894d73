"""The reference with one fault in its code, as a side of a comparison, kept within limits."""

import importlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from harness.mutants.campaign import Order, chosen_mutants
from harness.mutants.patch import forget_answers, patched
from harness.mutants.source import PACKAGE, behaviour_sources, source_of
from harness.search.sides import Side
from harness.targets.base.interface import TargetError
from harness.targets.reference.variants import VariantTarget


def mutated(target: VariantTarget, mutant_id: str) -> Side:
    """Return a reference with the fault of a mutant, which is patched in only while the reference runs.

    Raises:
        TargetError: no mutant matches the id, or several do.
    """
    profile = target.profile.name
    found = chosen_mutants(Order(scripts={}, profiles=(profile,), only=(mutant_id,)))
    if len(found) != 1:
        raise TargetError(
            f"{len(found)} mutants match {mutant_id!r}; `python tools/mutate.py --list` shows all of them"
        )
    modules = [each.name for each in (*behaviour_sources(), source_of("profile.profiles"))]
    for name in modules:
        importlib.import_module(f"{PACKAGE}.{name}")

    limit = Limit()

    @contextmanager
    def with_fault() -> Iterator[None]:
        forget_answers(modules)
        try:
            with patched(found[0]), limit.kept():
                yield
        finally:
            forget_answers(modules)

    return Side(target, with_fault)


FIRST_S: Final = 3.0
"""Processor time for one conversation, which usually takes some milliseconds."""
THEN_S: Final = 0.3
"""The same after one has not ended: a shorter one is looked for, which has to be tried many times."""


class NeverEndsError(Exception):
    """A conversation has had its processor time."""


class Limit:
    """Ends whatever takes too much processor time, in the main thread; does nothing in another."""

    def __init__(self) -> None:
        """Begin with the first limit."""
        self._limit_s = FIRST_S

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Raise `NeverEndsError` within the block once it has had its time."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(_signal: int, _frame: FrameType | None) -> None:
            self._limit_s = THEN_S
            raise NeverEndsError("a conversation does not end")

        before = signal.signal(signal.SIGVTALRM, end)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._limit_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
