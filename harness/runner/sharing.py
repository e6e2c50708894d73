"""Which scripts may be run on one broker."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from harness.apis.descriptor import Access
from harness.apis.table import descriptor
from harness.runner.broker_actions import (
    actions_on_broker,
    acts_on_broker,
    spoils,
    takes_log_away,
    waits_at_its_end,
)
from harness.scenario.script import DoToBroker, PauseAt, Script, Send
from harness.scenario.values import Json
from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    Capability,
)
from harness.trace.schema import json_object

BROKER_GROUP_SIZE_MAX: Final = 24
"""How many conversations meet at a broker if each blocks one of its threads: more would block all."""
MEETING_SIZE_MAX: Final = 160
"""How many conversations meet at any other broker: the more meet, the longer each waits for the rest."""
BROKERS_A_CONFIG: Final = 2
"""How many brokers share the cohorts of one configuration, if these take long."""
_USUAL: Final = "{}"
_LONG_MS: Final = 40_000
"""Cohorts that take longer get two brokers: one more JVM costs less than the wait for the last cohort."""
_CUT_MS: Final = 3_000
"""Roughly how long a broker takes to come back, for dealing out cohorts."""
_LENGTHENED_MS: Final = 6_000
"""Roughly how long it takes in addition to lengthen a log and to load it."""


_Wanted: TypeAlias = tuple[str, tuple[str, ...]]
"""The configuration of a broker, as JSON, and what is done to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """Scripts that run on a broker at once; the next cohort begins when all of them have ended."""

    scripts: Sequence[Script]
    acts: bool = False
    """Whether the scripts act on the broker, all in the same way."""
    clears: bool = False
    """Whether the coordinator's log is cleared after them, before the next cohort begins."""

    @property
    def duration_ms(self) -> int:
        """About how long the cohort takes: as long as the longest of its conversations."""
        return max(map(_script_ms, self.scripts))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGroup:
    """Scripts that share a broker."""

    broker_config: Mapping[str, str] = field(default_factory=dict)
    """The properties that the broker is given for the scripts."""
    breakpoints: frozenset[Breakpoint] = field(default=frozenset())
    """Where the scripts pause the broker."""
    broker_actions: frozenset[BrokerAction] = field(default=frozenset())
    """What else the scripts do to the broker."""
    cohorts: Sequence[Cohort] = ()
    """The cohorts, which run one after the other."""

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
        """Whether some of the scripts act on the broker."""
        return any(each.acts for each in self.cohorts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What is known of scripts beyond the properties that they ask for, so that they need fewer brokers.

    Scripts are named by scenario id, for one target. One without an entry runs with what it asks for.
    """

    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By scenario id, the configuration to run it with: the properties that it and others asked for."""
    alone: frozenset[str] = frozenset()
    """Scripts that change the answers to others on the same broker, or whose answers others change."""
    to_clear: frozenset[str] = frozenset()
    """Scripts after which the broker's log is cleared before others run."""
    final: frozenset[str] = frozenset()
    """Scripts after which the broker is of no use to others, even with its log cleared."""
    not_served: frozenset[str] = frozenset()
    """Scripts about requests that the target's release does not serve."""


def broker_groups(
    scripts: Sequence[Script], capabilities: frozenset[Capability], packing: Packing | None = None
) -> Sequence[BrokerGroup]:
    """Group scripts by the broker that they need.

    A target whose brokers cannot be configured has one broker for all scripts; a script with a broker action
    that the target does not support is not run on it.

    Args:
        scripts: the scripts of a run.
        capabilities: the target's capabilities.
        packing: which scripts may share a broker although they ask for different ones; without it, each
            configuration and each sequence of broker actions has its own broker.
    """
    if Capability.BROKER_CONFIG not in capabilities:
        return [_one_broker(scripts, capabilities, packing or Packing())]
    groups: dict[_Wanted, list[Script]] = {}
    for script in scripts:
        config, actions = _wanted(script, capabilities, packing)
        groups.setdefault((json.dumps(config, sort_keys=True), actions), []).append(script)
    if packing is not None:
        groups = _with_beginnings(groups)
    if packing is None or Capability.CLUSTER in capabilities:
        # A killed broker of a cluster stays down, so each cohort has a fresh cluster.
        return [
            _broker_group(json_object(config_json, where="a configuration"), [each])
            for (config_json, actions), group in groups.items()
            for each in _cohorts(group, packing or Packing(), acts=bool(actions))
        ]
    cohorts: dict[tuple[str, bool], list[Cohort]] = {}
    for (config_json, actions), group in groups.items():
        # The many scripts that need a usual broker run while others start; no script acts on their broker.
        found = cohorts.setdefault((config_json, config_json == _USUAL and bool(actions)), [])
        found += _cohorts(group, packing, acts=bool(actions))
    return [
        _broker_group(json_object(config_json, where="a configuration"), some)
        for (config_json, _), found in cohorts.items()
        for some in _dealt(found, packing)
    ]


def _one_broker(
    scripts: Sequence[Script], capabilities: frozenset[Capability], packing: Packing
) -> BrokerGroup:
    """Return the broker that others may use too: what acts on it comes last, one script at a time.

    Before that come, likewise, those whose conversations others would notice: a broker may make the group
    without a name for one of them, which Kafka never does.
    """
    acting = [each for each in scripts if applies(each, capabilities) and acts_on_broker(each)]
    others = [each for each in scripts if each not in acting]
    nameless = frozenset(each.id for each in others if names_no_group(each))
    cohorts = _cohorts(others, replace(packing, alone=packing.alone | nameless), acts=False)
    return _broker_group({}, [*cohorts, *(Cohort(scripts=[each], acts=True) for each in acting)])


def names_no_group(script: Script) -> bool:
    """Return whether a script asks for a change of the group whose name is empty."""
    asked = [each for each in script.steps if isinstance(each, Send)]
    changes = [
        (each, descriptor(each.api)) for each in asked if descriptor(each.api).access is Access.CHANGES
    ]
    return any(each.fields.get(name) == "" for each, api in changes for name in api.groups)


def brokers_json(
    scripts: Sequence[Script], capabilities: frozenset[Capability], packing: Packing
) -> dict[str, Json]:
    """Return which brokers a target's scripts get, as JSON data for the run's folder.

    Args:
        scripts: the scripts of a run.
        capabilities: the target's capabilities.
        packing: the packing of its scripts.
    """
    brokers: list[Json] = [
        {
            "broker_config": dict(broker_group.broker_config),
            "cohorts": [[script.id for script in each.scripts] for each in broker_group.cohorts],
        }
        for broker_group in broker_groups(scripts, capabilities, packing)
    ]
    return {"brokers": brokers, "unpacked": len(broker_groups(scripts, capabilities))}


def asked_config(script: Script) -> Mapping[str, str]:
    """Return the properties that a script asks for, without those that every broker is given anyway."""
    return dict(script.broker_config.items() - CONFORMANCE_CONFIG.items())


def applies(script: Script, capabilities: frozenset[Capability]) -> bool:
    """Return whether a target has the capabilities that a script needs."""
    return capabilities.issuperset(Capability(name) for name in script.needs)


def _wanted(
    script: Script, capabilities: frozenset[Capability], packing: Packing | None
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the configuration that a script is run with, and its actions on the broker."""
    is_not_served = packing is not None and script.id in packing.not_served
    if not applies(script, capabilities) or is_not_served:
        # A script that is not applicable can use any broker: it is only reported. And a release that does
        # not serve the requests of a script may refuse to start with the script's configuration.
        return {}, ()
    config = None if packing is None else packing.configs.get(script.id)
    return asked_config(script) if config is None else config, tuple(actions_on_broker(script))


def _with_beginnings(groups: Mapping[_Wanted, Sequence[Script]]) -> dict[_Wanted, list[Script]]:
    """Join scripts with those that begin with the same broker actions and then do more to the broker."""
    joined: dict[_Wanted, list[Script]] = {}
    for wanted, group in groups.items():
        longer = [each for each in groups if each[0] == wanted[0] and _begins(wanted[1], each[1])]
        may_join = longer and not any(map(waits_at_its_end, group))
        into = max(longer, key=lambda each: len(each[1])) if may_join else wanted
        joined.setdefault(into, []).extend(group)
    return joined


def _begins(actions: Sequence[str], longer: Sequence[str]) -> bool:
    return 0 < len(actions) < len(longer) and longer[: len(actions)] == actions


def _cohorts(group: Sequence[Script], packing: Packing, *, acts: bool) -> Iterator[Cohort]:
    """Divide scripts that ask for the same broker into cohorts."""
    if acts:
        size = BROKER_GROUP_SIZE_MAX if Breakpoint.DEAD in _breakpoints(group) else MEETING_SIZE_MAX
        kinds = (packing.final, packing.to_clear)
        # Scripts that need a cleanup after them are put together, so that few cohorts have any.
        for each in _met(sorted(group, key=lambda script: _membership(script, kinds)), size):
            yield Cohort(scripts=each, acts=True, clears=_clears(each, packing))
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
    """Deal cohorts of one configuration out to brokers; each broker ends with at most one final cohort.

    The longest cohort is dealt first, and each goes to the broker with the least load so far.
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
    # Cohorts that do not act on the broker come first: before any restart, a broker is most like a new one.
    # Those that kill it come last: it has a short session from then on, and a pause would get it fenced.
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


def _met(group: Iterable[Script], size: int) -> Sequence[Sequence[Script]]:
    """Divide scripts with the same broker actions into meetings, where no script spoils another's log."""
    meetings: list[list[Script]] = []
    for script in group:
        others = (
            each for each in meetings if len(each) < size and not any(spoils(script, one) for one in each)
        )
        meeting = next(others, None)
        if meeting is None:
            meetings.append([script])
        else:
            meeting.append(script)
    return meetings


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
