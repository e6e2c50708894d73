"""All differences of a recorded conversation from its script and from the reference.

Both traces come from the same script, so they are aligned by step. A script pins the answers that its
scenario is about, and takes precedence over the reference; the reference covers everything that is not
pinned. One difference is reported once. The gravest one is the finding; others may only follow from it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from harness.diff.against_reference import against_reference
from harness.diff.against_script import against_script
from harness.diff.gravity import ranked
from harness.diff.late import without_consequences_of_waits
from harness.diff.model import Difference
from harness.diff.paths import is_within
from harness.diff.raw_difference import RawDifference
from harness.scenario.script import Script
from harness.trace.events import Event

_INTERNAL_ERROR: Final = '"UNKNOWN_SERVER_ERROR"'


class Departures:
    """The differences of conversations from their scripts, each conversation compared once.

    An oracle's conversation is used twice for every target that is compared with it, and is judged itself.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[Sequence[Event], tuple[RawDifference, ...]]] = {}

    def of(self, script: Script, events: Sequence[Event]) -> tuple[RawDifference, ...]:
        """Return everything in which a conversation differs from its script's expectations."""
        key = (script.id, id(events))
        if key not in self._found:
            # The events are kept, so that no other conversation can get their address, which is the key.
            self._found[key] = (events, against_script(script, events))
        return self._found[key][1]


def differences(
    script: Script,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    departures: Departures | None = None,
    *,
    forgives_faults: bool = False,
) -> tuple[Difference, ...]:
    """Return a target's differences, the gravest first and the others in the order of steps.

    Args:
        script: the script of both conversations.
        events: the target's; each names its run, target and scenario.
        oracle_events: the reference's, or None to compare with the script only.
        departures: the cache of differences from scripts, where several targets share a reference.
        forgives_faults: whether another answer than an internal error of Kafka is lenient: nobody copies one.
    """
    if not events:
        return ()
    known = departures or Departures()
    expected = known.of(script, events)
    seen = list(expected)
    if oracle_events is not None:
        astray = known.of(script, oracle_events)
        reported = (*expected, *astray)
        seen += [
            other
            for other in against_reference(events, oracle_events)
            if not any(_is_same(other, one) for one in reported)
        ]
    if forgives_faults:
        seen = [replace(one, is_lenient=True) if one.expected == _INTERNAL_ERROR else one for one in seen]
    return tuple(
        one.difference(events[0], ordinal=ordinal, is_consequence=follows)
        for ordinal, (one, follows) in enumerate(ranked(without_consequences_of_waits(script, seen, events)))
    )


def _is_same(one: RawDifference, other: RawDifference) -> bool:
    """Return whether two differences are about the same place of the same answer."""
    if one.step != other.step:
        return False
    if one.field is None or other.field is None:
        return one.field is other.field
    return is_within(one.field, other.field) or is_within(other.field, one.field)
