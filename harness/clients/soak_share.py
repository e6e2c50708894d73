"""A share group under load: each record is acknowledged once, or a member crashed with it in hand."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from typing_extensions import override

from harness.clients.names import Names
from harness.clients.process import Message
from harness.clients.soak_account import GroupAccount
from harness.clients.soak_group import DRAIN_S, SHARE, SoakGroup, SoakPlan
from harness.clients.steps import GroupProtocol
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import ConnectionLost, TargetError
from harness.targets.base.prepare import find_coordinator
from harness.targets.base.tcp import asking

_LOCK_S: Final = 10
_QUIET_S: Final = _LOCK_S + 5
"""After this time without a delivery no more will come, because all locks have expired."""
_DELIVERIES_MAX: Final = 5
"""The brokers' default of `group.share.delivery.count.limit`."""
_SHOWN_MAX: Final = 100
_SETTLE_S: Final = 30.0
_SETTLE_PAUSE_S: Final = 1.0


def configure_share_group(plan: SoakPlan, names: Names) -> None:
    """Configure the share group of a soak, if there is one, to begin with the first record.

    Raises:
        TargetError: the group cannot be configured.
    """
    if SHARE not in plan.groups:
        return
    # librdkafka is an optional extra, which a report does not need.
    from harness.clients.admin import Admin  # noqa: PLC0415 - see above

    lock_ms = str(_LOCK_S * 1000)
    config = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": lock_ms}
    Admin(plan.bootstrap).configure_group(names.actual(SHARE), config)


@dataclass(slots=True)
class Ledger:
    """The deliveries and acknowledgements of each record, as members reported them, on their clock."""

    deliveries: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    """The times of deliveries, each with its delivery count, by value."""
    acknowledged: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    in_hand: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The values that each member has not reported as acknowledged."""
    asked: dict[str, set[str]] = field(default_factory=dict)
    """The values in a commit of each member that has not been answered."""
    crashed_with: set[str] = field(default_factory=set)
    """Values that members had in hand when they were killed."""
    in_doubt: set[str] = field(default_factory=set)
    """Those in a commit that was not answered: each is acknowledged, or delivered again."""
    changed_s: float = field(default_factory=time.monotonic)

    def note(self, member: str, message: Message) -> None:
        """Record an event of a member."""
        if message["event"] == "delivered":
            self.changed_s = time.monotonic()
            for _, _, _, value, count in message["records"]:
                self.deliveries[value].append((message["at_ms"], count))
                self.in_hand[member].add(value)
        elif message["event"] == "acknowledging":
            self.asked[member] = {*message["values"]}
        elif message["event"] == "processed":
            self.asked.pop(member, None)
            for value in message["values"]:
                self.acknowledged[value].append(message["at_ms"])
                self.in_hand[member].discard(value)

    def crash(self, member: str) -> None:
        """Record the crash of a member."""
        self.crashed_with |= self.in_hand.pop(member, set())
        self.in_doubt |= self.asked.pop(member, set())

    def unaccounted(self, wanted: set[str]) -> set[str]:
        """Return the values that were neither acknowledged nor in a commit that a crash left in doubt."""
        return wanted - self.acknowledged.keys() - self.in_doubt

    def is_done(self, wanted: set[str]) -> bool:
        """Return whether all was acknowledged, or all is accounted for and no more deliveries can come."""
        if wanted <= self.acknowledged.keys():
            return True
        is_quiet = time.monotonic() - self.changed_s > _QUIET_S
        return is_quiet and not self.unaccounted(wanted)

    def wrong(self, wanted: set[str]) -> Iterator[str]:
        """Yield a line for each kind of error in the ledger."""
        found = {
            "were not acknowledged, and nobody crashed while it acknowledged them": self.unaccounted(wanted),
            "were acknowledged more than once": {
                value for value, times in self.acknowledged.items() if len(times) > 1
            },
            "came again after they were acknowledged": {
                value for value, times in self.acknowledged.items() if self._came_after(value, times[0])
            },
            f"came more than {_DELIVERIES_MAX} times, or with a count that is no higher than before": {
                value for value, times in self.deliveries.items() if not _is_counted(times)
            },
        }
        for says, values in found.items():
            if values:
                yield f"{len(values)} records {says}, the first is {min(values)}"

    def _came_after(self, value: str, at_ms: float) -> bool:
        return any(came_ms > at_ms for came_ms, _ in self.deliveries[value])


def _is_counted(times: list[tuple[float, int]]) -> bool:
    counts = [count for _, count in sorted(times)]
    return counts == sorted(set(counts)) and counts[-1] <= _DELIVERIES_MAX


class ShareSoakGroup(SoakGroup):
    """A share group of three members, which acknowledge the records that they are delivered."""

    def __init__(self, plan: SoakPlan, names: Names, name: str) -> None:
        settings = {"group_protocol": GroupProtocol.SHARE.value, "share_acknowledgement_mode": "explicit"}
        super().__init__(plan, names, name, settings, is_static=False)
        self._ledger = Ledger()

    @override
    def _happened(self, client: str, message: Message) -> None:
        super()._happened(client, message)
        self._ledger.note(self._member_of(client), message)

    @override
    async def _kill(self, member: str) -> None:
        await super()._kill(member)
        self._ledger.crash(member)

    @override
    async def account(self, produced: Mapping[int, int]) -> GroupAccount:
        wanted = {f"{number}#{place}" for number, count in produced.items() for place in range(count)}
        until_s = time.monotonic() + DRAIN_S
        is_done = False
        while time.monotonic() < until_s and not is_done:
            await asyncio.sleep(1)
            is_done = self._ledger.is_done(wanted)
        lost = sorted(wanted - self._ledger.deliveries.keys())
        return self._accounted(
            lost=tuple(lost[:_SHOWN_MAX]),
            committed=not self._ledger.unaccounted(wanted),
            settled={
                "acknowledged": len(self._ledger.acknowledged),
                "in hand of members that were killed": len(self._ledger.crashed_with),
                "in commits without an answer, and never again": len(
                    self._ledger.in_doubt - self._ledger.acknowledged.keys()
                ),
            },
            wrong=tuple(self._ledger.wrong(wanted)),
        )

    @override
    async def settled(
        self, account: GroupAccount, produced: Mapping[int, int], write: Callable[[int], Awaitable[None]]
    ) -> GroupAccount:
        until_s = time.monotonic() + _SETTLE_S
        starts: Mapping[int, int] = {}
        while time.monotonic() < until_s and any(behind(produced, starts)):
            # A start offset that has moved is written with the acknowledgements that follow.
            await write(1)
            await asyncio.sleep(_SETTLE_PAUSE_S)
            starts = await _start_offsets(self._plan.bootstrap, str(self._settings["group_id"]), self._topic)
        return replace(account, wrong=(*account.wrong, *behind(produced, starts)))


def behind(produced: Mapping[int, int], starts: Mapping[int, int]) -> Iterator[str]:
    """Yield a line for each partition whose start offset is not past the load."""
    for number, count in produced.items():
        start = starts.get(number, -1)
        if start < count:
            yield f"a record of partition {number} is not settled: its start offset is {start} of {count}"


async def _start_offsets(bootstrap: str, group: str, topic: str) -> Mapping[int, int]:
    """Ask the coordinator of a share group for the start offsets of a topic, by partition.

    Raises:
        TargetError: it cannot be asked.
    """
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    try:
        async with asking(host, int(port)) as session:
            first = Dialogue(await session.connect())
            await first.learn_versions()
            coordinator = await find_coordinator(first, group)
            dialogue = Dialogue(await session.connect_to(coordinator.host, coordinator.port))
            answer = await dialogue.ask(
                "DescribeShareGroupOffsets", 0, {"groups": [{"group_id": group, "topics": None}]}
            )
    except (ConnectionLost, NotYet) as error:
        raise TargetError(f"nobody says how far group {group} is: {error}") from error
    return {
        partition.number("partition_index"): partition.number("start_offset")
        for asked in answer.rows("groups")
        for row in asked.rows("topics")
        if row.text("topic_name") == topic
        for partition in row.rows("partitions")
    }
