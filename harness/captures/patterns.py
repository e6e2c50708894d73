"""Patterns of findings that are alike: how often they occur, for which clients, and what clients notice."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.captures.judged import JudgedGroup
from harness.captures.likeness import Likeness, contrast_of, likeness, signature_of
from harness.results.answer_impact import consequence
from harness.results.replay_results import ReplayFinding


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
