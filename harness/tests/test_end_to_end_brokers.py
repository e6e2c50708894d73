"""The whole line with real brokers, in good health, of another mind, and killed."""

import asyncio
import json
import os
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from harness.orchestration.run import CompletedRun, orchestrate, report
from harness.report.allure.pages import AllureLevel
from harness.report.model.phrases import address, first_difference_anchor
from harness.results.status import ExitCode
from harness.runner.drive import Limits
from harness.runner.sharing import asked_config, broker_groups
from harness.targets.base.interface import Breakpoint, Broker, BrokerAction, Progress, Target
from harness.targets.kafka.local import LocalBroker
from harness.targets.kafka.released import KafkaTarget
from harness.tests.completed_runs import (
    Quiet,
    catalogue,
    completed_run,
    left_open,
    outcomes,
    plan_of,
    processes_of,
    spread,
    unexpected,
)
from harness.tests.patience import FINDS_STARVED
from harness.tests.site_reading import conversation_of, view_of
from harness.trace.files import read_events
from harness.verdict import STARVED, Confirmation, Outcome
from reference_coordinator.core.errors import Errors
from reference_coordinator.groups.classic import heartbeat
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.messages import HeartbeatRequest, HeartbeatResponse
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.runtime.coordinator_result import CoordinatorResult

pytestmark = pytest.mark.broker

SCALA: Final = "3.9.2"
JAVA: Final = "4.3.1"
NEWEST: Final = "4.4.0"
SUITE: Final = "classic/heartbeat"
BEFORE_ASSIGNMENTS: Final = "classic/heartbeat/before-assignments"
SHORTEST_SESSION: Final = "classic/heartbeat/keeps-the-session-alive"
HEARTBEAT_ANSWERED: Final = 21
FEW: Final = 8
NOISE_MAX: Final = 20
"""More than so many unexpected differences are no noise, and are not run a second time."""


def unexpected_twice(run: CompletedRun, targets: Sequence[str | Target], directory: Path) -> list[str]:
    """Run what was unexpected a second time, one scenario after another, and tell what is so again.

    A machine that is busy with other things makes real brokers miss deadlines of a scenario; it does so once.
    Starved results accuse nobody, so any number of them is run again; they have to conform then.
    """
    first = unexpected(run)
    if not first or sum(STARVED not in each.reason for each in first) > NOISE_MAX:
        return [f"{each.target}: {each.scenario_id}: {each.reason}" for each in first]
    plan = plan_of(directory, targets, *(each.scenario_id for each in first), limits=Limits(jobs=1))
    return [
        f"{each.target}: {each.scenario_id}: {each.reason} (and the first time: {once.reason})"
        for each in unexpected(orchestrate(plan, Quiet()))
        for once in first
        if (once.target, once.scenario_id) == (each.target, each.scenario_id)
    ]


def of_few_brokers(version: str) -> list[str]:
    """Return scenarios of every sub-suite, but for kinds of brokers that few of them ask for.

    The start of such a broker takes longer than its scenarios: they are run before a release.
    """
    chosen = [catalogue()[name] for name in {*spread(10), *left_open()}]
    groups = broker_groups(chosen, KafkaTarget(version).capabilities)
    found = [each for each in groups if len(each.scripts) >= FEW]
    assert any(each.breakpoints for each in found)
    assert any(each.broker_actions for each in found)
    return [script.id for each in found for script in each.scripts]


@pytest.mark.parametrize(
    ("version", "is_whole", "broker_count"),
    [
        (SCALA, False, 7),
        (NEWEST, False, 7),
        pytest.param(SCALA, True, 10, marks=pytest.mark.release),
        pytest.param(JAVA, True, 16, marks=pytest.mark.release),
        pytest.param(NEWEST, True, 13, marks=pytest.mark.release),
    ],
)
def test_suites_with_real_brokers_are_as_expected(
    tmp_path: Path, version: str, broker_count: int, *, is_whole: bool
) -> None:
    target = f"kafka:{version}"
    patterns = () if is_whole else of_few_brokers(version)
    run = completed_run(tmp_path / "first", ["reference", target], *patterns)
    assert unexpected_twice(run, [target], tmp_path / "second") == []
    assert run.footer.ended == "complete"
    found = outcomes(run, f"kafka-{version}")
    assert found.keys() == outcomes(run, "reference").keys()
    # The reference of the same release says how many scenarios are about what it serves.
    served = [each for each in outcomes(run, f"reference-{version}").values() if each == Outcome.CONFORMS]
    assert sum(outcome == Outcome.CONFORMS for outcome in found.values()) > len(served) * 0.9
    assert processes_of(tmp_path) == []
    require_each_on_one_broker_as_asked(run, f"kafka-{version}", broker_count)


def require_each_on_one_broker_as_asked(run: CompletedRun, target: str, broker_count: int) -> None:
    """Require that few brokers ran every scenario once, each with the configuration that it asks for."""
    brokers = run.folder.read_brokers()[target].brokers
    assert len(brokers) <= broker_count
    placed = [(name, each) for each in brokers for cohort in each.cohorts for name in cohort]
    configs = {name: each.broker_config for name, each in placed}
    found = outcomes(run, target)
    assert sorted(name for name, _ in placed) == sorted(found)
    for script in (catalogue()[name] for name in found):
        if found[script.id] != Outcome.NOT_APPLICABLE:
            assert asked_config(script).items() <= configs[script.id].items(), script.id


@pytest.fixture(name="broken_reference")
def _broken_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reference refuse a heartbeat while assignments are awaited, as Kafka did until 2.6.0."""
    right = heartbeat.classic_group_heartbeat_to_classic_group

    def wrong(
        shard: CoordinatorShard, group: ClassicGroup, request: HeartbeatRequest
    ) -> CoordinatorResult[HeartbeatResponse]:
        answer = right(shard, group, request)
        is_awaited = group.state is ClassicGroupState.COMPLETING_REBALANCE
        refusal = HeartbeatResponse(error_code=Errors.REBALANCE_IN_PROGRESS)
        return CoordinatorResult(response=refusal) if is_awaited else answer

    monkeypatch.setattr(
        "reference_coordinator.groups.dispatch.classic_group_heartbeat_to_classic_group", wrong
    )
    monkeypatch.setattr(FINDS_STARVED, lambda *_: None)


@pytest.mark.usefixtures("broken_reference")
def test_a_reference_that_is_broken_is_found_out_by_a_real_broker(tmp_path: Path) -> None:
    run = completed_run(tmp_path, [f"kafka:{SCALA}"], SUITE)
    assert run.exit_code == ExitCode.UNEXPECTED
    (judgement,) = [each for each in unexpected(run) if each.confirmation != Confirmation.FLAKY]
    assert (judgement.scenario_id, judgement.first_step) == (BEFORE_ASSIGNMENTS, HEARTBEAT_ANSWERED)
    finding = run.checked.differences[0]
    assert (finding.expected, finding.actual) == ('"REBALANCE_IN_PROGRESS"', '"NONE"')

    rendered = report(run.folder, allure=AllureLevel.OFF, spark_master=None, progress=lambda _: None)
    reported = (
        f"step {HEARTBEAT_ANSWERED}, Heartbeat v4, error_code: expected REBALANCE_IN_PROGRESS, got NONE"
    )
    assert reported in rendered.summary.read_text().replace("\\_", "_")
    anchor = first_difference_anchor(judgement.target)
    assert f'href="{address(BEFORE_ASSIGNMENTS, anchor)}"' in view_of(run.folder.path, BEFORE_ASSIGNMENTS)
    assert conversation_of(run.folder.path, BEFORE_ASSIGNMENTS, judgement.target)["first"] == anchor


class WatchedTarget(KafkaTarget):
    """Remembers its brokers, so that a test can do something to them."""

    brokers: list[LocalBroker]

    @override
    async def start(
        self,
        *,
        broker_config: Mapping[str, str],
        directory: Path,
        progress: Progress,
        breakpoints: Collection[Breakpoint] = (),
        broker_actions: Collection[BrokerAction] = (),
    ) -> Broker:
        broker = await super().start(broker_config=broker_config, directory=directory, progress=progress)
        assert isinstance(broker, LocalBroker)
        self.brokers = [*getattr(self, "brokers", []), broker]
        return broker


class Killer(Quiet):
    """Kills a target's broker as soon as one of its scenarios has come to its end."""

    def __init__(self, target: WatchedTarget) -> None:
        self._target = target
        self.ended_before: str | None = None

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        if self.ended_before is None and target == self._target.name:
            self.ended_before = scenario_id
            os.kill(self._target.brokers[0].pids[-1], signal.SIGKILL)


def test_a_broker_that_is_killed_in_mid_run_ends_the_run_and_leaves_what_was_recorded(
    tmp_path: Path,
) -> None:
    target = WatchedTarget(SCALA)
    killer = Killer(target)
    run = orchestrate(plan_of(tmp_path, [target], SUITE, limits=Limits(scenario_s=20, drive_s=40)), killer)

    assert run.exit_code == ExitCode.UNAVAILABLE
    assert run.footer.ended.startswith("target lost: kafka-3.9.2: java (pid ")
    assert "SIGKILL" in run.footer.ended
    found = outcomes(run, "kafka-3.9.2")
    assert killer.ended_before is not None
    assert found[killer.ended_before] == Outcome.CONFORMS
    assert Outcome.INDETERMINATE in found.values()
    assert Outcome.DIVERGES not in found.values()
    events = read_events(run.folder.events("kafka-3.9.2"))
    assert {event.scenario_id for event in events} == found.keys()
    assert processes_of(tmp_path) == []

    rendered = report(run.folder, allure=AllureLevel.OFF, spark_master=None, progress=lambda _: None)
    assert "target lost" in rendered.index.read_text()


@contextmanager
def somebody_elses_broker(directory: Path, broker_config: Mapping[str, str]) -> Iterator[str]:
    """Run a broker outside of any run, and give its address."""
    directory.mkdir()
    starting = KafkaTarget(JAVA).start(
        broker_config=broker_config, directory=directory, progress=lambda _: None
    )
    broker = asyncio.run(starting)
    try:
        yield broker.description.bootstrap
    finally:
        asyncio.run(broker.stop())


@pytest.mark.parametrize("one_of", [10, pytest.param(1, marks=pytest.mark.release)])
def test_a_broker_that_runs_already_is_compared_with_its_own_configuration(
    tmp_path: Path, one_of: int
) -> None:
    own = {"group.initial.rebalance.delay.ms": "500", "group.min.session.timeout.ms": "6000"}
    with somebody_elses_broker(tmp_path / "theirs", own) as address:
        target = f"external:{address}"
        run = completed_run(tmp_path / "first", [target], *spread(one_of), SHORTEST_SESSION)
        assert unexpected_twice(run, [target], tmp_path / "second") == []
        assert processes_of(tmp_path / "theirs")

    assert run.footer.ended == "complete"
    name = target.replace(":", "-")
    (oracle,) = {each.oracle for each in run.checked.judgements if each.target == name}
    assert oracle is not None
    assert oracle.endswith(f"-as-{name}")
    configs = [json.loads(header.broker_config) for header in run.folder.read_headers(oracle)]
    assert any(own.items() <= config.items() for config in configs)
    reasons = {
        each.scenario_id: each.reason
        for each in run.checked.judgements
        if each.target.startswith("external") and each.outcome == Outcome.NOT_APPLICABLE
    }
    # It runs with the shortest session that the broker allows.
    assert SHORTEST_SESSION not in reasons
    why = ("needs", "serve", "lacks", "would touch what is not ours", "partition")
    assert [each for each in reasons.values() if not any(word in each for word in why)] == []
    found = len(outcomes(run, name)) - len(reasons)
    assert found > len(reasons)
