"""The packings of a run's targets, computed for several profiles at once if they are not cached yet."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.orchestration.packing import may_not_be_usual, pack
from harness.orchestration.reference_runs import ReferenceRuns
from harness.orchestration.run_cache import cached, is_known
from harness.runner.broker_actions import acts_on_broker
from harness.runner.sharing import Packing, asked_config
from harness.scenario.script import Script
from harness.targets.base.interface import Capability, Target, TargetError
from harness.targets.reference.target import DEFAULT_PROFILE
from harness.workers import workers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a packing depends on besides the scripts."""

    profile: str
    capabilities: frozenset[Capability]
    merges: bool


def packings(
    scripts: Sequence[Script], targets: Sequence[Target], *, merges: bool = True
) -> Mapping[str, Packing]:
    """Find which scripts may share brokers, for each target by its name.

    The results of runs on a profile's reference are cached for the next run. A target whose profile is only
    known once it has started is treated like the newest release.

    Args:
        scripts: the scripts of a run.
        targets: all targets except the in-process reference, which has a coordinator for each script anyway.
        merges: whether scripts may run with properties that others asked for.
    """
    wanted = {
        target.name: _Wanted(
            profile=target.foreseen_profile or DEFAULT_PROFILE,
            capabilities=target.capabilities,
            merges=merges,
        )
        for target in targets
    }
    distinct = list(dict.fromkeys(wanted.values()))
    if len(distinct) < 2 or all(is_known(each.profile) for each in distinct):
        found = [_packing(scripts, each) for each in distinct]
    else:
        with workers(len(distinct)) as pool:
            found = list(pool.map(_packing, [scripts] * len(distinct), distinct))
    by_wanted = dict(zip(distinct, found, strict=True))
    return {name: by_wanted[each] for name, each in wanted.items()}


def _packing(scripts: Sequence[Script], wanted: _Wanted) -> Packing:
    try:
        runs = cached(ReferenceRuns(wanted.profile), wanted.profile)
    except TargetError:
        return _nobody_shares(scripts)
    packing = asyncio.run(pack(scripts, wanted.capabilities, runs, merges=wanted.merges))
    runs.keep()
    return packing


def _nobody_shares(scripts: Sequence[Script]) -> Packing:
    """Return a safe packing for a profile that the reference lacks, where nothing is known of any script."""
    return Packing(
        alone=frozenset(each.id for each in scripts if asked_config(each) and not acts_on_broker(each)),
        final=frozenset(each.id for each in scripts if may_not_be_usual(each)),
    )
