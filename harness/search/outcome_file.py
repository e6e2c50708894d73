"""Read and write the outcome of a search as a file, which another machine may read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.diff.model import Difference
from harness.search.corpus import Kept, kept_from_json, kept_to_json
from harness.search.coverage import Pair
from harness.search.hunt import Cluster, Harvest, scripted
from harness.search.shrinking import Candidate
from harness.search.target_hunt import Losses
from harness.search.written import Written
from harness.trace.files import write_whole
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A cluster, and its scenario."""

    cluster: Cluster
    written: Written


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """The outcome of a search, or of a share of one."""

    harvest: Harvest
    """The results; the clusters are those of `findings`."""
    findings: tuple[Finding, ...]
    losses: Losses
    attempt: int = 0
    """How often the share was begun before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredCluster:
    candidate: Mapping[str, object]
    difference: Difference
    behaviours: tuple[str, ...]
    seed: str
    after_steps: int
    beside: tuple[str, ...]
    count: int
    written: Written | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    found: tuple[_StoredCluster, ...]
    mixtures: tuple[_StoredCluster, ...]
    conversations: int
    steps: int
    shrinking_runs: int
    pairs: tuple[Pair, ...]
    branches: int
    comparing_s: float
    flaky: tuple[tuple[str, int], ...]
    broken_off: Mapping[str, int]
    lost: str | None
    attempt: int


_STORED: Final = TypeAdapter(_Stored)


def write_outcome(path: Path, outcome: SearchOutcome) -> None:
    """Write the outcome of a search."""
    harvest, losses = outcome.harvest, outcome.losses
    stored = _Stored(
        found=tuple(_stored(each.cluster, each.written) for each in outcome.findings),
        mixtures=tuple(_stored(each, None) for each in harvest.mixtures),
        conversations=harvest.conversations,
        steps=harvest.steps,
        shrinking_runs=harvest.shrinking_runs,
        pairs=tuple(harvest.pairs),
        branches=harvest.branches,
        comparing_s=harvest.comparing_s,
        flaky=tuple(losses.flaky.items()),
        broken_off=losses.broken_off,
        lost=losses.lost,
        attempt=outcome.attempt,
    )
    write_whole(path, _STORED.dump_json(stored).decode())


def read_outcome(path: Path) -> SearchOutcome:
    """Read the outcome of a search.

    Raises:
        TraceError: the file is damaged.
    """
    try:
        stored = _STORED.validate_json(read_plain(path))
    except ValidationError as error:
        raise TraceError(f"{path}: {error.error_count()} fields of it are wrong") from error
    found = [(_cluster(each, is_mixture=False), each.written) for each in stored.found]
    harvest = Harvest(
        clusters=[cluster for cluster, _ in found],
        mixtures=[_cluster(each, is_mixture=True) for each in stored.mixtures],
        conversations=stored.conversations,
        steps=stored.steps,
        shrinking_runs=stored.shrinking_runs,
        pairs=frozenset(stored.pairs),
        branches=stored.branches,
        comparing_s=stored.comparing_s,
    )
    return SearchOutcome(
        harvest=harvest,
        findings=tuple(
            Finding(cluster=cluster, written=written) for cluster, written in found if written is not None
        ),
        losses=Losses(flaky=dict(stored.flaky), broken_off=dict(stored.broken_off), lost=stored.lost),
        attempt=stored.attempt,
    )


def _stored(cluster: Cluster, written: Written | None) -> _StoredCluster:
    candidate = cluster.candidate
    kept = Kept(moves=candidate.moves, broker_config=candidate.broker_config)
    return _StoredCluster(
        candidate=kept_to_json(kept),
        difference=cluster.difference,
        behaviours=cluster.behaviours,
        seed=cluster.seed,
        after_steps=cluster.after_steps,
        beside=cluster.beside,
        count=cluster.count,
        written=written,
    )


def _cluster(stored: _StoredCluster, *, is_mixture: bool) -> Cluster:
    kept = kept_from_json(stored.candidate)
    candidate = Candidate(moves=kept.moves, broker_config=kept.broker_config)
    script = scripted(candidate)
    assert script is not None, "what was found can be said"
    return Cluster(
        difference=stored.difference,
        behaviours=stored.behaviours,
        candidate=candidate,
        script=script,
        seed=stored.seed,
        after_steps=stored.after_steps,
        beside=stored.beside,
        is_mixture=is_mixture,
        count=stored.count,
    )


def merged(outcomes: Iterable[SearchOutcome]) -> SearchOutcome:
    """Merge the outcomes of a search's shares: findings with the same cause become one.

    The shortest conversation of a cause is kept.
    """
    total, losses = Harvest(), Losses()
    findings: dict[object, Finding] = {}
    mixtures: dict[object, Cluster] = {}
    pairs: set[Pair] = set()
    for outcome in outcomes:
        for each in outcome.findings:
            known = findings.get(key := _cause(each.cluster))
            findings[key] = each if known is None else _joined(known, each)
        for mixture in outcome.harvest.mixtures:
            mixtures.setdefault(_cause(mixture), mixture)
        _add(total, outcome.harvest)
        pairs.update(outcome.harvest.pairs)
        _add_losses(losses, outcome.losses)
    total.clusters = [each.cluster for each in findings.values()]
    total.mixtures = [*mixtures.values()]
    total.pairs = pairs
    return SearchOutcome(harvest=total, findings=tuple(findings.values()), losses=losses)


def _cause(cluster: Cluster) -> object:
    """Return the key by which clusters are merged; one search finds each set of behaviours only once."""
    return cluster.behaviours or cluster.difference.cause


def _joined(one: Finding, other: Finding) -> Finding:
    shorter = min(one, other, key=lambda each: len(each.cluster.script.steps))
    count = one.cluster.count + other.cluster.count
    return replace(shorter, cluster=replace(shorter.cluster, count=count))


def _add(total: Harvest, harvest: Harvest) -> None:
    total.conversations += harvest.conversations
    total.steps += harvest.steps
    total.shrinking_runs += harvest.shrinking_runs
    total.comparing_s += harvest.comparing_s
    # Outcomes do not list which branches were taken, so the largest count is a lower bound.
    total.branches = max(total.branches, harvest.branches)


def _add_losses(total: Losses, losses: Losses) -> None:
    for cause, count in losses.flaky.items():
        total.flaky[cause] = total.flaky.get(cause, 0) + count
    for reason, count in losses.broken_off.items():
        total.broken_off[reason] = total.broken_off.get(reason, 0) + count
    total.lost = total.lost or losses.lost
