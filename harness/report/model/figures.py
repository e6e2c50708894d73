"""Counts and times of a run, from its records."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.diff.model import Difference
from harness.spark.trend_rows import LatencyQuantile
from harness.trace.embedded import canonical_fields
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError

_CODE_WITHIN: Final = re.compile(r'"error_code":"(\w+)"')
"""Matches error codes in canonical JSON; inside a JSON string the quotation marks would be escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCount:
    """The number of differences of one class in one API. Grain: target, API, class."""

    target: str
    api: str | None
    difference_class: str
    difference_count: int
    scenario_count: int
    finding_count: int
    """Differences that are not consequences of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCount:
    """Where one cause shows, in whatever scenarios and targets. Grain: cause."""

    cause: str
    api: str | None
    difference_class: str
    targets: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    """These two lists are in alphabetical order, without duplicates."""
    finding_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodeCount:
    """How often a target answered with an error code. Grain: target, API, version, code."""

    target: str
    api: str
    api_version: int
    error_code: str
    """Kafka's name of the code."""
    response_count: int


def difference_counts(differences: Iterable[Difference]) -> tuple[DifferenceCount, ...]:
    """Count differences by target, API and class."""
    found: dict[tuple[str, str | None, str], list[Difference]] = defaultdict(list)
    for each in differences:
        found[each.target, each.api, each.difference_class].append(each)
    return tuple(
        DifferenceCount(
            target=target,
            api=api,
            difference_class=difference_class,
            difference_count=len(alike),
            scenario_count=len({each.scenario_id for each in alike}),
            finding_count=sum(not each.is_consequence for each in alike),
        )
        for (target, api, difference_class), alike in found.items()
    )


def cause_counts(differences: Iterable[Difference]) -> tuple[CauseCount, ...]:
    """Group differences by cause, the causes with the most findings first."""
    found: dict[tuple[str, str | None, str], list[Difference]] = defaultdict(list)
    for each in differences:
        found[each.cause, each.api, each.difference_class].append(each)
    counts = [
        CauseCount(
            cause=cause,
            api=api,
            difference_class=difference_class,
            targets=tuple(sorted({each.target for each in alike})),
            scenario_ids=tuple(sorted({each.scenario_id for each in alike})),
            finding_count=sum(not each.is_consequence for each in alike),
        )
        for (cause, api, difference_class), alike in found.items()
    ]
    return tuple(sorted(counts, key=lambda each: (-each.finding_count, each.cause)))


def latency_quantiles(events: Iterable[Event]) -> tuple[LatencyQuantile, ...]:
    """Compute quantiles of answer times by target, API and version, excluding polls and unknown times."""
    times: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for each in events:
        if each.kind == EventKind.RESPONSE and each.elapsed_ms is not None and each.api is not None:
            times[each.target, each.api, each.api_version or 0].append(each.elapsed_ms)
    return tuple(
        LatencyQuantile(
            target=target,
            api=api,
            api_version=version,
            response_count=len(ordered),
            p50_ms=_quantile(ordered, 0.5),
            p95_ms=_quantile(ordered, 0.95),
            p99_ms=_quantile(ordered, 0.99),
            max_ms=ordered[-1],
        )
        for (target, api, version), unordered in times.items()
        if (ordered := sorted(unordered))
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest values as Spark's `percentile` does."""
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def error_code_counts(events: Iterable[Event]) -> tuple[ErrorCodeCount, ...]:
    """Count error codes by target, API and version."""
    counts: Counter[tuple[str, str, int, str]] = Counter()
    for each in events:
        if each.kind == EventKind.RESPONSE and each.api is not None and each.canonical is not None:
            for code in _codes(each.canonical):
                counts[each.target, each.api, each.api_version or 0, code] += 1
    return tuple(
        ErrorCodeCount(target=target, api=api, api_version=version, error_code=code, response_count=count)
        for (target, api, version, code), count in counts.items()
    )


def _codes(canonical: str) -> Iterator[str]:
    """Yield an answer's own error code, or else each distinct one within it."""
    try:
        own = canonical_fields(canonical).get("error_code")
    except TraceError:
        own = None
    if own is None:
        yield from dict.fromkeys(_CODE_WITHIN.findall(canonical))
    else:
        yield own if isinstance(own, str) else json.dumps(own)


def request_counts(events: Iterable[Event]) -> Counter[str]:
    """Count requests by target."""
    return Counter(each.target for each in events if each.kind == EventKind.REQUEST)
