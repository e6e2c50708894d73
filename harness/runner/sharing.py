"""Which scripts may be run on one broker."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.scenario.ask import SESSION_TIMEOUT_MS
from harness.scenario.script import (
    Append,
    Control,
    DoToBroker,
    Elapse,
    PauseAt,
    ResumeFrom,
    Script,
    Send,
    StayParked,
    script_to_json,
)
from harness.scenario.values import Json
from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    Capability,
)
from harness.trace.schema import json_object

BROKER_GROUP_SIZE_MAX: Final = 24
"""How many conversations meet at a broker of which each keeps a thread: more would leave it none."""
MEETING_SIZE_MAX: Final = 64
"""How many meet at any other broker: the more they are, the longer each waits for the others."""
_WAITS_APART_MS: Final = 1_500
"""Conversations that wait for less before something is done to the broker need not tell it from none."""
BROKERS_A_CONFIG: Final = 2
"""How many brokers share the cohorts of one configuration, where they take long."""
_SESSION_MS_MIN: Final = int(CONFORMANCE_CONFIG["group.min.session.timeout.ms"])
_USUAL: Final = "{}"
_LONG_MS: Final = 40_000
"""What takes longer on one broker gets two: a JVM more costs less than the wait for the last one."""
_OFFSETS_TOPIC: Final = "__consumer_offsets"
_CUT_MS: Final = 3_000
"""What a broker takes to come back, roughly: cohorts are dealt out by it."""
_LENGTHENED_MS: Final = 6_000
"""What it takes beside that to make a log long and to load it, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """Scripts that a broker serves at once; the next cohort comes when all of them have ended."""

    scripts: Sequence[Script]
    acts: bool = False
    """Whether they do something to the broker, all of them the same."""
    clears: bool = False
    """Whether the coordinator's log is cleared behind them before the next cohort comes."""

    @property
    def duration_ms(self) -> int:
        """About how long it takes: as long as the longest of its conversations."""
        return max(map(_script_ms, self.scripts))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGroup:
    """Scripts that share a broker."""

    broker_config: Mapping[str, str] = field(default_factory=dict)
    """Properties that the broker is given for them."""
    breakpoints: frozenset[Breakpoint] = field(default=frozenset())
    """Where they pause it."""
    broker_actions: frozenset[BrokerAction] = field(default=frozenset())
    """What they do to it."""
    cohorts: Sequence[Cohort] = ()
    """One after the other."""

    @property
    def scripts(self) -> Sequence[Script]:
        """The scripts of all cohorts."""
        return [script for each in self.cohorts for script in each.scripts]

    @property
    def duration_ms(self) -> int:
        """About how long its cohorts take, one after the other."""
        return sum(each.duration_ms for each in self.cohorts)

    @property
    def does_something(self) -> bool:
        """Whether some of them do something to the broker."""
        return any(each.acts for each in self.cohorts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What is known of scripts beyond what they ask for, so that they need fewer brokers.

    Scenario ids are those of one target's scripts; who is not named runs with what it asked for.
    """

    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By scenario id, the configuration that it may be run with: what it asked for, and what others did."""
    alone: frozenset[str] = frozenset()
    """Who changes what others on the same broker are answered meanwhile, or whom they change."""
    to_clear: frozenset[str] = frozenset()
    """Behind whom the broker's log is cleared before others come."""
    final: frozenset[str] = frozenset()
    """Whose broker is of no use to others afterwards, even with its log cleared."""
    not_served: frozenset[str] = frozenset()
    """Who is about requests that the target's release does not serve."""


def broker_groups(
    scripts: Sequence[Script], capabilities: frozenset[Capability], packing: Packing | None = None
) -> Sequence[BrokerGroup]:
    """Group scripts by the broker that they want.

    A target whose brokers cannot be configured has one broker for all; what it cannot do to it, no script
    that is run on it does.

    Args:
        scripts: of a run.
        capabilities: of the target.
        packing: which of them may share a broker although they ask for different ones; without it, each
            configuration and each sequence of broker actions has one of its own.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Script]] = {}
    for script in scripts:
        config, actions = _wanted(script, capabilities, packing)
        groups.setdefault((json.dumps(config, sort_keys=True), actions), []).append(script)
    if packing is None or Capability.CLUSTER in capabilities:
        # A broker of a cluster that was killed stays down: each cohort has a fresh cluster.
        return [
            _broker_group(json_object(config_json, where="a configuration"), [each])
            for (config_json, actions), group in groups.items()
            for each in _cohorts(group, packing or Packing(), acts=bool(actions))
        ]
    cohorts: dict[tuple[str, bool], list[Cohort]] = {}
    for (config_json, actions), group in groups.items():
        # The many that only talk to a usual broker do so while others start; nobody acts on theirs.
        found = cohorts.setdefault((config_json, config_json == _USUAL and bool(actions)), [])
        found += _cohorts(group, packing, acts=bool(actions))
    return [
        _broker_group(json_object(config_json, where="a configuration"), some)
        for (config_json, _), found in cohorts.items()
        for some in _dealt(found, packing)
    ]


def brokers_json(
    scripts: Sequence[Script],
    capabilities: frozenset[Capability],
    packing: Packing,
    *,
    divided: Callable[[BrokerGroup], Sequence[BrokerGroup]] = lambda each: [each],
) -> dict[str, Json]:
    """Return which brokers a target's scripts get, as data: what a run's folder keeps of it.

    Args:
        scripts: of a run.
        capabilities: of the target.
        packing: of its scripts.
        divided: returns the groups that a group is divided into, if several brokers have its scripts.
    """
    brokers: list[Json] = [
        {
            "broker_config": dict(broker_group.broker_config),
            "cohorts": [[script.id for script in each.scripts] for each in broker_group.cohorts],
        }
        for whole in broker_groups(scripts, capabilities, packing)
        for broker_group in divided(whole)
    ]
    return {"brokers": brokers, "unpacked": len(broker_groups(scripts, capabilities))}


def asked_config(script: Script) -> Mapping[str, str]:
    """Return the properties that a script asks for and that not every broker is given anyway."""
    return dict(script.broker_config.items() - CONFORMANCE_CONFIG.items())


def applies(script: Script, capabilities: frozenset[Capability]) -> bool:
    """Tell whether a target can do what a script needs."""
    return capabilities.issuperset(Capability(name) for name in script.needs)


def acts_on_broker(script: Script) -> bool:
    """Tell whether a script does something to its broker."""
    return any(isinstance(step, DoToBroker | Append | PauseAt | ResumeFrom) for step in script.steps)


def takes_log_away(script: Script) -> bool:
    """Tell whether a script deletes the topic of all groups.

    The first Java coordinators serve groups on as if nothing had happened, and then fail to write: a look at
    another group in time shows nothing, and the reference has no such failure (KAFKA-19274).
    """
    return any(each.api == "DeleteTopics" for each in _about_offsets_topic(script))


def minds_its_partition(script: Script) -> bool:
    """Tell whether it may show in which partition of the offsets topic a script's groups are.

    It does not while all partitions are loaded and nobody speaks of the topic, as on a broker of others.
    """
    return bool(script.placements) or acts_on_broker(script) or any(_about_offsets_topic(script))


def _about_offsets_topic(script: Script) -> Iterator[Send]:
    return (each for each in script.steps if isinstance(each, Send) and _OFFSETS_TOPIC in repr(each.fields))


def _wanted(
    script: Script, capabilities: frozenset[Capability], packing: Packing | None
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the configuration that a script is run with, and its actions on the broker."""
    is_not_served = packing is not None and script.id in packing.not_served
    if Capability.BROKER_CONFIG not in capabilities or not applies(script, capabilities) or is_not_served:
        # Who is not applicable needs no broker: any will do to say so. A release that does not know the
        # requests may refuse to start with their configuration, too.
        return {}, ()
    config = None if packing is None else packing.configs.get(script.id)
    return asked_config(script) if config is None else config, tuple(_actions(script))


def _cohorts(group: Sequence[Script], packing: Packing, *, acts: bool) -> Iterator[Cohort]:
    """Divide scripts that ask for the same broker into those that it serves at once."""
    if acts:
        size = BROKER_GROUP_SIZE_MAX if Breakpoint.DEAD in _breakpoints(group) else MEETING_SIZE_MAX
        kinds = (packing.final, packing.to_clear)
        for kind in sorted({_membership(script, kinds) for script in group}):
            some = [script for script in group if _membership(script, kinds) == kind]
            yield from (
                Cohort(scripts=each, acts=True, clears=_clears(each, packing)) for each in _split(some, size)
            )
        return
    alone = {each.id: each for each in group if each.id in packing.alone or takes_log_away(each)}
    together = [script for script in group if script.id not in alone]
    if together:
        yield Cohort(scripts=together)
    for script in alone.values():
        yield Cohort(scripts=[script], clears=_clears([script], packing))


def _membership(script: Script, kinds: Iterable[frozenset[str]]) -> tuple[bool, ...]:
    return tuple(script.id in kind for kind in kinds)


def _clears(scripts: Iterable[Script], packing: Packing) -> bool:
    return any(script.id in packing.to_clear for script in scripts)


def _dealt(cohorts: Sequence[Cohort], packing: Packing) -> Sequence[Sequence[Cohort]]:
    """Deal cohorts of one configuration out to brokers; each ends with at most one that is final.

    The longest is dealt first, each to the broker that is through first.
    """
    final = [each for each in cohorts if any(script.id in packing.final for script in each.scripts)]
    others = [each for each in cohorts if each not in final]
    is_long = sum(each.duration_ms for each in cohorts) > _LONG_MS
    hands: list[list[Cohort]] = [[] for _ in range(max(len(final), BROKERS_A_CONFIG if is_long else 1))]
    ends = [[each] for each in final] + [[] for _ in range(len(hands) - len(final))]

    def load_ms(number: int) -> int:
        return sum(each.duration_ms for each in (*hands[number], *ends[number]))

    for each in sorted(others, key=lambda each: each.duration_ms, reverse=True):
        hands[min(range(len(hands)), key=load_ms)].append(each)
    # Whoever only talks comes first: a broker that was never restarted is the likest to a new one. Whoever
    # kills it comes last: it has a short session from then on, and a pause would have it fenced.
    return [
        [*sorted(hand, key=lambda each: (each.acts, _kills(each), -len(each.scripts))), *end]
        for hand, end in zip(hands, ends, strict=True)
    ]


def _kills(each: Cohort) -> bool:
    return any(action is BrokerAction.KILL for action in _broker_actions(each.scripts))


def _script_ms(script: Script) -> int:
    actions = [BrokerAction(step.lever) for step in script.steps if isinstance(step, DoToBroker)]
    cut_count = sum(each.cuts_connections for each in actions)
    return script.waiting_ms + _CUT_MS * cut_count + _LENGTHENED_MS * actions.count(BrokerAction.LENGTHEN)


def _broker_group(broker_config: Mapping[str, str], cohorts: Sequence[Cohort]) -> BrokerGroup:
    acting = [script for each in cohorts if each.acts for script in each.scripts]
    return BrokerGroup(
        broker_config=broker_config,
        breakpoints=frozenset(_breakpoints(acting)),
        broker_actions=frozenset(_broker_actions(acting)),
        cohorts=cohorts,
    )


def _split(group: Sequence[Script], size: int) -> Iterator[Sequence[Script]]:
    return (group[start : start + size] for start in range(0, len(group), size))


def _breakpoints(scripts: Iterable[Script]) -> Iterator[Breakpoint]:
    return (
        Breakpoint(step.point) for script in scripts for step in script.steps if isinstance(step, PauseAt)
    )


def _broker_actions(scripts: Iterable[Script]) -> Iterator[BrokerAction]:
    return (
        BrokerAction(step.lever)
        for script in scripts
        for step in script.steps
        if isinstance(step, DoToBroker)
    )


def _actions(script: Script) -> Iterator[str]:
    """Say what a script does to its broker, step by step, and what else keeps it from sharing one."""
    if not acts_on_broker(script):
        return
    steps = script_to_json(script)["steps"]
    assert isinstance(steps, list)
    waited_ms = 0
    for step, content in zip(script.steps, steps, strict=True):
        match step:
            case Elapse():
                waited_ms += step.duration_ms
            case StayParked():
                waited_ms += step.for_ms
            case DoToBroker() | Append() | PauseAt() | ResumeFrom():
                yield f"{_action(step, content, script)} after {waited_ms // _WAITS_APART_MS}"
                waited_ms = 0
            case _:
                continue
    if _minds_waiting(script) or takes_log_away(script):
        yield script.id


def _action(step: Control, content: Json, script: Script) -> str:
    """Say a deed, but for what each does by itself when all have met."""
    if isinstance(step, Append):
        return script.id if step.spoils else "Append"
    text = json.dumps(content, sort_keys=True)
    if not isinstance(step, PauseAt) or not step.of:
        return text
    places = {each.group: each.partition for each in script.placements}
    partitions = [places.get(group.name) for group in step.of]
    # A group that is wherever it came to be is not where another's of that name is.
    return f"{text} {script.id if None in partitions else partitions}"


def _minds_waiting(script: Script) -> bool:
    """Tell whether a script has members whose sessions would not outlive the others' conversations."""
    sessions_ms = [_session_ms(step) for step in script.steps if isinstance(step, Send)]
    # Who asks for less than the least becomes no member.
    return any(_SESSION_MS_MIN <= each_ms < SESSION_TIMEOUT_MS for each_ms in sessions_ms)


def _session_ms(step: Send) -> int:
    session_ms = step.fields.get("session_timeout_ms")
    return session_ms if isinstance(session_ms, int) else SESSION_TIMEOUT_MS
