"""The changes that a client observes from one target to another: the one comparison of two sides.

The answers of both are compared position by position in their canonical form. If Kafka's answer depends on
chance and both give a permitted answer, nothing has changed.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

from harness.diff.alignment import AlignedEvents, AnswerPosition, aligned, answers_by_position, kind_words
from harness.diff.model import Judgement, delta
from harness.diff.raw_difference import is_within, leaf_text, unequal_leaves, unindexed
from harness.report.model.field_rows import readable
from harness.report.model.phrases import counted, links_in, repetition, shortened
from harness.report.model.run_data import Run, ScriptPage, TargetSummary
from harness.results.client_impact import WAYS, Contrast, FieldChange, consequence, deviation
from harness.results.status import ResultStatus, status_of
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import COORDINATOR
from harness.trace.embedded import canonical_fields
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder
from harness.trace.schema import parsed_json
from harness.verdict import COMPARABLE, RIGHT
from harness.wire.schema import API_NAMES

UNKNOWN: Final = "unknown"
"""The cause of a change whose cause is not known."""
ADVERTISED: Final = "advertised versions"
"""The cause if each side advertises the API versions of its release."""
FLAKY: Final = "flaky"
"""The cause if a side's result occurred once and not again: there need not be a change between releases."""
FIELD_COUNT_MAX: Final = 4
"""The number of fields shown of one change; JSON has all."""
_VALUE_LENGTH_MAX: Final = 160
_API_ROW: Final = re.compile(r"api_keys\[(\d+)\]")


@dataclass(frozen=True, kw_only=True)
class ComparedTarget:
    """A target of a run."""

    run: Run
    target: str

    @property
    def summary(self) -> TargetSummary:
        """What the target is."""
        return self.run.by_target[self.target]

    @property
    def oracle(self) -> "ComparedTarget | None":
        """The target's oracle, if the run has it; a reference is its own oracle."""
        name = self.summary.oracle or self.target
        return ComparedTarget(run=self.run, target=name) if name in self.run.by_target else None

    @property
    def label(self) -> str:
        """The target's spec, its profile if the spec does not say it, and the run's id, for people."""
        spec, profile = self.summary.spec, self.summary.profile
        return f"{spec}{'' if profile in spec else f', {profile}'} (run {self.run.header.run_id})"

    def events(self, scenario_id: str) -> Sequence[Event]:
        """Return the events of the attempt that a scenario's result is from."""
        return self.run.steps.ruling(self.target, scenario_id)

    @cached_property
    def judgements(self) -> Mapping[str, Judgement]:
        """The results by scenario id."""
        return {each.scenario_id: each for each in self.run.judgements if each.target == self.target}

    @cached_property
    def ran(self) -> frozenset[str]:
        """The scenarios that the target could run."""
        return frozenset(name for name, each in self.judgements.items() if each.outcome in COMPARABLE)

    @property
    def behaviours(self) -> frozenset[str]:
        """The named behaviours of the release that is its profile."""
        return frozenset(each.name.lower() for each in reference_profile(self.summary.profile).behaviours)

    @property
    def api_ranges(self) -> Mapping[str, Sequence[int]]:
        """The least and the greatest version that it advertises, by API."""
        header = RunFolder(self.run.directory).read_headers(self.target)[0]
        found: Mapping[str, Sequence[int]] = parsed_json(
            header.api_ranges, where=f"API versions of {self.target}"
        )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChange(Contrast):
    """One scenario that the two targets answer differently, at the first answer that changed."""

    scenario_id: str
    title: str
    source: str
    api_version: int | None
    step: int
    actor: str | None
    answer_count: int
    """The number of answers in the conversation that differ."""
    before_outcome: str
    after_outcome: str
    delta: str
    """How the judgement relates to the former one: a `harness.verdict.Delta`."""
    behaviours: tuple[str, ...]
    """Named behaviours that cause the change, if any were found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of these behaviours."""
    known_as: tuple[str, ...]
    """KAFKA-numbers and KIPs that the scenario is about."""
    before_note: str | None = None
    """What happened instead of an answer, in words."""
    after_note: str | None = None
    is_flaky: bool = False
    """Whether a side's result occurred once and not again."""
    also: tuple["ClientChange", ...] = ()
    """The same scenario at later answers, each caused by further behaviours than the answers before."""

    @property
    def named(self) -> tuple[str, ...]:
        """The most specific behaviours: all but a different coordinator, unless that is the only one."""
        return tuple(name for name in self.behaviours if name != COORDINATOR) or self.behaviours

    @property
    def cause(self) -> str:
        """The cause: named behaviours, else the issues that the scenario is about, else `unknown`."""
        if self.is_flaky:
            return FLAKY
        named = ", ".join(self.named) or ", ".join(self.known_as)
        if not named and self.api == "ApiVersions" and {self.before_outcome, self.after_outcome} <= RIGHT:
            return ADVERTISED
        return named or UNKNOWN

    @property
    def causes(self) -> tuple[str, ...]:
        """The named behaviours, each with its source; the cause if there are none."""
        named = zip(self.behaviours, self.sources, strict=True)
        return tuple(f"{name} ({source})" for name, source in named) or (self.cause,)

    @property
    def place(self) -> str:
        """Where the change first shows, e.g. `step 8, Heartbeat v4`."""
        version = "" if self.api_version is None else f" v{self.api_version}"
        return f"step {self.step}, {self.api}{version}"

    @property
    def contrasts(self) -> tuple[str, ...]:
        """What changed, with one line for each field."""
        if not self.fields:
            was = _happening(self.before_kind, self.before_note)
            return (f"{was} → {_happening(self.after_kind, self.after_note)}",)
        reported = tuple(
            f"{each.path}: {_value(each.before)} → {_value(each.after)}"
            for each in self.fields[:FIELD_COUNT_MAX]
        )
        rest = len(self.fields) - FIELD_COUNT_MAX
        return (*reported, f"and {counted(rest, 'more field')}") if rest > 0 else reported

    @property
    def deviation(self) -> str:
        """The deviation in a few words."""
        return deviation(self)

    @property
    def consequence(self) -> str:
        """What the changed answer means to a client, and how the coordinators differ if that is the cause."""
        way = WAYS.get(self.deviation, "") if self.named == (COORDINATOR,) else ""
        return f"{way} {consequence(self)}".strip()


def _happening(kind: str | None, note: str | None) -> str:
    if kind is None:
        return "nothing, since the conversation had ended"
    said = kind_words(kind)
    return f"{said}: {shortened(note, _VALUE_LENGTH_MAX)}" if note and kind != EventKind.RESPONSE else said


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two targets, compared."""

    before: str
    after: str
    profiles: tuple[str, str]
    """The releases that the two are compared with."""
    changes: tuple[ClientChange, ...]
    """By API, then by scenario."""
    same_count: int
    newly_run: Mapping[str, Sequence[str]]
    """Scenarios of both runs that could run only on the latter, by what the former lacks."""
    run_no_more: Mapping[str, Sequence[str]]
    """Scenarios of both runs that could run only on the former, by what the latter lacks."""
    only_after: tuple[str, ...] = ()
    """Scenarios that only the latter's run has."""
    only_before: tuple[str, ...] = ()
    """Scenarios that only the former's run has."""
    rewritten: tuple[str, ...] = ()
    """Scenarios whose scripts differ between the two sides; these are not compared."""
    is_explained: bool = False
    """Whether named behaviours were looked for."""
    is_judgement: bool = False
    """Whether the former is the latter's reference, so that every difference is the latter's fault."""
    gained: frozenset[str] = frozenset()
    """Named behaviours that the latter has and the former does not have."""
    lost: frozenset[str] = frozenset()
    """Named behaviours that the former has and the latter does not have."""
    api_ranges: tuple[Mapping[str, Sequence[int]], Mapping[str, Sequence[int]]] = ({}, {})
    """The least and the greatest version by API, as each side advertises them."""
    again: Mapping[str, str] = field(default_factory=dict)
    """By scenario id: a command line that shows the change again."""


def changes(before: ComparedTarget, after: ComparedTarget) -> Comparison:
    """Compare two targets, scenario by scenario; causes are not looked for."""
    scripts = before.run.scripts
    common = {name for name in scripts if name in after.run.scripts}
    rewritten = {name for name in common if before.run.sources[name] != after.run.sources[name]}
    both = [name for name in scripts if name in (before.ran & after.ran & common) - rewritten]
    found = [change for name in both if (change := change_of(scripts[name], before, after)) is not None]
    return Comparison(
        before=before.label,
        after=after.label,
        profiles=(before.summary.profile, after.summary.profile),
        changes=tuple(sorted(found, key=lambda change: (change.api, change.scenario_id))),
        same_count=len(both) - len(found),
        newly_run=_left_out((after.ran - before.ran).intersection(common), before),
        run_no_more=_left_out((before.ran - after.ran).intersection(common), after),
        only_after=tuple(sorted(after.ran - common)),
        only_before=tuple(sorted(before.ran - common)),
        rewritten=tuple(sorted(rewritten)),
        is_judgement=is_measure_of(before, after),
        gained=after.behaviours - before.behaviours,
        lost=before.behaviours - after.behaviours,
        api_ranges=(before.api_ranges, after.api_ranges),
        again={each.scenario_id: _again(each.scenario_id, before, after) for each in found},
    )


def _again(scenario_id: str, before: ComparedTarget, after: ComparedTarget) -> str:
    """Return a command line that runs a scenario on both sides again; of a measure, only on the other."""
    sides = (after,) if is_measure_of(before, after) else (before, after)
    measure = after.run.measure_of(after.target)
    return repetition(
        [each.summary for each in sides],
        scenario_id,
        command=after.run.header.command,
        added=[each.run.added.get((each.target, scenario_id), {}) for each in sides],
        against=None if measure is None else measure.spec,
    )


def is_measure_of(before: ComparedTarget, after: ComparedTarget) -> bool:
    """Return whether a target is compared with its own reference."""
    return before.run is after.run and before.target == after.summary.oracle


def _left_out(names: Collection[str], side: ComparedTarget) -> Mapping[str, Sequence[str]]:
    """Return why some scenarios could not run on a side, the most frequent reason first."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        judgement = side.judgements.get(name)
        found["was not run" if judgement is None else judgement.reason].append(name)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def change_of(
    script: ScriptPage, before: ComparedTarget, after: ComparedTarget, *, since: int = 0
) -> ClientChange | None:
    """Return what changed in a scenario from a given step on; None if nothing did."""
    judged = before.judgements.get(script.id), after.judgements.get(script.id)
    assert judged[0] is not None
    assert judged[1] is not None
    are_right = {judged[0].outcome, judged[1].outcome} <= RIGHT
    chance = _left_to_chance(script.id, before, after) if are_right else {}
    if is_measure_of(before, after) and judged[1].first_step is not None:
        # The checker found everything before the finding permitted.
        since = max(since, judged[1].first_step)
    places = [each for each in _places(script.id, before, after, chance) if each[0].step >= since]
    return _reported(script, places, judged[0], judged[1]) if places else None


_ChangedAnswer: TypeAlias = tuple[AlignedEvents, tuple[FieldChange, ...]]
"""An answer that the two sides give differently, and in which fields."""


def _reported(
    script: ScriptPage, places: Sequence[_ChangedAnswer], before: Judgement, after: Judgement
) -> ClientChange:
    pair, fields = places[0]
    one, other = pair.event, pair.other
    known = other or pair.known
    return ClientChange(
        scenario_id=script.id,
        title=script.title,
        source=script.source,
        api=known.api or "connection",
        api_version=known.api_version,
        step=pair.step,
        actor=known.actor,
        before_kind=one.kind if one else None,
        after_kind=other.kind if other else None,
        fields=fields,
        answer_count=len(places),
        before_outcome=before.outcome,
        after_outcome=after.outcome,
        delta=delta(after, before).value,
        behaviours=(),
        sources=(),
        known_as=links_in(f"{script.source} {script.title} {script.notes}"),
        before_note=one.note if one else None,
        after_note=other.note if other else None,
        is_flaky=ResultStatus.FLAKY in (status_of(before), status_of(after)),
    )


def _places(
    scenario_id: str,
    before: ComparedTarget,
    after: ComparedTarget,
    chance: Mapping[AnswerPosition, Sequence[str]],
) -> Iterator[_ChangedAnswer]:
    for pair in aligned(before.events(scenario_id), after.events(scenario_id)):
        if pair.answer is None or pair.is_equal:
            continue
        one, other = pair.event, pair.other
        if not (one and other and one.kind == other.kind == EventKind.RESPONSE):
            yield pair, ()
        elif fields := changed_fields(one.canonical, other.canonical, chance.get(pair.position, ())):
            yield pair, fields


def changed_fields(
    before: str | None, after: str | None, chance: Sequence[str] = ()
) -> tuple[FieldChange, ...]:
    """Return the fields that differ between two answers in canonical form, but for those left to chance."""
    answers = canonical_fields(before), canonical_fields(after)
    names = _names_in(answers[1])
    return tuple(
        FieldChange(path=_with_name(path, names), before=leaf_text(was), after=leaf_text(became))
        for path, was, became in unequal_leaves(*answers)
        if not any(is_within(unindexed(path), declared) for declared in chance)
    )


def _names_in(answer: Mapping[str, object]) -> Sequence[str]:
    """Return the names of the APIs that an answer lists; they say more than their positions in it."""
    rows = answer.get("api_keys")
    keys = [row.get("api_key") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return [API_NAMES.get(key, str(key)) if isinstance(key, int) else str(key) for key in keys]


def _with_name(path: str, names: Sequence[str]) -> str:
    found = _API_ROW.match(path)
    if found is None or int(found[1]) >= len(names):
        return path
    return f"api_keys[{names[int(found[1])]}]{path[found.end() :]}"


def _left_to_chance(
    scenario_id: str, before: ComparedTarget, after: ComparedTarget
) -> dict[AnswerPosition, list[str]]:
    """Return the fields that either reference declares to depend on chance, by the answer's position."""
    found: dict[AnswerPosition, list[str]] = defaultdict(list)
    for oracle in filter(None, (before.oracle, after.oracle)):
        for position, event in answers_by_position(oracle.events(scenario_id)).items():
            for declared in parsed_json(event.permitted or "[]", where=f"`permitted` of {scenario_id}"):
                found[position].append(unindexed(declared["field"]))
    return found
