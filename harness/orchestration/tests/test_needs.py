"""What scripts are found to need of a broker of others."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.orchestration.reference_runs import with_needs
from harness.scenario.fitting import fitted
from harness.targets.base.interface import BrokerDescription
from harness.tests.completed_runs import catalogue
from harness.tests.made_events import BARE_BROKER

pytestmark = pytest.mark.slow

INTERVAL = "group.consumer.assignment.interval.ms"
MINDS = "consumer_groups/assignors/range"
DOES_NOT = ("consumer_groups/validation/assignor", "classic/heartbeat/before-assignments")


def described(interval: str | None) -> BrokerDescription:
    return replace(BARE_BROKER, broker_config={} if interval is None else {INTERVAL: interval})


@pytest.mark.parametrize(("interval", "needed"), [("1000", "0"), ("0", None), (None, None)])
def test_a_script_that_minds_the_interval_asks_for_the_usual_one(
    interval: str | None, needed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
    scripts = [each for name, each in catalogue().items() if name in {MINDS, *DOES_NOT}]
    assert len(scripts) == 1 + len(DOES_NOT)

    found = asyncio.run(with_needs(scripts, described(interval)))

    asked = {each.id: each.broker_config.get(INTERVAL) for each in found}
    assert asked == {MINDS: needed, **dict.fromkeys(DOES_NOT)}


SESSION, HEARTBEAT = "group.streams.min.session.timeout.ms", "group.streams.min.heartbeat.interval.ms"
DELAY = "group.streams.initial.rebalance.delay.ms"
STOCK = {INTERVAL: "1000", DELAY: "3000", SESSION: "45000", HEARTBEAT: "5000"}


@pytest.mark.parametrize(
    ("scenario_id", "is_fitted", "needed"),
    [
        ("streams_groups/membership/first", True, {}),
        ("streams_groups/reconciliation/session", True, {SESSION: "100", HEARTBEAT: "100"}),
        ("streams_groups/membership/first", False, {DELAY: "0"}),
    ],
)
def test_a_script_needs_what_a_group_is_not_or_cannot_be_configured_to(
    scenario_id: str,
    needed: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_fitted: bool,
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
    script = catalogue()[scenario_id]
    script = fitted(script, STOCK) if is_fitted else script

    (found,) = asyncio.run(with_needs([script], replace(described("1000"), broker_config=STOCK)))

    assert found.broker_config == {**script.broker_config, **needed}


def test_what_was_found_once_is_known_to_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
    script = catalogue()[MINDS]
    first = asyncio.run(with_needs([script], described("1000")))
    monkeypatch.setattr("harness.orchestration.reference_runs.is_alike", None)
    assert asyncio.run(with_needs([script], described("1000"))) == first
