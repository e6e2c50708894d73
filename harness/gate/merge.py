"""Join the shards of one plan into one run, as if one machine had run all of it.

Shards have different scenarios (`run --shard 1/3`) or different targets of the same plan. Runs that were cut
short or made by another harness or of other scenarios are refused, as are scenarios that ran twice or not at
all. The refusal names what differs.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from harness.diff.check import CheckedRun
from harness.gate.sides import StoredRun, cut_short
from harness.orchestration.judging import Given, judge_run, read_scripts
from harness.orchestration.plan import scenario_digest
from harness.results.status import ENDED_COMPLETE
from harness.scenario.crossings import Crossing
from harness.trace.clause import Clause
from harness.trace.embedded import drive_times
from harness.trace.events import RECORD, Event, RunFooter, RunHeader, TraceHeader
from harness.trace.files import (
    EventWriter,
    RunFolder,
    attempt_name,
    count_events,
    read_events,
    read_records,
    write_records,
)
from harness.trace.formats import FORMAT_VERSION

_ALIKE: Final = {
    "format_version": "format of the files",
    "harness_version": "version of the harness",
    "harness_commit": "commit of the harness",
    "scenario_digest": "digest of the plan's scenarios",
}
"""Fields that all headers must have in common, with their names for messages."""
_OF_TARGET: Final = ("spec", "version", "image", "profile", "api_ranges", "oracle")
"""Fields that the headers of one target must have in common, whichever machine ran it."""


class MergeError(Exception):
    """Runs are not shards of one plan; the message names what differs."""


def merge(runs: Sequence[StoredRun], folder: RunFolder, given: Given, *, command: str) -> CheckedRun:
    """Join shards into a new run's folder, and judge it.

    Raises:
        ExpectationError: an expectation file is wrong.
        TraceError: a file of a shard is damaged.
    """
    run_id = folder.path.name
    folder.write_run(_header(runs, run_id, command))
    scripts = {name: script for run in runs for name, script in run.folder.read_scripts().items()}
    folder.write_scripts(scripts)
    _copy_clauses_and_logs(runs, folder)
    _join_suspects(runs, folder)
    for target in dict.fromkeys(name for run in runs for name in run.infos):
        _join_target(target, [run for run in runs if target in run.infos], folder, run_id)
    folder.write_footer(_footer(runs, folder, run_id, scenario_count=len(scripts)))
    return judge_run(folder, given)


def refuse_strangers(runs: Sequence[StoredRun]) -> None:
    """Refuse runs that are not shards of one plan, before anything is written.

    Raises:
        MergeError: lists everything that differs, one line each.
    """
    faults = [f"{run.path}: {reason}" for run in runs for reason in cut_short(run)]
    faults = faults or [
        f"{run.path}: {run.footer.ended}"
        for run in runs
        if run.footer is not None and run.footer.ended != ENDED_COMPLETE
    ]
    faults = faults or [*_unlike_headers(runs), *_unlike_targets(runs)]
    if faults := faults or [*_run_twice(runs), *_gaps(runs)]:
        raise MergeError("these runs cannot be joined:\n" + "\n".join(f"  {fault}" for fault in faults))


def _unlike_headers(runs: Sequence[StoredRun]) -> Iterator[str]:
    ids = Counter(run.header.run_id for run in runs)
    yield from (f"run {run_id} is named {count} times" for run_id, count in ids.items() if count > 1)
    for name, called in _ALIKE.items():
        yield from _unlike(called, [(str(run.path), getattr(run.header, name)) for run in runs])


def _unlike(called: str, values: Sequence[tuple[str, object]]) -> Iterator[str]:
    if len({value for _, value in values}) > 1:
        yield f"{called}: {', '.join(f'{value} in {where}' for where, value in values)}"


def _unlike_targets(runs: Sequence[StoredRun]) -> Iterator[str]:
    headers: dict[str, list[tuple[str, TraceHeader]]] = defaultdict(list)
    for run in runs:
        for target in run.infos:
            headers[target] += [(str(run.path), header) for header in run.folder.read_headers(target)]
    for target, found in headers.items():
        for name in _OF_TARGET:
            values = dict.fromkeys((where, getattr(header, name)) for where, header in found)
            yield from _unlike(f"{name} of {target}", tuple(values))


def _run_twice(runs: Sequence[StoredRun]) -> Iterator[str]:
    for target in dict.fromkeys(name for run in runs for name in run.header.targets):
        ran = Counter(
            scenario_id
            for run in runs
            if target in run.header.targets
            for scenario_id in run.folder.read_scripts()
        )
        if twice := sorted(name for name, count in ran.items() if count > 1):
            yield f"{target}: {len(twice)} scenarios are in more than one run, {twice[0]} among them"


def _gaps(runs: Sequence[StoredRun]) -> Iterator[str]:
    scripts = {run.path: read_scripts(run.folder) for run in runs}
    wanted = runs[0].header.scenario_digest
    for target in dict.fromkeys(name for run in runs for name in run.header.targets):
        mine = [run for run in runs if target in run.header.targets]
        union = {name: script for run in mine for name, script in scripts[run.path].items()}
        if scenario_digest(union) != wanted:
            yield f"{target}: {_missing_shards(mine)}"


def _missing_shards(runs: Sequence[StoredRun]) -> str:
    shards = [run.header.shard for run in runs]
    counts = {int(shard.partition("/")[2]) for shard in shards if shard}
    if len(counts) == 1:
        (count,) = counts
        wanted = [f"{number}/{count}" for number in range(1, count + 1)]
        if missing := [each for each in wanted if each not in shards]:
            return f"shard {', '.join(missing)} is missing"
    return f"shards {', '.join(str(shard or 'all') for shard in shards)} do not make the whole plan"


def _header(runs: Sequence[StoredRun], run_id: str, command: str) -> RunHeader:
    first = min((run.header for run in runs), key=lambda header: header.started_at)
    return replace(
        first,
        run_id=run_id,
        format_version=FORMAT_VERSION,
        shard=None,
        merged_from=tuple(run.header.run_id for run in runs),
        targets=tuple(dict.fromkeys(name for run in runs for name in run.header.targets)),
        machine="; ".join(dict.fromkeys(run.header.machine for run in runs)),
        command=command,
        record=RECORD,
    )


def _footer(runs: Sequence[StoredRun], folder: RunFolder, run_id: str, *, scenario_count: int) -> RunFooter:
    # A run without a footer is refused.
    footers = [run.footer for run in runs if run.footer]
    drive_ms: Counter[str] = Counter()
    for each in footers:
        drive_ms.update(drive_times(each))
    counts = {name: count_events(folder.events(name)) for name in folder.traces()}
    return RunFooter(
        run_id=run_id,
        finished_at=max(each.finished_at for each in footers),
        ended=ENDED_COMPLETE,
        scenario_count=scenario_count,
        drive_ms=json.dumps(dict(drive_ms)),
        event_counts=json.dumps(counts),
    )


def _copy_clauses_and_logs(runs: Sequence[StoredRun], folder: RunFolder) -> None:
    clauses = {
        clause.id: clause
        for run in runs
        if run.folder.clauses.exists()
        for clause in read_records(Clause, run.folder.clauses)
    }
    if clauses:
        write_records(folder.clauses, clauses.values())
    for run in runs:
        if run.folder.crossings.exists():
            write_records(folder.crossings, read_records(Crossing, run.folder.crossings))
        run.folder.copy_logs(run.header.run_id, folder)


def _join_suspects(runs: Sequence[StoredRun], folder: RunFolder) -> None:
    joined: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for target, suspects in run.folder.read_suspects().items():
            joined[target] += suspects
    if joined:
        folder.write_suspects(joined)


def _join_target(target: str, runs: Sequence[StoredRun], folder: RunFolder, run_id: str) -> None:
    """Join the traces of one target; a scenario that an oracle ran in several shards is kept once."""
    headers: dict[str, TraceHeader] = {}
    reported: set[str] = set()
    with EventWriter(folder.events(target)) as writer:
        for run in runs:
            for header in run.folder.read_headers(target):
                headers.setdefault(header.config_digest, replace(header, run_id=run_id))
            events = read_events(run.folder.events(target))
            fresh = {event.scenario_id for event in events} - reported
            reported |= fresh
            _join_events(events, writer, run_id, fresh)
            for number, trace in run.folder.repeats(target).items():
                with EventWriter(folder.events(attempt_name(target, number))) as further:
                    _join_events(read_events(run.folder.events(trace)), further, run_id, fresh)
    folder.write_headers(target, tuple(headers.values()))


def _join_events(
    events: Iterable[Event], writer: EventWriter, run_id: str, scenario_ids: AbstractSet[str]
) -> None:
    for event in events:
        if event.scenario_id in scenario_ids:
            writer.write(replace(event, run_id=run_id))
