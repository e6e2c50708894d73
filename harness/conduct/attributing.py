"""Which named behaviours of the reference's table make two versions tell a scenario differently.

A behaviour is responsible if it alone, taken from the one profile into the other, changes what is seen where
the two references differ. That takes no broker: the references are driven again, a behaviour at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.diff.check import TargetTrace
from harness.diff.model import Attribution, Judgement
from harness.runner.drive import Drive, DriveSinks, Limits, Watcher
from harness.scenario.script import Script
from harness.targets.variants import VariantTarget, behaviour_source, differing_behaviours, variant
from harness.trace.events import ANSWER_KINDS, Event, EventKind
from harness.verdict import Outcome

_HELD: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT, Outcome.DIVERGES))

Place = tuple[int, int]
"""Step, and from 0 which of its answers."""
Seen = Mapping[Place, str]
"""What was answered, as a digest."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Pair:
    """The references that two neighbouring targets are held against."""

    from_oracle: str
    to_oracle: str


class _Unwatched(Watcher):
    """Nobody looks on."""

    def target_says(self, target: str, text: str) -> None:
        """Hear nothing."""

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Hear nothing."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Hear nothing."""


async def attribute(
    scripts: Mapping[str, Script],
    traces: Mapping[str, TargetTrace],
    judgements: Iterable[Judgement],
    *,
    order: Sequence[str],
    progress: Callable[[str], None],
) -> tuple[Attribution, ...]:
    """Attribute to named behaviours what changes from each target to the next.

    Args:
        scripts: of the run.
        traces: of all targets and their references.
        judgements: of the run; what was not held is passed over.
        order: the targets' names; neighbours in it are compared.
        progress: told what is being worked on.
    """
    found: list[Attribution] = []
    for pair, parted in sorted(_where_references_part(traces, judgements, order).items()):
        progress(f"what changed from {pair.from_oracle} to {pair.to_oracle}: {len(parted)} scenarios")
        names = await _responsible(scripts, traces, pair, parted)
        run_id = traces[pair.to_oracle].info.run_id
        found += [_attribution(run_id, name, pair, names.get(name, ())) for name in sorted(parted)]
    return tuple(found)


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
) -> dict[_Pair, dict[str, frozenset[Place]]]:
    """Return, for each pair of references, the scenarios that they tell differently and where."""
    oracles: dict[str, list[tuple[int, str]]] = {}
    for judgement in judgements:
        oracle = judgement.oracle
        if oracle is not None and judgement.target in order and judgement.outcome in _HELD:
            oracles.setdefault(judgement.scenario_id, []).append((order.index(judgement.target), oracle))
    found: dict[_Pair, dict[str, frozenset[Place]]] = {}
    for scenario_id, in_turn in oracles.items():
        for (_, one), (_, other) in pairwise(sorted(in_turn)):
            seen = [seen_in(traces[name].events.get(scenario_id, ())) for name in (one, other)]
            places = unequal_places(*seen)
            if places:
                pair = _Pair(from_oracle=one, to_oracle=other)
                found.setdefault(pair, {})[scenario_id] = places
    return found


async def _responsible(
    scripts: Mapping[str, Script],
    traces: Mapping[str, TargetTrace],
    pair: _Pair,
    parted: Mapping[str, frozenset[Place]],
) -> dict[str, set[str]]:
    """Return the behaviours that each scenario's change hangs on."""
    profiles = [traces[name].info.profile for name in (pair.from_oracle, pair.to_oracle)]
    responsible: dict[str, set[str]] = {}
    for behaviour in differing_behaviours(*profiles):
        for name, base, of in (
            (pair.to_oracle, profiles[1], profiles[0]),
            (pair.from_oracle, profiles[0], profiles[1]),
        ):
            told = await _tell(variant(base, behaviour=behaviour, of=of), [scripts[one] for one in parted])
            for scenario_id, places in parted.items():
                events = told.get(scenario_id, [])
                usual = seen_in(traces[name].events.get(scenario_id, ()))
                if _is_whole(events) and places & unequal_places(seen_in(events), usual):
                    responsible.setdefault(scenario_id, set()).add(behaviour)
    return responsible


async def _tell(target: VariantTarget, scripts: Sequence[Script]) -> dict[str, list[Event]]:
    """Hold scripts with a reference, and keep what happened in memory alone."""
    told: dict[str, list[Event]] = {}
    with TemporaryDirectory(prefix="kafka-conformance-variant-") as logs:
        drive = Drive(
            run_id="variant",
            target=target,
            target_name="variant",
            limits=Limits(),
            sinks=DriveSinks(
                write=lambda event: told.setdefault(event.scenario_id, []).append(event),
                broker_ready=lambda _description, _start_ms: None,
                logs=Path(logs),
            ),
            watcher=_Unwatched(),
        )
        await drive.run(scripts)
    return told


def _is_whole(events: Sequence[Event]) -> bool:
    """Tell whether a variant, which no release is, could tell a scenario at all."""
    return bool(events) and all(event.kind != EventKind.HARNESS_ERROR for event in events)


def seen_in(events: Iterable[Event]) -> Seen:
    """Return what was answered in a conversation, by step and place within the step."""
    seen: dict[Place, str] = {}
    counts: Counter[int] = Counter()
    for event in events:
        if event.kind in ANSWER_KINDS:
            seen[event.step, counts[event.step]] = f"{event.kind} {event.digest}"
            counts[event.step] += 1
    return seen


def unequal_places(one: Seen, other: Seen) -> frozenset[Place]:
    """Return where two conversations differ."""
    return frozenset(place for place in one.keys() | other.keys() if one.get(place) != other.get(place))
