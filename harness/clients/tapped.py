"""A tap between clients and brokers: conversations are checked against invariants, and replayed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.invariants import Checker
from harness.invariants.blame import ToBlame, in_words
from harness.invariants.checker import VIOLATIONS
from harness.invariants.exchange import LOOKED_AT
from harness.replay import specification, total
from harness.replay.group import keep, replay_all
from harness.replay.history import READ
from harness.tap import Tap, TapError
from harness.tap.journal import read_journal
from harness.tap.reading import TraceReader
from harness.targets.base.interface import Broker, BrokerDescription, TargetError
from harness.targets.secured.security import PLAINTEXT
from harness.trace.files import write_records

_CAUSES: Final = 20
"""How many causes of refusals are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The way in which the clients of a conversation reach a broker.

    Attributes:
        address: returns the bootstrap address for a conversation.
        refusal: returns the first request in it that was kept from the broker; None if none was.
    """

    address: Callable[[str], str]
    refusal: Callable[[str], str | None]


@contextlib.asynccontextmanager
async def tapped(
    broker: Broker, directory: Path, *, run_id: str, target: str, tell: Callable[[str], None]
) -> AsyncIterator[Way]:
    """Yield a way through a tap, which protects others' data on a broker; check the recording at the end.

    Args:
        broker: the broker that clients are to reach, or one of its cluster.
        directory: the folder for the journal, the violations and the results of the replays.
        run_id: the run's id, for the events.
        target: the target's name, for the events.
        tell: called with what is going on.

    Raises:
        TargetError: the tap could not be set up, or was lost.
    """
    description, run_namespace = broker.description, broker.run_namespace
    prefix = "" if run_namespace is None else run_namespace.namespace.prefix
    is_secured = run_namespace is not None and run_namespace.security != PLAINTEXT
    try:
        with Tap(description.bootstrap, directory, prefix=prefix, is_secured=is_secured) as tap:
            yield Way(address=tap.conversation, refusal=tap.refusal)
            lost = tap.failure()
        if lost is not None:
            raise TargetError(lost)
    except TapError as error:
        raise TargetError(str(error)) from error
    tell("checking the recording against the invariants, and comparing it with the reference")
    tell(await asyncio.to_thread(_look_at, tap.journal, description, run_id=run_id, target=target))


def _look_at(journal: Path, description: BrokerDescription, *, run_id: str, target: str) -> str:
    reader = TraceReader(run_id=run_id, target=target, only=LOOKED_AT | READ)
    events = list(reader.events(read_journal(journal)))
    checker = Checker(is_whole=True)
    write_records(journal.parent / VIOLATIONS, [each for event in events for each in checker.feed(event)])
    spec = specification(description.profile, description.broker_config)
    replayed = replay_all(events, spec, is_whole=True)
    keep(journal.parent, replayed)
    causes = in_words(each for each in checker.refusals if each.party is ToBlame.CLIENT)
    return "\n".join([f"replayed: {total(replayed).reported}", *causes[:_CAUSES]])
