"""Measurement of subjects in turns, so that other work on the machine affects all of them alike."""

import asyncio
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from harness.bench.client import Count, Load, carry
from harness.bench.model import Sample, Workload
from harness.targets.base.interface import TargetError

_WARM_UP_S: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A subject of the measurement."""

    name: str
    profile: str
    address: tuple[str, int] | None
    """None for the reference in the client's own process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The durations and numbers of measurements."""

    rounds: int
    seconds: float
    """How long each subject is measured in each round of each workload."""
    heat_up_s: float
    """How long each subject is kept busy before a workload's first round, since a JVM compiles by use."""
    clients: int


@contextmanager
def client_pool(turns: Turns) -> Iterator[ProcessPoolExecutor]:
    """Provide a pool of client processes."""
    # Spawned, so that a client inherits nothing from its parent: no loop, no threads, no garbage.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=turns.clients, mp_context=context) as pool:
        yield pool


async def take_turns(
    subjects: Sequence[Subject],
    workload: Workload,
    turns: Turns,
    pool: Executor,
    tell: Callable[[str], None],
) -> list[Sample]:
    """Measure every subject in every round.

    Raises:
        TargetError: a subject did not answer as it should, or has ended.
    """
    for subject in subjects:
        tell(f"{workload.name}: {subject.name} gets warm")
        await _measure(subject, workload, replace(turns, seconds=turns.heat_up_s), pool, "warm")
    samples: list[Sample] = []
    for number in range(turns.rounds):
        for subject in subjects:
            tell(f"{workload.name}: {subject.name}, round {number + 1} of {turns.rounds}")
            counts = await _measure(subject, workload, turns, pool, str(number))
            samples.append(_sample(subject, workload, number, counts))
    return samples


async def _measure(
    subject: Subject, workload: Workload, turns: Turns, pool: Executor, label: str
) -> list[Count]:
    loop = asyncio.get_running_loop()
    clients = 1 if subject.address is None else min(turns.clients, workload.connections)
    loads = [
        Load(
            workload=replace(workload, connections=share),
            prefix=f"{workload.talk}-{workload.connections}-{workload.in_flight}-{label}-{number}",
            warm_up_s=_WARM_UP_S,
            measured_s=turns.seconds,
            address=subject.address,
            profile=subject.profile,
        )
        for number, share in enumerate(_shares(workload.connections, clients))
    ]
    try:
        return list(await asyncio.gather(*(loop.run_in_executor(pool, carry, load) for load in loads)))
    except Exception as error:
        raise TargetError(f"{subject.name} cannot be measured with {workload.name}: {error}") from error


def _shares(connections: int, clients: int) -> list[int]:
    """Distribute connections among clients as evenly as possible."""
    return [connections // clients + (number < connections % clients) for number in range(clients)]


def _sample(subject: Subject, workload: Workload, number: int, counts: Sequence[Count]) -> Sample:
    return Sample(
        workload=workload.name,
        round=number,
        subject=subject.name,
        requests_per_s=round(sum(each.answered / each.elapsed_s for each in counts), 1),
        client_load=round(max(each.cpu_s / each.elapsed_s for each in counts), 3),
    )
