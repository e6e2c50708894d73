"""Shares: what is planned, what an attempt leaves, and that it counts once."""

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import pytest

from harness.diff.model import Judgement
from harness.orchestration.on_cluster import (
    Cluster,
    TargetShare,
    look_as_task,
    read_outcome,
    refuse_unfit,
)
from harness.orchestration.plan import PlanError
from harness.orchestration.run import orchestrate
from harness.orchestration.share_process import (
    ShareError,
    attempted,
    become_whole,
    has_ended,
    run_share,
    stop,
    whole,
)
from harness.results.status import ExitCode
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.scenario.script import Script
from harness.spark.master import SparkError, TaskError
from harness.targets.external.target import ExternalTarget
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.targets.secured.security import Credentials, Security
from harness.tests.completed_runs import Quiet, catalogue, completed_run, plan_of
from harness.tests.patience import wait_until
from harness.trace.files import read_events

if TYPE_CHECKING:
    from harness.spark.executors import Executors

T = TypeVar("T")
EVENTS = "events.jsonl.zst"


def drive_of(target: object, tmp_path: Path) -> Drive:
    return Drive(
        run_id="run",
        target=target,  # type: ignore[arg-type]  # any of ours
        target_name="target",
        limits=Limits(),
        sinks=DriveSinks(write=lambda _: None, broker_ready=lambda *_: None, logs=tmp_path / "logs"),
        watcher=Quiet(),
    )


def chosen(prefix: str) -> Sequence[Script]:
    return [script for name, script in catalogue().items() if name.startswith(prefix)]


def share_of(tmp_path: Path, prefix: str = "classic/heartbeat", target: object = None) -> TargetShare:
    drive = drive_of(target or ReferenceTarget("3.9"), tmp_path)
    share = TargetShare.of(drive, chosen(prefix), tmp_path / "shares" / "share-1")
    share.folder.mkdir(parents=True)
    return share


class Here:
    """Executors that are this process; each task fails as often as it is told to."""

    core_count = 2

    def __init__(self, *, failing: int = 0) -> None:
        self._failing = failing

    def cluster(self, folder: Path) -> Cluster:
        return Cluster(executors=cast("Executors", self), folder=folder)

    async def run(self, function: Callable[[T, int], None], argument: T) -> None:
        if isinstance(argument, TargetShare):
            if self._failing:
                self._failing -= 1
                raise TaskError("a share's process on a-machine ended with status -9")
            await attempted(argument, 0)
            return
        function(argument, 0)


def test_a_share_is_data_that_another_machine_can_carry_out(tmp_path: Path) -> None:
    share = share_of(tmp_path)
    asyncio.run(attempted(pickle.loads(pickle.dumps(share)), 0))

    folder = whole(share)
    assert folder is not None
    outcome = read_outcome(folder)
    assert outcome.error is None
    assert {event.scenario_id for event in read_events(folder / EVENTS)} == {
        script.id for script in share.scripts
    }
    assert outcome.brokers[0][0].profile == "3.9"


def test_of_two_attempts_the_first_that_is_whole_counts(tmp_path: Path) -> None:
    share = share_of(tmp_path)
    asyncio.run(attempted(share, 1))
    before = (share.folder / "whole" / EVENTS).read_bytes()
    asyncio.run(attempted(share, 0))

    assert [each.name for each in share.folder.iterdir()] == ["whole"]
    assert (share.folder / "whole" / EVENTS).read_bytes() == before
    assert read_outcome(share.folder / "whole").attempt == 1


def test_what_cannot_become_whole_is_an_error_and_not_dropped(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        become_whole(tmp_path / "attempt-0")


async def test_an_attempt_that_is_interrupted_keeps_its_events_and_is_not_whole(tmp_path: Path) -> None:
    share = share_of(tmp_path)

    driving = asyncio.create_task(attempted(share, 0))
    while not (share.folder / "attempt-0" / EVENTS).exists():  # noqa: ASYNC110 - a file sets no event
        await asyncio.sleep(0)
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert whole(share) is None
    assert has_ended(share.folder / "attempt-0")


@pytest.mark.slow
@pytest.mark.parametrize("is_task_gone", [True, False], ids=["its task is gone", "it is asked to"])
def test_a_shares_process_ends_in_order(tmp_path: Path, *, is_task_gone: bool) -> None:
    share = share_of(tmp_path, target=ReferenceTcpTarget("3.9"))
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.orchestration.share_process"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    pickle.dump((share, 0), process.stdin)
    process.stdin.flush()
    if is_task_gone:
        process.stdin.close()
    else:
        stop(share)

    wait_until(lambda: process.poll() is not None, what="the end of the share")
    process.stdin.close()
    assert process.returncode == ExitCode.INTERRUPTED
    assert has_ended(share.folder / "attempt-0")
    assert whole(share) is None


def test_a_machine_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    share = share_of(tmp_path)
    elsewhere = replace(share, folder=tmp_path / "not-mounted" / "share-1")

    with pytest.raises(ShareError, match=r"does not see .*not-mounted.*let --out name a folder"):
        run_share(elsewhere, 0)
    with pytest.raises(ShareError, match=r"has version .* and the driver 0.0"):
        look_as_task((tmp_path, "0.0"), 0)


def test_a_run_on_executors_judges_as_one_here(tmp_path: Path) -> None:
    selection = ("classic/heartbeat", "offsets/fetch")
    plan = plan_of(tmp_path / "there", ["reference:3.9", "reference:4.1"], *selection)
    there = orchestrate(plan, Quiet(), Here().cluster(tmp_path / "shares"))
    here = completed_run(tmp_path / "here", ["reference:3.9", "reference:4.1"], *selection)

    def found(judgements: Sequence[Judgement]) -> set[tuple[str, str, str]]:
        return {(each.target, each.scenario_id, each.outcome) for each in judgements}

    assert found(there.checked.judgements) == found(here.checked.judgements)
    assert there.exit_code == ExitCode.EXPECTED
    assert not list((tmp_path / "shares").iterdir())


def test_a_target_that_fails_on_every_try_costs_its_scripts_and_not_the_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ["reference:3.9", "reference:4.1"], "classic/heartbeat")
    run = orchestrate(plan, Quiet(), Here(failing=1).cluster(tmp_path / "shares"))

    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "reference-3.9: a share's process on a-machine ended with status -9" in run.footer.ended
    assert "reference-4.1" not in run.footer.ended
    lost = [each for each in run.checked.judgements if "ended with status -9" in each.reason]
    assert {each.target for each in lost} == {"reference-3.9"}
    assert len(lost) == len(plan.scripts)


@pytest.mark.parametrize("master", ["local[2]", "sc://127.0.0.1:15002", "yarn", "spark:7077"])
def test_another_kind_of_master_is_refused(master: str) -> None:
    with pytest.raises(PlanError, match=r"write spark://HOST:PORT.*local-cluster"):
        refuse_unfit(master, ())


def test_credentials_do_not_travel_to_executors() -> None:
    secured = ExternalTarget(
        "kafka.example", 9093, security=Security(credentials=Credentials(mechanism="PLAIN", username="ana"))
    )
    with pytest.raises(PlanError, match=r"credentials for external:kafka\.example:9093 are not sent"):
        refuse_unfit("spark://127.0.0.1:7077", [secured])


def test_without_the_extra_a_run_here_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.extras.find_spec", lambda _: None)
    with pytest.raises(SparkError, match=r"--on spark://.*pip install 'kafka-conformance\[spark\]'"):
        refuse_unfit("spark://127.0.0.1:7077", ())
