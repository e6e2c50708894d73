"""Real ids for the groups of a script, where asked for in a certain partition of `__consumer_offsets`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Final

from harness.scenario.script import Append, Hold, Placement, Script, Step
from harness.scenario.values import GroupRef, Pattern
from harness.targets.base import BrokerDescription

_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"
_TRIES_A_PARTITION: Final = 200
_INT: Final = 1 << 32
_INT_MIN_UNSIGNED: Final = 1 << 31


def num_partitions(description: BrokerDescription) -> int | None:
    """Return how many partitions groups are spread over, as the broker tells, if it does."""
    told = description.broker_config.get(_NUM_PARTITIONS, "")
    return int(told) if told.isdecimal() and int(told) else None


def why_not_placeable(script: Script, description: BrokerDescription) -> str | None:
    """Return why a script's groups cannot be where it wants them, or None if they can."""
    if not (script.placements or any(map(_minds, script.steps))):
        return None
    partitions = num_partitions(description)
    if partitions is None:
        return f"{description.spec} does not tell {_NUM_PARTITIONS}, so nobody knows where groups are"
    if partitions <= max((each.partition or 0 for each in script.placements), default=0):
        return f"{description.spec} has only {partitions} partitions of __consumer_offsets"
    if partitions == 1 and any(each.apart_from is not None for each in script.placements):
        return f"{description.spec} has all groups in one partition of __consumer_offsets"
    return None


def _minds(step: Step) -> bool:
    return isinstance(step, Append) or (isinstance(step, Hold) and bool(step.of))


def group_ids(script: Script, *, run_id: str, partitions: int | None) -> Mapping[str, str]:
    """Give every group of a script an id that no other scenario, and no other run, has.

    Args:
        script: names the groups, and says where some of them are to be.
        run_id: of the run.
        partitions: how many there are; where that is not known, groups are wherever they come to be.
    """
    slug = script.id.replace("/", ".")
    placements = {each.group: each for each in script.placements}
    ids: dict[str, str] = {}
    for name in _in_order(group_names(script), placements):
        ids[name] = f"{run_id}.{slug}.{name}"
        if partitions is not None and name in placements:
            ids[name] = _placed(ids[name], placements[name], ids, partitions)
    return ids


def _in_order(names: Sequence[str], placements: Mapping[str, Placement]) -> list[str]:
    """Put groups behind those that they are placed by; a script's own order is one that can be met."""
    return [*(name for name in names if name not in placements), *placements]


def _placed(group_id: str, placement: Placement, ids: Mapping[str, str], partitions: int) -> str:
    """Return the first id of those with a number behind them that is where it is to be."""
    candidates = (f"{group_id}.{number}" for number in count(1))
    for candidate in islice(candidates, _TRIES_A_PARTITION * partitions):
        if _is_right(partition_of(candidate, partitions), placement, ids, partitions):
            return candidate
    raise AssertionError(f"none of {_TRIES_A_PARTITION * partitions} ids is where {placement} wants it")


def _is_right(partition: int, placement: Placement, ids: Mapping[str, str], partitions: int) -> bool:
    if placement.partition is not None and partition != placement.partition:
        return False
    if placement.beside is not None and partition != partition_of(ids[placement.beside], partitions):
        return False
    apart_from = placement.apart_from
    return apart_from is None or partition != partition_of(ids[apart_from], partitions)


def partition_of(group_id: str, partitions: int) -> int:
    """Return the partition that keeps a group.

    Source: GroupMetadataManager#partitionFor, String#hashCode, Utils#abs (3.9.2), for which the most negative
    number becomes 0.
    """
    units = group_id.encode("utf-16-be")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + int.from_bytes(units[at : at + 2])) % _INT
    if hashed == _INT_MIN_UNSIGNED:
        return 0
    return (hashed if hashed < _INT_MIN_UNSIGNED else _INT - hashed) % partitions


def group_names(script: Script) -> tuple[str, ...]:
    """Return the symbolic names of a script's groups, in the order of their first mention."""
    found = dict.fromkeys(("main",))
    for step in script.steps:
        for name in ("fields", "until", "group", "records", "of"):
            found.update(dict.fromkeys(_named(getattr(step, name, None))))
    for each in script.placements:
        found.update(dict.fromkeys((each.group, *each.others)))
    return tuple(found)


def _named(value: Pattern) -> Iterator[str]:
    if isinstance(value, GroupRef):
        yield value.name
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _named(item)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _named(item)
