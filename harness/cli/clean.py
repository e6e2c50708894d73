"""`clean`: delete what killed runs have left on an external broker."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from harness.cli.errors import ends_with_exit_code
from harness.orchestration.plan import PlanError, parse_targets
from harness.results.status import ExitCode
from harness.targets.external.cleaning import Cleaned, Cleaner
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import MARK, Namespace, made, run_part
from harness.targets.external.reach import reach
from harness.targets.external.target import ExternalTarget
from harness.terminal import Writer

_AGE: Final = re.compile(r"(\d{1,6})([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LIMIT_S: Final = 300.0


@ends_with_exit_code
def clean(target: str, *, run: str | None = None, older_than: str | None = None) -> ExitCode:
    """Clean an external broker: delete the groups and topics, and abort the transactions, of killed runs.

    Only names that begin as the harness names things are looked at. A run that still goes on is safe while it
    is younger than the age that you give.
    """
    if run is not None and older_than is not None:
        raise PlanError("--run and --older-than are one too many: a run is cleaned up whatever its age")
    (parsed,) = parse_targets([target], guards_external=True)
    if not isinstance(parsed, ExternalTarget):
        raise PlanError(f"{target}: only an external broker is cleaned up; write external:HOST:PORT")
    before = datetime.now(UTC) - _age(older_than or "1h")

    def is_ours(name: str) -> bool:
        found = made(name)
        if found is None:
            return False
        return found.at < before if run is None else found.run_part == run_part(run)

    cleaned = asyncio.run(_clean(parsed, is_ours))
    Writer().say(str(cleaned))
    return ExitCode.TEMPORARY_FAILURE if cleaned.left else ExitCode.EXPECTED


async def _clean(target: ExternalTarget, is_ours: Callable[[str], bool]) -> Cleaned:
    guard = Guard(namespace=Namespace(MARK))
    await reach(target.host, target.port, target.security)
    layout = await target.layout(guard)
    cleaner = Cleaner(
        nodes=layout.nodes, guard=replace(guard, is_cleaning=True), is_ours=is_ours, security=target.security
    )
    return await cleaner.clean(limit_s=_LIMIT_S)


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise PlanError(f"{text!r} is not an age; write for instance 30m, 2h or 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
