"""Which scripts may be held with one broker."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.scenario.requests import SESSION_TIMEOUT_MS
from harness.scenario.script import (
    Append,
    Control,
    Elapse,
    Hold,
    PullLever,
    Release,
    Script,
    Send,
    StayParked,
    script_to_json,
)
from harness.scenario.values import Json
from harness.targets.base import CONFORMANCE_CONFIG, Capability, HoldPoint, Lever

PARTY_SIZE_MAX: Final = 24
"""How many conversations meet at one broker: the more they are, the longer each waits for the others."""
_WAITS_APART_MS: Final = 500
"""Conversations that wait for less before something is done to the broker need not tell it from none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """Scripts that share a broker."""

    broker_config: Mapping[str, str] = field(default_factory=dict)
    """Properties that the broker is given for them."""
    holds: frozenset[HoldPoint] = field(default=frozenset())
    """Where they have it held."""
    levers: frozenset[Lever] = field(default=frozenset())
    """What they do to it."""
    scripts: Sequence[Script] = ()
    does_something: bool = False
    """Whether they do something to the broker, all of them the same."""


def parties(scripts: Sequence[Script], capabilities: frozenset[Capability]) -> Sequence[Party]:
    """Group scripts by the broker that they want.

    A target whose brokers cannot be configured has one broker for all; what it cannot do to it, no script
    that is held with it does.
    """
    configurable = Capability.BROKER_CONFIG in capabilities
    groups: dict[tuple[str, ...], list[Script]] = {}
    for script in scripts:
        # What every broker is told anyway needs no broker of its own.
        config = dict(script.broker_config.items() - CONFORMANCE_CONFIG.items()) if configurable else {}
        acts = configurable and capabilities.issuperset(Capability(name) for name in script.needs)
        deeds = tuple(_deeds(script)) if acts else ()
        key = (json.dumps(config, sort_keys=True), *deeds)
        groups.setdefault(key, []).append(script)
    return [
        Party(
            broker_config=json.loads(config),
            holds=frozenset(_holds(some)) if deeds else frozenset(),
            levers=frozenset(_levers(some)) if deeds else frozenset(),
            scripts=some,
            does_something=bool(deeds),
        )
        for (config, *deeds), group in groups.items()
        for some in _split(group, PARTY_SIZE_MAX if deeds else len(group))
    ]


def _split(group: Sequence[Script], size: int) -> Iterator[Sequence[Script]]:
    return (group[start : start + size] for start in range(0, len(group), size))


def _holds(scripts: Iterable[Script]) -> Iterator[HoldPoint]:
    return (HoldPoint(step.point) for script in scripts for step in script.steps if isinstance(step, Hold))


def _levers(scripts: Iterable[Script]) -> Iterator[Lever]:
    return (Lever(step.lever) for script in scripts for step in script.steps if isinstance(step, PullLever))


def _deeds(script: Script) -> Iterator[str]:
    """Say what a script does to its broker, step by step, and what else keeps it from sharing one."""
    steps = script_to_json(script)["steps"]
    assert isinstance(steps, list)
    waited_ms = 0
    acts = False
    for step, content in zip(script.steps, steps, strict=True):
        match step:
            case Elapse():
                waited_ms += step.duration_ms
            case StayParked():
                waited_ms += step.for_ms
            case PullLever() | Append() | Hold() | Release():
                acts = True
                yield f"{_deed(step, content, script)} after {waited_ms // _WAITS_APART_MS}"
                waited_ms = 0
            case _:
                continue
    if acts and _minds_waiting(script):
        yield script.id


def _deed(step: Control, content: Json, script: Script) -> str:
    """Say a deed, but for what each does by itself when all have met."""
    if isinstance(step, Append):
        return script.id if step.spoils else "Append"
    text = json.dumps(content, sort_keys=True)
    if not isinstance(step, Hold) or not step.of:
        return text
    places = {each.group: each.partition for each in script.placements}
    partitions = [places.get(group.name) for group in step.of]
    # A group that is wherever it came to be is not where another's of that name is.
    return f"{text} {script.id if None in partitions else partitions}"


def _minds_waiting(script: Script) -> bool:
    """Tell whether a script has members whose sessions would not outlive the others' conversations."""
    return any(isinstance(step, Send) and _session_ms(step) < SESSION_TIMEOUT_MS for step in script.steps)


def _session_ms(step: Send) -> int:
    session_ms = step.fields.get("session_timeout_ms") if step.api == "JoinGroup" else None
    return session_ms if isinstance(session_ms, int) else SESSION_TIMEOUT_MS
