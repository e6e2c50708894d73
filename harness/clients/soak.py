"""Groups of three under load for minutes, through joins, crashes and returns; every record is accounted for.

Each group reads the whole of one topic: static members with the eager protocol, dynamic ones with the
cooperative protocol, and a share group. Members commit after each batch, so a record may be delivered again
after an upheaval; no record may be lost, and in the end all are committed.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

from harness.clients.names import Names
from harness.clients.process import ClientProcess
from harness.clients.soak_account import SoakResult
from harness.clients.soak_group import ANSWER_S, SHARE, SoakGroup, SoakPlan, launch
from harness.clients.soak_share import ShareSoakGroup, configure_share_group
from harness.clients.steps import Fact, Verb
from harness.targets.base.interface import TargetError

PARTITION_COUNT: Final = 6
_PRODUCE_PAUSE_S: Final = 0.1
_TELL_PAUSE_S: Final = 10.0
_EAGER: Final = "eager"
_OF_CONSUMER: Final[dict[str, str | int | bool]] = {
    "session_timeout_ms": 6000,
    "heartbeat_interval_ms": 500,
    "auto_offset_reset": "earliest",
}
T = TypeVar("T")


async def soak(plan: SoakPlan, tell: Callable[[str], None]) -> SoakResult:
    """Run groups under load and upheavals, and account for all records.

    Raises:
        ClientGone: a client ended by itself.
        TargetError: the topic could not be created, or producing was refused.
        TimeoutError: a client does not answer any more.
    """
    names = Names(f"{plan.prefix}soak.{plan.library.name}.{plan.seed}.{int(time.time())}.")
    topic = names.actual("load")
    # librdkafka is an optional extra, which a report does not need.
    from harness.clients.admin import Admin  # noqa: PLC0415 - see above

    await asyncio.to_thread(Admin(plan.bootstrap).make_topic, topic, PARTITION_COUNT)
    await asyncio.to_thread(configure_share_group, plan, names)
    groups = [_group(plan, names, name) for name in plan.groups]
    load = _Load(plan, topic)
    began_s = time.monotonic()
    try:
        await load.start()
        for group in groups:
            await group.start()
        # Clients that start slowly on a busy machine must not use up the time of the soak.
        began_s = time.monotonic()
        until_s = began_s + plan.duration_s
        chance = random.Random(plan.seed)  # noqa: S311 - repeatable randomness, not a secret
        chances = [random.Random(chance.random()) for _ in groups]  # noqa: S311 - same
        await together(
            load.go_on(until_s, tell),
            *(group.endure(until_s, its) for group, its in zip(groups, chances, strict=True)),
        )
        tell(f"{load.produced} records; waiting until all came")
        produced = dict(load.values)
        accounts = [await group.account(produced) for group in groups]
        accounts = [
            await group.settled(account, produced, load.write)
            for group, account in zip(groups, accounts, strict=True)
        ]
    finally:
        await asyncio.gather(load.end(), *(group.end() for group in groups))
    return SoakResult(
        library=plan.library.name,
        produced=sum(produced.values()),
        duration_s=round(time.monotonic() - began_s, 1),
        groups=tuple(accounts),
    )


def _group(plan: SoakPlan, names: Names, name: str) -> SoakGroup:
    if name == SHARE:
        return ShareSoakGroup(plan, names, name)
    assignor = "range" if name == _EAGER else "cooperative-sticky"
    return SoakGroup(plan, names, name, {**_OF_CONSUMER, "assignor": assignor}, is_static=name == _EAGER)


async def together(*works: Coroutine[object, object, T]) -> list[T]:
    """Run coroutines concurrently; if one fails, cancel the others before its error is raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Load:
    """The producer of the load."""

    def __init__(self, plan: SoakPlan, topic: str) -> None:
        self._plan = plan
        self._topic = topic
        self._client: ClientProcess | None = None
        self.values: dict[int, int] = defaultdict(int)

    @property
    def produced(self) -> int:
        """How many records were acknowledged."""
        return sum(self.values.values())

    async def start(self) -> None:
        self._client = await launch(self._plan, "producer", {}, lambda *_: None)

    async def go_on(self, until_s: float, tell: Callable[[str], None]) -> None:
        """Write records until it is time."""
        began_s = reported_s = time.monotonic()
        each = max(1, round(self._plan.records_per_s * _PRODUCE_PAUSE_S / PARTITION_COUNT))
        while (now_s := time.monotonic()) < until_s:
            if now_s - reported_s > _TELL_PAUSE_S:
                reported_s = now_s
                tell(f"{self.produced} records, {int(now_s - began_s)} s")
            await self.write(each)
            await asyncio.sleep(_PRODUCE_PAUSE_S)

    async def write(self, each: int) -> None:
        """Write so many records to each partition."""
        assert self._client is not None
        records: list[Fact] = [
            [self._topic, number, f"{number}#{self.values[number] + place}"]
            for number in range(PARTITION_COUNT)
            for place in range(each)
        ]
        answer = await self._client.tell(Verb.PRODUCE, {"records": records}, timeout_s=ANSWER_S)
        if "error" in answer:
            raise TargetError(f"producing was refused: {answer['error']}: {answer['says']}")
        for number in range(PARTITION_COUNT):
            self.values[number] += each

    async def end(self) -> None:
        if self._client is not None:
            await self._client.kill()
