"""Which scripts of a run share brokers, from the table that `tools/brokers.py` wrote."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from harness.orchestration.reference_runs import ReferenceRuns
from harness.runner.broker_actions import acts_on_broker, takes_log_away
from harness.runner.sharing import Packing, applies, asked_config
from harness.scenario.script import Script
from harness.tables import Table, read_table
from harness.targets.base.interface import Capability, Target, TargetError
from harness.targets.reference.target import DEFAULT_PROFILE, reference_profile

_FIRST_JAVA: Final = (4, 0)
_JAVA_BY_CHOICE: Final = "-java"


class _Sharing(Table):
    scenarios: tuple[str, ...]
    config: Mapping[str, str] = {}


class _Brokers(Table):
    alone: frozenset[str]
    to_clear: frozenset[str]
    final: frozenset[str]
    brokers: tuple[_Sharing, ...]


@cache
def known_packings() -> Mapping[tuple[int, int], Packing]:
    """Return which scenarios of the suites share brokers, by release, the oldest first."""
    return {
        reference_profile(release).version[:2]: Packing(
            configs={name: each.config for each in read.brokers for name in each.scenarios},
            alone=read.alone,
            to_clear=read.to_clear,
            final=read.final,
        )
        for release, read in read_table("suites", "brokers.toml", dict[str, _Brokers]).items()
    }


def packings(
    scripts: Sequence[Script], targets: Sequence[Target], *, merges: bool = True
) -> Mapping[str, Packing]:
    """Return which scripts share brokers, for each target by its name.

    A target whose profile is only known once it has started is treated like the newest release. A script that
    is not in the table, or that asks for something else by now, shares its broker with none. The in-process
    reference, which has a coordinator for each script anyway, is none of the targets. With `merges`, scripts
    may run with properties that others asked for.
    """
    return {each.name: _packing(scripts, each, merges=merges) for each in targets}


def _packing(scripts: Sequence[Script], target: Target, *, merges: bool) -> Packing:
    if Capability.BROKER_CONFIG not in target.capabilities:
        return Packing()
    unusual = [each for each in scripts if applies(each, target.capabilities) and may_not_be_usual(each)]
    profile = target.foreseen_profile or DEFAULT_PROFILE
    try:
        known = _known(profile)
        not_served = asyncio.run(_not_served(unusual, ReferenceRuns(profile)))
    except TargetError:
        return _with_new(Packing(), unusual)
    served = [each for each in unusual if each.id not in not_served]
    packing = _with_new(known, served)
    return Packing(
        configs=_configs(packing, served) if merges else {},
        alone=packing.alone - not_served,
        to_clear=packing.to_clear - not_served,
        final=packing.final - not_served,
        not_served=not_served,
    )


def _known(profile: str) -> Packing:
    """Return the packing of the newest release that is not newer than a profile, of the same coordinator.

    Its patches are alike. A script that this release does not serve is packed as in the first that does.
    """
    version = reference_profile(profile).version[:2]
    if profile.endswith(_JAVA_BY_CHOICE):
        version = max(version, _FIRST_JAVA)
    releases = known_packings()
    before = [release for release in releases if release <= version] or [min(releases)]
    known = Packing()
    for release, packing in releases.items():
        if release >= before[-1]:
            known = _joined(known, packing)
    return known


def _joined(known: Packing, later: Packing) -> Packing:
    """Add what a later release's packing has besides."""
    new = later.configs.keys() - known.configs.keys()
    return Packing(
        configs={**later.configs, **known.configs},
        alone=known.alone | later.alone & new,
        to_clear=known.to_clear | later.to_clear & new,
        final=known.final | later.final & new,
    )


def _configs(packing: Packing, scripts: Iterable[Script]) -> Mapping[str, Mapping[str, str]]:
    """Return the properties of brokers by scenario, without those that none of the scripts asks for."""
    sharing: dict[tuple[tuple[str, str], ...], list[Script]] = {}
    for each in scripts:
        if each.id in packing.configs:
            sharing.setdefault(tuple(sorted(packing.configs[each.id].items())), []).append(each)
    return {
        each.id: {name: value for one in some for name, value in asked_config(one).items()}
        for some in sharing.values()
        for each in some
    }


async def _not_served(scripts: Iterable[Script], runs: ReferenceRuns) -> frozenset[str]:
    return frozenset([each.id for each in scripts if not await runs.is_served(each)])


def may_not_be_usual(script: Script) -> bool:
    """Return whether a script may need another broker than the usual one that most scripts share."""
    return bool(asked_config(script)) or acts_on_broker(script) or takes_log_away(script)


def _with_new(known: Packing, scripts: Iterable[Script]) -> Packing:
    """Add scripts of which nothing is known: each is alone on a broker with what it asks for."""
    new = {
        each.id: each
        for each in scripts
        if (config := known.configs.get(each.id)) is None or not asked_config(each).items() <= config.items()
    }
    return Packing(
        configs={name: config for name, config in known.configs.items() if name not in new},
        alone=known.alone | {name for name, each in new.items() if not acts_on_broker(each)},
        to_clear=known.to_clear - new.keys(),
        final=known.final | new.keys(),
    )
