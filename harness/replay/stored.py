"""Replays of stored runs, and the files of their results.

```
…/journal.bin      what the tap recorded
…/replay.jsonl     beside it: one `ReplayFinding` a line; empty if the reference gives the same answers
…/replay.json      how much was compared of each conversation, and what was not, with the reasons
```
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from harness.replay.finding import Replayed
from harness.replay.history import READ
from harness.replay.replay import replay
from harness.results.client_files import ClientsFiles
from harness.results.replay_results import COUNTS, FINDINGS, ReplayFinding
from harness.results.stored_data import read_whole
from harness.tap.completeness import refuse_cut_short
from harness.tap.journal import JOURNAL, read_journal, refuse_torn
from harness.tap.reading import TraceReader
from harness.targets.reference.profile import ReferenceProfile, stored_specification
from harness.trace.events import Event
from harness.trace.files import RunFolder, write_records, write_whole
from harness.trace.schema import TraceError, json_object
from harness.trace.target_record import TargetRecord

_RECORD: Final = TypeAdapter(TargetRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTarget:
    """The result of replaying the conversations with one target."""

    target: str
    profile: str
    conversations: tuple[Replayed, ...]

    @property
    def findings(self) -> tuple[ReplayFinding, ...]:
        """The findings of all conversations."""
        return tuple(finding for each in self.conversations for finding in each.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording:
    target: str
    directory: Path
    profile: str
    broker_config: Mapping[str, str]
    is_whole: bool


def replay_run(path: Path, *, is_whole: bool = False) -> tuple[ReplayedTarget, ...]:
    """Replay what a tap recorded in the folder of a run of `tap` or `clients`, and store the results.

    Args:
        path: the run's folder.
        is_whole: whether a tap's recording begins before its groups did; that of `clients` always does.

    Raises:
        TraceError: nothing was tapped there, or a file of the run is damaged.
    """
    recordings = [*_of_clients(path), *_of_tap(path, is_whole=is_whole)]
    if not recordings:
        raise TraceError(f"{path}: there is no {JOURNAL}; only what a tap has kept can be replayed")
    return tuple(_replayed(each) for each in recordings)


def replay_all(events: Iterable[Event], spec: ReferenceProfile, *, is_whole: bool) -> tuple[Replayed, ...]:
    """Replay every conversation of some events, which come in the order of each conversation."""
    conversations: dict[str, list[Event]] = {}
    for event in events:
        conversations.setdefault(event.scenario_id, []).append(event)
    return tuple(
        replay(each, spec, conversation_id=name, is_whole=is_whole) for name, each in conversations.items()
    )


def keep(directory: Path, replayed: Sequence[Replayed]) -> None:
    """Write the results of replays into the folder of their journal."""
    write_records(directory / FINDINGS, (finding for each in replayed for finding in each.findings))
    counts = [
        {
            "conversation": each.conversation,
            "compared": each.compared,
            "not_compared": dict(each.not_compared),
            "findings": len(each.findings),
        }
        for each in replayed
    ]
    write_whole(directory / COUNTS, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")


def _replayed(recording: _Recording) -> ReplayedTarget:
    reader = TraceReader(run_id="replay", target=recording.target, only=READ)
    events = reader.events(read_journal(recording.directory / JOURNAL))
    spec = stored_specification(recording.profile, recording.broker_config, where=str(recording.directory))
    conversations = replay_all(events, spec, is_whole=recording.is_whole)
    keep(recording.directory, conversations)
    return ReplayedTarget(target=recording.target, profile=spec.profile.name, conversations=conversations)


def _of_clients(path: Path) -> Iterator[_Recording]:
    for file in ClientsFiles(path).all_target_json():
        if (file.parent / JOURNAL).exists():
            refuse_torn(file.parent / JOURNAL)
            record = read_whole(_RECORD, file)
            yield _Recording(
                target=record.name,
                directory=file.parent,
                profile=record.profile,
                broker_config=record.broker_config,
                is_whole=True,
            )


def _reported_config(text: str, target: str) -> dict[str, str]:
    found = json_object(text, where=f"`broker_config` of {target}")
    return {name: str(value) for name, value in found.items()}


def _of_tap(path: Path, *, is_whole: bool) -> Iterator[_Recording]:
    folder = RunFolder(path)
    if not folder.targets():
        return  # A run of client scripts has a footer of its own kind.
    footer = folder.read_footer()
    for target in folder.targets():
        directory = folder.events(target).parent
        headers = folder.read_headers(target)
        if (directory / JOURNAL).exists() and headers:
            refuse_cut_short(directory / JOURNAL, path, target, footer)
            yield _Recording(
                target=target,
                directory=directory,
                profile=headers[0].profile,
                broker_config=_reported_config(headers[0].broker_config, target),
                is_whole=is_whole,
            )
