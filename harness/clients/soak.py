"""Groups of three under load for minutes, through joins, crashes and returns; every record is accounted for.

Two groups read all of one topic side by side: static members under the eager protocol, and dynamic ones under
the cooperative. Whoever works commits after each batch, so a record may come again after an upheaval;
none may be lost, and in the end all is committed.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from harness.clients.libraries import ClientLibrary
from harness.clients.names import Names
from harness.clients.process import ClientProcess, Message
from harness.clients.steps import Fact, Verb
from harness.targets.base.interface import TargetError

_PARTITION_COUNT: Final = 6
_EACH: Final = 10
"""Records a partition in one go of the producer."""
_PRODUCE_PAUSE_S: Final = 0.1
_TELL_PAUSE_S: Final = 10.0
_UPHEAVAL_PAUSE_S: Final = (2.0, 5.0)
_AWAY_S: Final = (0.5, 4.0)
_ANSWER_S: Final = 60.0
_DRAIN_S: Final = 90.0
_SESSION_MS: Final = 6000
_EXPECTED_ERRORS: Final = frozenset(
    {
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "COMMIT_FAILED",
        "_MAX_POLL_EXCEEDED",
        "_STATE",
        "_WAIT_COORD",
    }
)
"""What a commit may be answered in an upheaval; a real broker answers the same."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakPlan:
    """What is to be endured."""

    library: ClientLibrary
    bootstrap: str
    duration_s: float
    seed: int
    directory: Path
    """Exists; what clients print is kept in it."""
    prefix: str = ""
    """Of all names, where others use the broker too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAccount:
    """What became of the records in one group."""

    group: str
    delivered: int
    """Different records."""
    repeated: int
    """Deliveries beyond the first of each."""
    lost: tuple[str, ...]
    """Records that never came; the first hundred."""
    committed: bool
    """Whether all is committed."""
    upheavals: Mapping[str, int]
    errors: Mapping[str, int]
    """By name, those of clients."""
    happenings: tuple[tuple[float, str, str], ...] = ()
    """Upheavals and errors in the order of time: seconds since the beginning, what, and who."""

    @property
    def unexpected(self) -> tuple[str, ...]:
        """What is not as it should be, in words."""
        found = [f"{len(self.lost)} records were lost, the first is {self.lost[0]}"] if self.lost else []
        found += [] if self.committed else ["not everything is committed"]
        found += [f"error {name}" for name in self.errors if name not in _EXPECTED_ERRORS]
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakResult:
    """What became of a soak."""

    library: str
    produced: int
    duration_s: float
    groups: tuple[GroupAccount, ...]


@dataclass(slots=True)
class _Tally:
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    upheavals: Counter[str] = field(default_factory=Counter)
    began_s: float = field(default_factory=time.monotonic)
    happenings: list[tuple[float, str, str]] = field(default_factory=list)

    def note(self, what: str, who: str) -> None:
        """Keep that something happened now."""
        self.happenings.append((round(time.monotonic() - self.began_s, 2), what, who))


async def soak(plan: SoakPlan, tell: Callable[[str], None]) -> SoakResult:
    """Let two groups work under load and upheavals, and count everything up.

    Raises:
        ClientGone: a client ended by itself.
        TargetError: the topic could not be made, or nothing can be produced any more.
        TimeoutError: a client does not answer any more.
    """
    names = Names(f"{plan.prefix}soak.{plan.library.name}.{plan.seed}.{int(time.time())}.")
    topic = names.actual("load")
    # librdkafka is an extra, and a report needs none.
    from harness.clients.admin import Admin  # noqa: PLC0415 - as said

    await asyncio.to_thread(Admin(plan.bootstrap).make_topic, topic, _PARTITION_COUNT)
    groups = [
        _Group(plan, names, "eager", {"assignor": "range"}, is_static=True),
        _Group(plan, names, "cooperative", {"assignor": "cooperative-sticky"}, is_static=False),
    ]
    load = _Load(plan, topic)
    began_s = time.monotonic()
    try:
        await load.start()
        for group in groups:
            await group.start()
        # Clients that take long to start, on a busy machine, are not to use up the time of the soak.
        began_s = time.monotonic()
        until_s = began_s + plan.duration_s
        chance = random.Random(plan.seed)  # noqa: S311 - chance that can be repeated, no secret
        chances = [random.Random(chance.random()) for _ in groups]  # noqa: S311 - likewise
        await together(
            load.go_on(until_s, tell),
            *(group.endure(until_s, its) for group, its in zip(groups, chances, strict=True)),
        )
        tell(f"{load.produced} records; waiting until all came")
        accounts = [await group.account(load.values) for group in groups]
    finally:
        await asyncio.gather(load.end(), *(group.end() for group in groups))
    return SoakResult(
        library=plan.library.name,
        produced=load.produced,
        duration_s=round(time.monotonic() - began_s, 1),
        groups=tuple(accounts),
    )


async def together(*works: Coroutine[object, object, T]) -> list[T]:
    """Do things side by side; where one fails, the others are stopped before its error is raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Load:
    """Who produces."""

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
        self._client = await _launch(self._plan, "producer", {}, lambda *_: None)

    async def go_on(self, until_s: float, tell: Callable[[str], None]) -> None:
        assert self._client is not None
        began_s = reported_s = time.monotonic()
        while (now_s := time.monotonic()) < until_s:
            if now_s - reported_s > _TELL_PAUSE_S:
                reported_s = now_s
                tell(f"{self.produced} records, {int(now_s - began_s)} s")
            records: list[Fact] = [
                [self._topic, number, f"{number}#{self.values[number] + place}"]
                for number in range(_PARTITION_COUNT)
                for place in range(_EACH)
            ]
            answer = await self._client.tell(Verb.PRODUCE, {"records": records}, timeout_s=_ANSWER_S)
            if "error" in answer:
                raise TargetError(f"producing was refused: {answer['error']}: {answer['says']}")
            for number in range(_PARTITION_COUNT):
                self.values[number] += _EACH
            await asyncio.sleep(_PRODUCE_PAUSE_S)

    async def end(self) -> None:
        if self._client is not None:
            await self._client.kill()


class _Group:
    """A group of three, one of which goes and comes back from time to time."""

    def __init__(
        self,
        plan: SoakPlan,
        names: Names,
        name: str,
        settings: Mapping[str, str | int | bool],
        *,
        is_static: bool,
    ) -> None:
        self._plan = plan
        self._topic = names.actual("load")
        self._name = name
        self._is_static = is_static
        self._settings: dict[str, str | int | bool] = {
            **settings,
            "group_id": names.actual(name),
            "session_timeout_ms": _SESSION_MS,
            "heartbeat_interval_ms": 500,
            "auto_offset_reset": "earliest",
        }
        self._members: dict[str, ClientProcess] = {}
        self._tally = _Tally()

    async def start(self) -> None:
        for number in range(3):
            await self._come(f"member-{number}")

    async def _come(self, member: str) -> None:
        settings = dict(self._settings)
        if self._is_static:
            settings["group_instance_id"] = f"{settings['group_id']}-{member}"
        client = await _launch(self._plan, f"{self._name}-{member}", settings, self._happened)
        self._members[member] = client
        await client.tell(Verb.WORK, {"topics": [self._topic]}, timeout_s=_ANSWER_S)

    def _happened(self, client: str, message: Message) -> None:
        if message["event"] == "delivered":
            self._tally.counts.update(value for _, _, _, value in message["records"])
        elif message["event"] == "error":
            self._tally.errors[message["name"]] += 1
            self._tally.note(f"error {message['name']}", client.removeprefix(f"{self._name}-"))

    async def endure(self, until_s: float, chance: random.Random) -> None:
        """Have something happen every few seconds."""
        self._tally.began_s = time.monotonic()
        upheavals = {"crash": self._crash, "close": self._close, "guest": self._guest}
        while time.monotonic() < until_s:
            await asyncio.sleep(chance.uniform(*_UPHEAVAL_PAUSE_S))
            kind = chance.choice(sorted(upheavals))
            self._tally.upheavals[kind] += 1
            await upheavals[kind](chance)

    async def _crash(self, chance: random.Random) -> None:
        member = chance.choice(sorted(self._members))
        self._tally.note("crash", member)
        await self._members.pop(member).kill()
        await asyncio.sleep(chance.uniform(*_AWAY_S))
        await self._come(member)

    async def _close(self, chance: random.Random) -> None:
        member = chance.choice(sorted(self._members))
        self._tally.note("close", member)
        await self._leave(member)
        await asyncio.sleep(chance.uniform(*_AWAY_S))
        await self._come(member)

    async def _guest(self, chance: random.Random) -> None:
        self._tally.note("guest", "guest")
        await self._come("guest")
        await asyncio.sleep(chance.uniform(*_AWAY_S))
        await self._leave("guest")

    async def _leave(self, member: str) -> None:
        client = self._members.pop(member)
        await client.tell(Verb.CLOSE, {}, timeout_s=_ANSWER_S)
        await client.ended()

    async def account(self, produced: Mapping[int, int]) -> GroupAccount:
        """Wait until all came and is committed, or for long enough, and count up."""
        wanted = {f"{number}#{place}" for number, count in produced.items() for place in range(count)}
        until_s = time.monotonic() + _DRAIN_S
        committed = False
        while time.monotonic() < until_s and not (committed and wanted <= self._tally.counts.keys()):
            await asyncio.sleep(1)
            committed = await self._has_committed(produced)
        lost = sorted(wanted - self._tally.counts.keys())
        return GroupAccount(
            group=self._name,
            delivered=len(self._tally.counts),
            repeated=self._tally.counts.total() - len(self._tally.counts),
            lost=tuple(lost[:100]),
            committed=committed,
            upheavals=dict(sorted(self._tally.upheavals.items())),
            errors=dict(sorted(self._tally.errors.items())),
            happenings=tuple(self._tally.happenings),
        )

    async def _has_committed(self, produced: Mapping[int, int]) -> bool:
        client = self._members[min(self._members)]
        partitions: list[Fact] = [[self._topic, number] for number in produced]
        answer = await client.tell(Verb.COMMITTED, {"partitions": partitions}, timeout_s=_ANSWER_S)
        reported = {number: offset for _, number, offset in answer.get("facts", ())}
        return reported == dict(produced)

    async def end(self) -> None:
        for client in self._members.values():
            await client.kill()


async def _launch(
    plan: SoakPlan,
    name: str,
    settings: Mapping[str, str | int | bool],
    on_event: Callable[[str, Message], None],
) -> ClientProcess:
    return await ClientProcess.start(
        plan.library,
        {**settings, "bootstrap_servers": plan.bootstrap, "client_id": name},
        name=name,
        log=plan.directory / f"{name}.log",
        on_event=on_event,
        keep=lambda *_: None,
    )


def soak_to_json(result: SoakResult) -> str:
    """Write a result as JSON, with what is not as it should be."""
    groups = [{**asdict(each), "unexpected": each.unexpected} for each in result.groups]
    return json.dumps({**asdict(result), "groups": groups}, indent=2, ensure_ascii=False) + "\n"
