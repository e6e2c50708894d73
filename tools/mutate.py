"""Put one fault at a time into the reference, and see whether a scenario finds it: `python tools/mutate.py`.

The exit code is 1 if too few are found, or if a mutant is listed wrongly as one that nobody can notice.
"""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.capacity import machine
from harness.mutants.campaign import DEFAULT_PROFILES, Order, campaign, chosen_mutants
from harness.mutants.equivalents import read_equivalents
from harness.mutants.outcome import print_outcome, recording, score, write_outcome, wrongly_listed
from harness.orchestration.plan import select_scripts
from harness.scenario.registry import collect
from harness.targets.base.interface import Passing
from harness.targets.reference.target import reference_profile
from harness.terminal import ProgressDisplay, Writer

_SUITES: Final = "suites"
_EQUIVALENTS: Final = Path(__file__).resolve().parents[1] / _SUITES / "equivalent_mutants.toml"


def main() -> None:
    """Run the command line."""
    given = _arguments()
    order = Order(
        scripts=select_scripts(collect(_SUITES), given.scenarios),
        profiles=tuple(given.profile or DEFAULT_PROFILES),
        only=tuple(given.only),
        sample=given.sample,
        seed=given.seed,
        jobs=given.jobs or machine().jobs(),
        equivalents=read_equivalents(_EQUIVALENTS),
    )
    for name in order.profiles:
        reference_profile(name)  # a wrong one is refused before an hour is spent
    if given.list:
        mutants = chosen_mutants(order)
        for mutant in mutants:
            print(f"{mutant.id}\n    {mutant.change}")
        print(f"{len(mutants)} mutants")
        return
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
    with (
        ProgressDisplay(Writer()) as display,
        recording(given.out) if given.out else nullcontext(_drop) as keep,
    ):

        def tell(what: str, through: int, total: int) -> None:
            display.target_says(what, Passing(f"{through} of {total}"))

        found = campaign(order, tell, keep)
    print_outcome(found, Console())
    if given.out is not None:
        print(f"a record of each: {write_outcome(found, given.out)}")
    sys.exit(score(found.trials).percent < given.minimum or bool(wrongly_listed(found)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", help="scenario ids or globs; all if none is given")
    parser.add_argument("--profile", "-p", action="append", help=f"by default {' '.join(DEFAULT_PROFILES)}")
    parser.add_argument("--only", action="append", default=[], help="ids of mutants, e.g. `classic.sync:*`")
    parser.add_argument("--sample", type=int, help="try only this many, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--jobs", "-j", type=int, help="processes; by default one for each core")
    parser.add_argument("--out", type=Path, help="where to write the record of each mutant")
    parser.add_argument("--minimum", type=float, default=95.0, help="the lowest score, in percent")
    return parser.parse_args()


def _drop(_: object) -> None:
    """Keep no record."""


if __name__ == "__main__":
    main()
