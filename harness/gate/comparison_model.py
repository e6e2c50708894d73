"""What a comparison of two targets says, and how what changed is grouped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.gate.client_impact import client_impact, coordinators_way, is_slight
from harness.results.answer_impact import Contrast, FieldChange, consequence, deviation
from harness.targets.reference.variants import COORDINATOR
from harness.verdict import RIGHT

UNKNOWN: Final = "unknown"
"""The cause of a change of which nothing is known."""
ADVERTISED: Final = "advertised versions"
"""The cause where each side advertises the APIs that its release has."""
FLAKY: Final = "flaky"
"""The cause where a side's result showed once and not again: no release need have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChange:
    """One scenario that is answered otherwise."""

    scenario_id: str
    title: str
    source: str
    api: str
    """Of the answer in which the change is first seen; `connection` where it was none."""
    api_version: int | None
    step: int
    actor: str | None
    before_kind: str | None
    """An `EventKind`, or None where the conversation had ended by then."""
    after_kind: str | None
    fields: tuple[FieldChange, ...]
    """All that differ in that answer; none where only one of them answered."""
    answer_count: int
    """In how many answers of the conversation they differ."""
    before_outcome: str
    after_outcome: str
    delta: str
    """How the judgement stands to the earlier one: a `harness.verdict.Delta`."""
    behaviours: tuple[str, ...]
    """Named behaviours that the change hangs on, if any was found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of them."""
    known_as: tuple[str, ...]
    """KAFKA-numbers and KIPs that the scenario is about."""
    notes: str = ""
    """What the scenario says beyond its title."""
    before_note: str | None = None
    """What was seen where there was no answer, in words."""
    after_note: str | None = None
    later: tuple[Contrast, ...] = ()
    """The other answers that differ; they may follow from the first one."""
    is_flaky: bool = False
    """Whether a side's result showed once and not again."""
    also: tuple["ClientChange", ...] = ()
    """The same scenario at later answers, each of which hangs on more behaviours than the answers before."""

    @property
    def contrast(self) -> Contrast:
        """The answer in which the change is first seen."""
        return Contrast(
            api=self.api, before_kind=self.before_kind, after_kind=self.after_kind, fields=self.fields
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The behaviours that say most; that the coordinator is another says least."""
        return tuple(name for name in self.behaviours if name != COORDINATOR) or self.behaviours

    @property
    def cause(self) -> str:
        """What it is put down to: named behaviours, else what the scenario is about, else `unknown`."""
        if self.is_flaky:
            return FLAKY
        named = ", ".join(self.named) or ", ".join(self.known_as)
        if not named and self.api == "ApiVersions" and {self.before_outcome, self.after_outcome} <= RIGHT:
            return ADVERTISED
        return named or UNKNOWN

    @property
    def deviation(self) -> str:
        """What it is, in a few words."""
        return deviation(self.contrast)

    @property
    def way(self) -> str:
        """How the two coordinators go about it, where nothing else is its cause."""
        return coordinators_way(self.deviation) if self.named == (COORDINATOR,) else ""

    @property
    def notice(self) -> str:
        """What a client would notice: as its behaviours are known for it, else as the answer itself says."""
        reported = [text for name in self.named if (text := client_impact(name)) is not None]
        return " ".join(reported) or consequence(self.contrast)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientImpact:
    """What clients would notice in one way, out of one cause."""

    notice: str
    changes: tuple[ClientChange, ...]
    """The first is the example."""

    @property
    def way(self) -> str:
        """How the two coordinators go about it, where that is the cause."""
        return self.changes[0].way

    @property
    def detail(self) -> str:
        """What differs, where the cause says no more than that the coordinator is another."""
        first = self.changes[0]
        return first.deviation if first.cause == COORDINATOR else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Scenarios that could run on one side only, for one reason."""

    reason: str
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two targets, compared."""

    before: str
    after: str
    changes: tuple[ClientChange, ...]
    """By API, then by scenario."""
    same_count: int
    newly_run: tuple[LeftOut, ...]
    """Scenarios of both runs that could run only on the latter, by what the former lacks."""
    run_no_more: tuple[LeftOut, ...]
    """And only with the former, by what the latter lacks."""
    only_after: tuple[str, ...]
    """Scenarios that only the latter's run has."""
    only_before: tuple[str, ...]
    """And only the former's."""
    rewritten: tuple[str, ...]
    """Scenarios that are not the same conversation on both sides, and are therefore not compared."""
    is_explained: bool
    """Whether named behaviours were looked for."""
    is_judgement: bool = False
    """Whether the former is the latter's reference, so that every difference is the latter's fault."""
    gained: frozenset[str] = frozenset()
    """Named behaviours that the latter has and the former has not."""
    lost: frozenset[str] = frozenset()
    """And the other way round."""
    specs: tuple[str, ...] = ()
    """Of the targets with which a scenario shows the change again."""
    added: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By scenario id: the properties that brokers had in either run and the scenario did not ask for."""

    @property
    def parted(self) -> frozenset[str]:
        """Named behaviours that one of them has."""
        return self.gained | self.lost

    def cause_of(self, change: ClientChange) -> str:
        """Return what a change is put down to; where one side is the measure, this is what it is."""
        return change.deviation if self.is_judgement else change.cause

    def later(self) -> Mapping[str, Sequence[tuple[ClientChange, Contrast]]]:
        """Gather what differs after the first difference of a scenario, by what it is; each scenario once."""
        found: dict[str, dict[str, tuple[ClientChange, Contrast]]] = {}
        for change in self.changes:
            for contrast in change.later:
                if contrast.after_kind is None:
                    # The latter's conversation had ended by then.
                    continue
                found.setdefault(deviation(contrast), {}).setdefault(change.scenario_id, (change, contrast))
        ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
        return {name: tuple(seen.values()) for name, seen in ordered}

    def by_cause(self) -> Mapping[str, Sequence[ClientChange]]:
        """Gather the changes of each cause: without a known one first, what no common client sees last.

        A scenario stands under each cause of its answers.
        """
        seen = [each for change in self.changes for each in (change, *change.also)]
        grouped = _grouped(seen, self.cause_of)
        return dict(
            sorted(
                grouped.items(),
                key=lambda each: (each[0] != UNKNOWN, is_slight(each[0]), -len(each[1]), each[0]),
            )
        )


def findings(changes: Sequence[ClientChange]) -> tuple[ClientImpact, ...]:
    """Gather changes of one cause by what a client would notice; what is seen most comes first."""
    grouped = _grouped(changes, lambda change: change.notice)
    return tuple(
        ClientImpact(notice=notice, changes=tuple(found))
        for notice, found in sorted(grouped.items(), key=lambda each: -len(each[1]))
    )


def _grouped(
    changes: Sequence[ClientChange], key: Callable[[ClientChange], str]
) -> dict[str, list[ClientChange]]:
    found: dict[str, list[ClientChange]] = {}
    for change in changes:
        found.setdefault(key(change), []).append(change)
    return found
