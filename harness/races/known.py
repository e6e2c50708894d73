"""Findings that are known of Kafka itself: races show them now and then, and they end no run with 1."""

from datetime import date
from functools import cache
from pathlib import Path

from harness.diff.expectations import Entry, load_expectations
from harness.diff.judge import TargetInfo
from harness.races.catalogue import race_of
from harness.results.replay_results import ReplayFinding
from harness.trace.events import TraceHeader


@cache
def _entries() -> tuple[Entry, ...]:
    return tuple(each.entry for each in load_expectations([Path(__file__).with_name("known.toml")]))


def why_known(finding: ReplayFinding, signature: str, header: TraceHeader, *, today: date) -> str | None:
    """Return why a finding of a race is known of its target; None if it is not.

    Args:
        finding: the finding.
        signature: its signature.
        header: what the run's folder says of the target.
        today: the date by which expiry is judged.
    """
    info = TargetInfo(
        run_id=header.run_id, target=header.target, spec=header.spec, profile=header.profile, oracle=None
    )
    race = f"races/{race_of(finding.group)}"
    for each in _entries():
        if each.signature == signature and each.concerns(race, info) and not each.has_expired(today):
            return f"{each.reason} [{each.link}]"
    return None
