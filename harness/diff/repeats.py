"""Combine the results of several attempts at one scenario with one target.

An accusation must not rest on a single observation. So a scenario with an unexpected result is run again, and
the results of its attempts are compared here. Two attempts show the same if they differ at the same step, in
the same API, in the same class of difference and in the same field. The values may differ: a race or a timer
that leaves another value breaks the same claim. Indexes in lists are not compared either, since an order
that depends on chance moves the same fault to another index.

One scenario is run again for all results of one cause. If a further attempt shows the cause while the machine
is calm, the cause is confirmed, and so are all results that it heads.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from harness.diff.judge import Judged
from harness.diff.model import Attempt, Judgement
from harness.diff.raw_difference import unindexed
from harness.trace.events import LEADERS_MOVED
from harness.verdict import STARVED, Confirmation, Expectation, Outcome

NO_FURTHER_ATTEMPT: Final = "no further attempt: "
"""Prefix of the note of an attempt that was due but not made, which is its only event; the reason follows."""
_OPEN: Final = (Outcome.DIVERGES, Outcome.INDETERMINATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """All attempts at one scenario with one target, each judged as if it were the only one."""

    attempts: tuple[Judged, ...]
    """In the order of running, the first included."""
    missing: str | None = None
    """Why no further attempt was made, where one was due."""

    @property
    def scenario_id(self) -> str:
        """The id of the scenario."""
        return self.first.judgement.scenario_id

    @property
    def first(self) -> Judged:
        """The result of the first attempt."""
        return self.attempts[0]

    def expected_as(self, judgements: Sequence[Judgement]) -> "Repeated":
        """Return a copy with other judgements, one for each attempt."""
        reported = zip(self.attempts, judgements, strict=True)
        return replace(self, attempts=tuple(replace(one, judgement=judgement) for one, judgement in reported))


Confirmed: TypeAlias = Mapping[tuple[str, str], str]
"""By target and cause: the scenario whose further attempt showed the cause while the machine was calm."""


def confirmed_causes(judged: Iterable[Repeated]) -> Confirmed:
    """Return the causes that further attempts showed while the machine was calm."""
    found: dict[tuple[str, str], str] = {}
    for repeated in judged:
        for one in repeated.attempts[1:]:
            place = one.judgement
            if place.outcome == Outcome.DIVERGES:
                for cause in (each for each in place.causes if each not in one.starvations):
                    found.setdefault((place.target, cause), place.scenario_id)
    return found


def has_shown(one: Judged, confirmed: Confirmed) -> bool:
    """Return whether an attempt's finding is no matter of a starved machine."""
    return one.starved is None or _heading(one) in confirmed


def was_excused(repeated: Repeated) -> bool:
    """Return whether a further attempt went as it should, and all before were starved or cut by a move."""
    *earlier, last = repeated.attempts
    is_right = last.judgement.outcome in (Outcome.CONFORMS, Outcome.LENIENT)
    return is_right and all(one.starved or _is_excused(one) for one in earlier)


def in_doubt(one: Judged) -> Judgement:
    """Return the judgement of an attempt on a starved machine, whose finding nobody has confirmed."""
    assert one.starved is not None
    return replace(
        one.judgement, outcome=Outcome.INDETERMINATE.value, reason=one.starved, observed=one.starved
    )


def _heading(one: Judged) -> tuple[str, str] | None:
    finding = one.differences[0] if one.differences else None
    return None if finding is None else (finding.target, finding.cause)


def is_accusation(judgement: Judgement) -> bool:
    """Return whether a result must occur again before it counts against anybody."""
    return judgement.outcome in _OPEN and judgement.expectation == Expectation.UNEXPECTED


def kind_of(judged: Judged) -> tuple[object, ...]:
    """Return the result of an attempt in a form that is equal for attempts that show the same."""
    judgement = judged.judgement
    finding = next(iter(judged.differences), None)  # A client script has none.
    if judgement.outcome != Outcome.DIVERGES or finding is None:
        return (judgement.outcome, is_accusation(judgement))
    field = None if finding.field is None else unindexed(finding.field)
    return (judgement.outcome, finding.step, finding.api, finding.difference_class, field)


def weigh(
    repeated: Repeated, confirmed: Confirmed = MappingProxyType({})
) -> tuple[Judged, tuple[Attempt, ...]]:
    """Combine the attempts, whose expectations have been set, into one result.

    An unexpected difference outweighs everything except a harness error; of two unexpected differences, the
    more frequent one wins. An attempt that broke off is no evidence against one that did not. The records of
    the attempts come second: none where the scenario was run once and no further attempt was due.
    """
    attempts = repeated.attempts
    if len(attempts) == 1 and repeated.missing is None:
        return _with_cause_confirmed(repeated.first, confirmed), ()
    kinds = [kind_of(each) for each in attempts]
    ruling = _ruling(attempts, kinds)
    shown = kinds.count(kinds[ruling])
    confirmation = _confirmation(attempts, ruling, shown)
    judgement = replace(
        attempts[ruling].judgement,
        confirmation=confirmation.value,
        shown_count=shown,
        attempt_count=len(attempts),
        attempt=ruling + 1,
    )
    judged = replace(attempts[ruling], judgement=_and(judgement, _on_attempts(judgement, repeated)))
    shows = [kind == kinds[ruling] for kind in kinds]
    return _with_cause_confirmed(judged, confirmed), _reported(repeated, shows)


def _with_cause_confirmed(judged: Judged, confirmed: Confirmed) -> Judged:
    """Return an accusation as confirmed if a further attempt at another scenario showed its cause."""
    judgement, heading = judged.judgement, _heading(judged)
    is_open = judgement.confirmation in (Confirmation.NOT_REPEATED, Confirmation.UNCONFIRMED)
    shown = None if heading is None else confirmed.get(heading)
    if judgement.outcome != Outcome.DIVERGES or not is_open or shown is None:
        return judged
    noted = _and(judgement, (f"its cause was shown again in {shown}",))
    return replace(judged, judgement=replace(noted, confirmation=Confirmation.CONFIRMED.value))


def _and(judgement: Judgement, words: Sequence[str]) -> Judgement:
    return replace(
        judgement,
        reason="; ".join((judgement.reason, *words)),
        observed="; ".join((judgement.observed, *words)),
    )


def _ruling(attempts: Sequence[Judged], kinds: Sequence[object]) -> int:
    """Return the index of the attempt that gives the result: the worst, then the most frequent."""
    counts = Counter(kinds)
    excused_only = _has_conforming(attempts) and not any(
        is_accusation(each.judgement) and not _is_excused(each) for each in attempts
    )

    def weight(place: int) -> tuple[int, int, int]:
        judgement = attempts[place].judgement
        return (_gravity(judgement, excused_only=excused_only), counts[kinds[place]], -place)

    return max(range(len(attempts)), key=weight)


def _gravity(judgement: Judgement, *, excused_only: bool) -> int:
    if judgement.outcome == Outcome.HARNESS_ERROR:
        return 6
    if is_accusation(judgement):
        if judgement.outcome == Outcome.DIVERGES:
            return 5
        return 0 if excused_only else 4
    # An entry that matches one attempt is not stale because its difference is absent from another.
    if judgement.outcome in _OPEN:
        return 3
    return 1 if judgement.expectation == Expectation.STALE else 2


def _has_conforming(attempts: Sequence[Judged]) -> bool:
    """Return whether any attempt went as it should, or as an entry expected."""
    judgements = (each.judgement for each in attempts)
    return any(not is_accusation(one) and one.outcome != Outcome.HARNESS_ERROR for one in judgements)


def _is_excused(judged: Judged) -> bool:
    """Return whether the machine was to blame for an attempt, or a move of its coordinator."""
    judgement = judged.judgement
    is_open = judgement.outcome == Outcome.INDETERMINATE
    return is_open and any(mark in judgement.reason for mark in (STARVED, LEADERS_MOVED))


def _confirmation(attempts: Sequence[Judged], ruling: int, shown: int) -> Confirmation:
    judgement = attempts[ruling].judgement
    if not is_accusation(judgement):
        is_ours = judgement.outcome == Outcome.HARNESS_ERROR
        was_accused = not is_ours and any(is_accusation(each.judgement) for each in attempts)
        return Confirmation.CLEARED if was_accused else Confirmation.NOT_REPEATED
    if shown > 1:
        return Confirmation.CONFIRMED
    if _has_conforming(attempts):
        return Confirmation.FLAKY
    differing = sum(each.judgement.outcome == Outcome.DIVERGES for each in attempts)
    return Confirmation.CONFIRMED if differing > 1 else Confirmation.UNCONFIRMED


def _on_attempts(judgement: Judgement, repeated: Repeated) -> Sequence[str]:
    if judgement.confirmation == Confirmation.NOT_REPEATED:
        return ()
    if judgement.confirmation == Confirmation.CLEARED:
        first = next(each for each in repeated.attempts if is_accusation(each.judgement)).judgement.observed
        what = "its leaders moved" if LEADERS_MOVED in first else "starved"
        return (f"{what} at first [{first}]",)
    parts = []
    if judgement.attempt_count > 1:
        parts.append(f"shown {judgement.shown_count} of {judgement.attempt_count}")
        if not _has_conforming(repeated.attempts) and judgement.shown_count < judgement.attempt_count:
            parts.append("no attempt went as it should")
    if repeated.missing is not None:
        parts.append(f"{NO_FURTHER_ATTEMPT}{repeated.missing}")
    return parts


def _reported(repeated: Repeated, shows: Sequence[bool]) -> tuple[Attempt, ...]:
    """Return the records of the attempts, and of one that was due but not made."""
    reported = [
        _attempt(each.judgement, number, shows=is_same)
        for number, (each, is_same) in enumerate(zip(repeated.attempts, shows, strict=True), start=1)
    ]
    if repeated.missing is not None:
        first = repeated.first.judgement
        nothing = replace(
            first,
            outcome=Outcome.INDETERMINATE.value,
            observed=f"{NO_FURTHER_ATTEMPT}{repeated.missing}",
            causes=(),
            signature=None,
            first_step=None,
            event_count=0,
            duration_ms=0.0,
        )
        reported.append(_attempt(nothing, len(reported) + 1, shows=False, was_run=False))
    return tuple(reported)


def _attempt(judgement: Judgement, number: int, *, shows: bool, was_run: bool = True) -> Attempt:
    return Attempt(
        run_id=judgement.run_id,
        target=judgement.target,
        scenario_id=judgement.scenario_id,
        attempt=number,
        was_run=was_run,
        shows=shows,
        outcome=judgement.outcome,
        expectation=judgement.expectation,
        reason=judgement.observed,
        causes=judgement.causes,
        signature=judgement.signature,
        first_step=judgement.first_step,
        event_count=judgement.event_count,
        duration_ms=judgement.duration_ms,
    )
