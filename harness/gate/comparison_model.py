"""The result of comparing two targets, and the grouping of its changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.gate.client_impact import client_impact, coordinators_way, is_slight
from harness.results.answer_impact import Contrast, FieldChange, consequence, deviation
from harness.targets.reference.variants import COORDINATOR
from harness.verdict import RIGHT

UNKNOWN: Final = "unknown"
"""The cause of a change whose cause is not known."""
ADVERTISED: Final = "advertised versions"
"""The cause if each side advertises the API versions of its release."""
FLAKY: Final = "flaky"
"""The cause if a side's result occurred once and not again: there need not be a change between releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientChange:
    """One scenario that the two targets answer differently."""

    scenario_id: str
    title: str
    source: str
    api: str
    """The API of the first answer that changed; `connection` if there was no API."""
    api_version: int | None
    step: int
    actor: str | None
    before_kind: str | None
    """An `EventKind`, or None if the conversation had ended by then."""
    after_kind: str | None
    fields: tuple[FieldChange, ...]
    """All fields that differ in that answer; none if only one side answered."""
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
    notes: str = ""
    """The scenario's notes, beyond its title."""
    before_note: str | None = None
    """What happened instead of an answer, in words."""
    after_note: str | None = None
    later: tuple[Contrast, ...] = ()
    """The other answers that differ; they may be consequences of the first difference."""
    is_flaky: bool = False
    """Whether a side's result occurred once and not again."""
    also: tuple["ClientChange", ...] = ()
    """The same scenario at later answers, each caused by further behaviours than the answers before."""

    @property
    def contrast(self) -> Contrast:
        """The first answer that changed."""
        return Contrast(
            api=self.api, before_kind=self.before_kind, after_kind=self.after_kind, fields=self.fields
        )

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
    def deviation(self) -> str:
        """The deviation in a few words."""
        return deviation(self.contrast)

    @property
    def way(self) -> str:
        """How the two coordinators differ in this, if a different coordinator is the only cause."""
        return coordinators_way(self.deviation) if self.named == (COORDINATOR,) else ""

    @property
    def notice(self) -> str:
        """What a client would notice: the texts of the behaviours, else the effect of the changed answer."""
        reported = [text for name in self.named if (text := client_impact(name)) is not None]
        return " ".join(reported) or consequence(self.contrast)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientImpact:
    """Changes of one cause with the same effect on clients."""

    notice: str
    changes: tuple[ClientChange, ...]
    """The first change is the example."""

    @property
    def way(self) -> str:
        """How the two coordinators differ in this, if that is the cause."""
        return self.changes[0].way

    @property
    def detail(self) -> str:
        """What differs, if the cause is only that the coordinator is a different one."""
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
    """Scenarios of both runs that could run only on the former, by what the latter lacks."""
    only_after: tuple[str, ...]
    """Scenarios that only the latter's run has."""
    only_before: tuple[str, ...]
    """Scenarios that only the former's run has."""
    rewritten: tuple[str, ...]
    """Scenarios whose scripts differ between the two sides; these are not compared."""
    is_explained: bool
    """Whether named behaviours were looked for."""
    is_judgement: bool = False
    """Whether the former is the latter's reference, so that every difference is the latter's fault."""
    gained: frozenset[str] = frozenset()
    """Named behaviours that the latter has and the former does not have."""
    lost: frozenset[str] = frozenset()
    """Named behaviours that the former has and the latter does not have."""
    specs: tuple[str, ...] = ()
    """Specs of the targets on which a scenario reproduces the change."""
    added: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By scenario id: properties that brokers had in either run but the scenario did not ask for."""

    @property
    def parted(self) -> frozenset[str]:
        """Named behaviours that only one of the two has."""
        return self.gained | self.lost

    def cause_of(self, change: ClientChange) -> str:
        """Return the cause of a change; if one side is the other's reference, return the deviation."""
        return change.deviation if self.is_judgement else change.cause

    def later(self) -> Mapping[str, Sequence[tuple[ClientChange, Contrast]]]:
        """Group the differences after each scenario's first by deviation; count each scenario once."""
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
        """Group changes by cause: unknown causes first, causes that do not affect common clients last.

        A scenario appears under each cause of its answers.
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
    """Group changes of one cause by what a client would notice, the most frequent first."""
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
