"""A tap between clients and brokers: a conversation for each script, held to the invariants, and replayed."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from harness.invariants import check
from harness.invariants.exchange import APIS
from harness.invariants.stored import VIOLATIONS
from harness.replay import ReplayFinding, specification, total
from harness.replay.history import READ
from harness.replay.stored import keep, replay_all
from harness.report.replay_data import FINDINGS
from harness.tap import Tap, TapError
from harness.tap.journal import read_journal
from harness.tap.reading import TraceReader
from harness.targets.base import BrokerDescription, TargetError
from harness.trace.files import read_records, write_records


def replay_findings(directory: Path) -> Mapping[str, tuple[ReplayFinding, ...]]:
    """Read what replays found, by conversation; none where nothing was tapped.

    Raises:
        TraceError: a line is damaged.
    """
    path = directory / FINDINGS
    found: dict[str, list[ReplayFinding]] = defaultdict(list)
    for each in read_records(ReplayFinding, path) if path.exists() else ():
        found[each.conversation].append(each)
    return {name: tuple(members) for name, members in found.items()}


@contextlib.asynccontextmanager
async def tapped(
    description: BrokerDescription, directory: Path, *, run_id: str, target: str, tell: Callable[[str], None]
) -> AsyncIterator[Callable[[str], str]]:
    """Give what opens a conversation and returns the address for its clients; look at all at the end.

    Args:
        description: of the brokers.
        directory: the journal, the violations and what came of the replays are kept in it.
        run_id: for the events.
        target: its name, for the events.
        tell: told what is going on.

    Raises:
        TargetError: the tap could not be set up, or was lost.
    """
    try:
        with Tap(description.bootstrap, directory) as tap:
            yield tap.conversation
            lost = tap.failure()
        if lost is not None:
            raise TargetError(lost)
    except TapError as error:
        raise TargetError(str(error)) from error
    tell("holding what was said to the invariants, and to the reference")
    tell(await asyncio.to_thread(_look_at, tap.journal, description, run_id=run_id, target=target))


def _look_at(journal: Path, description: BrokerDescription, *, run_id: str, target: str) -> str:
    reader = TraceReader(run_id=run_id, target=target, only=APIS | READ)
    events = list(reader.events(read_journal(journal)))
    write_records(journal.parent / VIOLATIONS, check(events))
    spec = specification(description.profile, description.broker_config)
    replayed = replay_all(events, spec, is_whole=True)
    keep(journal.parent, replayed)
    return f"replayed: {total(replayed).told}"
