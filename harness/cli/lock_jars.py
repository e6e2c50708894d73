"""`make jar-locks`: update the lock of jars that this package ships, when Kafka has a new release."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from harness.targets.jars import locks
from harness.targets.jars.cache import cache_directory
from harness.targets.jars.published import PUBLISHED
from harness.targets.jars.resolved import kafka_jars, release_of
from harness.targets.jars.single import STREAMS, STREAMS_MIN, TOOLS, single_jar

_TOOLS: Final = ("3.9.2", "4.4.0")
"""Releases whose tools our tests run against the reference."""


async def lock_jars() -> None:
    """Record the jars of every version in the matrix that the shipped lock lacks.

    Raises:
        TargetError: a version's jars are not available, or the lock cannot be written.
    """
    for version in PUBLISHED:
        await _lock(version, partial(kafka_jars, version, print))
        if release_of(version) >= STREAMS_MIN:
            await _lock(f"{STREAMS}-{version}", partial(single_jar, STREAMS, version, print))
    for version in _TOOLS:
        await _lock(f"{TOOLS}-{version}", partial(single_jar, TOOLS, version, print))


async def _lock(name: str, fetched: Callable[[], Awaitable[object]]) -> None:
    shipped = locks.read_lock(locks.SHIPPED_LOCK)
    if name not in shipped:
        await fetched()
        hashes = locks.hashes_of(cache_directory() / name / "libs")
        locks.write_lock(locks.SHIPPED_LOCK, {**shipped, name: hashes})


if __name__ == "__main__":
    asyncio.run(lock_jars())
