"""A group of three members under load, one of which leaves and comes back from time to time."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.clients.clock import clock_ms
from harness.clients.libraries import ClientLibrary
from harness.clients.names import Names
from harness.clients.process import ClientProcess, Message
from harness.clients.soak_account import GroupAccount
from harness.clients.steps import Fact, Verb

SHARE: Final = "share"
GROUPS: Final = ("eager", "cooperative", SHARE)
RECORDS_PER_S: Final = 600
ANSWER_S: Final = 60.0
DRAIN_S: Final = 90.0
_UPHEAVAL_PAUSE_S: Final = (2.0, 5.0)
_AWAY_S: Final = (0.5, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakPlan:
    """The parameters of a soak."""

    library: ClientLibrary
    bootstrap: str
    duration_s: float
    seed: int
    directory: Path
    """An existing folder for the clients' logs."""
    prefix: str = ""
    """The prefix of all names, if others use the broker too."""
    groups: tuple[str, ...] = GROUPS
    """The groups that read the load."""
    records_per_s: int = RECORDS_PER_S
    """The highest rate at which records are written."""


@dataclass(slots=True)
class Tally:
    """Counts of what happened in a group so far."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    upheavals: Counter[str] = field(default_factory=Counter)
    happenings: list[tuple[float, str, str]] = field(default_factory=list)

    def note(self, what: str, who: str) -> None:
        """Record that something happened now."""
        self.happenings.append((clock_ms(), what, who))


class SoakGroup:
    """A group of three members, one of which leaves and comes back from time to time."""

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
        self._settings: dict[str, str | int | bool] = {**settings, "group_id": names.actual(name)}
        self._members: dict[str, ClientProcess] = {}
        self._tally = Tally()

    async def start(self) -> None:
        """Start three members."""
        for number in range(3):
            await self._come(f"member-{number}")

    async def _come(self, member: str) -> None:
        settings = dict(self._settings)
        if self._is_static:
            settings["group_instance_id"] = f"{settings['group_id']}-{member}"
        client = await launch(self._plan, f"{self._name}-{member}", settings, self._happened)
        self._members[member] = client
        await client.tell(Verb.WORK, {"topics": [self._topic]}, timeout_s=ANSWER_S)

    def _happened(self, client: str, message: Message) -> None:
        if message["event"] == "delivered":
            self._tally.counts.update(value for _, _, _, value, *_ in message["records"])
        elif message["event"] == "error":
            self._tally.errors[message["name"]] += 1
            self._tally.note(f"error {message['name']}", self._member_of(client))

    def _member_of(self, client: str) -> str:
        return client.removeprefix(f"{self._name}-")

    async def endure(self, until_s: float, chance: random.Random) -> None:
        """Cause an upheaval every few seconds."""
        upheavals = {"crash": self._crash, "close": self._close, "guest": self._guest}
        while time.monotonic() < until_s:
            await asyncio.sleep(chance.uniform(*_UPHEAVAL_PAUSE_S))
            kind = chance.choice(sorted(upheavals))
            self._tally.upheavals[kind] += 1
            await upheavals[kind](chance)

    async def _crash(self, chance: random.Random) -> None:
        member = chance.choice(sorted(self._members))
        self._tally.note("crash", member)
        await self._kill(member)
        await asyncio.sleep(chance.uniform(*_AWAY_S))
        await self._come(member)

    async def _kill(self, member: str) -> None:
        await self._members.pop(member).kill()

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
        await client.tell(Verb.CLOSE, {}, timeout_s=ANSWER_S)
        await client.ended()

    async def account(self, produced: Mapping[int, int]) -> GroupAccount:
        """Wait until all records are delivered and committed, or time is up, and return the account."""
        wanted = {f"{number}#{place}" for number, count in produced.items() for place in range(count)}
        until_s = time.monotonic() + DRAIN_S
        committed = False
        while time.monotonic() < until_s and not (committed and wanted <= self._tally.counts.keys()):
            await asyncio.sleep(1)
            committed = await self._has_committed(produced)
        lost = sorted(wanted - self._tally.counts.keys())
        return self._accounted(lost=tuple(lost[:100]), committed=committed)

    async def settled(
        self,
        account: GroupAccount,
        produced: Mapping[int, int],  # noqa: ARG002 - for groups that need more than their members' word
        write: Callable[[int], Awaitable[None]],  # noqa: ARG002 - same
    ) -> GroupAccount:
        """Return an account with what the broker itself says of its records.

        Args:
            account: what the group's members say of them.
            produced: how many there are in each partition.
            write: writes so many further records to each partition.

        Raises:
            TargetError: the broker cannot be asked.
        """
        return account

    def _accounted(
        self,
        *,
        lost: tuple[str, ...],
        committed: bool,
        settled: Mapping[str, int] | None = None,
        wrong: tuple[str, ...] = (),
    ) -> GroupAccount:
        return GroupAccount(
            group=self._name,
            delivered=len(self._tally.counts),
            repeated=self._tally.counts.total() - len(self._tally.counts),
            lost=lost,
            committed=committed,
            upheavals=dict(sorted(self._tally.upheavals.items())),
            errors=dict(sorted(self._tally.errors.items())),
            happenings=tuple(self._tally.happenings),
            settled=settled,
            wrong=wrong,
        )

    async def _has_committed(self, produced: Mapping[int, int]) -> bool:
        client = self._members[min(self._members)]
        partitions: list[Fact] = [[self._topic, number] for number in produced]
        answer = await client.tell(Verb.COMMITTED, {"partitions": partitions}, timeout_s=ANSWER_S)
        reported = {number: offset for _, number, offset in answer.get("facts", ())}
        return reported == dict(produced)

    async def end(self) -> None:
        """Kill the remaining members."""
        for client in self._members.values():
            await client.kill()


async def launch(
    plan: SoakPlan,
    name: str,
    settings: Mapping[str, str | int | bool],
    on_event: Callable[[str, Message], None],
) -> ClientProcess:
    """Start a client of a soak."""
    return await ClientProcess.start(
        plan.library,
        {**settings, "bootstrap_servers": plan.bootstrap, "client_id": name},
        name=name,
        log=plan.directory / f"{name}.log",
        on_event=on_event,
        keep=lambda *_: None,
    )
