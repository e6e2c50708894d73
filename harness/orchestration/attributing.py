"""The named behaviours that make two references answer a conversation differently, found without a broker.

Both references run the conversation, and note which behaviours it asks for: no others can change it. Each
runs it again with one of these as the other reference has it, for all in which they differ. A behaviour
that changes an answer in which the two differ is a cause of that. It is decisive if it alone makes each
reference answer as the other does.

A conversation may have further causes: the former reference gets the behaviours that explain the first step,
and the next step that still differs is explained in the same way.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import TypeAdapter

from harness.diff.alignment import AnswerPosition, answers_by_position
from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.orchestration.judging import read_scripts, read_traces, target_info
from harness.orchestration.reference_runs import KnownTexts, cache_file, code_digest, digest_of
from harness.runner.drive import Drive, DriveSinks, Limits, Unwatched
from harness.scenario.script import Script
from harness.targets.base.interface import Lasting, Passing
from harness.targets.reference.behaviours import behaviour_sheets
from harness.targets.reference.variants import (
    COORDINATOR,
    AskedTarget,
    VariantTarget,
    behaviour_source,
    differing,
    reference_of,
    variant_of,
)
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder, read_records, write_records
from harness.trace.schema import TraceError
from harness.verdict import COMPARABLE
from harness.workers import workers

AnswerDigests: TypeAlias = Mapping[AnswerPosition, str]
"""The digests of a conversation's answers, by position."""
AnswersT = TypeVar("AnswersT")
Heard: TypeAlias = Mapping[str, tuple[AnswersT, frozenset[str]]]
"""By scenario id: what a reference answered, and the behaviours that the conversation asked for."""
_SHARED_COUNT: Final = 40
"""The least number of conversations to share among processes: one runs fewer before others have started."""
_LATER_COUNT_MAX: Final = 2
"""The number of answers after the first that are explained in one scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingStep:
    """A step that two references answer differently."""

    step: int
    behaviours: tuple[str, ...]
    """Behaviours that each alone change the answer of either; in alphabetical order."""
    decisive: tuple[str, ...]
    """Those of them that alone make each reference answer as the other does."""

    @property
    def causes(self) -> tuple[str, ...]:
        """The decisive behaviours; all if none is."""
        return self.decisive or self.behaviours


Steps: TypeAlias = Sequence[DifferingStep]
"""The steps of a conversation that two references answer differently, in their order."""
Cause: TypeAlias = tuple[int, tuple[str, ...]]
"""A step, and the behaviours that change it, in addition to those that change earlier steps."""
_STEPS: Final = TypeAdapter(tuple[DifferingStep, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributor(Generic[AnswersT]):
    """Finds the behaviours that make two references answer differently."""

    hear: Callable[[VariantTarget, Sequence[Script]], Awaitable[Heard[AnswersT]]]
    """Runs scripts on a reference; leaves out those that it cannot run at all."""
    unequal: Callable[[AnswersT, AnswersT], frozenset[AnswerPosition]]
    """Returns the positions at which two conversations differ."""
    known: dict[str, Steps] = field(default_factory=dict)
    """What was found before, by `key_of`; what is found is added."""
    progress: Callable[[str], None] = lambda _: None
    """Called with a text about the current work."""

    async def steps(
        self, scripts: Sequence[Script], one: VariantTarget, other: VariantTarget
    ) -> Mapping[str, Steps]:
        """Return what two references answer differently, and why, by scenario id."""
        keys = {each.id: key_of(each, one, other) for each in scripts}
        unknown = [each for each in scripts if keys[each.id] not in self.known]
        if unknown:
            found = await self._steps(unknown, one, other)
            self.known.update({keys[name]: steps for name, steps in found.items()})
        return {name: self.known[key] for name, key in keys.items()}

    async def _steps(
        self, scripts: Sequence[Script], one: VariantTarget, other: VariantTarget
    ) -> Mapping[str, Steps]:
        sides = (one, other)
        usual = await asyncio.gather(*(self.hear(side, scripts) for side in sides))
        places = {
            name: self.unequal(answers, usual[1][name][0])
            for name, (answers, _) in usual[0].items()
            if name in usual[1]
        }
        differing_in = [each for each in scripts if places.get(each.id)]
        changed: dict[tuple[str, int], set[str]] = defaultdict(set)
        unlike: dict[tuple[str, int], set[str]] = defaultdict(set)

        async def exchange(side: int, behaviour: str, chosen: Sequence[Script]) -> None:
            changed_side = variant_of(sides[side], (behaviour,), sides[1 - side])
            for name, (answers, _) in (await self.hear(changed_side, chosen)).items():
                for noted, answered in ((changed, usual[side]), (unlike, usual[1 - side])):
                    for step, *_ in places[name] & self.unequal(answers, answered[name][0]):
                        noted[name, step].add(behaviour)

        exchanges = [
            exchange(side, behaviour, chosen)
            for behaviour in differing(*sides)
            for side in (0, 1)
            if (chosen := [each for each in differing_in if behaviour in usual[side][each.id][1]])
        ]
        pair = f"{one.profile.name} to {other.profile.name}"
        for ended, exchanged in enumerate(asyncio.as_completed(exchanges), start=1):
            await exchanged
            self.progress(Passing(f"what changed from {pair}: {ended} of {len(exchanges)} behaviours"))
        found: dict[str, Steps] = {each.id: () for each in scripts}
        for each in differing_in:
            by_both = usual[0][each.id][1] & usual[1][each.id][1]
            found[each.id] = tuple(
                DifferingStep(
                    step=step,
                    behaviours=tuple(sorted(changed[each.id, step])),
                    decisive=tuple(sorted((changed[each.id, step] & by_both) - unlike[each.id, step])),
                )
                for step in sorted({step for step, *_ in places[each.id]})
            )
        return found

    async def causes(
        self,
        scripts: Mapping[str, Script],
        changed: Mapping[str, Sequence[int]],
        one: VariantTarget,
        other: VariantTarget,
        *,
        later_max: int,
    ) -> Mapping[str, Sequence[Cause]]:
        """Explain changed steps, by scenario id: the first one, and later ones that have further causes.

        If no behaviour changes the first one, all that change anything are its cause. Each scenario has at
        least one changed step, in their order. The former reference is given the behaviours of earlier
        causes.
        """
        found: dict[str, list[Cause]] = {}
        known: dict[str, frozenset[str]] = {}
        since = {name: steps[0] for name, steps in changed.items()}
        for name, steps in (await self.steps([scripts[name] for name in changed], one, other)).items():
            causes = next((each.causes for each in steps if each.step == since[name]), ())
            if causes:
                known[name] = frozenset(causes)
            causes = causes or tuple(sorted({cause for each in steps for cause in each.behaviours}))
            found[name] = [(since[name], causes)] if causes else []
        for _ in range(later_max):
            if not known:
                break
            self.progress(f"what else changed in {len(known)} scenarios")
            groups = {
                behaviours: [name for name in known if known[name] == behaviours]
                for behaviours in known.values()
            }
            left = [
                self.steps([scripts[name] for name in names], variant_of(one, behaviours, other), other)
                for behaviours, names in groups.items()
            ]
            for name, steps in [item for each in await asyncio.gather(*left) for item in each.items()]:
                later = next(
                    (each for each in steps if each.step >= since[name] and each.step in changed[name]), None
                )
                if later is None:
                    del known[name]
                    continue
                # A step that is explained in part may have further causes.
                since[name] = later.step + (not later.causes)
                if later.causes:
                    known[name] |= set(later.causes)
                    found[name].append((later.step, later.causes))
        return found


def key_of(script: Script, one: VariantTarget, other: VariantTarget) -> str:
    """Return what is equal for equal scripts on equal references."""
    return digest_of([script.digest(), one.key, other.key])


@contextmanager
def _of_releases(
    conversation_count: int, stored: Mapping[str, Steps], progress: Callable[[str], None]
) -> Iterator[Attributor[AnswerDigests]]:
    """Provide an attributor that knows what was found before; keep what it finds for the next process.

    Many conversations run in several processes, few in one thread.
    """
    kept = KnownTexts(cache_file("attributions", "releases"), code_digest())
    known: dict[str, Steps] = {key: _STEPS.validate_json(text) for key, text in kept.items()} | {**stored}
    is_much = conversation_count >= _SHARED_COUNT
    with workers(conversation_count) if is_much else ThreadPoolExecutor(1) as pool:

        async def hear(target: VariantTarget, scripts: Sequence[Script]) -> Heard[AnswerDigests]:
            return await asyncio.get_running_loop().run_in_executor(pool, _heard, target, scripts)

        try:
            yield Attributor(hear=hear, unequal=unequal_places, known=known, progress=progress)
        finally:
            # After Ctrl-C nobody waits for what has not begun.
            pool.shutdown(wait=False, cancel_futures=True)
            found = {key: steps for key, steps in known.items() if key not in stored}
            kept |= {key: _STEPS.dump_json(tuple(steps)).decode() for key, steps in found.items()}
            kept.keep()


def attribute_changes(folder: RunFolder, progress: Callable[[str], None]) -> None:
    """Attribute a run's changes from each target to the next to named behaviours, and store that with it.

    What this code has stored before stays. Nothing is stored if all targets have the same reference.
    """
    judgements = read_records(Judgement, folder.judgements)
    oracles = {each.oracle for each in judgements if each.oracle is not None}
    if len(oracles) < 2 or _stored(folder):
        return
    scripts, traces = read_scripts(folder), read_traces(folder, sorted(oracles))
    pairs = _where_references_part(traces, judgements, folder.read_run().targets)

    async def found() -> Mapping[tuple[str, str], Mapping[str, Steps]]:
        with _of_releases(sum(map(len, pairs.values())), {}, progress) as attributor:
            return {
                pair: await attributor.steps(
                    [scripts[each] for each in pairs[pair]],
                    *(reference_of(traces[name].info.profile) for name in pair),
                )
                for pair in sorted(pairs)
            }

    attributions = [
        Attribution(
            run_id=traces[pair[1]].info.run_id,
            scenario_id=scenario_id,
            from_oracle=pair[0],
            to_oracle=pair[1],
            step=each.step,
            behaviours=each.behaviours,
            sources=tuple(behaviour_source(name) for name in each.behaviours),
            decisive=each.decisive,
            code=code_digest(),
        )
        for pair, by_scenario in asyncio.run(found()).items()
        for scenario_id, steps in sorted(by_scenario.items())
        for each in steps
    ]
    write_records(folder.attributions, attributions)
    named = {name for each in attributions for name in each.behaviours}
    progress(Lasting(f"{len(named)} named behaviours explain what changed between the releases"))


def causes_of(
    changed: Mapping[str, Sequence[int]],
    scripts: Mapping[str, Script],
    profiles: tuple[str, str],
    *,
    runs: Iterable[RunFolder],
    progress: Callable[[str], None],
) -> Mapping[str, Sequence[Cause]]:
    """Explain the changes from one release to another, by scenario id.

    The steps that changed come in their order. What is stored with runs of the same scripts is not looked for
    again.
    """
    progress(f"what changed from {' to '.join(profiles)} in {len(changed)} scenarios")
    stored = {key: steps for run in runs for key, steps in _stored_steps(run, scripts)}

    async def found() -> Mapping[str, Sequence[Cause]]:
        with _of_releases(len(changed), stored, progress) as attributor:
            one, other = map(reference_of, profiles)
            return await attributor.causes(scripts, changed, one, other, later_max=_LATER_COUNT_MAX)

    return asyncio.run(found())


def _stored(folder: RunFolder) -> Sequence[Attribution]:
    """Return the attributions of a run if this code has found them; damaged ones count as missing."""
    names = {COORDINATOR, *(each.name for each in behaviour_sheets())}
    try:
        found = read_records(Attribution, folder.attributions)
    except TraceError:
        return ()
    is_ours = all(each.code == code_digest() and names.issuperset(each.behaviours) for each in found)
    return found if is_ours else ()


def _stored_steps(folder: RunFolder, scripts: Mapping[str, Script]) -> Iterator[tuple[str, Steps]]:
    """Yield what is stored with a run, by key."""
    found: dict[tuple[str, str, str], list[DifferingStep]] = {}
    for each in _stored(folder):
        step = DifferingStep(step=each.step, behaviours=each.behaviours, decisive=each.decisive)
        found.setdefault((each.scenario_id, each.from_oracle, each.to_oracle), []).append(step)
    for (scenario_id, *pair), steps in found.items():
        if scenario_id in scripts:
            one, other = (reference_of(target_info(folder, name).profile) for name in pair)
            yield key_of(scripts[scenario_id], one, other), steps


def _where_references_part(
    traces: Mapping[str, TargetTrace], judgements: Iterable[Judgement], order: Sequence[str]
) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return, for each pair of references, the ids of the scenarios that they answer differently."""
    oracles: dict[str, list[tuple[int, str]]] = {}
    for judgement in judgements:
        oracle = judgement.oracle
        if oracle is not None and judgement.target in order and judgement.outcome in COMPARABLE:
            oracles.setdefault(judgement.scenario_id, []).append((order.index(judgement.target), oracle))
    found: dict[tuple[str, str], list[str]] = {}
    for scenario_id, in_turn in oracles.items():
        for (_, one), (_, other) in pairwise(sorted(in_turn)):
            answers = [seen_in(traces[name].events.get(scenario_id, ())) for name in (one, other)]
            if answers[0] != answers[1]:
                found.setdefault((one, other), []).append(scenario_id)
    return found


def _heard(target: VariantTarget, scripts: Sequence[Script]) -> Heard[AnswerDigests]:
    """Run scripts on a reference; leave out those that a variant, which matches no release, cannot run."""
    asked = AskedTarget(target.profile)
    return {
        scenario_id: (seen_in(events), asked.asked_in(scenario_id))
        for scenario_id, events in asyncio.run(recorded(asked, scripts)).items()
        if events and all(event.kind != EventKind.HARNESS_ERROR for event in events)
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


def seen_in(events: Sequence[Event]) -> AnswerDigests:
    """Return the digests of a conversation's answers, by position."""
    return {
        position: f"{event.kind} {event.digest}" for position, event in answers_by_position(events).items()
    }


def unequal_places(one: AnswerDigests, other: AnswerDigests) -> frozenset[AnswerPosition]:
    """Return the positions at which two conversations differ."""
    return frozenset(place for place in one.keys() | other.keys() if one.get(place) != other.get(place))
