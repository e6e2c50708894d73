"""What must not be left half done when somebody interrupts."""

import asyncio

import pytest

from harness.targets.base.ending import to_its_end


class _Ending:
    """An ending that waits to be let on."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.is_done = False

    async def end(self) -> str:
        self.began.set()
        await self.may_go_on.wait()
        self.is_done = True
        return "ended"


async def test_an_ending_returns_what_it_returns() -> None:
    ending = _Ending()
    ending.may_go_on.set()
    assert await to_its_end(ending.end()) == "ended"


@pytest.mark.parametrize(("times", "is_done"), [(1, True), (2, False)], ids=["once", "twice"])
async def test_who_is_cancelled_waits_for_an_ending_and_who_is_again_gives_it_up(
    times: int, *, is_done: bool
) -> None:
    ending = _Ending()
    waiting = asyncio.create_task(to_its_end(ending.end()))
    await ending.began.wait()
    for _ in range(times):
        waiting.cancel()
        await asyncio.wait([waiting], timeout=0)
    ending.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ending.is_done is is_done
