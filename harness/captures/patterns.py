"""Findings that are alike, of whichever group: how often they occur, to which clients, what these notice."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.captures.judged import JudgedGroup
from harness.results.answer_impact import Contrast, FieldChange, consequence, deviation
from harness.results.replay_results import ReplayFinding
from harness.trace.events import EventKind

_INDEX: Final = re.compile(r"\[\d+\]")
_SIGNATURE_CHARACTERS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Findings with the same signature. Grain: signature."""

    signature: str
    """Equal for equal deviations of any group, in any judgement."""
    api: str
    field: str
    what: str
    noticed: str
    """What a client would notice."""
    count: int
    groups: int
    clients: Mapping[str, int]
    """How many of them each library with its version was told; an empty name where it is not known."""


def patterns_of(groups: Iterable[JudgedGroup]) -> tuple[Pattern, ...]:
    """Return the findings of groups by what they are, the most frequent first."""
    alike: defaultdict[tuple[str, str, str], list[ReplayFinding]] = defaultdict(list)
    for group in groups:
        for finding in group.replayed.findings:
            field = _INDEX.sub("[]", finding.field)
            alike[finding.api, field, deviation(_contrast(finding))].append(finding)
    patterns = [_pattern(key, findings) for key, findings in alike.items()]
    return tuple(sorted(patterns, key=lambda each: (-each.count, each.signature)))


def _pattern(key: tuple[str, str, str], findings: list[ReplayFinding]) -> Pattern:
    api, field, what = key
    clients = Counter(each.client for each in findings)
    return Pattern(
        signature=hashlib.sha256(json.dumps(key).encode()).hexdigest()[:_SIGNATURE_CHARACTERS],
        api=api,
        field=field,
        what=what,
        noticed=consequence(_contrast(findings[0])),
        count=len(findings),
        groups=len({each.group for each in findings}),
        clients=dict(sorted(clients.items())),
    )


def _contrast(finding: ReplayFinding) -> Contrast:
    """Return what was expected as what was before; where no field differs, the answer's time does."""
    change = FieldChange(path=finding.field, before=finding.expected, after=finding.actual)
    is_early = not finding.field and finding.expected == "no answer yet"
    return Contrast(
        api=finding.api,
        before_kind=EventKind.SILENCE if is_early else EventKind.RESPONSE,
        after_kind=EventKind.RESPONSE if finding.field or is_early else EventKind.NO_ANSWER,
        fields=(change,) if finding.field else (),
    )
