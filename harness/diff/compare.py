"""Everything in which a recorded conversation departs from its script and from the reference's.

Both traces come from the same script, so they are aligned by step. A script pins what a scenario is about and
outranks the reference; the reference fills in everything that is not pinned. One departure is told once. The
first that a client would notice is the finding; what comes after may be no more than its consequence.
"""

from collections.abc import Sequence

from harness.diff.against_reference import against_reference
from harness.diff.against_script import against_script
from harness.diff.model import Difference
from harness.diff.paths import is_within
from harness.diff.raw_difference import RawDifference
from harness.scenario.script import Script
from harness.trace.events import Event


class Departures:
    """What conversations depart from their scripts in, each looked into once.

    An oracle's conversation is a measure twice for every target that is compared with it, and judged itself.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[Sequence[Event], tuple[RawDifference, ...]]] = {}

    def of(self, script: Script, events: Sequence[Event]) -> tuple[RawDifference, ...]:
        """Return everything in which a conversation is not as its script expects."""
        key = (script.id, id(events))
        if key not in self._found:
            # The events are kept, so that no other conversation can come to stand at their address.
            self._found[key] = (events, against_script(script, events))
        return self._found[key][1]


def differences(
    script: Script,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    departures: Departures | None = None,
) -> tuple[Difference, ...]:
    """Return a target's differences, the finding first and the others in the order of steps.

    Args:
        script: what both conversations were to be.
        events: of the target; each names its run, target and scenario.
        oracle_events: of the reference, or None where nothing but the script is to be compared with.
        departures: what was found so far, where several targets share a reference.
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
    ordered = sorted(seen, key=lambda one: one.step)
    finding = next((one for one in ordered if not one.is_lenient), ordered[0] if ordered else None)
    ordered.sort(key=lambda one: one is not finding)
    return tuple(one.difference(events[0], ordinal=ordinal) for ordinal, one in enumerate(ordered))


def _is_same(one: RawDifference, other: RawDifference) -> bool:
    """Tell whether two differences are about the same place of the same answer."""
    if one.step != other.step:
        return False
    if one.field is None or other.field is None:
        return one.field is other.field
    return is_within(one.field, other.field) or is_within(other.field, one.field)
