"""What the invariants find in whole suites."""

from pathlib import Path
from typing import Final

import pytest

from harness.invariants import AtFault, Invariant, check
from harness.mutants.dry_run import DryRun
from harness.tests.completed_runs import catalogue

pytestmark = pytest.mark.slow

_BY_KAFKA: Final[list[tuple[str, str]]] = [
    ("migration/empty/fetched-before-and-after", Invariant.COMMITS_STAY)
]
"""What Kafka breaks, too: a refused JoinGroup takes away an Empty consumer group, offsets and all."""


@pytest.mark.parametrize("profile", [pytest.param("4.0.0", marks=pytest.mark.release), "4.4"])
def test_the_reference_breaks_what_kafka_breaks_in_the_suites_of_consumer_groups(
    profile: str, tmp_path: Path
) -> None:
    dry_run = DryRun(tmp_path, limit_s=30.0)
    scripts = {
        name: script
        for name, script in catalogue().items()
        if name.startswith(("consumer_groups/", "migration/", "type_conflicts/"))
    }
    found: list[tuple[str, str]] = []
    accepted = 0
    for script in scripts.values():
        events = dry_run.run(script, profile)
        accepted += sum(each.api == "ConsumerGroupHeartbeat" for each in events)
        found += [
            (each.scenario_id, each.invariant) for each in check(events) if each.party == AtFault.COORDINATOR
        ]
    dry_run.close()

    assert found == _BY_KAFKA
    assert accepted > len(scripts)
