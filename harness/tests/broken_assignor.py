"""A reference whose uniform assignor moves a partition too many: `python -m harness.tests.broken_assignor`.

It runs scenarios of consumer groups against that reference, which is served over TCP, prints what differs,
and leaves a run of which `kafka-conformance report` makes the pages.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

from harness.orchestration.run import CompletedRun
from harness.results.client_impact import impact_of
from harness.targets.reference.tcp import REFERENCE_ROOT, ReferenceTcpTarget
from harness.tests.completed_runs import completed_run
from harness.tests.slow_timers import PACKAGE, faulty_copy

HANDOVER: Final = "consumer_groups/reconciliation/handover"
"""One member has all partitions, and another joins: the shortest way to see what the assignor moves."""
_MODULE: Final = Path(PACKAGE, "groups", "consumer", "assignors", "uniform_homogeneous.py")
_HEALTHY: Final = "kept = min(quota, len(partitions))"
_FAULTY: Final = "kept = max(min(quota, len(partitions)) - 1, 0)"


def broken_reference(directory: Path) -> ReferenceTcpTarget:
    """Return a target whose assignor leaves a member one partition of a topic fewer than it may."""
    root = faulty_copy(REFERENCE_ROOT, directory, module=_MODULE, healthy=_HEALTHY, faulty=_FAULTY)
    return ReferenceTcpTarget(root=root)


def run_against_it(reports: Path, code: Path, *patterns: str) -> CompletedRun:
    """Run scenarios against the broken reference.

    Args:
        reports: where the run's folder is to be.
        code: where the broken reference is to be, as long as it runs.
        patterns: of the scenarios.
    """
    return completed_run(reports, [broken_reference(code)], *patterns)


def main() -> None:
    """Run, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("reports"), help="where the run's folder is to be")
    parser.add_argument("scenarios", nargs="*", default=["consumer_groups/reconciliation/**"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as code:
        run = run_against_it(given.out, Path(code) / "broken", *given.scenarios)
    for difference in (each for each in run.checked.differences if each.ordinal == 0):
        print(  # noqa: T201 - a command
            f"{difference.scenario_id}, step {difference.step}, {difference.api} {difference.field}: "
            f"{difference.actual} instead of {difference.expected}. {impact_of(difference)}"
        )
    print(f"kafka-conformance report {run.folder.path}")  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
