import os
import signal
from collections.abc import Callable

import pytest

from harness.mutants.pool import WorkerError, WorkerPool

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def pool(work: Callable[[int], str], *, size: int = 2, limit_s: float = 30) -> WorkerPool[str]:
    return WorkerPool(
        prepare=lambda: work, given_up=lambda job: f"{job} given up", size=size, limit_s=limit_s
    )


def test_every_job_has_one_result() -> None:
    assert sorted(pool(lambda job: f"{job} done", size=3).results(7)) == [f"{job} done" for job in range(7)]


def test_nothing_to_do_needs_nobody() -> None:
    assert list(pool(lambda job: f"{job} done").results(0)) == []


def test_a_job_that_ends_its_process_is_given_up_and_the_others_are_done() -> None:
    def work(job: int) -> str:
        if job == 1:
            os._exit(3)
        return f"{job} done"

    assert sorted(pool(work).results(4)) == ["0 done", "1 given up", "2 done", "3 done"]


def test_a_job_that_never_ends_is_given_up() -> None:
    def work(job: int) -> str:
        if job == 0:
            signal.pause()
        return f"{job} done"

    assert sorted(pool(work, limit_s=0.2).results(2)) == ["0 given up", "1 done"]


def test_a_fault_of_ours_passes_for_no_result() -> None:
    def work(job: int) -> str:
        raise LookupError(f"job {job}")

    with pytest.raises(WorkerError, match="LookupError: job 0"):
        list(pool(work, size=1).results(1))
