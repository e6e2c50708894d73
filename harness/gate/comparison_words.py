"""A comparison in words: how much changed, where, before and after, and the meaning of causes."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from harness.gate.comparison_model import (
    ADVERTISED,
    UNKNOWN,
    ClientChange,
    Comparison,
    LeftOut,
)
from harness.report.model.field_rows import readable
from harness.report.model.phrases import PROGRAM, link_address, links_in, property_options, shortened
from harness.results.answer_impact import deviation_source
from harness.targets.base.interface import TargetError
from harness.targets.reference.behaviours import BehaviourSheet, behaviour_sheet
from harness.targets.reference.variants import COORDINATOR
from harness.trace.events import EventKind

FIELD_COUNT_MAX: Final = 6
"""The number of fields shown of one change; JSON has all."""
NAME_COUNT_MAX: Final = 6
"""The number of scenarios named in a line; JSON has all."""
LATER: Final = "After a first difference"
LATER_MEANING: Final = "Later differences in these conversations; they may follow from the first one."
_VALUE_LENGTH_MAX: Final = 160
_MEANINGS: Final = {
    COORDINATOR: (
        "One group coordinator is the Java program, the only one in 4.x (KIP-848), and the other is the "
        "Scala program. These changes come from the order in which the two do things, not from a named "
        "behaviour."
    ),
    ADVERTISED: (
        "Each release advertises the API versions that it serves, and the two serve different ones."
    ),
    UNKNOWN: "No named behaviour of the reference, and no KAFKA-number of the scenario, explains it.",
}


def sentence(comparison: Comparison) -> str:
    """Return one sentence on how much changed."""
    changed = len(comparison.changes)
    unknown = len(comparison.by_cause().get(UNKNOWN, ()))
    ran = changed + comparison.same_count
    if not changed:
        return f"none of {ran} scenarios changed"
    causes = f", {unknown or 'none'} of them for an unknown cause" if comparison.is_explained else ""
    return f"answers changed in {changed} of {ran} scenarios{causes}"


def remarks(comparison: Comparison) -> Iterator[str]:
    """Yield what could not be compared, and why."""
    for left_out, which in ((comparison.newly_run, "latter"), (comparison.run_no_more, "former")):
        yield from (_left_out(each, which) for each in left_out)
    for names, what in (
        (comparison.only_after, "in the latter's run alone"),
        (comparison.only_before, "in the former's run alone"),
        (comparison.rewritten, "rewritten in between, and not compared"),
    ):
        if names:
            yield f"{_scenarios(len(names), 'is', 'are')} {what}: {_named(names)}"


def _left_out(left_out: LeftOut, which: str) -> str:
    ran = _scenarios(len(left_out.scenarios), "was", "were")
    return f"{ran} run only on the {which}: {left_out.reason} ({_named(left_out.scenarios)})"


def _scenarios(count: int, one: str, many: str) -> str:
    return f"1 scenario {one}" if count == 1 else f"{count} scenarios {many}"


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAME_COUNT_MAX} more" if len(names) > NAME_COUNT_MAX else ""
    return f"{', '.join(names[:NAME_COUNT_MAX])}{more}"


def place(change: ClientChange) -> str:
    """Return where a change first shows, in words."""
    version = "" if change.api_version is None else f" v{change.api_version}"
    more = f", and in {change.answer_count - 1} more" if change.answer_count > 1 else ""
    return f"step {change.step}, {change.api}{version}{more}"


def claim(change: ClientChange) -> str:
    """Return what the scenario claims: its title and its notes."""
    return f"{change.title} {change.notes}".strip()


def contrasts(change: ClientChange) -> tuple[tuple[str, str, str], ...]:
    """Return each changed field, with its values before and after; for a whole answer, the field is empty."""
    if not change.fields:
        was = _happening(change.before_kind, change.before_note)
        return (("", was, _happening(change.after_kind, change.after_note)),)
    return tuple(
        (each.path, _value(each.before), _value(each.after)) for each in change.fields[:FIELD_COUNT_MAX]
    )


def contrast_lines(change: ClientChange) -> tuple[str, ...]:
    """Return what changed, with one line for each field."""
    reported = tuple(
        f"{path}: {was} → {became}" if path else f"{was} → {became}"
        for path, was, became in contrasts(change)
    )
    rest = len(change.fields) - FIELD_COUNT_MAX
    return (*reported, f"and {rest} more {'field' if rest == 1 else 'fields'}") if rest > 0 else reported


def _happening(kind: str | None, note: str | None) -> str:
    if kind is None:
        return "nothing, since the conversation had ended"
    if kind == EventKind.RESPONSE:
        return "an answer"
    said = _HAPPENINGS.get(kind, kind)
    return f"{said}: {shortened(note, _VALUE_LENGTH_MAX)}" if note else said


_HAPPENINGS: Final = {
    EventKind.CLOSED.value: "the connection closed",
    EventKind.MALFORMED.value: "an answer that cannot be read",
    EventKind.NO_ANSWER.value: "no answer",
    EventKind.SILENCE.value: "no answer yet",
}


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


def status_words(comparison: Comparison, cause: str) -> str:
    """Return whether the behaviours of a cause are `new` or `gone` in the latter; empty if neither."""
    names = cause.split(", ")
    reported = ["new" if name in comparison.gained else "gone" for name in names if name in comparison.parted]
    return ", ".join(reported if len(set(reported)) > 1 else reported[:1])


def versions(changes: Sequence[ClientChange]) -> str:
    """Return the API versions in which changes occurred, e.g. `Seen with JoinGroup v5, v6.`."""
    found = sorted({change.api_version for change in changes if change.api_version is not None})
    return f"Seen with {changes[0].api} {', '.join(f'v{version}' for version in found)}." if found else ""


def meaning(cause: str) -> str:
    """Return the meaning of a cause; empty for a KAFKA-number, which is explained elsewhere."""
    known = [sheet.meaning for sheet in _sheets(cause)]
    return " ".join(([_MEANINGS[cause]] if cause in _MEANINGS else []) + known)


def whereabouts(cause: str) -> str:
    """Return which releases have a cause and where Kafka decides it; empty if unknown."""
    reported = [f"{sheet.releases} ({sheet.source})" for sheet in _sheets(cause)]
    return "; ".join(reported) or deviation_source(cause)


def _sheets(cause: str) -> Iterator[BehaviourSheet]:
    for name in cause.split(", "):
        try:
            yield behaviour_sheet(name)
        except TargetError:
            continue


def links(cause: str) -> tuple[tuple[str, str], ...]:
    """Return the KAFKA-numbers and KIPs of a cause with their addresses."""
    return tuple(
        (name, link_address(name)) for name in links_in(f"{cause} {meaning(cause)} {whereabouts(cause)}")
    )


def reproduction_of(comparison: Comparison, scenario_id: str) -> str:
    """Return a command line that runs a scenario on both sides again."""
    targets = tuple(word for spec in comparison.specs for word in ("--target", spec))
    properties = property_options([comparison.added.get(scenario_id, {})])
    return shlex.join((PROGRAM, "run", *targets, *properties, scenario_id))
