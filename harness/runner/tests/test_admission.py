"""When scenarios begin, and brokers that come later."""

import asyncio
import time

import pytest

from harness.runner import admission
from harness.runner.admission import Admission
from harness.tests.patience import NOW_OR_NEVER_S


@pytest.fixture(autouse=True)
def _small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_CARRIED", 2)


class Scenarios:
    """Scenarios that go on until they are told to end."""

    def __init__(self, shared: Admission, count: int) -> None:
        self._shared = shared
        self._begun = asyncio.Semaphore(0)
        self._end = asyncio.Event()
        self._tasks = [asyncio.create_task(self._live()) for _ in range(count)]

    async def have_begun(self, count: int) -> None:
        """Wait until as many more have begun."""
        async with asyncio.timeout(NOW_OR_NEVER_S):
            for _ in range(count):
                await self._begun.acquire()

    async def end(self) -> None:
        """End them all."""
        self._end.set()
        await asyncio.gather(*self._tasks)

    async def _live(self) -> None:
        async with self._shared.begun("one"):
            self._begun.release()
            await self._end.wait()


@pytest.mark.parametrize(
    ("count", "patience_s"), [(2, 3600.0), (4, 0.01)], ids=["at once where hardly any go on", "in the end"]
)
async def test_on_a_loop_that_stays_late_scenarios_begin(
    count: int, patience_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "_FREE_S", -1.0)
    monkeypatch.setattr(admission, "_PATIENCE_S", patience_s)
    scenarios = Scenarios(Admission(frozenset(), jobs=9), count)
    await scenarios.have_begun(count)
    await scenarios.end()


async def test_a_loop_that_is_late_admits_no_more_until_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_PATIENCE_S", 3600.0)
    is_busy = True
    shared = Admission(frozenset(), jobs=9)

    async def keep_busy() -> None:
        while is_busy:
            time.sleep(0.03)  # noqa: ASYNC251 - the loop is to be late
            await asyncio.sleep(0)

    busy = asyncio.create_task(keep_busy())
    scenarios = Scenarios(shared, 4)
    await asyncio.sleep(0.3)
    assert shared.running == 2
    is_busy = False
    await busy
    await scenarios.have_begun(4)
    await scenarios.end()


async def test_later_brokers_wait_until_hardly_any_scenarios_of_all_targets_are_left() -> None:
    shared = Admission(frozenset({"one", "other"}), jobs=9)
    calm = asyncio.create_task(shared.calm())
    shared.expect("one", 4)
    await asyncio.sleep(0)
    assert not calm.done(), "the other has not said yet what it has"
    shared.expect("other", 1)
    for _ in range(3):
        await asyncio.sleep(0)
        assert not calm.done()
        async with shared.begun("one"):
            pass
    async with asyncio.timeout(NOW_OR_NEVER_S):
        await calm


async def test_nobody_waits_for_a_target_that_is_lost() -> None:
    shared = Admission(frozenset({"one"}), jobs=9)
    shared.expect("one", 4)
    shared.settle("one")
    async with asyncio.timeout(NOW_OR_NEVER_S):
        await shared.calm()


async def test_who_shares_with_nobody_has_nobody_to_wait_for() -> None:
    async with asyncio.timeout(NOW_OR_NEVER_S):
        await Admission(frozenset(), jobs=9).calm()
