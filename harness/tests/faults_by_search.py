"""Tell how many of Kafka's known faults a search finds: `python -m harness.tests.faults_by_search`.

The reference of the release with a fault is searched against that of the release without, without any
scenario. A fault is found when a difference is explained by a named behaviour with its number.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from harness.search.corpus import Corpus
from harness.search.hunt import Cluster, Harvest, Hunt, Order
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget, behaviour_source
from harness.tests.test_historical_bugs import ANSWERED, Bug

_ENDLESS: Final = 10**9


class _EndsError(Exception):
    """All faults of two releases were found, or the search has had its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """How the search for a fault ended."""

    bug: Bug
    steps: int
    """The steps that were compared by then."""
    took_s: float
    """The processor time by then."""
    shrunk: int | None
    """The length of the shrunk script; None if the fault was not found."""


def sought(affected: str, fixed: str, bugs: Sequence[Bug], *, seed: int, limit_s: float) -> Iterator[Sought]:
    """Search for the faults that are mended between two releases, for some processor time."""
    began_s = time.process_time()
    found: dict[str, Sought] = {}
    reached = Harvest()

    def tell(harvest: Harvest, cluster: Cluster | None) -> None:
        nonlocal reached
        reached = harvest
        took_s = time.process_time() - began_s
        if cluster is not None:
            sources = [behaviour_source(each) for each in cluster.explanation.behaviours]
            shrunk = len(cluster.script.steps)
            for bug in bugs:
                if any(bug.number in source for source in sources):
                    this = Sought(bug=bug, steps=harvest.steps, took_s=took_s, shrunk=shrunk)
                    found.setdefault(bug.number, this)
        if len(found) == len({bug.number for bug in bugs}) or took_s > limit_s:
            raise _EndsError

    target, against = (VariantTarget(reference_profile(each)) for each in (affected, fixed))
    order = Order(target=target, against=against, steps=_ENDLESS, seed=seed, corpus=Corpus())
    with suppress(_EndsError):
        asyncio.run(Hunt(order, tell).run())
    for bug in bugs:
        unfound = Sought(bug=bug, steps=reached.steps, took_s=time.process_time() - began_s, shrunk=None)
        yield found.get(bug.number, unfound)


def line(each: Sought) -> str:
    """Return the line about a fault."""
    how = "not found in" if each.shrunk is None else f"found, {each.shrunk} steps, after"
    releases = f"{each.bug.affected}, {each.bug.fixed}"
    return f"{each.bug.number} ({releases}): {how} {each.steps} steps, {each.took_s:.0f} s"


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds for two releases")
    parser.add_argument("--only", action="append", help="only the fault with this number; may be repeated")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Search for every known fault, and print the outcome."""
    options = _parsed(arguments)
    results: list[Sought] = []
    pairs = groupby(ANSWERED, key=lambda bug: (bug.affected, bug.fixed))
    for (affected, fixed), of_pair in pairs:
        bugs = [bug for bug in of_pair if not options.only or bug.number in options.only]
        for each in sought(affected, fixed, bugs, seed=options.seed, limit_s=options.limit) if bugs else ():
            results.append(each)
            sys.stdout.write(f"{line(each)}\n")
            sys.stdout.flush()
    found = sum(each.shrunk is not None for each in results)
    sys.stdout.write(f"{found} of {len(results)} faults found\n")


if __name__ == "__main__":
    main(sys.argv[1:])
