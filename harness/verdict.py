"""The axes of a scenario's result, without any code that computes them.

Only the checker (`harness.diff`) sets them, once; later stages only count and display them.
"""

from enum import StrEnum
from typing import Final


class Outcome(StrEnum):
    """The outcome of a scenario on a target, whether or not it was expected."""

    CONFORMS = "conforms"
    NOT_APPLICABLE = "not applicable"
    """The target cannot run it: it lacks a capability, an API version or a configuration."""
    LENIENT = "lenient"
    """Only fields differ that no client should depend on, such as the wording of a message."""
    INDETERMINATE = "indeterminate"
    """The conversation ended before its subject could be observed."""
    DIVERGES = "diverges"
    HARNESS_ERROR = "harness error"
    """The harness failed, not the target."""


OUTCOME_ORDER: Final = (
    Outcome.CONFORMS,
    Outcome.NOT_APPLICABLE,
    Outcome.LENIENT,
    Outcome.INDETERMINATE,
    Outcome.DIVERGES,
    Outcome.HARNESS_ERROR,
)
"""From best to worst: a composite takes the worst of its parts."""
RIGHT: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT))
"""Outcomes of a conversation in which the target behaves as its script and its reference require.

Between runs they count as the same: what no client should depend on may be another in each.
"""
COMPARABLE: Final = RIGHT | {Outcome.DIVERGES}
"""Outcomes of a conversation whose answers can be compared with another target's.

Indeterminate is not among them: such a conversation broke off, was starved by the machine, or has a reference
that does not conform. So its differences are not the target's fault.
"""


def is_as_before(now: tuple[str, str | None], before: tuple[str, str | None]) -> bool:
    """Return whether two results of one scenario, outcome and signature, count as the same between runs."""
    return now == before or {now[0], before[0]} <= RIGHT


class Expectation(StrEnum):
    """The relation of an outcome to the expectation files."""

    EXPECTED = "expected"
    """It conforms and no entry expects otherwise, or an entry expects what happened."""
    UNEXPECTED = "unexpected"
    STALE = "stale"
    """An entry expects a difference that did not occur, or has expired."""


class Delta(StrEnum):
    """The relation of a result to the same scenario and target in a baseline run."""

    NO_BASELINE = "no baseline"
    SAME = "same"
    NEWLY_DIVERGING = "newly diverging"
    NEWLY_CONFORMING = "newly conforming"
    CHANGED_SIGNATURE = "changed signature"
    ADDED = "added"
    REMOVED = "removed"


class Confirmation(StrEnum):
    """The relation of a result to further, separate attempts at its scenario and target in the same run."""

    NOT_REPEATED = "not repeated"
    """It was run once: nothing was unexpected, or no repetition was requested."""
    CONFIRMED = "confirmed"
    """The difference occurred again, or no attempt went as it should."""
    FLAKY = "flaky"
    """The difference occurred only once, and another attempt went as it should."""
    UNCONFIRMED = "unconfirmed"
    """No other attempt decided it: there was no time, or none came to its end."""
    CLEARED = "cleared"
    """The first attempt was starved, and another went as it should; the outcome is the latter's."""


STARVED: Final = "starved: "
"""The beginning of an indeterminate result's reason, if the machine kept processes concerned from running."""


class DifferenceClass(StrEnum):
    """The kind of a difference at one step."""

    ERROR_CODE = "error code"
    ERROR_PRECEDENCE = "error precedence"
    """Another error than expected, where several apply: a rung of a ladder."""
    FIELD_VALUE = "field value"
    FIELD_PRESENCE = "field presence"
    ORDERING = "ordering or barrier"
    """An answer came while its request had to stay parked."""
    TIMING = "timing"
    LIVENESS = "liveness"
    """No answer in time, or the connection was closed."""
    ENCODING = "encoding"
    """Bytes that are not a response of that API and version, or that do not re-encode to themselves."""
    STATE_LEAK = "state leak"
    """The effect of another scenario shows up in this one."""


def worst(outcomes: tuple[Outcome, ...]) -> Outcome:
    """Return the worst of some outcomes; CONFORMS if there are none."""
    return max(outcomes, key=OUTCOME_ORDER.index, default=Outcome.CONFORMS)
