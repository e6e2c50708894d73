"""A broken assignor is found at the heartbeat that shows it, and the finding says what a consumer notices."""

from pathlib import Path

import pytest

from harness.apis.descriptor import IMPACTS
from harness.results.client_impact import impact_of
from harness.scenario.script import Receive
from harness.tests.broken_assignor import HANDOVER, run_against_it
from harness.tests.completed_runs import catalogue
from harness.verdict import Outcome

pytestmark = pytest.mark.slow


def test_a_partition_too_many_that_moves_is_red_where_the_member_is_to_give_it_up(tmp_path: Path) -> None:
    run = run_against_it(tmp_path / "reports", tmp_path / "broken", HANDOVER)

    (judgement,) = (each for each in run.checked.judgements if each.target == "reference-tcp")
    finding = next(each for each in run.checked.differences if each.ordinal == 0)
    step = catalogue()[HANDOVER].steps[finding.step]
    assert judgement.outcome == Outcome.DIVERGES
    assert isinstance(step, Receive)
    assert (step.api, step.actor) == ("ConsumerGroupHeartbeat", "ana")
    assert finding.field is not None
    assert finding.field.startswith("assignment.topic_partitions")
    assert impact_of(finding) == IMPACTS["ConsumerGroupHeartbeat"].fields["assignment"]
