"""How many processes of brokers a machine has up at once."""

import asyncio

import pytest

from harness.conduct.driving import _waves
from harness.runner.capacity import BROKER_BYTES, ProcessSlots, processes_at_once
from harness.targets.kafka import KafkaTarget


@pytest.mark.parametrize(("cores", "brokers_in_memory", "expected"), [(4, 99, 8), (4, 5, 5), (1, 99, 2)])
def test_cores_and_memory_both_limit_processes(cores: int, brokers_in_memory: int, expected: int) -> None:
    assert processes_at_once(cores=cores, memory=brokers_in_memory * BROKER_BYTES) == expected


def test_a_machine_that_is_full_still_gets_one() -> None:
    assert processes_at_once(cores=4, memory=0) == 1


def most_at_once(count: int, wanted: list[int]) -> int:
    """Let some take slots at the same time, and return how many processes there were at the most."""
    up = most = 0

    async def take(slots: ProcessSlots, number: int) -> None:
        nonlocal up, most
        async with slots.taken(number):
            up += number
            most = max(most, up)
            await asyncio.sleep(0)
            up -= number

    async def take_all() -> None:
        slots = ProcessSlots(count)
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            for number in wanted:
                tasks.create_task(take(slots, number))

    asyncio.run(take_all())
    return most


def test_clusters_take_a_slot_for_each_of_their_processes() -> None:
    assert most_at_once(9, [4] * 6) == 8


def test_a_cluster_that_is_larger_than_the_machine_comes_alone() -> None:
    assert most_at_once(3, [4, 4, 1]) == 4


def test_clusters_that_do_not_fit_are_driven_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.conduct.driving.processes_at_once", lambda: 8)
    alone = KafkaTarget("4.3.1")
    clusters = [KafkaTarget(version, node_count=3) for version in ("3.9.2", "4.1.2", "4.3.1")]

    waves = [[target.spec for target in wave] for wave in _waves([*clusters[:2], alone, clusters[2]], None)]

    assert waves == [["kafka:3.9.2*3", "kafka:4.1.2*3", "kafka:4.3.1"], ["kafka:4.3.1*3"]]


def test_brokers_that_are_alone_are_driven_together() -> None:
    targets = [KafkaTarget(version) for version in ("2.8.2", "3.9.2", "4.1.2", "4.3.1")]

    assert [len(wave) for wave in _waves(targets, None)] == [4]
    assert [len(wave) for wave in _waves(targets, 3)] == [3, 1]
