"""Finds which broker of a cluster coordinates, and makes another one the coordinator.

This only uses the network, so it is the same for JVMs and containers. The transaction coordinator always
moves with the group coordinator, because a client of a scenario connects to one broker.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.dialogue import Answer, Dialogue, NotYet
from harness.targets.base.interface import (
    BrokerSession,
    Role,
    TargetError,
)
from harness.targets.base.prepare import ask_once, ask_until, create_topics
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.wire.codec import Fields

GROUPS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
_TOPICS: Final = (GROUPS_TOPIC, TRANSACTIONS_TOPIC)
_PREFERRED: Final = 0
"""Source: ElectionType#PREFERRED."""
_GROUP: Final = 0
_TRANSACTION: Final = 1
"""Source: FindCoordinatorRequest.CoordinatorType#id (3.9.2)."""
_METADATA_VERSION: Final = 7
_DONE: Final = frozenset({"NONE", "ELECTION_NOT_NEEDED"})
_Ask = Callable[[Dialogue], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Cluster:
    """The brokers of one cluster, one of which leads the partitions of both coordinators."""

    sessions: Mapping[int, BrokerSession]
    """For each broker, a broker session that connects to it."""
    failure: Callable[[], str | None]
    """Called between tries; a result other than None ends the wait."""
    timeout_ms: float = 60_000.0
    """The most time that a change may take."""
    _down: set[int] = field(default_factory=set)
    _leader: int = -1
    _former: int = -1

    @property
    def coordinator(self) -> int:
        """The id of the broker that coordinates, as last observed."""
        return self._leader

    @property
    def others(self) -> Sequence[int]:
        """The ids of the running brokers that do not coordinate, the next coordinator first."""
        ids = sorted(self.sessions)
        after = ids.index(self._leader) + 1
        return [node for node in (*ids[after:], *ids[:after]) if node not in self._down | {self._leader}]

    def node_in(self, role: Role) -> int:
        """Return the id of the role's broker, as last observed; raise `TargetError` if there is none."""
        match role:
            case Role.COORDINATOR:
                return self._leader
            case Role.FORMER if self._former in self.sessions:
                return self._former
            case Role.OTHER if self.others:
                return self.others[0]
            case _:
                raise TargetError(f"no broker is the {role.value} one")

    def came_up(self, node_id: int) -> None:
        """Record that a broker runs again."""
        self._down.discard(node_id)

    async def lost(self, node_id: int) -> None:
        """Record that a broker is unreachable, and wait until another one coordinates."""
        self._down.add(node_id)
        await self.taken_over()

    async def found(self, node_id: int) -> None:
        """Record that a broker is reachable again, and wait until it is a full follower.

        It then knows the coordinator, and is in sync, so it could take over all partitions together.
        """
        await self._ask(node_id, self._agree)

        async def is_in_sync(dialogue: Dialogue) -> None:
            if not all(node_id in row.numbers("isr_nodes") for row in await _partitions(dialogue)):
                raise NotYet(f"broker {node_id} is not in sync")

        await self._ask(self._leader, is_in_sync)
        self._down.discard(node_id)

    async def settle(self) -> None:
        """Create the topics, with both coordinators' partitions on all brokers and led by the first one."""
        await self._ask(min(self.sessions), self._find_coordinators)
        # Brokers with a ZooKeeper leave this to the current controller.
        await self._ask_controller(_create_topics)
        await self._lead(sorted(self.sessions))

    async def move(self, to: int | None = None) -> None:
        """Make another broker the coordinator, and wait until all running brokers know it.

        Args:
            to: the id of the broker; None is for the next one.

        Raises:
            TargetError: no other broker runs, or it does not become the coordinator.
        """
        if to is None:
            if not self.others:
                raise TargetError("no other broker runs that could coordinate")
            to = self.others[0]
        await self._lead([to, *(node for node in sorted(self.sessions) if node != to)])

    async def taken_over(self) -> None:
        """Wait until a running broker coordinates, and all running brokers know it."""
        running = [node for node in self.sessions if node not in self._down]
        await self._ask(running[0], self._learn_leader)
        for node in running:
            await self._ask(node, self._agree)

    async def _lead(self, replicas: Sequence[int]) -> None:
        """Make the first of some brokers the leader of all partitions."""
        await self._ask_controller(lambda dialogue: self._reorder(dialogue, replicas))
        await self._ask_controller(self._elect)
        self._led_by(replicas[0])
        for node in self.sessions:
            if node not in self._down:
                await self._ask(node, self._agree)

    async def _find_coordinators(self, dialogue: Dialogue) -> None:
        """Find both coordinators, which makes the broker create their topics."""
        version = dialogue.version_of("FindCoordinator", (3, 2, 1))
        for key_type in (_GROUP, _TRANSACTION):
            fields: Fields = {"key": "kafka-conformance-ready", "key_type": key_type}
            answer = await dialogue.ask("FindCoordinator", version, fields)
            if answer.text("error_code") != "NONE":
                raise NotYet(f"FindCoordinator answers {answer.text('error_code')}")

    async def _reorder(self, dialogue: Dialogue, replicas: Sequence[int]) -> None:
        """Reassign the replicas in this order. Source: KIP-455."""
        topics: list[Fields] = [
            {
                "name": name,
                "partitions": [{"partition_index": index, "replicas": list(replicas)} for index in indexes],
            }
            for name, indexes in (await _indexes(dialogue)).items()
        ]
        answer = await dialogue.ask("AlterPartitionReassignments", 0, {"topics": topics, "timeout_ms": 5000})
        reported = [answer.text("error_code")]
        reported += [
            row.text("error_code") for topic in answer.rows("responses") for row in topic.rows("partitions")
        ]
        _require_done("AlterPartitionReassignments", reported)

    async def _elect(self, dialogue: Dialogue) -> None:
        """Make the first replicas the leaders. Source: KIP-460."""
        topics: list[Fields] = [
            {"topic": name, "partitions": list(indexes)}
            for name, indexes in (await _indexes(dialogue)).items()
        ]
        fields: Fields = {"election_type": _PREFERRED, "topic_partitions": topics, "timeout_ms": 5000}
        answer = await dialogue.ask("ElectLeaders", dialogue.version_of("ElectLeaders", (2, 1)), fields)
        reported = [answer.text("error_code")]
        reported += [
            row.text("error_code")
            for topic in answer.rows("replica_election_results")
            for row in topic.rows("partition_result")
        ]
        _require_done("ElectLeaders", reported)

    async def _ask_controller(self, ask: _Ask) -> None:
        """Send requests to the controller; in KRaft, any broker forwards them."""

        async def find_and_ask(dialogue: Dialogue) -> None:
            answer = await dialogue.ask("Metadata", _METADATA_VERSION, {"topics": []})
            controller = answer.number("controller_id")
            if controller not in self.sessions or controller in self._down:
                raise NotYet("the cluster has no controller")
            # The controller may change before the next try, so each try begins by finding it.
            await ask_once(self.sessions[controller], _knowing_versions(ask))

        await self._ask(next(node for node in self.sessions if node not in self._down), find_and_ask)

    async def _learn_leader(self, dialogue: Dialogue) -> None:
        leaders = await _leaders(dialogue)
        if len(leaders) != 1 or leaders & ({-1} | self._down):
            raise NotYet(f"the coordinators' partitions are led by {sorted(leaders)}")
        (leader,) = leaders
        self._led_by(leader)

    def _led_by(self, leader: int) -> None:
        if leader != self._leader:
            self._former, self._leader = self._leader, leader

    async def _agree(self, dialogue: Dialogue) -> None:
        leaders = await _leaders(dialogue)
        if leaders != {self._leader}:
            raise NotYet(f"it believes the coordinators to be {sorted(leaders)}, not {self._leader}")

    async def _ask(self, node_id: int, ask: _Ask) -> None:
        try:
            await ask_until(
                self.sessions[node_id],
                _knowing_versions(ask),
                timeout_ms=self.timeout_ms,
                failure=self.failure,
            )
        except TargetError as error:
            raise TargetError(f"broker {node_id}: {error}") from error


def node_in(role: Role, *, coordinator: int, up: Sequence[int], former: int | None) -> int:
    """Return the id of the broker that has a role, where the running brokers are known.

    Raises:
        TargetError: no broker has it.
    """
    match role:
        case Role.COORDINATOR:
            return coordinator
        case Role.FORMER:
            if former is None:
                raise TargetError("nobody coordinated before")
            return former
        case Role.OTHER:
            others = [each for each in up if each != coordinator]
            if not others:
                raise TargetError("no other broker is up")
            return next((each for each in others if each > coordinator), others[0])


async def settled_cluster(
    addresses: Mapping[int, tuple[str, int]], *, failure: Callable[[], str | None], timeout_ms: float
) -> Cluster | None:
    """Wait until brokers form one cluster, coordinated by the first; a single broker is not a cluster."""
    if len(addresses) == 1:
        return None
    slots = new_connect_slots()
    cluster = Cluster(
        sessions={node_id: TcpSession(*each, connect_slots=slots) for node_id, each in addresses.items()},
        failure=failure,
        timeout_ms=timeout_ms,
    )
    await cluster.settle()
    return cluster


def _knowing_versions(ask: _Ask) -> _Ask:
    async def learned(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        await ask(dialogue)

    return learned


async def _create_topics(dialogue: Dialogue) -> None:
    await create_topics(dialogue, CONFORMANCE_TOPICS)


async def _leaders(dialogue: Dialogue) -> frozenset[int]:
    return frozenset(row.number("leader_id") for row in await _partitions(dialogue))


async def _partitions(dialogue: Dialogue) -> Sequence[Answer]:
    """Return a broker's metadata of the coordinators' partitions."""
    return [row for rows in (await _by_topic(dialogue)).values() for row in rows]


async def _indexes(dialogue: Dialogue) -> Mapping[str, Sequence[int]]:
    """Return the partition indexes of each coordinator's topic."""
    topics = await _by_topic(dialogue)
    return {name: sorted(row.number("partition_index") for row in rows) for name, rows in topics.items()}


async def _by_topic(dialogue: Dialogue) -> Mapping[str, Sequence[Answer]]:
    topics: list[Fields] = [{"name": name} for name in _TOPICS]
    fields: Fields = {"topics": topics, "allow_auto_topic_creation": False}
    answer = await dialogue.ask("Metadata", _METADATA_VERSION, fields)
    found = {topic.text("name") or "": topic.rows("partitions") for topic in answer.rows("topics")}
    if not all(found.get(name) for name in _TOPICS):
        raise NotYet("it does not know the coordinators' partitions yet")
    return found


def _require_done(api: str, reported: Sequence[str | None]) -> None:
    """Raise `NotYet` unless all is done; versions without a top-level error code have none to check."""
    refused = [code for code in reported if code is not None and code not in _DONE]
    if refused:
        raise NotYet(f"{api} answers {', '.join(refused)}")
