"""Pauses a broker in a container by the debug agent of its JVM, whose port is published like the broker's.

An image runs tools before its broker, each in a JVM that is told the same options. So whoever is to be paused
from its first instruction on is looked for in one JVM after the other.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from harness.targets.base.interface import Breakpoint, TargetError
from harness.targets.debugger.jdwp import CodePoint, Debugger, JvmBreakpoint
from harness.targets.kafka.properties import HOST

_ATTACH_TIMEOUT_S: Final = 60.0
_SHAKE_HANDS_S: Final = 10.0
_PAUSE_S: Final = 0.05
_BROKER_LIVES_S: Final = 86_400.0


class DebugAgent:
    """The agent of whatever JVM runs in a container."""

    def __init__(self, port: int, code_points: Mapping[Breakpoint, CodePoint]) -> None:
        self.port = port
        self._code_points = dict(code_points)
        self._debugger: Debugger | None = None
        self._armed: dict[Breakpoint, JvmBreakpoint | None] = {}
        self._keeper: asyncio.Task[None] | None = None

    def jvm_option(self) -> str:
        """Return what makes a JVM listen, and wait for us where somebody is to be paused from the start."""
        suspended = "y" if self._armed else "n"
        agent = f"transport=dt_socket,server=y,suspend={suspended},quiet=y,address=*:{self.port}"
        return f"-agentlib:jdwp={agent}"

    def started(self) -> None:
        """Be told that the container was started."""
        if self._armed:
            self._keeper = asyncio.get_running_loop().create_task(self._keep_armed())

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int], *, is_up: bool) -> None:
        """Pause the broker when it next comes to a point, in some partitions or in any, running or not."""
        if point not in self._code_points:
            raise TargetError(f"this version cannot be paused at {point.value}")
        self._code_points[point] = replace(self._code_points[point], partitions=partitions)
        self._armed[point] = None
        if is_up:
            if self._debugger is None:
                self._debugger = await _attached(self.port)
            self._armed[point] = await self._debugger.break_at(self._code_points[point])

    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        """Wait until the broker is paused at each of some points that were told."""
        for point in self._armed.keys() & points:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._paused(point)
            except TimeoutError:
                where = self._code_points[point]
                raise TargetError(f"no thread came to {where} within {timeout_s:g} s") from None

    async def _paused(self, point: Breakpoint) -> None:
        while True:
            if self._keeper is not None and self._keeper.done():
                self._keeper.result()
            armed = self._armed.get(point)
            if armed is not None:
                with suppress(TargetError):  # its JVM was not the broker's
                    await armed.reached(timeout_s=_BROKER_LIVES_S)
                    return
            await asyncio.sleep(_PAUSE_S)

    async def resume_from(self, point: Breakpoint) -> None:
        """Let the broker go on, and no longer pause at this point."""
        armed = self._armed.pop(point, None)
        if armed is not None:
            await armed.clear()

    async def let_go(self) -> None:
        """Hang up, as the container ends; whoever is to be paused is so after the next start."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        debugger, self._debugger = self._debugger, None
        self._armed = dict.fromkeys(self._armed)
        if debugger is not None:
            await debugger.close()

    async def _keep_armed(self) -> None:
        """Set the points in each JVM that comes, up to the one in which a thread is paused."""
        while True:
            debugger = self._debugger = await _attached(self.port)
            try:
                for point in tuple(self._armed):
                    self._armed[point] = await debugger.break_at(self._code_points[point])
                await debugger.begin()
                for armed in tuple(self._armed.values()):
                    if armed is not None:
                        await armed.reached(timeout_s=_BROKER_LIVES_S)
                        return
            except TargetError:
                await debugger.close()


async def _attached(port: int) -> Debugger:
    """Attach as soon as an agent answers: the engine accepts connections before anything listens."""
    async with asyncio.timeout(_ATTACH_TIMEOUT_S):
        while True:
            try:
                return await Debugger.attach(HOST, port, timeout_s=_SHAKE_HANDS_S)
            except TargetError:
                await asyncio.sleep(_PAUSE_S)
