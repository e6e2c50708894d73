"""The lock of jars that this package ships, written anew: `make jar-locks`, when Kafka has a new release."""

import asyncio

from harness.targets.jars import locks
from harness.targets.jars.cache import cache_directory
from harness.targets.jars.published import PUBLISHED
from harness.targets.jars.resolved import kafka_jars


async def lock_jars() -> None:
    """Record the jars of every version that the matrix names and the shipped lock does not.

    Raises:
        TargetError: a version's jars cannot be had, or the lock cannot be written.
    """
    for version in PUBLISHED:
        shipped = locks.read_lock(locks.SHIPPED_LOCK)
        if version not in shipped:
            await kafka_jars(version, print)
            hashes = locks.hashes_of(cache_directory() / version / "libs")
            locks.write_lock(locks.SHIPPED_LOCK, {**shipped, version: hashes})


if __name__ == "__main__":
    asyncio.run(lock_jars())
