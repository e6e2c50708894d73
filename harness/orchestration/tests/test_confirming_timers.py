"""A broker whose timers are off shows it in every attempt: confirming costs no sharpness."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import ExitCode
from harness.targets.base.interface import Breakpoint, Broker, BrokerAction, Progress, Target
from harness.targets.kafka.released import KafkaTarget
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.tests.completed_runs import Quiet, logs_of, plan_of
from harness.verdict import Confirmation, DifferenceClass, Outcome

pytestmark = pytest.mark.slow

_DELAY: Final = "group.initial.rebalance.delay.ms"
_SHARE: Final = 0.7
OFF: Final = "classic/initial-delay/first-member-waits"
RIGHT: Final = "classic/heartbeat/empty-group"


class _Hurried(Target):
    """A target whose brokers wait for less than they say."""

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
        delay_ms = int(broker_config.get(_DELAY, "0"))
        broker = await super().start(  # type: ignore[safe-super] # of the target that it is mixed into
            broker_config={**broker_config, _DELAY: str(round(_SHARE * delay_ms))},
            directory=directory,
            progress=progress,
            breakpoints=breakpoints,
            broker_actions=broker_actions,
        )
        reported = {**broker.description.broker_config, _DELAY: str(delay_ms)}
        broker._description = replace(broker.description, broker_config=reported)  # type: ignore[attr-defined]
        return broker


class HurriedReference(_Hurried, ReferenceTcpTarget):
    """The reference's server, hurried."""


class HurriedKafka(_Hurried, KafkaTarget):
    """A Kafka, hurried."""


def confirmed(reports: Path, target: Target) -> CompletedRun:
    run = orchestrate(replace(plan_of(reports, [target], OFF, RIGHT), confirm_s=300.0), Quiet())
    by_id = {each.scenario_id: each for each in run.checked.judgements if each.target == target.name}
    found = by_id[OFF]
    assert (found.outcome, found.confirmation) == (Outcome.DIVERGES, Confirmation.CONFIRMED)
    assert found.shown_count == found.attempt_count >= 2
    assert {each.difference_class for each in run.checked.differences} == {DifferenceClass.TIMING}
    assert by_id[RIGHT].attempt_count == 1
    return run


def test_a_server_whose_delay_is_short_is_confirmed_each_time(tmp_path: Path) -> None:
    assert confirmed(tmp_path, HurriedReference("3.9")).exit_code is ExitCode.UNEXPECTED


@pytest.mark.broker
def test_a_kafka_whose_delay_is_short_is_confirmed_each_time(tmp_path: Path) -> None:
    run = confirmed(tmp_path, HurriedKafka("3.9.2"))
    assert run.exit_code is ExitCode.UNEXPECTED
    assert any(name.startswith("logs/kafka-3.9.2/attempt-2/") for name in logs_of(run.folder))
