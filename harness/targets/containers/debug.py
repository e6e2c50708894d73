"""Pauses a broker in a container with its JVM's debug agent, whose port is published like the broker's.

An image runs tools before its broker, each in a JVM with the same options. So if a broker is to be paused
from its first instruction on, the debugger attaches to one JVM after another.
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
    """The debug agent of the JVM that currently runs in a container."""

    def __init__(self, port: int, code_points: Mapping[Breakpoint, CodePoint]) -> None:
        self.port = port
        self._code_points = dict(code_points)
        self._debugger: Debugger | None = None
        self._armed: dict[Breakpoint, JvmBreakpoint | None] = {}
        self._keeper: asyncio.Task[None] | None = None

    def jvm_option(self) -> str:
        """Return the JVM option for the agent, which suspends the JVM at first if a breakpoint is armed."""
        suspended = "y" if self._armed else "n"
        agent = f"transport=dt_socket,server=y,suspend={suspended},quiet=y,address=*:{self.port}"
        return f"-agentlib:jdwp={agent}"

    def started(self) -> None:
        """Attach to the container's JVMs after its start, if a breakpoint is armed."""
        if self._armed:
            self._keeper = asyncio.get_running_loop().create_task(self._keep_armed())

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int], *, is_up: bool) -> None:
        """Pause the broker at a breakpoint, in some partitions or in any, whether it runs yet or not."""
        if point not in self._code_points:
            raise TargetError(f"this version cannot be paused at {point.value}")
        self._code_points[point] = replace(self._code_points[point], partitions=partitions)
        self._armed[point] = None
        if is_up:
            if self._debugger is None:
                self._debugger = await _attached(self.port)
            self._armed[point] = await self._debugger.break_at(self._code_points[point])

    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        """Wait until the broker is paused at each of some armed breakpoints."""
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
        """Resume the broker, and stop pausing at this breakpoint."""
        armed = self._armed.pop(point, None)
        if armed is not None:
            await armed.clear()

    async def let_go(self) -> None:
        """Disconnect as the container ends; armed breakpoints apply again after the next start."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        debugger, self._debugger = self._debugger, None
        self._armed = dict.fromkeys(self._armed)
        if debugger is not None:
            await debugger.close()

    async def _keep_armed(self) -> None:
        """Set the breakpoints in each new JVM, until a thread is paused in one."""
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
    """Attach as soon as an agent answers: the engine accepts connections before the agent listens."""
    async with asyncio.timeout(_ATTACH_TIMEOUT_S):
        while True:
            try:
                return await Debugger.attach(HOST, port, timeout_s=_SHAKE_HANDS_S)
            except TargetError:
                await asyncio.sleep(_PAUSE_S)
