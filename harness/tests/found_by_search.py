"""Tell how many mutants a search finds: `python -m harness.tests.found_by_search mutants/mutants.jsonl`.

The file is a record of `tools/mutate.py --out mutants`. Each mutant is searched for in a process of
its own, one after the other, for some seconds of processor time, in the profile in which a scenario killed
it, or else runs it. Those that scenarios kill and those that they do not are counted apart; those that are
listed as equivalent are left out.
"""

import argparse
import asyncio
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Final

from harness.mutants.campaign import Order as Every
from harness.mutants.campaign import chosen_mutants
from harness.mutants.model import Fate, Trial
from harness.search.corpus import Corpus
from harness.search.hunt import Cluster, Harvest, Hunt, Order, common_versions
from harness.search.sides import Side
from harness.targets.reference.variants import reference_of
from harness.trace.files import read_records

_SHRINKING_S: Final = 60
"""How much longer the process of a search may take, to shrink what it found."""
_ENDLESS: Final = 10**9
_USUAL_PROFILE: Final = "4.4"


class _TimeIsUpError(Exception):
    """The search has had its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """How the search for a mutant ended."""

    mutant: str
    is_killed: bool
    """Whether a scenario kills it."""
    steps: int | None = None
    """The steps that were compared; None if the process was ended, because the mutant never ends."""
    shrunk: int | None = None
    """The length of the shrunk script; None if the mutant was not found."""

    @property
    def is_found(self) -> bool:
        """Whether the search told the mutant from the reference."""
        return self.shrunk is not None


def profile_of(trial: Trial) -> str:
    """Return the profile to search in: where a scenario killed the mutant, or else where one runs it."""
    running = next((each.partition(" ")[0] for each in trial.reached_by), _USUAL_PROFILE)
    return trial.profile or running


def order_of(mutant: str, profile: str, seed: int) -> Order:
    """Return the order of a search for a mutant, without an end."""
    one = reference_of(profile)
    return Order(
        target=one,
        against=one,
        mutant=mutant,
        steps=_ENDLESS,
        seed=seed,
        stops_at_first=True,
        corpus=Corpus(),
    )


def sought_here(trial: Trial, profile: str, *, seed: int, limit_s: float) -> Sought:
    """Search for a mutant in this process, for some processor time."""
    began_s = time.process_time()
    reached = Harvest()

    def tell(harvest: Harvest, found: Cluster | None) -> None:
        nonlocal reached
        reached = harvest
        if found is None and time.process_time() - began_s > limit_s:
            raise _TimeIsUpError

    with suppress(_TimeIsUpError):
        reached = asyncio.run(Hunt(order_of(trial.mutant, profile, seed), tell).run())
    found = reached.clusters[0] if reached.clusters else None
    return Sought(
        mutant=trial.mutant,
        is_killed=trial.fate == Fate.KILLED,
        steps=reached.steps,
        shrunk=None if found is None else len(found.script.steps),
    )


def sought(trial: Trial, search: Callable[[Trial], Sought], limit_s: float) -> Sought:
    """Search for a mutant in a process of its own, which has to end even if the mutant never does."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work(answer: Connection) -> None:
        most_s = int(limit_s) + _SHRINKING_S
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
        answer.send(search(trial))

    process = context.Process(target=work, args=(theirs,))
    process.start()
    theirs.close()
    try:
        found: Sought = ours.recv()
    except EOFError:
        found = Sought(mutant=trial.mutant, is_killed=trial.fate == Fate.KILLED)
    process.join()
    return found


def report(results: Sequence[Sought], equivalent: int) -> Iterator[str]:
    """Yield the lines of the outcome."""
    for kind, some in (
        ("that scenarios kill", [each for each in results if each.is_killed]),
        ("that no scenario kills", [each for each in results if not each.is_killed]),
    ):
        found = [each for each in some if each.is_found]
        yield f"mutants {kind}: {len(found)} of {len(some)} found"
        if found:
            yield f"  median steps until found: {median(each.steps or 0 for each in found):g}"
            yield f"  median steps of the shrunk script: {median(each.shrunk or 0 for each in found):g}"
        for each in some:
            if not each.is_found:
                after = "never ended" if each.steps is None else f"not found in {each.steps} steps"
                yield f"  {after}: {each.mutant}"
    yield f"listed as equivalent, and left out: {equivalent}"


async def _messages_read(profile: str) -> None:
    side = Side(reference_of(profile))
    await common_versions(side, side, of_one_release=True)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("records", type=Path, help="mutants.jsonl of `tools/mutate.py --out`")
    parser.add_argument("--profile", help="search for all of them in this profile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds for each mutant")
    parser.add_argument("--first", type=int, help="search for only so many")
    parser.add_argument("--only", action="append", help="search for only this mutant; may be repeated")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Search for the mutants of a record, and print the outcome."""
    options = _parsed(arguments)
    trials = read_records(Trial, options.records)
    distinct = [each for each in trials if each.equivalent is None]
    wanted = [each for each in distinct if not options.only or each.mutant in options.only]

    def profile(trial: Trial) -> str:
        return options.profile or profile_of(trial)

    def search(trial: Trial) -> Sought:
        return sought_here(trial, profile(trial), seed=options.seed, limit_s=options.limit)

    # Mutants are derived and messages are read once, before the processes of searches are forked: both
    # take seconds.
    profiles = {profile(each) for each in wanted}
    chosen_mutants(Every(scripts={}, profiles=tuple(profiles)))
    for each in profiles:
        asyncio.run(_messages_read(each))
    results = []
    for trial in wanted[: options.first]:
        results.append(sought(trial, search, options.limit))
        sys.stderr.write(f"{results[-1]}\n")
    sys.stdout.writelines(f"{line}\n" for line in report(results, len(trials) - len(distinct)))


if __name__ == "__main__":
    main(sys.argv[1:])
