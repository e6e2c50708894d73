"""A tapped target with its run folder: started, watched, ended, and decoded into the files of a run."""

import asyncio
import contextlib
import dataclasses
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from harness import __version__
from harness.capacity import machine
from harness.invariants import Violation
from harness.invariants.blame import Refusal
from harness.invariants.checker import VIOLATIONS, checker_for
from harness.invariants.exchange import LOOKED_AT
from harness.results.status import ENDED_COMPLETE
from harness.runner.recorder import header_of
from harness.tap.journal import JOURNAL, entries_in, open_journal
from harness.tap.listeners import parse_address
from harness.tap.reading import TraceReader, events_of_journal, refuse_cut_short
from harness.tap.tap import Tap, TapError
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import Broker, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.targets.secured.security import PLAINTEXT
from harness.trace.events import TARGET_LOST, EventKind, RunFooter, RunHeader, RunKind
from harness.trace.files import EventWriter, RunFolder, write_records
from harness.trace.formats import FORMAT_VERSION
from harness.trace.schema import TraceError

Tell: TypeAlias = Callable[[str], None]
"""Called with a line that people should read now."""

_LOOK_S: Final = 0.2
"""The time between two checks for failures and for new entries in the journal."""
_ENTRIES_AT_ONCE: Final = 20_000
"""How many entries are checked before the next look for failures."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_DECODED_LATER: Final = "interrupted: decoded later"


@dataclass(frozen=True, slots=True, kw_only=True)
class TapPlan:
    """What to tap, and how."""

    run_id: str
    target: Target
    listen: str
    advertise: str | None
    out: Path
    command: str
    checks: bool
    """Whether invariants are checked while it taps; they are checked afterwards in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TappedRun:
    """The result of a tap."""

    folder: RunFolder
    footer: RunFooter
    request_count: int
    violations: tuple[Violation, ...]
    refusals: tuple[Refusal, ...]
    """What clients were refused, with the causes."""


async def tap_target(
    plan: TapPlan, stop: asyncio.Event, tell: Tell, *, began: Callable[[], object] = lambda: None
) -> TappedRun:
    """Start a target, tap it until it is to stop, and decode the journal.

    `began` is called when the target has started, and the tap can end in an orderly way.

    Raises:
        TargetError: the target cannot be started, or has no address.
        TapError: the address cannot be listened on, or the tap was lost; its journal is on file.
    """
    folder = RunFolder.create(plan.out, plan.run_id)
    folder.write_run(run_header(plan.run_id, (plan.target.name,), RunKind.TAP, plan.command))
    name = plan.target.name
    folder.logs(name).mkdir(parents=True)
    began_s = time.monotonic()
    with blaming_target():
        broker = await plan.target.start(broker_config={}, directory=folder.logs(name), progress=tell)
    try:
        began()
        header = header_of(plan.run_id, name, broker.description, (time.monotonic() - began_s) * 1000)
        notes = (*header.notes, f"tapped at {plan.listen}")
        folder.write_headers(name, [dataclasses.replace(header, notes=notes)])
        began_s = time.monotonic()
        ended = await _tap(plan, folder, broker, stop, tell)
        drive_ms = (time.monotonic() - began_s) * 1000
    finally:
        await to_its_end(broker.stop())
    tell("decoding what was kept")
    return finish(folder, ended=ended, drive_ms=drive_ms)


async def _tap(plan: TapPlan, folder: RunFolder, broker: Broker, stop: asyncio.Event, tell: Tell) -> str:
    bootstrap = broker.description.bootstrap
    if ":" not in bootstrap:
        raise TargetError(f"{plan.target.spec} listens nowhere ({bootstrap}); tap one that has a port")
    name = plan.target.name
    directory = folder.of_target(name)
    secured = is_secured(plan, broker)
    with Tap(bootstrap, directory, listen=plan.listen, advertise=plan.advertise, is_secured=secured) as tap:
        tell(f"tapping {plan.target.spec}: clients find it at {tap.bootstrap_servers}")
        checker = checker_for(folder.read_headers(name)) if plan.checks else None
        reader = TraceReader(run_id=plan.run_id, target=name, only=LOOKED_AT)
        with open_journal(tap.journal) as file:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_S):
                        await stop.wait()
                if checker is not None:
                    entries = islice(entries_in(file, tap.journal), _ENTRIES_AT_ONCE)
                    for event in await asyncio.to_thread(list, reader.events(entries)):
                        for violation in checker.feed(event):
                            tell(reported(violation))
                if (lost := tap.failure()) is not None:
                    raise TapError(lost)
                if (gone := broker.failure()) is not None:
                    return f"{TARGET_LOST}{gone}"
    return ENDED_COMPLETE


def is_secured(plan: TapPlan, broker: Broker) -> bool:
    """Return whether connections to a broker are secured; those of clients to the tap never are.

    Raises:
        TargetError: they are, and clients on other machines could reach the tap.
    """
    if broker.run_namespace is None or broker.run_namespace.security == PLAINTEXT:
        return False
    if parse_address(plan.listen)[0] not in _LOOPBACK:
        raise TargetError(
            "a tap of a secured broker speaks plain text with its clients, and lends them the rights of the "
            f"run: let it listen on 127.0.0.1, not on {plan.listen}"
        )
    return True


def reported(violation: Violation) -> str:
    """Return a violation as one line of text."""
    place = f"{violation.scenario_id} {violation.sequence}, group {violation.group_id}"
    return f"{violation.invariant} [{violation.party}] {place}: {violation.detail}"


def finish_later(folder: RunFolder) -> TappedRun:
    """Decode the journals of a tap that was killed; an existing footer keeps its times and ending.

    Raises:
        TraceError: the run is not a tap's, or a file of it is damaged.
    """
    footer = folder.read_footer()
    if footer is None:
        return finish(folder, ended=_DECODED_LATER)
    for target in folder.targets():
        refuse_cut_short(_journal(folder, target), folder.path, target, footer)
    tapped = finish(folder, ended=footer.ended)
    kept = dataclasses.replace(tapped.footer, finished_at=footer.finished_at, drive_ms=footer.drive_ms)
    folder.write_footer(kept)
    return dataclasses.replace(tapped, footer=kept)


def _journal(folder: RunFolder, target: str) -> Path:
    journal = folder.of_target(target) / JOURNAL
    if not journal.exists():
        raise TraceError(f"{folder.path}: {target} has no {JOURNAL}; this is not a run of a tap")
    return journal


def finish(folder: RunFolder, *, ended: str, drive_ms: float = 0.0) -> TappedRun:
    """Decode and check the journals of a tap's run, and write its footer; may be repeated later.

    Raises:
        TraceError: the run is not a tap's, or a file of it is damaged.
    """
    header = folder.read_run()
    counts: dict[str, int] = {}
    requests = 0
    conversations: set[str] = set()
    found: list[Violation] = []
    refusals: list[Refusal] = []
    for target in folder.targets():
        journal = _journal(folder, target)
        checker = checker_for(folder.read_headers(target))
        # The journal has everything that an earlier attempt left, and nothing may be there twice.
        folder.events(target).unlink(missing_ok=True)
        with EventWriter(folder.events(target)) as writer:
            for event in events_of_journal(journal, run_id=header.run_id, target=target):
                writer.write(event)
                found += checker.feed(event)
                counts[target] = counts.get(target, 0) + 1
                requests += event.kind == EventKind.REQUEST
                conversations.add(event.scenario_id)
        refusals += checker.refusals
    write_records(folder.record / VIOLATIONS, found)
    folder.pack()
    footer = RunFooter(
        run_id=header.run_id,
        finished_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ended=ended,
        scenario_count=len(conversations),
        drive_ms=json.dumps({target: round(drive_ms, 1) for target in folder.targets()}),
        event_counts=json.dumps(counts),
    )
    folder.write_footer(footer)
    return TappedRun(
        folder=folder,
        footer=footer,
        request_count=requests,
        violations=tuple(found),
        refusals=tuple(refusals),
    )


def run_header(run_id: str, targets: tuple[str, ...], kind: RunKind, command: str) -> RunHeader:
    """Return the header of a run of recordings that begins now."""
    system = f"{platform.system()} {platform.machine()}"
    return RunHeader(
        run_id=run_id,
        format_version=FORMAT_VERSION,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        harness_version=__version__,
        harness_commit=None,
        scenario_digest="",
        shard=None,
        merged_from=(),
        targets=targets,
        machine=f"{system}, {machine().cores} cores, Python {platform.python_version()}",
        command=command,
        kind=kind.value,
    )
