"""Which named behaviours of the reference make two versions answer a scenario differently.

A behaviour is responsible if it alone, taken from one profile into the other, changes an answer where the two
references differ. This needs no broker: the references are driven again, with one behaviour at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.diff.alignment import AnswerPosition, answers_by_position
from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.runner.watcher import Unwatched
from harness.scenario.script import Script
from harness.targets.base.interface import Passing
from harness.targets.reference.variants import VariantTarget, behaviour_source, differing_behaviours, variant
from harness.trace.events import Event, EventKind
from harness.verdict import COMPARABLE
from harness.workers import workers

AnswerDigests = Mapping[AnswerPosition, str]
"""The digests of a conversation's answers, by position."""
ChangedAnswers = Mapping[str, frozenset[AnswerPosition]]
"""By scenario id, the positions of the answers that are not as usual."""
_SHARED_COUNT: Final = 400
"""The least number of conversations to share among processes: one runs fewer before others have started."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Pair:
    """The references that two neighbouring targets are compared with."""

    from_oracle: str
    to_oracle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """A run of one reference with one behaviour of the other."""

    pair: _Pair
    name: str
    """The reference's name among the traces."""
    base: str
    of: str
    behaviour: str
    known: frozenset[str]
    """Behaviours of the other reference that it has already."""


async def attribute(
    scripts: Mapping[str, Script],
    traces: Mapping[str, TargetTrace],
    judgements: Iterable[Judgement],
    *,
    order: Sequence[str],
    progress: Callable[[str], None],
    known: frozenset[str] = frozenset(),
) -> tuple[Attribution, ...]:
    """Attribute the changes from each target to the next to named behaviours.

    Args:
        scripts: the run's scripts.
        traces: the traces of all targets and their references.
        judgements: the run's judgements; those without a comparable outcome are skipped.
        order: the targets' names; neighbours in it are compared.
        progress: called with a text about the current work.
        known: behaviours of each pair's second reference that the trace of the first already shows.
    """
    pairs = _where_references_part(traces, judgements, order)
    trials = [trial for pair in sorted(pairs) for trial in _trials(traces, pair, known)]
    responsible: dict[_Pair, dict[str, set[str]]] = {pair: {} for pair in pairs}
    async for trial, reported in _tried(trials, scripts, traces, pairs, progress):
        for scenario_id, places in pairs[trial.pair].items():
            if places & reported.get(scenario_id, frozenset()):
                responsible[trial.pair].setdefault(scenario_id, set()).add(trial.behaviour)
    return tuple(
        _attribution(traces[pair.to_oracle].info.run_id, name, pair, responsible[pair].get(name, ()))
        for pair in sorted(pairs)
        for name in sorted(pairs[pair])
    )


async def _tried(
    trials: Sequence[_Trial],
    scripts: Mapping[str, Script],
    traces: Mapping[str, TargetTrace],
    pairs: Mapping[_Pair, Mapping[str, frozenset[AnswerPosition]]],
    progress: Callable[[str], None],
) -> AsyncIterator[tuple[_Trial, ChangedAnswers]]:
    """Run all trials, and yield each as it ends: many trials in several processes, few in one thread."""
    loop = asyncio.get_running_loop()
    is_much = sum(len(pairs[trial.pair]) for trial in trials) >= _SHARED_COUNT
    with workers(len(trials)) if is_much else ThreadPoolExecutor(1) as pool:

        async def tried(trial: _Trial) -> tuple[_Trial, ChangedAnswers]:
            names = list(pairs[trial.pair])
            events = traces[trial.name].events
            usual = {name: seen_in(events.get(name, ())) for name in names}
            chosen = [scripts[name] for name in names]
            return trial, await loop.run_in_executor(pool, _changed_answers, trial, chosen, usual)

        for ended, each in enumerate(asyncio.as_completed([tried(trial) for trial in trials]), start=1):
            trial, reported = await each
            pair = f"{trial.pair.from_oracle} to {trial.pair.to_oracle}"
            progress(Passing(f"what changed from {pair}: {trial.behaviour} ({ended} of {len(trials)})"))
            yield trial, reported


def _attribution(run_id: str, scenario_id: str, pair: _Pair, names: Iterable[str]) -> Attribution:
    behaviours = tuple(sorted(names))
    return Attribution(
        run_id=run_id,
        scenario_id=scenario_id,
        from_oracle=pair.from_oracle,
        to_oracle=pair.to_oracle,
        behaviours=behaviours,
        sources=tuple(behaviour_source(name) for name in behaviours),
    )


def _where_references_part(
    traces: Mapping[str, TargetTrace], judgements: Iterable[Judgement], order: Sequence[str]
) -> dict[_Pair, dict[str, frozenset[AnswerPosition]]]:
    """Return, for each pair of references, the scenarios that they answer differently, and where."""
    oracles: dict[str, list[tuple[int, str]]] = {}
    for judgement in judgements:
        oracle = judgement.oracle
        if oracle is not None and judgement.target in order and judgement.outcome in COMPARABLE:
            oracles.setdefault(judgement.scenario_id, []).append((order.index(judgement.target), oracle))
    found: dict[_Pair, dict[str, frozenset[AnswerPosition]]] = {}
    for scenario_id, in_turn in oracles.items():
        for (_, one), (_, other) in pairwise(sorted(in_turn)):
            seen = [seen_in(traces[name].events.get(scenario_id, ())) for name in (one, other)]
            places = unequal_places(*seen)
            if places:
                pair = _Pair(from_oracle=one, to_oracle=other)
                found.setdefault(pair, {})[scenario_id] = places
    return found


def _trials(traces: Mapping[str, TargetTrace], pair: _Pair, known: frozenset[str]) -> Iterator[_Trial]:
    """Yield every trial of a pair: each behaviour in which the profiles differ, on either side."""
    profiles = [traces[name].info.profile for name in (pair.from_oracle, pair.to_oracle)]
    for behaviour in differing_behaviours(*profiles):
        if behaviour in known:
            continue
        for name, base, of, taken in (
            (pair.to_oracle, profiles[1], profiles[0], frozenset[str]()),
            (pair.from_oracle, profiles[0], profiles[1], known),
        ):
            yield _Trial(pair=pair, name=name, base=base, of=of, behaviour=behaviour, known=taken)


def _changed_answers(
    trial: _Trial, scripts: Sequence[Script], usual: Mapping[str, AnswerDigests]
) -> ChangedAnswers:
    """Return where a trial's answers are not as usual, for the scenarios that it could complete."""
    changed = variant(trial.base, {trial.behaviour, *trial.known}, of=trial.of)
    reported = asyncio.run(recorded(changed, scripts))
    return {
        scenario_id: unequal_places(seen_in(events), usual[scenario_id])
        for scenario_id, events in reported.items()
        if is_whole(events)
    }


async def recorded(target: VariantTarget, scripts: Sequence[Script]) -> dict[str, list[Event]]:
    """Run scripts on a reference, and return their events, which are only kept in memory."""
    reported: dict[str, list[Event]] = {}
    with TemporaryDirectory(prefix="kafka-conformance-variant-") as logs:
        drive = Drive(
            run_id="variant",
            target=target,
            target_name="variant",
            limits=Limits(),
            sinks=DriveSinks(
                write=lambda event: reported.setdefault(event.scenario_id, []).append(event),
                broker_ready=lambda _description, _start_ms: None,
                logs=Path(logs),
            ),
            watcher=Unwatched(),
        )
        await drive.run(scripts)
    return reported


def is_whole(events: Sequence[Event]) -> bool:
    """Return whether a variant, which matches no release, could run a scenario at all."""
    return bool(events) and all(event.kind != EventKind.HARNESS_ERROR for event in events)


def seen_in(events: Sequence[Event]) -> AnswerDigests:
    """Return the digests of a conversation's answers, by position."""
    return {
        position: f"{event.kind} {event.digest}" for position, event in answers_by_position(events).items()
    }


def unequal_places(one: AnswerDigests, other: AnswerDigests) -> frozenset[AnswerPosition]:
    """Return the positions at which two conversations differ."""
    return frozenset(place for place in one.keys() | other.keys() if one.get(place) != other.get(place))
