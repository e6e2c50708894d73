"""Which difference heads a result, and which ones only follow from others.

A difference follows from an earlier one if that one changed the course of the conversation: no answer came,
or a request that changes something was accepted on one side only. A generation or an epoch also follows from
one that was off by as much before: a group counts on from there. Everything else is a difference of its own,
however many there are.

What a target is known for heads no result that has another difference of its own.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum, auto
from typing import Final

from harness.apis.descriptor import Access
from harness.apis.table import descriptor
from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.diff.model import Difference, Judgement, wherever_shown
from harness.diff.raw_difference import unindexed
from harness.verdict import DifferenceClass, Outcome

_NO_ANSWER: Final = frozenset((DifferenceClass.LIVENESS, DifferenceClass.ORDERING, DifferenceClass.ENCODING))
_ERRORS: Final = frozenset((DifferenceClass.ERROR_CODE, DifferenceClass.ERROR_PRECEDENCE))
_ERROR_CODE: Final = "error_code"
_NONE: Final = '"NONE"'
_STATE: Final = re.compile(
    r"state|assign|owned|tasks|member|generation|epoch|leader|protocol|offset|partitions", re.IGNORECASE
)
"""Parts of the paths of fields that show a group's state, who is in it, and who has what."""

_COUNTER: Final = re.compile(r"generation_id|\w*(?<!leader_)(?<!producer_)epoch")
"""Fields that show how often a group has changed."""
_BESIDE: Final = "; known beside it: "
"""Between a difference and those that a target is known for."""


class Gravity(IntEnum):
    """How much a difference matters, the gravest first."""

    NO_ANSWER = auto()
    ERROR_CODE = auto()
    STATE = auto()
    COUNT = auto()
    VALUE = auto()
    LENIENT = auto()


def gravity(one: Difference) -> Gravity:
    """Return how much a difference matters to a client."""
    if one.is_lenient:
        return Gravity.LENIENT
    if one.field is None:
        return Gravity.NO_ANSWER if one.difference_class in _NO_ANSWER else Gravity.VALUE
    if one.difference_class in _ERRORS:
        return Gravity.ERROR_CODE
    if _COUNTER.fullmatch(one.field.rpartition(".")[2]):
        return Gravity.COUNT
    return Gravity.STATE if _STATE.search(unindexed(one.field)) else Gravity.VALUE


def ranked(seen: Sequence[Difference]) -> tuple[tuple[Difference, bool], ...]:
    """Return differences with whether each follows from another: the finding first, then by step.

    The finding is the gravest one that does not follow from another; of several, the first.
    """
    in_order = sorted(seen, key=lambda one: one.step)
    changed_at = min((one.step for one in in_order if _changes_course(one)), default=math.inf)
    errors: dict[int, list[str]] = {}
    for one in in_order:
        if one.difference_class in _ERRORS and one.field is not None:
            errors.setdefault(one.event_sequence, []).append(one.field.removesuffix(_ERROR_CODE))
    off_by: set[int] = set()
    marked = [
        (
            one,
            # No broker ends because a conversation took another course.
            one.actual != BROKER_ENDED_WORDS
            and (one.step > changed_at or _is_beside_error(one, errors) or _counts_on(one, off_by)),
        )
        for one in in_order
    ]
    roots = [one for one, follows in marked if not follows]
    finding = min(roots, key=lambda one: (gravity(one), one.step), default=None)
    return tuple(sorted(marked, key=lambda each: each[0] is not finding))


def headed(
    judgement: Judgement, found: Sequence[Difference], known: Collection[str]
) -> tuple[Judgement, tuple[Difference, ...]]:
    """Return a diverging result under its gravest difference that is not known, and its differences.

    Differences begin with the finding; causes are known as `wherever_shown` gives them.
    """
    own = [each for each in found if not (each.is_lenient or each.is_consequence)]
    heads = sorted(own, key=lambda each: (gravity(each), each.step, each.ordinal))
    if judgement.outcome != Outcome.DIVERGES or not heads:
        return judgement, tuple(found)
    head = min(heads, key=lambda each: wherever_shown(each.cause) in known)
    if head is found[0]:
        return judgement, tuple(found)
    observed = judgement.observed.rpartition(_BESIDE)[2]
    observed = observed if head is heads[0] else f"step {head.step}: {head.cause}{_BESIDE}{observed}"
    in_order = (head, *sorted((each for each in found if each is not head), key=lambda each: each.step))
    ordered = tuple(replace(each, ordinal=ordinal) for ordinal, each in enumerate(in_order))
    causes = tuple(dict.fromkeys((head.cause, *judgement.causes)))
    return replace(
        judgement,
        reason=observed,
        observed=observed,
        causes=causes,
        signature=head.signature,
        first_step=head.step,
    ), ordered


def _is_beside_error(one: Difference, errors: Mapping[int, Sequence[str]]) -> bool:
    """Return whether a field stands in a structure whose error code differs too, or within one."""
    if one.field is None or one.difference_class in _ERRORS:
        return False
    return any(one.field.startswith(structure) for structure in errors.get(one.event_sequence, ()))


def _counts_on(one: Difference, off_by: set[int]) -> bool:
    """Return whether a group's counter is off by as much as one was before, which `off_by` remembers."""
    if one.field is None or not _COUNTER.fullmatch(one.field.rpartition(".")[2]):
        return False
    try:
        step = int(one.actual) - int(one.expected)
    except ValueError:
        return False
    follows = step in off_by
    off_by.add(step)
    return follows


def _changes_course(one: Difference) -> bool:
    if one.field is None:
        return one.difference_class in _NO_ANSWER
    is_accepted_by_one = (one.expected == _NONE) != (one.actual == _NONE)
    is_change = one.api is not None and descriptor(one.api).access is Access.CHANGES
    return is_change and one.difference_class in _ERRORS and is_accepted_by_one
