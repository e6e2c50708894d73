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


async def test_who_waits_for_an_ending_is_cancelled_when_it_is_over() -> None:
    ending = _Ending()
    waiting = asyncio.create_task(to_its_end(ending.end()))
    await ending.began.wait()
    waiting.cancel()
    await asyncio.wait([waiting], timeout=0)
    ending.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ending.is_done


async def test_who_is_cancelled_twice_gives_an_ending_up() -> None:
    ending = _Ending()
    waiting = asyncio.create_task(to_its_end(ending.end()))
    await ending.began.wait()
    for _ in range(2):
        waiting.cancel()
        await asyncio.wait([waiting], timeout=0)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not ending.is_done
