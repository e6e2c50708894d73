"""Group findings that are alike: those that deviate in the same way, in whichever group."""

import hashlib
import json
import re
from typing import Final, TypeAlias

from harness.results.answer_impact import Contrast, FieldChange, deviation
from harness.results.replay_results import ReplayFinding
from harness.trace.events import EventKind

Likeness: TypeAlias = tuple[str, str, str]
"""API, field without indices, and the deviation."""
_INDEX: Final = re.compile(r"\[\d+\]")
_SIGNATURE_CHARACTERS: Final = 12


def likeness(finding: ReplayFinding) -> Likeness:
    """Return a key that is equal for findings that are alike."""
    return finding.api, _INDEX.sub("[]", finding.field), deviation(contrast_of(finding))


def signature_of(alike: Likeness) -> str:
    """Return a hash that is equal for equal deviations of any group, in any judgement."""
    return hashlib.sha256(json.dumps(alike).encode()).hexdigest()[:_SIGNATURE_CHARACTERS]


def contrast_of(finding: ReplayFinding) -> Contrast:
    """Return a finding as a change from expected to actual; if no field differs, the answer's time does."""
    change = FieldChange(path=finding.field, before=finding.expected, after=finding.actual)
    is_early = not finding.field and finding.expected == "no answer yet"
    return Contrast(
        api=finding.api,
        before_kind=EventKind.SILENCE if is_early else EventKind.RESPONSE,
        after_kind=EventKind.RESPONSE if finding.field or is_early else EventKind.NO_ANSWER,
        fields=(change,) if finding.field else (),
    )
