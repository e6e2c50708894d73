"""What scripts are found to need of a broker of others."""

import asyncio
from pathlib import Path

import pytest

from harness.orchestration.needs import with_needs
from harness.scenario.registry import collect
from harness.targets.base.interface import BrokerDescription

INTERVAL = "group.consumer.assignment.interval.ms"
MINDS = "consumer_groups/assignors/range"
DOES_NOT = ("consumer_groups/validation/assignor", "classic/heartbeat/before-assignments")


def described(interval: str | None) -> BrokerDescription:
    return BrokerDescription(
        spec="external:127.0.0.1:9092",
        profile="4.4",
        implementation="made up",
        bootstrap="127.0.0.1:9092",
        broker_config={} if interval is None else {INTERVAL: interval},
        api_ranges=(),
        notes=(),
    )


@pytest.mark.parametrize(("interval", "needed"), [("1000", "0"), ("0", None), (None, None)])
def test_a_script_that_minds_the_interval_asks_for_the_usual_one(
    interval: str | None, needed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
    scripts = [each for name, each in collect().items() if name in {MINDS, *DOES_NOT}]
    assert len(scripts) == 1 + len(DOES_NOT)

    found = asyncio.run(with_needs(scripts, described(interval)))

    asked = {each.id: each.broker_config.get(INTERVAL) for each in found}
    assert asked == {MINDS: needed, **dict.fromkeys(DOES_NOT)}
