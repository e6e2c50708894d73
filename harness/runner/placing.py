"""Real ids for the groups of a script, in a certain partition of `__consumer_offsets` if it asks for one."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Final

from harness.apis.table import descriptor, fields_of
from harness.scenario.script import Append, PauseAt, Placement, Repeat, Script, Send, Step
from harness.scenario.values import GroupRef, Pattern, TopicId
from harness.targets.base.clearing import clear_log
from harness.targets.base.interface import Broker, BrokerDescription, closing
from harness.targets.base.java_hash import partition_of
from harness.targets.base.layout import GROUP_ALONE, Coordinated, Layout
from harness.targets.external.run_namespace import RunNamespace

_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"
FIRST_OF_NAMES: Final = "0"
"""How the names of groups begin, so that they come before a script's own topics, whatever the run's id is.

Scripts also name topics by groups, and Kafka orders topics by name in some answers.
"""
_TRIES_A_PARTITION: Final = 200
_CLEAR_MS: Final = 30_000.0
_NAMES_A_PRODUCER: Final = fields_of(lambda api: api.transactions)
_PRODUCER_KEY: Final = 1
"""Source: CoordinatorType.TRANSACTION."""


def num_partitions(description: BrokerDescription) -> int | None:
    """Return the number of partitions that groups are spread over; None if the broker does not report it."""
    reported = description.broker_config.get(_NUM_PARTITIONS, "")
    return int(reported) if reported.isdecimal() and int(reported) else None


async def clear_log_of(broker: Broker) -> None:
    """Clear a broker's coordinator log in all of its partitions."""
    async with closing(broker.open_session("between-cohorts")) as session:
        await clear_log(session, partitions=num_partitions(broker.description) or 1, timeout_ms=_CLEAR_MS)


def why_not_placeable(
    script: Script, description: BrokerDescription, run_namespace: RunNamespace | None = None
) -> str | None:
    """Return why a script's groups cannot be where it asks for, or on its broker; None if they can."""
    is_placed = bool(script.placements) or any(map(_minds, script.steps))
    why_not = _why_not_in_partitions(script, description) if is_placed else None
    if why_not is None and run_namespace is not None:
        return _why_not_at_home(script, run_namespace.layout)
    return why_not


def _why_not_in_partitions(script: Script, description: BrokerDescription) -> str | None:
    partitions = num_partitions(description)
    if partitions is None:
        return f"{description.spec} does not report {_NUM_PARTITIONS}, so the groups' partitions are unknown"
    if partitions <= max((each.partition or 0 for each in script.placements), default=0):
        return f"{description.spec} has only {partitions} partitions of __consumer_offsets"
    if partitions == 1 and any(each.apart_from is not None for each in script.placements):
        return f"{description.spec} has all groups in one partition of __consumer_offsets"
    return None


def _why_not_at_home(script: Script, layout: Layout) -> str | None:
    """Return why the broker on which a script runs cannot coordinate all of its names."""
    home = layout.home_of(script.id).node_id
    for kinds in set(kinds_of_names(script).values()):
        if not layout.can_coordinate(home, kinds):
            return "no broker of the cluster coordinates both its groups and its producers"
    led = [partition for partition, leader in enumerate(layout.offsets) if leader == home]
    if len(layout.nodes) == 1 or not led:
        return None
    if any(each.partition not in {None, *led} for each in script.placements):
        return f"broker {home}, on which it would run, does not lead the partition that its groups need"
    if len(led) == 1 and any(each.apart_from is not None for each in script.placements):
        return f"broker {home}, on which it would run, has all groups in one partition"
    return None


def _minds(step: Step) -> bool:
    return isinstance(step, Append) or (isinstance(step, PauseAt) and bool(step.of))


def group_ids(
    script: Script,
    *,
    run_id: str,
    partitions: int | None,
    prefix: str = "",
    at_home: Callable[[Collection[Coordinated], str], bool] = lambda *_: True,
) -> Mapping[str, str]:
    """Return an id for every group of a script, which no other scenario and no other run uses.

    Args:
        script: names the groups, and places some of them in partitions.
        run_id: the run; empty if the prefix has it.
        partitions: the number of partitions; if None, groups are not placed.
        prefix: what the names of the run's topics begin with, too.
        at_home: returns whether the broker on which the script runs coordinates an id as some kinds.
    """
    begin = ".".join(filter(None, (FIRST_OF_NAMES, run_id, script.id.replace("/", "."))))
    placements = {each.group: each for each in script.placements}
    kinds = kinds_of_names(script)
    ids: dict[str, str] = {}
    for name in _in_order(group_names(script), placements):
        is_home = partial(at_home, kinds.get(name, GROUP_ALONE))
        ids[name] = _placed(f"{prefix}{begin}.{name}", placements.get(name), ids, partitions, is_home)
    return ids


def _in_order(names: Sequence[str], placements: Mapping[str, Placement]) -> list[str]:
    """Put groups after those that they are placed by, for which a script's own order of placements works."""
    return [*(name for name in names if name not in placements), *placements]


def _placed(
    group_id: str,
    placement: Placement | None,
    ids: Mapping[str, str],
    partitions: int | None,
    is_home: Callable[[str], bool],
) -> str:
    """Return the id itself, or the first one with a number appended, that is in the right place."""
    is_placed = partitions is not None and placement is not None
    numbered = (f"{group_id}.{number}" for number in count(1))
    limit = _TRIES_A_PARTITION * (partitions or 1)
    for candidate in islice(numbered if is_placed else chain((group_id,), numbered), limit):
        if is_home(candidate) and _is_right(candidate, placement, ids, partitions):
            return candidate
    raise AssertionError(f"none of {limit} ids is where {placement or 'its scenario'} wants it")


def _is_right(
    group_id: str, placement: Placement | None, ids: Mapping[str, str], partitions: int | None
) -> bool:
    if placement is None or partitions is None:
        return True
    partition = partition_of(group_id, partitions)
    if placement.partition is not None and partition != placement.partition:
        return False
    if placement.beside is not None and partition != partition_of(ids[placement.beside], partitions):
        return False
    apart_from = placement.apart_from
    return apart_from is None or partition != partition_of(ids[apart_from], partitions)


def kinds_of_names(script: Script) -> Mapping[str, frozenset[Coordinated]]:
    """Return as what a script's requests use each of its names: as a group, as a producer, or as both."""
    kinds: dict[str, frozenset[Coordinated]] = {}
    for step in script.steps:
        if not isinstance(step, Send | Repeat):
            continue
        finds_producer = step.fields.get("key_type") == _PRODUCER_KEY
        of_producer = {*_NAMES_A_PRODUCER, *(descriptor(step.api).groups if finds_producer else ())}
        for field, name in _named_by_field(step.fields):
            kind = Coordinated.PRODUCER if field in of_producer else Coordinated.GROUP
            kinds[name] = kinds.get(name, frozenset()) | {kind}
    return kinds


def group_names(script: Script) -> tuple[str, ...]:
    """Return the symbolic names of a script's groups, in the order of their first mention."""
    found = dict.fromkeys(("main",))
    for step in script.steps:
        for name in ("fields", "until", "group", "records", "of"):
            found.update(dict.fromkeys(_named(getattr(step, name, None))))
    for each in script.placements:
        found.update(dict.fromkeys((each.group, *each.others)))
    return tuple(found)


def _named_by_field(fields: Mapping[str, Pattern]) -> Iterator[tuple[str, str]]:
    for field, value in fields.items():
        for each in value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else (value,):
            if isinstance(each, Mapping):
                yield from _named_by_field(each)
            else:
                yield from ((field, name) for name in _named(each))


def _named(value: Pattern) -> Iterator[str]:
    if isinstance(value, GroupRef):
        yield value.name
    elif isinstance(value, TopicId):
        yield from _named(value.name if isinstance(value.name, GroupRef) else None)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _named(item)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _named(item)
