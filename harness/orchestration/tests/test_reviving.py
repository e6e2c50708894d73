"""A broker in a process of its own that a scenario ends: who did, and what becomes of the others."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.diff.target_pattern import is_reference
from harness.orchestration.run import CompletedRun, orchestrate
from harness.report.model.cause_groups import losses
from harness.report.model.run_data import Run
from harness.results.status import ExitCode
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.target import ExternalTarget
from harness.targets.secured.security import PLAINTEXT
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.mortal_broker import MortalBroker, mortal_broker
from harness.trace.events import TARGET_LOST
from harness.verdict import DifferenceClass, Outcome

KILLER = "classic/connection/unknown-api"
OTHERS = ("classic/connection/version-out-of-range", "classic/heartbeat/unknown-group")
RESTARTS = "loading/cut/offsets-survive"


@pytest.fixture(name="broker")
def _broker(tmp_path: Path) -> Iterator[MortalBroker]:
    with mortal_broker(tmp_path) as broker:
        command = RestartCommand(text=broker.restart_command)
        asyncio.run(command.run("127.0.0.1", broker.port, PLAINTEXT))
        yield broker


def completed(broker: MortalBroker, tmp_path: Path, *scenarios: str, command: str | None) -> CompletedRun:
    target = ExternalTarget("127.0.0.1", broker.port)
    target.restart_command = None if command is None else RestartCommand(text=command)
    return orchestrate(plan_of(tmp_path / "reports", [target], *scenarios), Quiet())


def outcomes(run: CompletedRun) -> dict[str, str]:
    return {each.scenario_id: each.outcome for each in run.checked.judgements if each.oracle}


@pytest.mark.slow
def test_what_ended_the_broker_is_found_alone_and_the_others_are_run_on(
    broker: MortalBroker, tmp_path: Path
) -> None:
    run = completed(broker, tmp_path, KILLER, *OTHERS, command=broker.restart_command)
    assert outcomes(run) == {KILLER: Outcome.DIVERGES, **dict.fromkeys(OTHERS, Outcome.CONFORMS)}
    (finding,) = run.checked.differences
    assert (finding.difference_class, finding.actual) == (DifferenceClass.LIVENESS, "the broker ended")
    (red,) = (each for each in run.checked.judgements if each.scenario_id == KILLER and each.oracle)
    assert "and again with it alone" in red.reason
    assert run.footer.ended == "complete"
    assert run.exit_code is ExitCode.UNEXPECTED


@pytest.mark.slow
def test_a_lost_broker_that_nothing_starts_again_has_its_suspects_named(
    broker: MortalBroker, tmp_path: Path
) -> None:
    run = completed(broker, tmp_path, KILLER, *OTHERS, command=None)
    assert run.exit_code is ExitCode.UNAVAILABLE
    assert outcomes(run)[KILLER] == Outcome.INDETERMINATE
    (loss,) = losses(Run.load(run.folder.path))
    assert any(
        line.startswith(f"suspect: {KILLER}, step 0 (eve sends a request of API") for line in loss.last_words
    )


@pytest.mark.slow
def test_a_broker_that_does_not_come_back_is_lost_with_all_that_was_recorded(
    broker: MortalBroker, tmp_path: Path
) -> None:
    run = completed(broker, tmp_path, KILLER, *OTHERS, command="echo no broker here; exit 3")
    assert run.exit_code is ExitCode.UNAVAILABLE
    assert run.footer.ended.startswith(TARGET_LOST)
    assert "ended with 3: no broker here" in run.footer.ended
    assert KILLER in str(run.folder.read_suspects())
    assert outcomes(run)[KILLER] == Outcome.INDETERMINATE


def test_a_command_that_never_ends_is_ended_itself() -> None:
    command = RestartCommand(text="sleep 3600", limit_s=0.1)
    with pytest.raises(Exception, match=r"did not end within 0\.1 s: it has to leave the broker behind"):
        asyncio.run(command.run("127.0.0.1", 1, PLAINTEXT))


@pytest.mark.slow
def test_the_first_difference_is_shown_while_the_others_are_run_on(
    broker: MortalBroker, tmp_path: Path
) -> None:
    says: list[str] = []
    ended: list[str] = []

    class Listening(Quiet):
        def target_says(self, target: str, text: str) -> None:
            says.append(text)

        def scenario_ended(self, target: str, scenario_id: str) -> None:
            if not is_reference(target):
                ended.append(scenario_id)

    target = ExternalTarget("127.0.0.1", broker.port)
    target.restart_command = RestartCommand(text=broker.restart_command)
    orchestrate(plan_of(tmp_path / "reports", [target], KILLER, *OTHERS), Listening())
    (shown,) = (each for each in says if each.startswith("first unexpected difference"))
    assert shown.partition(": ")[2].startswith(KILLER)
    assert "starting the broker again" in says[says.index(shown) :]
    assert sorted(ended) == sorted([KILLER, *OTHERS])
