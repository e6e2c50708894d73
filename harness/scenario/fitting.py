"""Fitting scripts to a broker with other settings than they ask for, if their meaning stays the same.

A script about a configured time keeps its meaning if all its times grow by the factor of the broker's time.
A script about the bounds of session timeouts keeps it with the broker's bounds. A script about a size keeps
it if values that reach the limit grow with the broker's limit. A script with transactions keeps it if their
timeouts have the same relation to the broker's limit, and do not pass meanwhile. A script about members that
need not wait keeps it if its groups are configured so (`own_settings`).
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeAlias

from harness.scenario.own_settings import at_once
from harness.scenario.script import Elapse, Repeat, Script, Send, StayParked, Step
from harness.scenario.values import Containing, InAnyOrder, OneOf

_Change: TypeAlias = Callable[[str, object], object]
"""Takes a field's name and value, and returns the new value."""
INITIAL_DELAY: Final = "group.initial.rebalance.delay.ms"
MIN_SESSION: Final = "group.min.session.timeout.ms"
MAX_SESSION: Final = "group.max.session.timeout.ms"
METADATA_BYTES: Final = "offset.metadata.max.bytes"
MAX_TRANSACTION: Final = "transaction.max.timeout.ms"
_MAX_TRANSACTION_MS: Final = 900_000
"""Source: TransactionStateManagerConfig.TRANSACTIONS_MAX_TIMEOUT_MS_DEFAULT (4.3.1)."""
_INT_MAX: Final = 2**31 - 1
_MAX_SESSION_MS: Final = 1_800_000
"""Source: GroupCoordinatorConfig.GROUP_MAX_SESSION_TIMEOUT_MS_DEFAULT (3.9.2)."""
_LONGEST_MS: Final = 40_000
"""How long a fitted script may wait in total; a scenario has a minute."""
_LASTING_MS: Final = 60_000
"""A timeout that no scenario reaches."""
_SESSION: Final = "session_timeout_ms"
_TRANSACTION: Final = "transaction_timeout_ms"
_TIMES: Final = frozenset({_SESSION, "rebalance_timeout_ms"})
_STEP_TIMES: Final = frozenset(
    {"duration_ms", "for_ms", "within_ms", "every_ms", "not_before_ms", "not_after_ms"}
)
_METADATA: Final = frozenset({"committed_metadata", "metadata"})


def fitted(script: Script, settings: Mapping[str, str]) -> Script:
    """Return a script that is fitted to a broker's settings.

    A script that needs no change is returned as it is; one that cannot be fitted asks for what it asked for.
    """
    script = _with_transactions(script, settings)
    other = {
        name: (int(wanted), int(reported))
        for name, wanted in script.broker_config.items()
        if (reported := settings.get(name, wanted)) != wanted and reported.isdecimal() and wanted.isdecimal()
    }
    if MIN_SESSION in other and (bounds := _bounds(script, settings)).keys() >= {*_asked(script, _SESSION)}:
        least = {MIN_SESSION: settings[MIN_SESSION]}
        return _changed(script, lambda name, value: _put(name, value, bounds), least)
    factor = _factor(script, other, settings)
    if factor is not None:
        times = {name: settings[name] for name in other if name in (INITIAL_DELAY, MIN_SESSION)}
        script = _changed(script, lambda name, value: _stretched(name, value, factor), times)
    if METADATA_BYTES in other:
        limit, larger = other[METADATA_BYTES]
        if larger > limit:
            sizes = {METADATA_BYTES: str(larger)}
            script = _changed(script, lambda name, value: _grown(name, value, limit, larger), sizes)
    return at_once(script, settings)


def _bounds(script: Script, settings: Mapping[str, str]) -> Mapping[object, int]:
    """Return the broker's least and greatest session timeouts, by those that a script asks for."""
    asked = script.broker_config
    most_ms = int(settings.get(MAX_SESSION, str(_MAX_SESSION_MS)))
    return {
        int(asked[MIN_SESSION]): int(settings[MIN_SESSION]),
        int(asked.get(MAX_SESSION, str(_MAX_SESSION_MS))): most_ms,
    }


def _factor(
    script: Script, other: Mapping[str, tuple[int, int]], settings: Mapping[str, str]
) -> float | None:
    """Return the factor by which a script's times have to grow; None if that does not help."""
    sessions = _asked(script, _SESSION)
    least_ms, reported_ms = other.get(MIN_SESSION, (0, int(settings.get(MIN_SESSION, "0"))))
    factor = 1.0
    if MIN_SESSION in other:
        if any(each <= least_ms for each in sessions):
            return None  # The script is about the bound itself.
        factor = max(1.0, *(reported_ms / each for each in sessions))
    if INITIAL_DELAY in other:
        wanted_ms, delay_ms = other[INITIAL_DELAY]
        if not wanted_ms or delay_ms < factor * wanted_ms:
            return None
        factor = delay_ms / wanted_ms
    most_ms = int(settings.get(MAX_SESSION, str(_MAX_SESSION_MS)))
    passing_ms = sum(
        step.duration_ms if isinstance(step, Elapse) else step.for_ms
        for step in script.steps
        if isinstance(step, Elapse | StayParked)
    )
    fits = all(each * factor <= most_ms for each in sessions) and passing_ms * factor <= _LONGEST_MS
    return factor if fits and other.keys() & {INITIAL_DELAY, MIN_SESSION} else None


def _changed(script: Script, change: _Change, settings: Mapping[str, str]) -> Script:
    steps = tuple(_changed_step(step, change) for step in script.steps)
    return replace(script, steps=steps, broker_config={**script.broker_config, **settings})


def _changed_step(step: Step, change: _Change) -> Step:
    content = {each.name: getattr(step, each.name) for each in fields(step)}
    return type(step)(**{name: _changed_value(name, value, change) for name, value in content.items()})


def _changed_value(name: str, value: Any, change: _Change) -> Any:  # noqa: ANN401 - any field's value
    match value:
        case Mapping():
            return {key: _changed_value(key, item, change) for key, item in value.items()}
        case OneOf(items) | InAnyOrder(items) | Containing(items):
            return type(value)(tuple(_changed_value(name, item, change) for item in items))
        case tuple() | list():
            return tuple(_changed_value(name, item, change) for item in value)
        case _:
            return change(name, value)


def _put(name: str, value: object, bounds: Mapping[object, int]) -> object:
    return bounds[value] if name == _SESSION and value in bounds else value


def _stretched(name: str, value: object, factor: float) -> object:
    is_time = name in _TIMES | _STEP_TIMES
    return round(value * factor) if is_time and isinstance(value, int) else value


def _grown(name: str, value: object, wanted: int, reported: int) -> object:
    """Lengthen a text that reaches the limit by as much as the broker's limit is larger.

    Source: OffsetMetadataManager#isMetadataInvalid (3.9.2), which counts UTF-16 units.
    """
    if name not in _METADATA or not isinstance(value, str):
        return value
    units = len(value.encode("utf-16-le")) // 2
    return value + "x" * (reported - wanted) if units >= wanted else value


def _with_transactions(script: Script, settings: Mapping[str, str]) -> Script:
    """Return a script whose transactions have the timeouts that the broker's limit makes of the script's.

    If there are no such timeouts, it asks for the limit that it was written for.
    """
    reported = settings.get(MAX_TRANSACTION, "")
    asked = _asked(script, _TRANSACTION)
    limit_ms = int(reported) if reported.isdecimal() else _MAX_TRANSACTION_MS
    changed = {each: _against(limit_ms, each) for each in asked}
    if all(old == new for old, new in changed.items()):
        return script
    if max(changed.values()) > _INT_MAX or limit_ms < _LASTING_MS:
        return replace(
            script, broker_config={**script.broker_config, MAX_TRANSACTION: str(_MAX_TRANSACTION_MS)}
        )
    own = {MAX_TRANSACTION: reported}
    return _changed(script, lambda name, value: _put_timeout(name, value, changed), own)


def _against(limit_ms: int, timeout_ms: int) -> int:
    """Return the timeout that has the same relation to a limit as one of a script to Kafka's default."""
    if timeout_ms >= _MAX_TRANSACTION_MS:
        return timeout_ms - _MAX_TRANSACTION_MS + limit_ms
    return min(timeout_ms, limit_ms)


def _put_timeout(name: str, value: object, changed: Mapping[int, int]) -> object:
    return changed[value] if name == _TRANSACTION and isinstance(value, int) else value


def _asked(script: Script, field: str) -> list[int]:
    """Return the values of a field, in milliseconds, that a script asks for."""
    asked = [step.fields for step in script.steps if isinstance(step, Send | Repeat)]
    reported = [each.get(field) for each in asked]
    return [each for each in reported if isinstance(each, int)]
