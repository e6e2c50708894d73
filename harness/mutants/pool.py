"""Processes that share jobs: forked, so that each has the data its parent had read, and replaceable."""

import multiprocessing
import resource
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, Generic, TypeVar

ResultT = TypeVar("ResultT")

Work = Callable[[int], ResultT]
"""Runs the job with a number."""

_MEMORY_BYTES: Final = 2 * 2**30
"""How much memory a worker may use beyond what it was forked with: a mutant may grow without end."""
_STATM: Final = Path("/proc/self/statm")


class WorkerError(Exception):
    """A job failed in its process; the message is the traceback."""


@dataclass(slots=True, kw_only=True)
class _Worker:
    process: BaseProcess
    line: "Connection[int | None, object]"
    job: int | None = None
    since_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class WorkerPool(Generic[ResultT]):
    """Runs numbered jobs in several processes.

    Attributes:
        prepare: called in each process; returns the function that runs a job there.
        given_up: returns the result of a job whose process died, or exceeded the limit.
        size: the number of processes.
        limit_s: how long one job may take.
    """

    prepare: Callable[[], Work[ResultT]]
    given_up: Callable[[int], ResultT]
    size: int
    limit_s: float

    def results(self, count: int) -> Iterator[ResultT]:
        """Run the jobs from 0 on and yield each result as soon as it is there."""
        jobs = deque(range(count))
        workers = [self._hired() for _ in range(min(self.size, count))]
        try:
            while jobs or any(worker.job is not None for worker in workers):
                for worker in workers:
                    if worker.job is None and jobs:
                        worker.job, worker.since_s = jobs.popleft(), time.monotonic()
                        worker.line.send(worker.job)
                yield from self._collected(workers)
        finally:
            for worker in workers:
                _dismiss(worker)

    def _collected(self, workers: list[_Worker]) -> Iterator[ResultT]:
        busy = {worker.line: worker for worker in workers if worker.job is not None}
        for line in wait(list(busy), timeout=1.0):
            worker = next(each for each in workers if each.line is line)
            assert worker.job is not None
            try:
                result = worker.line.recv()
            except EOFError:
                yield self._replaced(workers, worker)
            else:
                if isinstance(result, WorkerError):
                    raise result
                worker.job = None
                yield result  # type: ignore[misc] # what our own worker sends
        now_s = time.monotonic()
        for worker in tuple(workers):
            if worker.job is not None and now_s - worker.since_s > self.limit_s:
                yield self._replaced(workers, worker)

    def _replaced(self, workers: list[_Worker], worker: _Worker) -> ResultT:
        assert worker.job is not None
        workers.remove(worker)
        _dismiss(worker)
        workers.append(self._hired())
        return self.given_up(worker.job)

    def _hired(self) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=self._serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process=process, line=ours)

    def _serve(self, line: "Connection[object, int | None]") -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # The worker must not inherit the parent's handler.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _limit_memory()
        work = self.prepare()
        while (job := line.recv()) is not None:
            try:
                line.send(work(job))
            except Exception:  # noqa: BLE001 - our own fault, which must not pass for a result
                line.send(WorkerError(traceback.format_exc()))


def _limit_memory() -> None:
    if _STATM.exists():
        now_bytes = int(_STATM.read_text().split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (now_bytes + _MEMORY_BYTES, hard))


def _dismiss(worker: _Worker) -> None:
    """Kill a process, whatever it is doing."""
    worker.process.kill()
    worker.process.join()
    worker.line.close()
