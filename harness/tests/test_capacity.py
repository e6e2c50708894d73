"""What a machine carries, and who waits for whom when it is less than is wanted."""

import asyncio
import os
from pathlib import Path

import pytest

from harness import capacity
from harness.capacity import BROKER_BYTES, Machine, MachineSlots, Slots, machine
from harness.orchestration.driving import _waves
from harness.targets.kafka.released import KafkaTarget
from harness.tests.patience import NOW_OR_NEVER_S
from harness.workers import first_error


@pytest.mark.parametrize(
    ("cores", "brokers_in_memory", "expected"), [(4, 99, 12), (4, 5, 5), (1, 99, 3), (2, 0, 1)]
)
def test_cores_and_memory_both_limit_brokers(cores: int, brokers_in_memory: int, expected: int) -> None:
    carried = Machine(cores=cores, memory_bytes=brokers_in_memory * BROKER_BYTES)

    assert carried.brokers_at_once == expected


def test_no_more_jobs_are_run_than_there_are() -> None:
    assert Machine(cores=8, memory_bytes=0).jobs(wanted=3) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_process_that_is_bound_to_one_core_counts_one() -> None:
    granted = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(granted)})
        assert machine().cores == 1
    finally:
        os.sched_setaffinity(0, granted)


@pytest.fixture
def cgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of cgroups of our own making, with this process in `/outer/inner`."""
    root, reported = tmp_path / "cgroup", tmp_path / "self"
    (root / "outer" / "inner").mkdir(parents=True)
    reported.write_text("0::/outer/inner\n")
    lines = capacity._lines

    def read(path: Path) -> list[str]:
        return lines(reported if path == Path("/proc/self/cgroup") else path)

    monkeypatch.setattr(capacity, "_CGROUPS", root)
    monkeypatch.setattr(capacity, "_lines", read)
    return root


@pytest.mark.parametrize(("reported", "quota"), [("250000 100000", [2.5]), ("max 100000", []), ("", [])])
def test_a_quota_of_an_outer_cgroup_counts(cgroups: Path, reported: str, quota: list[float]) -> None:
    (cgroups / "outer" / "cpu.max").write_text(reported)

    assert list(capacity._cpu_quotas()) == quota


def test_half_a_core_is_still_one(cgroups: Path) -> None:
    (cgroups / "outer" / "inner" / "cpu.max").write_text("50000 100000")

    assert machine().cores == 1


def test_memory_is_what_the_cgroup_leaves_and_its_file_cache_can_be_given_back(cgroups: Path) -> None:
    outer = cgroups / "outer"
    (outer / "memory.max").write_text("1000\n")
    (outer / "memory.current").write_text("900\n")
    (outer / "memory.stat").write_text("anon 400\ninactive_file 300\n")

    assert machine().memory_bytes == 400


async def most_at_once(count: int, wanted: list[int]) -> int:
    """Let some take slots at the same time, and return how many processes there were at the most."""
    up = most = 0

    async def take(slots: Slots, number: int) -> None:
        nonlocal up, most
        async with slots.taken(number):
            up += number
            most = max(most, up)
            await asyncio.sleep(0)
            up -= number

    slots = Slots(count)
    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        for number in wanted:
            tasks.create_task(take(slots, number))
    return most


async def test_clusters_take_a_slot_for_each_of_their_processes() -> None:
    assert await most_at_once(9, [4] * 6) == 8


async def test_a_cluster_that_is_larger_than_the_machine_comes_alone() -> None:
    assert await most_at_once(3, [4, 4, 1]) == 4


async def test_who_asks_first_is_served_first() -> None:
    served: list[str] = []

    async def take(slots: Slots, name: str, wanted: int) -> None:
        async with slots.taken(wanted):
            served.append(name)
            await asyncio.sleep(0)

    slots = Slots(2)
    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        for name, wanted in (("one", 1), ("both", 2), ("another", 1)):
            tasks.create_task(take(slots, name, wanted))

    assert served == ["one", "both", "another"]


async def test_who_gives_up_waiting_leaves_its_slots_to_others() -> None:
    slots = Slots(2)

    async def take(wanted: int) -> None:
        async with slots.taken(wanted):
            await asyncio.sleep(0)

    async with asyncio.timeout(NOW_OR_NEVER_S), slots.taken(1):
        impatient = asyncio.create_task(take(2))
        await asyncio.sleep(0)
        behind = asyncio.create_task(take(1))
        await asyncio.sleep(0)
        impatient.cancel()
        await behind
    async with asyncio.timeout(NOW_OR_NEVER_S), slots.taken(2):
        assert impatient.cancelled()


@pytest.mark.parametrize("shared", [False, True])
async def test_no_slot_is_taken_only_when_all_who_want_one_had_it(tmp_path: Path, *, shared: bool) -> None:
    order: list[str] = []

    async def take(slots: Slots) -> None:
        async with slots.taken():
            await asyncio.sleep(0)
            order.append("taken")

    slots = MachineSlots(1, tmp_path) if shared else Slots(1)
    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(take(slots))
        await asyncio.sleep(0)
        await slots.none_taken()
        order.append("none taken")

    assert order == ["taken", "taken", "none taken"]


def test_as_many_targets_are_driven_together_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "harness.orchestration.driving.machine", lambda: Machine(cores=2, memory_bytes=64 * BROKER_BYTES)
    )
    targets = [KafkaTarget(version) for version in ("2.8.2", "3.9.2", "4.3.1")]

    assert [len(wave) for wave in _waves(targets, None)] == [2, 1]
    assert [len(wave) for wave in _waves(targets, 3)] == [3]


async def test_processes_of_one_machine_share_slots_of_starts(tmp_path: Path) -> None:
    first, second = (MachineSlots(2, tmp_path) for _ in range(2))
    order: list[str] = []

    async def wait_for_both() -> None:
        async with second.taken(2):
            order.append("second")

    async with first.taken():
        waiting = asyncio.create_task(wait_for_both())
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        order.append("first")
    await waiting
    async with first.taken(7):
        order.append("all")
    assert order == ["first", "second", "all"]


@pytest.mark.parametrize(("bug", "raised"), [(None, ValueError), (KeyError("bug"), ExceptionGroup)])
async def test_the_first_error_of_tasks_is_raised_unless_one_is_of_another_kind(
    bug: Exception | None, raised: type[Exception]
) -> None:
    async def fail(error: Exception) -> None:
        raise error

    async def fail_together() -> None:
        with first_error(ValueError):
            async with asyncio.TaskGroup() as tasks:
                for error in filter(None, (ValueError("first"), ValueError("second"), bug)):
                    tasks.create_task(fail(error))

    with pytest.raises(raised):
        await fail_together()
