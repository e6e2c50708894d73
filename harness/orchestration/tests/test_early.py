"""What takes long on a broker that runs anyway is run again before the drive has ended."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.orchestration import first_look
from harness.orchestration.confirming import Rerun
from harness.orchestration.judging import JudgedTargets
from harness.orchestration.run import orchestrate
from harness.targets.external.target import ExternalTarget
from harness.tests.completed_runs import Quiet, plan_of, reference_server
from harness.tests.lying_broker import Lie, lying, serving, with_field
from harness.verdict import Confirmation

LONG = "classic/heartbeat/unknown-group"
"""Which the tests take for long."""
GOES_ON = "consumer_groups/given-up/dropped-topic-gone"
"""A scenario that takes eleven seconds."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("confirms", [True, False])
def test_a_long_scenario_is_run_again_while_another_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, confirms: bool
) -> None:
    async def none_later(
        _: Rerun, judged: JudgedTargets, *_args: object, **_kwargs: object
    ) -> tuple[JudgedTargets, bool]:
        return judged, True

    monkeypatch.setattr(first_look, "_LONGEST_MS", 0)
    monkeypatch.setattr(Rerun, "confirm", none_later)
    lie = Lie(with_field("error_code", "ILLEGAL_GENERATION"), api="Heartbeat", of_scenarios=True)
    with (
        reference_server("4.4", log=tmp_path / "log") as upstream_port,
        serving(lying(upstream_port, lie)) as port,
    ):
        target = ExternalTarget("127.0.0.1", port, profile="4.4")
        plan = replace(plan_of(tmp_path / "reports", [target], LONG, GOES_ON), confirms=confirms)
        run = orchestrate(plan, Quiet())

    (found,) = (each for each in run.checked.judgements if each.scenario_id == LONG and each.oracle)
    attempts = {each.attempt: each.scenario_id for each in run.checked.attempts}
    assert attempts == ({1: LONG, 2: LONG} if confirms else {})
    assert found.confirmation == (Confirmation.CONFIRMED if confirms else Confirmation.NOT_REPEATED)
