"""Runs of client scripts for tests, planned in a line."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.clients.collect import collect_client_scripts
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.clients.run import ClientsPlan, drive
from harness.clients.steps import ClientScript
from harness.results.client_results import ClientResult
from harness.targets.base.interface import Target
from harness.targets.spec import parse_target
from harness.verdict import Confirmation

PATIENCE_S: Final = 90.0


def clients_plan(
    out: Path,
    target: str | Target,
    scripts: Sequence[ClientScript] = (),
    libraries: Sequence[ClientLibrary] = tuple(LIBRARIES.values()),
    *,
    run_id: str = "run",
) -> ClientsPlan:
    return ClientsPlan(
        run_id=run_id,
        scripts=tuple(scripts),
        libraries=tuple(libraries),
        targets=(parse_target(target) if isinstance(target, str) else target,),
        command="kafka-conformance clients",
        out=out,
        patience_s=PATIENCE_S,
    )


def carried_out(
    out: Path,
    target: str,
    names: Sequence[str],
    libraries: Sequence[ClientLibrary] = tuple(LIBRARIES.values()),
    *,
    compares: bool = True,
) -> tuple[Sequence[ClientResult], Sequence[ClientResult]]:
    """Carry scripts of the suites out; return all results, and those that are not flaky.

    Real clients race: what does not show again accuses nobody, and is rare.
    """
    scripts = collect_client_scripts()
    plan = clients_plan(out, target, [scripts[name] for name in names], libraries)
    judgements = asyncio.run(drive(replace(plan, jobs=4, compares=compares), lambda *_: None))
    steady = [each for each in judgements if each.confirmation != Confirmation.FLAKY]
    assert len(judgements) - len(steady) <= 1, judgements
    return judgements, steady
