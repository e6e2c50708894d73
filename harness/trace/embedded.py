"""JSON within the fields of records: read as strictly as the records themselves, and facts in words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.trace.events import Event, RunFooter, TraceHeader
from harness.trace.schema import TraceError, json_object


def stored_fields(event: Event) -> dict[str, Any]:
    """Return the decoded fields of an event, or an empty mapping if it has none.

    Raises:
        TraceError: the fields are not a JSON object.
    """
    where = f"`fields` of event {event.sequence} of {event.scenario_id} on {event.target}"
    return {} if event.fields is None else json_object(event.fields, where=where)


def canonical_fields(text: str | None) -> dict[str, Any]:
    """Return the fields of an answer in canonical form, or an empty mapping if it has none.

    Raises:
        TraceError: the fields are not a JSON object.
    """
    return {} if text is None else json_object(text, where="`canonical` of an event")


def broker_properties(header: TraceHeader) -> dict[str, str]:
    """Return the properties of a broker, all that it named.

    Raises:
        TraceError: the header does not contain any.
    """
    found = json_object(header.broker_config, where=f"`broker_config` of {header.target}")
    return {name: str(value) for name, value in found.items()}


def drive_times(footer: RunFooter) -> Mapping[str, float]:
    """Return how many milliseconds it took to drive each target, by target name.

    Raises:
        TraceError: the footer does not contain such times.
    """
    where = f"`drive_ms` of run {footer.run_id}"
    found = json_object(footer.drive_ms, where=where)
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in found.values()):
        raise TraceError(f"{where}: no times")
    return {name: float(each) for name, each in found.items() if isinstance(each, int | float)}


def phrase(fact: object) -> str:
    """Return a fact in one line: `ana: assigned orders-0, orders-1; bob: nothing`.

    A topic with a number is a partition, and what follows is about it: `["orders", 0, 5]` is `orders-0 5`.
    """
    match fact:
        case Mapping():
            return "; ".join(f"{name}: {_nothing(phrase(each))}" for name, each in fact.items())
        case None:
            return "nothing"
        case str():
            return fact
        case [str() as topic, int() as number, *rest] if not isinstance(number, bool):
            return " ".join((f"{topic}-{number}", *(phrase(each) for each in rest)))
        case Sequence():
            return ", ".join(_item(each) for each in fact)
        case _:
            return str(fact)


def _item(fact: object) -> str:
    """Return an item of a list in words: partitions, and callbacks with partitions, have no brackets."""
    match fact:
        case [str(), int(), *_]:
            return phrase(fact)
        case [str() as kind, [*partitions]]:
            return f"{kind} {_nothing(phrase(partitions))}"
        case [*_]:
            return f"({phrase(fact)})"
        case _:
            return phrase(fact)


def _nothing(text: str) -> str:
    return text or "nothing"
