"""A tap between clients and brokers: a conversation for each script, held to the invariants at the end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from harness.invariants import check
from harness.invariants.exchange import APIS
from harness.tap import Tap, TapError
from harness.tap.journal import read_journal
from harness.tap.reading import TraceReader
from harness.targets.base import TargetError
from harness.trace.files import write_records

VIOLATIONS: Final = "violations.jsonl"
"""Name of the file in a target's folder: a `Violation` a line; empty where everything holds."""


@contextlib.asynccontextmanager
async def tapped(
    bootstrap: str, directory: Path, *, run_id: str, target: str, tell: Callable[[str], None]
) -> AsyncIterator[Callable[[str], str]]:
    """Give what opens a conversation and returns the address for its clients; check all at the end.

    Args:
        bootstrap: the cluster's addresses.
        directory: the journal and the violations are kept in it.
        run_id: for the events.
        target: its name, for the events.
        tell: told what is going on.

    Raises:
        TargetError: the tap could not be set up, or was lost.
    """
    try:
        with Tap(bootstrap, directory) as tap:
            yield tap.conversation
            lost = tap.failure()
        if lost is not None:
            raise TargetError(lost)
    except TapError as error:
        raise TargetError(str(error)) from error
    tell("holding what was said to the invariants")
    await asyncio.to_thread(_check, tap.journal, directory / VIOLATIONS, run_id=run_id, target=target)


def _check(journal: Path, violations: Path, *, run_id: str, target: str) -> None:
    reader = TraceReader(run_id=run_id, target=target, only=APIS)
    write_records(violations, check(reader.events(read_journal(journal))))
