"""Make the reference faulty as coordinators were, and see what finds it: `python tools/try_faults.py`.

The exit code is 1 if a fault is not red where it has to be, or if too few are red by a claim.
"""

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from faults.campaign import Scripts, Trial, bench, campaign
from faults.corpus import Fault, corpus
from faults.table import is_enough, page, rows, summary
from harness.capacity import machine
from harness.orchestration.plan import select_scripts
from harness.scenario.registry import collect
from harness.targets.base.interface import Passing
from harness.terminal import ProgressDisplay, Writer

_SUITES: Final = "suites"
_PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "faults.md"


def main() -> None:
    """Run the command line."""
    given = _arguments()
    scripts = select_scripts(collect(_SUITES), given.scenarios)
    faults = [
        each
        for each in corpus()
        if not given.only or any(fnmatch.fnmatchcase(each.id, one) for one in given.only)
    ]
    trials = _near(scripts, faults) if given.near else _all(scripts, faults, given.jobs or machine().jobs())
    found = rows(faults, {each.fault: each for each in trials})
    table = Table("fault", "red", "claim", "how", "before", "by", box=None, pad_edge=False)
    for each in found:
        reds, said = each.trial.reds, each.trial.claimed
        by = next((one.scenario for one in (*said, *reds)), "")
        table.add_row(each.fault.id, str(len(reds)), str(len(said)), each.found, each.before, by)
    console = Console()
    console.print(table)
    for each in found:
        for line in (*(f"{name} is not red" for name in each.missing), *each.trial.broken):
            console.print(f"{each.fault.id}: {line}", style="red", soft_wrap=True, highlight=False)
    console.print(summary(found), highlight=False)
    if given.write:
        _PAGE.write_text(page(found, _PAGE.read_text("utf-8")), encoding="utf-8")
    sys.exit(not is_enough(found, given.minimum))


def _near(scripts: Scripts, faults: Sequence[Fault]) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as directory:
        one = bench(scripts, faults, Path(directory))
        for each in faults:
            yield one.try_fault(each, [name for name in each.red if name in scripts])


def _all(scripts: Scripts, faults: Sequence[Fault], jobs: int) -> Iterator[Trial]:
    with ProgressDisplay(Writer()) as display:

        def tell(what: str, through: int, total: int) -> None:
            display.target_says(what, Passing(f"{through} of {total}"))

        yield from campaign(scripts, faults, jobs=jobs, tell=tell)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", help="scenario ids or globs; all if none is given")
    parser.add_argument("--only", action="append", default=[], help="ids of faults, e.g. `offsets/*`")
    parser.add_argument("--near", action="store_true", help="only the scenarios that have to find each fault")
    parser.add_argument("--jobs", "-j", type=int, help="processes; by default one for each core")
    parser.add_argument("--minimum", type=float, default=97.0, help="the lowest share by a claim, in percent")
    parser.add_argument("--write", action="store_true", help="write docs/faults.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
