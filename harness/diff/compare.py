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
from harness.diff.seen import Seen
from harness.scenario.script import Script
from harness.trace.events import Event


def differences(
    script: Script, events: Sequence[Event], oracle_events: Sequence[Event] | None
) -> tuple[Difference, ...]:
    """Return a target's differences, the finding first and the others in the order of steps.

    Args:
        script: what both conversations were to be.
        events: of the target; each names its run, target and scenario.
        oracle_events: of the reference, or None where nothing but the script is to be held against.
    """
    if not events:
        return ()
    expected = against_script(script, events)
    seen = list(expected)
    if oracle_events is not None:
        astray = against_script(script, oracle_events)
        told = (*expected, *astray)
        seen += [
            other
            for other in against_reference(events, oracle_events)
            if not any(_is_same(other, one) for one in told)
        ]
    ordered = sorted(seen, key=lambda one: one.step)
    finding = next((one for one in ordered if not one.is_lenient), ordered[0] if ordered else None)
    ordered.sort(key=lambda one: one is not finding)
    return tuple(one.difference(events[0], ordinal=ordinal) for ordinal, one in enumerate(ordered))


def _is_same(one: Seen, other: Seen) -> bool:
    """Tell whether two differences are about the same place of the same answer."""
    if one.step != other.step:
        return False
    if one.field is None or other.field is None:
        return one.field is other.field
    return is_within(one.field, other.field) or is_within(other.field, one.field)
