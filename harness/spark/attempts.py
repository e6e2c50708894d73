"""For scenarios that were run more than once: the attempt that their result comes from."""

from collections.abc import Mapping, Sequence

from harness.diff.model import Judgement
from harness.trace.files import RunFolder, attempt_name, read_records


def ruling_attempts(folder: RunFolder) -> Mapping[str, Sequence[str]]:
    """Return, by the name of an attempt's trace, the scenarios whose result comes from that attempt.

    Results of first attempts are left out; most runs have no other attempts.

    Raises:
        TraceError: a judgement is damaged.
    """
    if not folder.judgements.exists() or not folder.attempts.exists():
        return {}
    found: dict[str, list[str]] = {}
    for each in read_records(Judgement, folder.judgements):
        if each.attempt > 1:
            found.setdefault(attempt_name(each.target, each.attempt), []).append(each.scenario_id)
    return found
