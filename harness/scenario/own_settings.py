"""Configuring a script's groups with the settings that the harness's own brokers have for all groups.

A stock broker makes a new streams group wait for three seconds, and computes an assignment at most once a
second. Both can be configured for one group, without effect on any other.

Source: GroupConfig (4.3.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from harness.scenario import expect
from harness.scenario.ask_cluster import group_configs
from harness.scenario.script import MAIN, AwaitMetadata, Receive, Repeat, Script, Send, StayParked, Step
from harness.scenario.values import AnswerRef, Containing, GroupRef, InAnyOrder, OneOf, Plus
from harness.targets.base.conformance import OF_CONFIGURED_GROUPS

_CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "ConsumerGroupHeartbeat": ("consumer.assignment.interval.ms",),
    "ShareGroupHeartbeat": ("share.assignment.interval.ms",),
    "StreamsGroupHeartbeat": ("streams.assignment.interval.ms", "streams.initial.rebalance.delay.ms"),
}
"""The properties that make the members of a group wait, by the request with which a member joins."""
_MIGRATION: Final = "group.consumer.migration.policy"
_OF_A_MIGRATION: Final = frozenset({"ConsumerGroupHeartbeat", "JoinGroup"})
_AT_ONCE: Final = "0"
_PROBED: Final = GroupRef("metadata-probe")
_WITHIN_MS: Final = 5_000


def states_another(name: str) -> str:
    """Return how to state another value of a setting than the one that is assumed."""
    return f"--assume {name}=VALUE states another"


def assumptions(script: Script, assumed: Mapping[str, str]) -> Sequence[str]:
    """Return which assumed settings a script's answers depend on, and how to state others.

    Args:
        script: a scenario's script.
        assumed: the settings that a broker did not report.
    """
    waits = (f"group.{name}" for api in script.apis for name in _CONFIGS.get(api, ()))
    migrates = (_MIGRATION,) if _OF_A_MIGRATION.issubset(script.apis) else ()
    names = [name for name in dict.fromkeys((*script.broker_config, *migrates, *waits)) if name in assumed]
    return [f"assumed {name}={assumed[name]}; {states_another(name)}" for name in names]


def at_once(script: Script, settings: Mapping[str, str]) -> Script:
    """Return a script that first configures its groups not to wait, if a broker would make them wait."""
    if OF_CONFIGURED_GROUPS not in settings:
        return script
    steps: list[Step] = []
    for group, apis in _groups(script).items():
        if configs := _waiting(script, apis, settings):
            steps += _configuring(script.actors[0].name, group, configs, at=len(steps))
    if not steps:
        return script
    steps.append(AwaitMetadata(actor=script.actors[0].name, connection=MAIN, group=_PROBED))
    return preceded(script, steps)


def _groups(script: Script) -> Mapping[GroupRef, list[str]]:
    """Return the APIs with which members join the groups of a script, by group."""
    found: dict[GroupRef, list[str]] = {}
    for step in script.steps:
        if isinstance(step, Send | Repeat) and step.api in _CONFIGS:
            group = step.fields.get("group_id")
            if isinstance(group, GroupRef):
                found.setdefault(group, []).append(step.api)
    return found


def _waiting(script: Script, apis: list[str], settings: Mapping[str, str]) -> Mapping[str, str]:
    names = [name for api in dict.fromkeys(apis) for name in _CONFIGS[api]]
    return {
        name: _AT_ONCE
        for name in names
        if f"group.{name}" not in script.broker_config and settings.get(f"group.{name}", _AT_ONCE) != _AT_ONCE
    }


def _configuring(actor: str, group: GroupRef, configs: Mapping[str, str], *, at: int) -> Iterator[Step]:
    asked = group_configs(configs, group=group)
    of: dict[str, Any] = {"actor": actor, "connection": MAIN, "api": asked.api, "api_version": asked.version}
    yield Send(**of, fields=asked.fields)  # type: ignore[arg-type] # it names nothing that is an actor's own
    answer = expect.group_configs(error_code="NONE")
    yield Receive(**of, fields=answer.fields, sent_at=at, within_ms=_WITHIN_MS)


def preceded(script: Script, steps: Sequence[Step]) -> Script:
    """Return a script with other steps before its own; all indexes of steps are moved accordingly."""
    return replace(script, steps=(*steps, *(_moved(step, len(steps)) for step in script.steps)))


def _moved(step: Step, by: int) -> Step:
    content = {each.name: _referring(getattr(step, each.name), by) for each in fields(step)}
    if isinstance(step, Receive | StayParked):
        content["sent_at"] = step.sent_at + by
    return type(step)(**content)


def _referring(value: Any, by: int) -> Any:  # noqa: ANN401 - any field's value
    match value:
        case AnswerRef():
            return replace(value, step=value.step + by)
        case Plus():
            return replace(value, base=_referring(value.base, by))
        case Mapping():
            return {key: _referring(item, by) for key, item in value.items()}
        case OneOf(items) | InAnyOrder(items) | Containing(items):
            return type(value)(tuple(_referring(item, by) for item in items))
        case tuple() | list():
            return tuple(_referring(item, by) for item in value)
        case _:
            return value
