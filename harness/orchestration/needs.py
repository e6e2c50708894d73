"""What scripts need of a broker of others beside what they ask for, as the reference shows.

Scripts of consumer groups take it that a target assignment is computed with each change, as brokers of the
harness are told. From Kafka 4.3 on others compute it at most once a second. Whether a script minds is tried
on the reference in virtual time.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.orchestration.packing import is_alike
from harness.orchestration.reference_runs import ReferenceRuns
from harness.orchestration.run_cache import cached
from harness.runner.sharing import asked_config
from harness.scenario.script import Script
from harness.targets.base.conformance import QUICK_CONSUMER_GROUPS
from harness.targets.base.interface import (
    BrokerDescription,
    TargetError,
)

_INTERVAL: Final = "group.consumer.assignment.interval.ms"
_PROTOCOL: Final = "ConsumerGroupHeartbeat"


async def with_needs(scripts: Sequence[Script], description: BrokerDescription) -> Sequence[Script]:
    """Return scripts that ask for the usual assignment interval if the broker's own makes a difference.

    Args:
        scripts: of a run.
        description: of a broker of others.
    """
    interval = description.broker_config.get(_INTERVAL)
    if interval is None or interval == QUICK_CONSUMER_GROUPS[_INTERVAL]:
        return scripts
    # Hundreds of conversations in virtual time would keep this loop from its timers.
    return await asyncio.to_thread(lambda: asyncio.run(_with_interval(scripts, description, interval)))


async def _with_interval(
    scripts: Sequence[Script], description: BrokerDescription, interval: str
) -> Sequence[Script]:
    try:
        runs = cached(ReferenceRuns(description.profile), description.profile)
    except TargetError:
        return scripts
    found = []
    for each in scripts:
        asked = asked_config(each)
        minds = (
            _PROTOCOL in each.apis
            and _INTERVAL not in asked
            and not await is_alike(each, {**asked, _INTERVAL: interval}, runs)
        )
        usual = {_INTERVAL: QUICK_CONSUMER_GROUPS[_INTERVAL]}
        found.append(replace(each, broker_config={**each.broker_config, **usual}) if minds else each)
    runs.keep()
    return found
