"""Fewer brokers for the same scripts: runs on the reference, in virtual time, show which may share one.

A script may run with properties that it did not ask for if its conversation on the reference is the same
with them, to the millisecond. It keeps every value that it did ask for. Two
scripts that ask for different values do not share a broker, since a fault of the target may occur with one
value and not with the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.orchestration.packings import may_not_be_usual
from harness.orchestration.reference_runs import is_alike
from harness.runner.broker_actions import acts_on_broker, minds_its_partition, takes_log_away
from harness.runner.sharing import BROKERS_A_CONFIG, Packing, asked_config
from harness.scenario.script import PauseAt, Script
from harness.targets.base.conformance import CHECK_INTERVAL, CONFORMANCE_CONFIG
from harness.targets.base.interface import Breakpoint, Capability
from shared_brokers.proofs import Left, Proofs

_COMMIT_TIMEOUT: Final[Mapping[str, str]] = {"offsets.commit.timeout.ms": "5000"}
"""A property that every writing script counts as asking for: on a busy machine, writes take long."""
_SIZE_LIMIT: Final = "message.max.bytes"
_ABOUT_WRITES: Final = frozenset({_SIZE_LIMIT, "min.insync.replicas", *_COMMIT_TIMEOUT})
_UNCOMPRESSED: Final[Mapping[str, str]] = {"offsets.topic.compression.codec": "0"}
"""A property that whoever asks for a limit of the size of records counts as asking for.

What is compressed fits; the reference measures records without compressing them.
"""
_ONE_PARTITION: Final[Mapping[str, str]] = {
    "offsets.topic.num.partitions": CONFORMANCE_CONFIG["offsets.topic.num.partitions"]
}
"""A property that a script counts as asking for if its conversation depends on its groups' partitions.

Each run gives a group another id, and so another partition: runs in virtual time cannot show the dependence.
"""

_LIMITS_OF_A_BROKER: Final = frozenset({"group.share.max.share.sessions"})
"""Properties that limit what all clients of a broker use together.

Runs in virtual time cannot show what others use: there each script is alone on its broker.
"""


@dataclass(slots=True, kw_only=True)
class _Bin:
    """Scripts that are to share a configuration."""

    scripts: list[Script]
    asked: Mapping[str, str]
    """The values that they ask for, including those that every broker is given anyway."""
    config: Mapping[str, str] = field(default_factory=dict)
    """The properties of their brokers beyond those that every broker is given."""


async def pack(scripts: Iterable[Script], runs: Proofs) -> Packing:
    """Find which scripts may share brokers.

    Args:
        scripts: all scripts; those for clusters have one each.
        runs: runs on the reference, in the profile of the brokers.
    """
    chosen = [each for each in scripts if may_not_be_usual(each) and Capability.CLUSTER not in each.needs]
    packed = [each for each in chosen if await runs.is_served(each)]
    writing = frozenset([script.id for script in packed if await _writes(script, runs)])
    bins = await _bins(packed, writing, runs)
    lefts = {script.id: await _left(script, each.config, runs) for each in bins for script in each.scripts}
    await _spread_spoilers(bins, lefts, writing, runs)
    configs = {script.id: each.config for each in bins for script in each.scripts}
    return Packing(
        configs=configs,
        alone=frozenset([each.id for each in packed if await _is_alone(each, configs[each.id], runs)]),
        to_clear=frozenset(name for name, left in lefts.items() if left is Left.TO_CLEAR),
        final=frozenset(name for name, left in lefts.items() if left is Left.SPOILT),
    )


async def _writes(script: Script, runs: Proofs) -> bool:
    """Return whether a script writes to the log, or asks for a property that can make a write fail."""
    asked = asked_config(script)
    return bool(asked.keys() & _ABOUT_WRITES) or await runs.writes(script, asked)


async def _is_alone(script: Script, config: Mapping[str, str], runs: Proofs) -> bool:
    """Return whether a script needs a broker alone; scripts that act on a broker share it with their like."""
    if acts_on_broker(script):
        return False
    if _limits_others(config):
        return True
    return await runs.disturbs(script, config) or await runs.minds_topics(script, config)


async def _left(script: Script, config: Mapping[str, str], runs: Proofs) -> Left:
    if not acts_on_broker(script) and not await runs.disturbs(script, config):
        return Left.CLEAN
    left = await runs.left(script, config)
    # A broker gets its log back before it coordinates again, which takes no time on the reference. Clearing
    # the log awaits both.
    return Left.TO_CLEAR if left is Left.CLEAN and takes_log_away(script) else left


async def _spread_spoilers(
    bins: Sequence[_Bin], lefts: dict[str, Left], writing: frozenset[str], runs: Proofs
) -> None:
    """Move scripts that spoil their broker to bins that have no such script, if their own has too many.

    Args:
        bins: changed in place.
        lefts: by scenario id; changed in place too.
        writing: the ids of the scripts that write to the log.
        runs: runs on the reference.
    """
    spoilt = {id(each): sum(lefts[one.id] is Left.SPOILT for one in each.scripts) for each in bins}
    for crowded in bins:
        for script in [one for one in crowded.scripts if lefts[one.id] is Left.SPOILT]:
            if spoilt[id(crowded)] <= BROKERS_A_CONFIG:
                break
            alone = _Bin(scripts=[script], asked=_asked([script], writing), config=asked_config(script))
            acting_first = sorted(bins, key=lambda each: not any(map(acts_on_broker, each.scripts)))
            for other in (each for each in acting_first if not spoilt[id(each)]):
                gives = alone.config.items() <= other.config.items() and not _conflict(alone, other)
                if gives and await is_alike(script, other.config, runs):
                    crowded.scripts.remove(script)
                    other.scripts.append(script)
                    spoilt[id(crowded)] -= 1
                    spoilt[id(other)] += 1
                    lefts[script.id] = await _left(script, other.config, runs)
                    break


async def _bins(scripts: Iterable[Script], writing: frozenset[str], runs: Proofs) -> list[_Bin]:
    """Put scripts that ask for the same properties into one bin, and merge bins, the largest first.

    Scripts that ask for nothing come last, one by one: one that notices a property then keeps no bins apart.
    """
    alike: dict[tuple[tuple[str, str], ...], list[Script]] = {}
    for script in scripts:
        alike.setdefault(tuple(sorted(asked_config(script).items())), []).append(script)
    asking_nothing = alike.pop((), [])
    bins: list[_Bin] = []
    for config, some in sorted(alike.items(), key=lambda item: (-len(item[1]), item[0])):
        one = _Bin(scripts=some, asked=_asked(some, writing), config=dict(config))
        if not await _joins(one, bins, runs):
            bins.append(one)
    left = [one for one in asking_nothing if not await _fits(one, bins, writing, runs)]
    return [*bins, _Bin(scripts=left, asked=_asked(left, writing))] if left else bins


async def _fits(script: Script, bins: Sequence[_Bin], writing: frozenset[str], runs: Proofs) -> bool:
    """Put a script into the largest bin whose properties it does not notice; return whether there is one."""
    one = _Bin(scripts=[script], asked=_asked([script], writing))
    for other in sorted(bins, key=lambda each: -len(each.scripts)):
        if not _conflict(one, other) and await is_alike(script, other.config, runs):
            other.scripts.append(script)
            other.asked = {**other.asked, **one.asked}
            return True
    return False


def _asked(scripts: Sequence[Script], writing: frozenset[str]) -> Mapping[str, str]:
    asked: dict[str, str] = {}
    for script in scripts:
        if script.id in writing:
            asked |= _COMMIT_TIMEOUT
    for script in scripts:
        if minds_its_partition(script):
            asked |= _ONE_PARTITION
        if _SIZE_LIMIT in script.broker_config:
            asked |= _UNCOMPRESSED
        asked |= script.broker_config
    return asked


async def _joins(one: _Bin, bins: Iterable[_Bin], runs: Proofs) -> bool:
    """Move a bin's scripts to the first that can share its configuration; return whether there is one."""
    for other in bins:
        if _conflict(one, other):
            continue
        config = {**other.config, **one.config}
        # The scripts of the other bin were checked already, unless a property is added.
        others = other.scripts if config != other.config else []
        if await _all_alike((*one.scripts, *others), config, runs):
            other.scripts += one.scripts
            other.asked = {**other.asked, **one.asked}
            other.config = config
            return True
    return False


def _conflict(one: _Bin, other: _Bin) -> bool:
    """Return whether two bins ask for values that one broker cannot have together.

    A pause where a coordinator removes a group also pauses its sweeps, which remove other scripts' groups.
    """
    if _limits_others(one.asked) or _limits_others(other.asked):
        return True
    if any(other.asked.get(name, value) != value for name, value in one.asked.items()):
        return True
    pauses_at_dead = any(map(_pauses_at_dead, (*one.scripts, *other.scripts)))
    return pauses_at_dead and CHECK_INTERVAL in {*one.asked, *other.asked}


def _limits_others(config: Mapping[str, str]) -> bool:
    return not _LIMITS_OF_A_BROKER.isdisjoint(config)


def _pauses_at_dead(script: Script) -> bool:
    return any(isinstance(step, PauseAt) and step.point == Breakpoint.DEAD for step in script.steps)


async def _all_alike(scripts: Iterable[Script], config: Mapping[str, str], runs: Proofs) -> bool:
    for script in scripts:
        if not await is_alike(script, config, runs):
            return False
    return True
