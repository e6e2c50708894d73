"""The reference with one fault in its code, as a side of a comparison."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from harness.mutants.campaign import Order, chosen_mutants
from harness.mutants.patch import forget_answers, patched
from harness.mutants.source import PACKAGE, behaviour_sources, source_of
from harness.search.limited import Limit
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
