"""The suites notice a timer that is 30 % off: in virtual time, so that nothing but the bounds tells.

On the wire a machine that is busy hides some of it; so every fault is to be noticed several times.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.diff.compare import against_reference, against_script
from harness.mutants.dry_run import DryRun
from harness.orchestration.plan import select_scripts
from harness.scenario.script import Elapse, Receive, Script, StayParked
from harness.tests.completed_runs import catalogue
from harness.tests.slow_timers import SlowTimer, slow_timers
from harness.trace.events import Event
from reference_coordinator.coordinator import coordinator
from reference_coordinator.core.timers import Timers
from reference_coordinator.offsets import shard as shards

pytestmark = pytest.mark.slow

_SUITES = ("classic/**", "static_membership/**")
_LEAST = 3
"""Scenarios that notice a fault, so that some do on a busy machine."""


@pytest.fixture(scope="module", params=["3.9", "4.4"])
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def minds_time(script: Script) -> bool:
    """Return whether a script lets time pass, or bounds how long an answer takes."""
    return any(
        isinstance(step, Elapse | StayParked)
        or (isinstance(step, Receive) and (step.not_before_ms, step.not_after_ms) != (None, None))
        for step in script.steps
    )


@pytest.fixture(scope="module")
def scripts() -> Mapping[str, Script]:
    chosen = select_scripts(catalogue(), _SUITES)
    return {name: script for name, script in chosen.items() if minds_time(script) and not script.needs}


@pytest.fixture
def dry_run(tmp_path: Path) -> Iterator[DryRun]:
    made = DryRun(tmp_path, limit_s=30.0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def healthy(
    profile: str, scripts: Mapping[str, Script], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, tuple[Event, ...]]:
    made = DryRun(tmp_path_factory.mktemp("healthy"), limit_s=30.0)
    reported = {name: made.run(script, profile) for name, script in scripts.items()}
    made.close()
    return reported


def put_off(monkeypatch: pytest.MonkeyPatch, fault: SlowTimer) -> None:
    """Have deadlines of one kind fall due at a factor of their distance, in coordinators made from now on."""
    healthy_shard = shards.CoordinatorShard

    def shard(**given: object) -> object:
        made = healthy_shard(**given)  # type: ignore[arg-type] # whatever the coordinator gives

        class Off(Timers):  # type: ignore[type-arg] # of whatever the shard's are
            def schedule(self, key: object, at_ms: int, deadline: object) -> None:
                if type(deadline).__name__ == fault.deadline:
                    at_ms = int(made.now_ms + (at_ms - made.now_ms) * fault.factor)
                super().schedule(key, at_ms, deadline)

        made.timers = Off()
        return made

    monkeypatch.setattr(coordinator, "CoordinatorShard", shard)


def test_the_healthy_reference_is_within_every_bound(
    scripts: Mapping[str, Script], healthy: Mapping[str, tuple[Event, ...]]
) -> None:
    assert {name for name, events in healthy.items() if against_script(scripts[name], events)} == set()


@pytest.mark.parametrize("fault", list(slow_timers()), ids=str)
def test_several_scenarios_notice_a_timer_that_is_off(
    fault: SlowTimer,
    profile: str,
    scripts: Mapping[str, Script],
    healthy: Mapping[str, tuple[Event, ...]],
    dry_run: DryRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_off(monkeypatch, fault)
    reported = {name: dry_run.run(script, profile) for name, script in scripts.items()}
    found = [
        name
        for name, events in reported.items()
        if against_script(scripts[name], events) or against_reference(events, healthy[name])
    ]
    assert len(found) >= _LEAST, found
