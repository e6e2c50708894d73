"""The results of judging captures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from harness.captures.excerpts import (
    OF_GROUP_MAX,
    Excerpt,
    Likeness,
    PageRoom,
    contrast_of,
    likeness,
    signature_of,
)
from harness.captures.notes import Notes
from harness.invariants.blame import Refusal, ToBlame
from harness.replay.group import FINDINGS_OF_GROUP_MAX
from harness.results.client_impact import consequence
from harness.results.replay_results import Replayed, ReplayFinding, total

Answered: TypeAlias = tuple[str, int, str]
"""An API, its version, and an error code of its answer: the top-level code, or else one within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGroup:
    """The result for one group of a capture."""

    group: str
    clients: tuple[str, ...]
    """Libraries with versions, as the clients name themselves; empty if none did."""
    replayed: Replayed
    exchanges: int = 0
    """Requests about this group, and about all groups."""
    answered: Mapping[Answered, int] = field(default_factory=dict)
    """How often each API, in each version, was answered each error code."""
    refusals: tuple[Refusal, ...] = ()
    """Refusals that clients were given, and other faults of clients, with their causes."""
    blamed: Mapping[ToBlame, int] = field(default_factory=dict)
    """How many there are by party; of very many not all are in `refusals`."""
    excerpts: tuple[Excerpt, ...] = ()
    """Excerpts for some of the findings, if they were requested."""


def joined(stretches: Sequence[JudgedGroup]) -> JudgedGroup:
    """Combine the results of a group whose stretches were judged apart; they are given in order."""
    if len(stretches) == 1:
        return stretches[0]
    replayed = total(tuple(each.replayed for each in stretches))
    answered: Counter[Answered] = Counter()
    for each in stretches:
        answered.update(each.answered)
    return JudgedGroup(
        group=stretches[0].group,
        clients=stretches[0].clients,
        replayed=replace(
            replayed,
            conversation=stretches[0].replayed.conversation,
            findings=replayed.findings[:FINDINGS_OF_GROUP_MAX],
        ),
        exchanges=sum(each.exchanges for each in stretches),
        answered=answered,
        refusals=tuple(one for each in stretches for one in each.refusals)[:FINDINGS_OF_GROUP_MAX],
        blamed=sum((Counter(each.blamed) for each in stretches), Counter[ToBlame]()),
        excerpts=PageRoom(OF_GROUP_MAX).within(one for each in stretches for one in each.excerpts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCaptures:
    """The results of captures that were judged together."""

    groups: tuple[JudgedGroup, ...]
    notes: Notes

    @property
    def answered(self) -> Mapping[Answered, int]:
        """How often each API, in each version, was answered each error code."""
        counts: Counter[Answered] = Counter()
        for each in self.groups:
            counts.update(each.answered)
        return dict(sorted(counts.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Findings with the same signature. Grain: signature."""

    signature: str
    """A hash that is equal for equal deviations of any group, in any judgement."""
    api: str
    field: str
    what: str
    noticed: str
    """What a client would notice."""
    count: int
    groups: int
    clients: Mapping[str, int]
    """How many of the findings each library with its version got; the name is empty if it is unknown."""


def patterns_of(groups: Iterable[JudgedGroup]) -> tuple[Pattern, ...]:
    """Group findings into patterns, the most frequent first."""
    alike: defaultdict[Likeness, list[ReplayFinding]] = defaultdict(list)
    for group in groups:
        for finding in group.replayed.findings:
            alike[likeness(finding)].append(finding)
    patterns = [_pattern(key, findings) for key, findings in alike.items()]
    return tuple(sorted(patterns, key=lambda each: (-each.count, each.signature)))


def _pattern(key: Likeness, findings: list[ReplayFinding]) -> Pattern:
    api, field, what = key
    clients = Counter(each.client for each in findings)
    return Pattern(
        signature=signature_of(key),
        api=api,
        field=field,
        what=what,
        noticed=consequence(contrast_of(findings[0])),
        count=len(findings),
        groups=len({each.group for each in findings}),
        clients=dict(sorted(clients.items())),
    )
