"""Whole runs with brokers that somebody else stops, and with one whose timer is off."""

import os
import signal
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from harness.diff.model import Judgement
from harness.orchestration.plan import RunPlan
from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import ExitCode, ResultStatus, status_of
from harness.targets.base.interface import Breakpoint, Broker, BrokerAction, Progress, Target
from harness.targets.kafka.released import KafkaTarget
from harness.targets.reference.tcp import ReferenceTcpBroker, ReferenceTcpTarget
from harness.tests.completed_runs import Quiet, completed_run, plan_of
from harness.tests.patience import wait_until
from harness.trace.events import EventKind
from harness.trace.files import RunFolder, read_events
from harness.trace.plain_files import read_plain
from harness.trace.schema import from_json
from harness.trace.starvation import Starvation
from harness.verdict import Outcome

pytestmark = pytest.mark.slow

DELAYED: Final = "classic/initial-delay/first-member-waits"
"""A member is answered after the delay of 2000 ms, within 1700 to 2300."""
BESIDE: Final = ("classic/initial-delay", "classic/heartbeat", "classic/rebalance")
"""What else is driven when the brokers stop."""
DELAY: Final = "group.initial.rebalance.delay.ms"
STOPPED_S: Final = 3.0
"""Begun when the member waits, it ends beyond the bound."""


class Stopper:
    """Stops all processes of a target's brokers once a member waits."""

    def __init__(self, reports: Path, name: str) -> None:
        self._events = RunFolder(reports / "run").events(name)
        self.brokers: list[Broker] = []
        self.thread = threading.Thread(target=self._stop)

    def _stop(self) -> None:
        wait_until(self._waits, what="a member that waits")
        pids = [each.pid for broker in self.brokers for each in broker.measured() or ()]
        self._signal(pids, signal.SIGSTOP)
        go_on_s = time.monotonic() + STOPPED_S
        wait_until(lambda: time.monotonic() > go_on_s, what="the end of the stop")
        self._signal(pids, signal.SIGCONT)

    def _waits(self) -> bool:
        lines = read_plain(self._events).decode().splitlines() if self._events.exists() else ()
        return any(DELAYED in line and '"step":2,"kind":"request"' in line for line in lines)

    @staticmethod
    def _signal(pids: Collection[int], number: signal.Signals) -> None:
        assert pids
        for pid in pids:
            os.kill(pid, number)


class _Stopped(Target):
    """A target whose brokers somebody stops."""

    stopper: Stopper

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
        broker = await super().start(  # type: ignore[safe-super] # of the target that it is mixed into
            broker_config=broker_config,
            directory=directory,
            progress=progress,
            breakpoints=breakpoints,
            broker_actions=broker_actions,
        )
        self.stopper.brokers.append(broker)
        return broker


class StoppedKafka(_Stopped, KafkaTarget):
    """A Kafka, stopped."""


class StoppedReference(_Stopped, ReferenceTcpTarget):
    """The reference's server, stopped."""


class SlowReference(ReferenceTcpTarget):
    """A coordinator whose delay lasts much longer than it is told to."""

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
        slow = {**broker_config, DELAY: "5500"}
        broker = await super().start(broker_config=slow, directory=directory, progress=progress)
        assert isinstance(broker, ReferenceTcpBroker)
        reported = {**broker.description.broker_config, **broker_config}
        broker._description = replace(broker.description, broker_config=reported)
        return broker


def result(run: CompletedRun, target: str) -> Judgement:
    (found,) = (
        each for each in run.checked.judgements if (each.target, each.scenario_id) == (target, DELAYED)
    )
    return found


def stopped_run(plan: RunPlan, target: StoppedKafka | StoppedReference) -> CompletedRun:
    """Run it, while somebody stops the target's brokers."""
    target.stopper = Stopper(plan.reports, target.name)
    target.stopper.thread.start()
    run = orchestrate(plan, Quiet())
    target.stopper.thread.join()
    return run


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(StoppedKafka("3.9.2"), marks=pytest.mark.broker, id="kafka"),
        pytest.param(StoppedReference("3.9"), marks=pytest.mark.release, id="reference-tcp"),
    ],
)
def test_a_broker_that_is_stopped_in_mid_run_is_starved_and_nothing_is_red(
    tmp_path: Path, target: StoppedKafka | StoppedReference
) -> None:
    run = stopped_run(plan_of(tmp_path, [target], *BESIDE), target)

    found = [each for each in run.checked.judgements if each.target == target.name]
    # A stopped broker may read what two connections sent it in either order: that shows once, and is flaky.
    assert [each.reason for each in found if status_of(each) is ResultStatus.FAILED] == []
    # What is starved is run again, by when nobody stops the broker.
    assert run.exit_code in {ExitCode.EXPECTED, ExitCode.INDETERMINATE}
    assert "starved: step 3 (ana receives JoinGroup v6" in result(run, target.name).reason
    events = read_events(run.folder.events(target.name))
    reported = [from_json(Starvation, each.fields or "") for each in events if each.kind == EventKind.STARVED]
    assert max(each.stopped_ms or 0 for each in reported) >= 1000


def test_a_starved_result_that_is_not_run_again_is_indeterminate(tmp_path: Path) -> None:
    target = StoppedReference("3.9")
    run = stopped_run(replace(plan_of(tmp_path, [target], DELAYED), confirms=False), target)
    one = result(run, target.name)
    assert (one.outcome, run.exit_code) == (Outcome.INDETERMINATE, ExitCode.INDETERMINATE)
    assert one.reason.startswith("starved: step 3 (ana receives JoinGroup v6")
    assert "the machine kept the broker from running for" in one.reason


def test_a_timer_that_is_off_is_red(tmp_path: Path) -> None:
    target = SlowReference("3.9")
    run = completed_run(tmp_path, [target], DELAYED)
    one = result(run, target.name)
    assert (one.outcome, run.exit_code) == (Outcome.DIVERGES, ExitCode.UNEXPECTED)
