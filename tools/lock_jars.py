"""`make jar-locks`: update the lock of jars that this package ships, when Kafka has a new release."""

import asyncio
import os
from typing import Final

from harness.targets.jars import locks
from harness.targets.jars.repository import (
    COMPILER,
    COMPILER_VERSION,
    PUBLISHED,
    STREAMS,
    STREAMS_MIN,
    TOOLS,
    single_jar,
)
from harness.targets.jars.resolved import kafka_jars, release_of

_TOOLS: Final = ("3.9.2", "4.4.0")
"""Releases whose tools our tests run against the reference."""


async def lock_jars() -> None:
    """Record the jars of every version in the matrix that the shipped lock lacks.

    Raises:
        TargetError: a version's jars are not available, or the lock cannot be written.
    """
    os.environ[locks.LOCK_VARIABLE] = str(locks.SHIPPED_LOCK)
    for version in PUBLISHED:
        await kafka_jars(version, print)
        if release_of(version) >= STREAMS_MIN:
            await single_jar(STREAMS, version, print)
    for version in _TOOLS:
        await single_jar(TOOLS, version, print)
    await single_jar(COMPILER, COMPILER_VERSION, print)


if __name__ == "__main__":
    asyncio.run(lock_jars())
