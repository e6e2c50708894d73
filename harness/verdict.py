"""The axes on which a scenario's result lies, and nothing that computes them.

Only the checker (`harness.diff`) sets them, once; whatever comes after counts and shows.
"""

from enum import StrEnum
from typing import Final


class Outcome(StrEnum):
    """What a target did with a scenario, whether or not that was foreseen."""

    CONFORMS = "conforms"
    NOT_APPLICABLE = "not applicable"
    """The target cannot be asked: it lacks a capability, an API version or a configuration."""
    LENIENT = "lenient"
    """Only fields differ of which no client should take notice, such as the wording of a message."""
    INDETERMINATE = "indeterminate"
    """The conversation ended before what it is about could be seen."""
    DIVERGES = "diverges"
    HARNESS_ERROR = "harness error"
    """We failed, not the target."""


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
"""Outcomes of a conversation in which the target does as its script and its reference say."""
COMPARABLE: Final = RIGHT | {Outcome.DIVERGES}
"""Outcomes of a conversation whose answers can be compared with another target's.

Indeterminate is not among them: such a conversation broke off, the machine kept somebody from running, or the
reference is no measure. What it lacks, or has otherwise, is no target's doing.
"""


class Expectation(StrEnum):
    """How an outcome stands to what the expectation files say."""

    EXPECTED = "expected"
    """It conforms and nothing else was foreseen, or an entry foresaw what happened."""
    UNEXPECTED = "unexpected"
    STALE = "stale"
    """An entry foresaw a difference that did not show, or has expired."""


class Delta(StrEnum):
    """How a result stands to the same scenario and target in a baseline run."""

    NO_BASELINE = "no baseline"
    SAME = "same"
    NEWLY_DIVERGING = "newly diverging"
    NEWLY_CONFORMING = "newly conforming"
    CHANGED_SIGNATURE = "changed signature"
    ADDED = "added"
    REMOVED = "removed"


class Confirmation(StrEnum):
    """How a result stands to the same scenario run again, alone, with the same target in the same run."""

    NOT_REPEATED = "not repeated"
    """It was run once: nothing was unexpected, or nobody asked for more."""
    CONFIRMED = "confirmed"
    """It showed again, or no attempt went as it should."""
    FLAKY = "flaky"
    """It showed once only, and another attempt went as it should."""
    UNCONFIRMED = "unconfirmed"
    """No other attempt could tell: there was no time, or none came to its end."""
    CLEARED = "cleared"
    """The first attempt was starved, and another went as it should; the outcome is that of the other."""


STARVED: Final = "starved: "
"""Stands in the reason of an indeterminate result where the machine kept those concerned from running."""


class DifferenceClass(StrEnum):
    """What kind of difference was seen at one step."""

    ERROR_CODE = "error code"
    ERROR_PRECEDENCE = "error precedence"
    """Another error than expected, where several were due: a rung of a ladder."""
    FIELD_VALUE = "field value"
    FIELD_PRESENCE = "field presence"
    ORDERING = "ordering or barrier"
    """An answer came while its request had to stay parked."""
    TIMING = "timing"
    LIVENESS = "liveness"
    """No answer in time, or the connection was closed."""
    ENCODING = "encoding"
    """Bytes that are no response of that API and version, or that do not re-encode to themselves."""
    STATE_LEAK = "state leak"
    """What another scenario did shows up in this one."""


def worst(outcomes: tuple[Outcome, ...]) -> Outcome:
    """Return the worst of some outcomes; nothing at all conforms."""
    return max(outcomes, key=OUTCOME_ORDER.index, default=Outcome.CONFORMS)
