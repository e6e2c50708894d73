"""Deletes what runs made on an external broker: open transactions, groups, their configurations, topics.

Nothing else is touched: names decide, and every connection's guard checks the same names. A transactional id
itself cannot be deleted; Kafka removes it when it is unused for long (`transactional.id.expiration.ms`).
"""

import asyncio
import contextlib
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.targets.base.dialogue import Answer, Dialogue, NotYet
from harness.targets.base.interface import closing
from harness.targets.base.layout import Endpoint
from harness.targets.base.prepare import find_coordinator
from harness.targets.base.tcp import StreamConnection
from harness.targets.external.group_configs import configured_groups, delete_configs
from harness.targets.external.guard import Guard, GuardedConnection
from harness.targets.secured.security import PLAINTEXT, Security
from harness.wire.codec import Fields

_Ask: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Requests the deletion of some things; returns the error code of each."""
_PAUSE_S: Final = 0.1
_TRIES: Final = 120
"""How often a request is repeated without progress; a group is not empty during its initial delay."""
_GROUPS_A_REQUEST: Final = 100
_TIMEOUT_MS: Final = 60_000
_ENDED: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"})
"""States of a transactional id without an open transaction. Source: TransactionState (3.9.2)."""
_GONE: Final = frozenset({"NONE", "GROUP_ID_NOT_FOUND", "UNKNOWN_TOPIC_OR_PARTITION"})
_NOT_YET: Final = frozenset(
    {
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NON_EMPTY_GROUP",
        "NOT_CONTROLLER",
        "NOT_COORDINATOR",
        "REQUEST_TIMED_OUT",
    }
)
_SEVERAL_LEAVE: Final = 3
"""The first version of LeaveGroup for several members. Source: KIP-345."""
_LEAVING: Final = -1
"""The member epoch of a heartbeat that leaves the group. Source: KIP-848, KIP-932."""


@dataclass(slots=True, kw_only=True)
class Cleaned:
    """What was deleted, and what was not."""

    transactions: int = 0
    groups: int = 0
    topics: int = 0
    left: list[str] = field(default_factory=list)
    """What still exists, with the reason."""

    def __str__(self) -> str:
        done = (
            f"{self.groups} groups and {self.topics} topics deleted, {self.transactions} transactions aborted"
        )
        if not self.left:
            return done
        more = f"; and {len(self.left) - 1} more" if len(self.left) > 1 else ""
        return f"{done}; left behind: {self.left[0]}{more}"


@dataclass(slots=True, kw_only=True)
class Cleaner:
    """Deletes things from one cluster.

    Attributes:
        nodes: the brokers of the cluster.
        guard: checks every request; it permits the deletion of topics.
        is_ours: returns by its name whether a thing must be deleted.
        security: the security settings of the connections.
    """

    nodes: Mapping[int, Endpoint]
    guard: Guard
    is_ours: Callable[[str], bool]
    security: Security = PLAINTEXT
    _cleaned: Cleaned = field(default_factory=Cleaned, init=False)
    _pending: dict[str, str] = field(default_factory=dict, init=False)
    """Things whose deletion is pending, with the broker's latest answer."""

    async def clean(self, transactional_ids: Iterable[str] = (), *, limit_s: float) -> Cleaned:
        """Abort transactions, delete groups, configurations and topics, and return the result.

        Args:
            transactional_ids: the run's known ids; older brokers do not list them.
            limit_s: the time limit, after which the rest is left.
        """
        until_s = time.monotonic() + limit_s

        def part_s(share: float) -> float:
            """Return a share of the time that the earlier parts have left."""
            return (until_s - time.monotonic()) * share

        await self._within(part_s(1 / 4), "transactions", self._abort_transactions(transactional_ids))
        await self._within(part_s(1 / 2), "groups", self._delete_groups())
        await self._within(part_s(2 / 3), "configurations", self._delete_all(self._delete_configs_beside))
        await self._within(part_s(1), "topics", self._delete_all(self._delete_topics_beside))
        self._cleaned.left += [f"{name} ({why})" for name, why in self._pending.items()]
        return self._cleaned

    @contextlib.asynccontextmanager
    async def new_groups_deleted(self, *, limit_s: float) -> AsyncIterator[None]:
        """Delete groups on leaving if none was there on entering; after a failure, do nothing ever again."""
        found: list[str] = []
        if not self._pending:
            await self._within(limit_s, "groups", self._find_groups(found))
        yield
        if not self._pending and not found:
            await self._within(limit_s, "groups", self._delete_groups())

    async def _find_groups(self, found: list[str]) -> None:
        for node in self.nodes.values():
            async with self._asking(node) as dialogue:
                found += await self._listed(dialogue)

    async def _listed(self, dialogue: Dialogue) -> Sequence[str]:
        version = dialogue.version_of("ListGroups", (3, 2, 1, 0, 4, 5))
        rows = (await dialogue.ask("ListGroups", version, {})).rows("groups")
        return [name for row in rows if self.is_ours(name := row.text("group_id") or "")]

    async def _within(self, limit_s: float, what: str, done: Awaitable[None]) -> None:
        """Do one part; its failure does not affect the others."""
        try:
            async with asyncio.timeout(limit_s):
                await done
        except TimeoutError:
            self._pending.setdefault(f"some {what}", f"not done within {limit_s:.1f} s")
        except Exception as error:  # noqa: BLE001 - whatever stops the cleaning takes no verdict with it
            self._pending.setdefault(f"some {what}", str(error) or type(error).__name__)

    async def _abort_transactions(self, known: Iterable[str]) -> None:
        """Initialize each producer again, which aborts its open transaction."""
        opened: set[str] = set()
        is_listed = True
        for node in self.nodes.values():
            async with self._asking(node) as dialogue:
                states = await _transactions(dialogue)
            is_listed = is_listed and states is not None
            opened |= {name for name, state in (states or {}).items() if state not in _ENDED}
        wanted = opened if is_listed else {*opened, *known}
        await self._until_done(
            sorted(name for name in wanted if self.is_ours(name)), self._abort, what="transaction"
        )

    async def _abort(self, names: Sequence[str]) -> Mapping[str, str]:
        reported: dict[str, str] = {}
        for node, some in (await self._by_coordinator(names)).items():
            async with self._asking(node) as dialogue:
                version = dialogue.version_of("InitProducerId", (1, 0, 2, 3, 4))
                for name in some:
                    fields: Fields = {"transactional_id": name, "transaction_timeout_ms": _TIMEOUT_MS}
                    answer = await dialogue.ask("InitProducerId", version, fields)
                    reported[name] = answer.text("error_code") or ""
                    self._cleaned.transactions += reported[name] == "NONE"
        return reported

    async def _by_coordinator(self, names: Sequence[str]) -> Mapping[Endpoint, Sequence[str]]:
        first = next(iter(self.nodes.values()))
        if len(self.nodes) == 1:
            return {first: names}
        found: dict[Endpoint, list[str]] = {}
        async with self._asking(first) as dialogue:
            for name in names:
                coordinator = await find_coordinator(dialogue, name, is_transaction=True)
                found.setdefault(coordinator, []).append(name)
        return found

    async def _delete_groups(self) -> None:
        for node in self.nodes.values():
            await self._delete_groups_of(node)

    async def _delete_groups_of(self, node: Endpoint) -> None:
        async with self._asking(node) as dialogue:
            names = await self._listed(dialogue)

            async def delete(some: Sequence[str]) -> Mapping[str, str]:
                reported: dict[str, str] = {}
                for batch in _batches(some):
                    await _dissolve(dialogue, batch)
                    reported |= await _delete(dialogue, batch)
                self._cleaned.groups += sum(error in _GONE for error in reported.values())
                return reported

            await self._until_done(sorted(names), delete, what="group")

    async def _delete_all(
        self, delete_beside: Callable[[Collection[str]], Awaitable[Collection[str]]]
    ) -> None:
        """Delete things until there are no others: a broker may learn of the latest ones a little later."""
        seen: set[str] = set()
        while found := await delete_beside(seen):
            seen.update(found)

    async def _delete_configs_beside(self, seen: Collection[str]) -> Collection[str]:
        async with self._asking(next(iter(self.nodes.values()))) as dialogue:

            async def delete(some: Sequence[str]) -> Mapping[str, str]:
                reported: dict[str, str] = {}
                for batch in _batches(some):
                    reported |= await delete_configs(dialogue, batch)
                return reported

            names = [
                each for each in await configured_groups(dialogue) if self.is_ours(each) and each not in seen
            ]
            await self._until_done(sorted(names), delete, what="configuration of")
        return names

    async def _delete_topics_beside(self, seen: Collection[str]) -> Collection[str]:
        async def delete(some: Sequence[str]) -> Mapping[str, str]:
            async with self._asking(self.nodes.get(controller, first)) as dialogue:
                version = dialogue.version_of("DeleteTopics", (4, 3, 2, 1, 5))
                fields: Fields = {"topic_names": list(some), "timeout_ms": 5000}
                rows = (await dialogue.ask("DeleteTopics", version, fields)).rows("responses")
            reported = {row.text("name") or "": row.text("error_code") or "" for row in rows}
            self._cleaned.topics += sum(error in _GONE for error in reported.values())
            return reported

        first = next(iter(self.nodes.values()))
        async with self._asking(first) as dialogue:
            version = dialogue.version_of("Metadata", (7, 6, 5, 4, 8, 9))
            fields: Fields = {"topics": None, "allow_auto_topic_creation": False}
            answer = await dialogue.ask("Metadata", version, fields)
        controller = answer.number("controller_id")
        names = {name for row in answer.rows("topics") if self.is_ours(name := row.text("name") or "")}
        names.difference_update(seen)
        await self._until_done(sorted(names), delete, what="topic")
        return names

    async def _until_done(self, names: Sequence[str], ask: _Ask, *, what: str) -> None:
        """Repeat requests for what still exists; leave what is refused for good, or again and again."""
        waiting = list(names)
        self._pending |= {f"{what} {name}": "not asked for in time" for name in waiting}
        vain = 0
        while waiting and vain < _TRIES:
            before = len(waiting)
            reported = await ask(waiting)
            for name, error in reported.items():
                self._pending[f"{what} {name}"] = error
                if error in _GONE:
                    del self._pending[f"{what} {name}"]
            waiting = [name for name in waiting if reported.get(name) in _NOT_YET]
            vain = 0 if len(waiting) < before else vain + 1
            if waiting:
                await asyncio.sleep(_PAUSE_S)

    @contextlib.asynccontextmanager
    async def _asking(self, node: Endpoint) -> AsyncIterator[Dialogue]:
        opened = await StreamConnection.open(node.host, node.port, security=self.security)
        async with closing(GuardedConnection(opened, self.guard)) as connection:
            dialogue = Dialogue(connection)
            await dialogue.learn_versions()
            yield dialogue


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(names), _GROUPS_A_REQUEST):
        yield names[at : at + _GROUPS_A_REQUEST]


async def _transactions(dialogue: Dialogue) -> Mapping[str, str] | None:
    """Return the states of the transactional ids that a broker coordinates; None if it cannot list them."""
    try:
        version = dialogue.version_of("ListTransactions", (0, 1))
    except NotYet:
        return None
    answer = await dialogue.ask("ListTransactions", version, {})
    return {
        row.text("transactional_id") or "": row.text("transaction_state") or ""
        for row in answer.rows("transaction_states")
    }


async def _dissolve(dialogue: Dialogue, groups: Sequence[str]) -> None:
    """Make the members of some groups leave."""
    version = dialogue.version_of("DescribeGroups", (4, 3, 2, 1, 0, 5))
    rows = (await dialogue.ask("DescribeGroups", version, {"groups": list(groups)})).rows("groups")
    if len(groups) > 1 and any(row.text("error_code") != "NONE" for row in rows):
        # A group that cannot be described spoils the answer for all groups of the request.
        for group in groups:
            await _dissolve(dialogue, [group])
        return
    for group, row in _of_groups(rows, groups):
        members = row.rows("members")
        if members:
            await _leave(dialogue, group, members)
    for kind in ("Consumer", "Share", "Streams"):
        await _dissolve_heartbeating_groups(dialogue, groups, kind)


def _of_groups(rows: Iterable[Answer], groups: Collection[str]) -> Iterator[tuple[str, Answer]]:
    """Yield the rows of the groups that were asked for: an answer may name any other."""
    for row in rows:
        group = row.text("group_id")
        if group is not None and group in groups:
            yield group, row


async def _dissolve_heartbeating_groups(dialogue: Dialogue, groups: Sequence[str], kind: str) -> None:
    """Make the members of a newer kind of groups leave by heartbeats: not all brokers let others do it."""
    describes, heartbeats = f"{kind}GroupDescribe", f"{kind}GroupHeartbeat"
    try:
        version = dialogue.version_of(describes, (1, 0))
    except NotYet:
        return
    fields: Fields = {"group_ids": list(groups), "include_authorized_operations": False}
    answer = await dialogue.ask(describes, version, fields)
    for group, row in _of_groups(answer.rows("groups"), groups):
        for member in row.rows("members"):
            leaving: Fields = {
                "group_id": group,
                "member_id": member.text("member_id") or "",
                "member_epoch": _LEAVING,
            }
            await dialogue.ask(heartbeats, dialogue.version_of(heartbeats, (1, 0)), leaving)


async def _leave(dialogue: Dialogue, group: str, members: Sequence[Answer]) -> None:
    version = dialogue.version_of("LeaveGroup", (3, 4, 5, 2, 1, 0))
    if version < _SEVERAL_LEAVE:
        for member in members:
            await dialogue.ask(
                "LeaveGroup", version, {"group_id": group, "member_id": member.text("member_id")}
            )
        return
    rows: list[Fields] = [
        {"member_id": each.text("member_id") or "", "group_instance_id": each.text("group_instance_id")}
        for each in members
    ]
    await dialogue.ask("LeaveGroup", version, {"group_id": group, "members": rows})


async def _delete(dialogue: Dialogue, groups: Sequence[str]) -> Mapping[str, str]:
    version = dialogue.version_of("DeleteGroups", (1, 0, 2))
    answer = await dialogue.ask("DeleteGroups", version, {"groups_names": list(groups)})
    return {row.text("group_id") or "": row.text("error_code") or "" for row in answer.rows("results")}
