"""Settings that scripts need of an external broker besides those they ask for, found on the reference.

The harness's own brokers let members of the newer group types join, be assigned and be fenced at once, and
scripts rely on this. External brokers have delays, and bounds on a group's configuration. Whether a script
depends on them is tried on the reference in virtual time.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from harness.orchestration.reference_runs import ReferenceRuns, is_alike
from harness.orchestration.run_cache import KnownTexts, cache_file, code_digest, digest_of
from harness.runner.sharing import asked_config
from harness.scenario.script import Script
from harness.targets.base.conformance import QUICK_CONSUMER_GROUPS
from harness.targets.base.interface import (
    BrokerDescription,
    TargetError,
)

_USUAL: Final = {name: value for name, value in QUICK_CONSUMER_GROUPS.items() if not name.endswith(".enable")}
_PROTOCOLS: Final = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})


async def with_needs(scripts: Sequence[Script], description: BrokerDescription) -> Sequence[Script]:
    """Return scripts that ask for usual settings where the broker's own make a difference.

    Args:
        scripts: the scripts of a run.
        description: describes an external broker.
    """
    reported = description.broker_config
    other = {name: reported[name] for name in _USUAL if reported.get(name, _USUAL[name]) != _USUAL[name]}
    if not other:
        return scripts
    # Hundreds of conversations in virtual time would delay the timers of this event loop.
    return await asyncio.to_thread(lambda: asyncio.run(_with_usual(scripts, description, other)))


async def _with_usual(
    scripts: Sequence[Script], description: BrokerDescription, other: Mapping[str, str]
) -> Sequence[Script]:
    try:
        runs = ReferenceRuns(description.profile)
    except TargetError:
        return scripts
    known = KnownTexts(cache_file("needs", description.profile), code_digest())
    found = []
    for each in scripts:
        minded: Collection[str] = ()
        if _PROTOCOLS.intersection(each.apis):
            key = digest_of([each.digest(), *sorted(f"{name}={value}" for name, value in other.items())])
            if key not in known:
                known[key] = " ".join(await _minded(each, other, runs))
            minded = known[key].split()
        usual = {name: _USUAL[name] for name in minded}
        found.append(replace(each, broker_config={**each.broker_config, **usual}) if minded else each)
    known.keep()
    return found


async def _minded(script: Script, other: Mapping[str, str], runs: ReferenceRuns) -> Collection[str]:
    """Return which settings make a difference: each that does so alone, or all if they only do together."""
    asked = asked_config(script)
    unasked = {name: value for name, value in other.items() if name not in asked}
    if await is_alike(script, {**asked, **unasked}, runs):
        return ()
    alone = [
        name for name, value in unasked.items() if not await is_alike(script, {**asked, name: value}, runs)
    ]
    return alone or tuple(unasked)
