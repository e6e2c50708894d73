"""Compare with brokers what the assignors assign: `python -m harness.tests.assignors_beside kafka:4.4.0`.

Random consumer groups, whose members join, change, leave and see topics grow, are on a broker and on the
reference of its release, which has the ids of the broker's topics. Each target assignment is compared, member
by member. `python -m reference_coordinator.groups.consumer.tests.assignor_answers.beside_kafka` compares the
assignors alone, with larger groups.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from harness.orchestration.plan import parse_targets
from harness.scenario.ask import REBALANCE_TIMEOUT_MS
from harness.scenario.heartbeating import JOINS, LEAVES
from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.interface import Broker, BrokerSession, Target
from harness.targets.base.prepare import create_topics, find_topic_ids
from harness.targets.reference.draws import Draws
from harness.targets.reference.oracle import oracle_for
from harness.targets.reference.target import ReferenceBroker
from harness.wire.codec import Fields
from reference_coordinator.groups.consumer.tests.assignor_answers.groups import member_ids

TOPICS: Final[Mapping[str, int]] = {f"topic-{number}": 1 + number * 7 % 20 for number in range(20)}
"""Topics that the groups share, with the partitions that they have at first."""
_BATCH: Final = 20
"""Groups that are there at once, and see the same topics grow."""
_CONFIG: Final = {"group.coordinator.append.linger.ms": "0"}
_TRIES: Final = 200
_EVERY_MS: Final = 50
Assigned: TypeAlias = Mapping[str, Mapping[str, tuple[int, ...]]]
"""By member and topic id, the partitions that a member is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One heartbeat of a member."""

    group: str
    member_id: str
    says: Fields = field(default_factory=dict)
    """What it says beside its group, id and epoch."""
    epoch: int | None = None
    """Where it joins or leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A topic gets more partitions."""

    topic: str
    count: int


Step: TypeAlias = Move | Growth


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a heartbeat was answered, and what every member of the group is to have then."""

    heartbeat: tuple[str | None, int]
    assignor: str | None
    assigned: Assigned


class Group:
    """A random group: its members come, change and go."""

    def __init__(self, random: Random, group_id: str) -> None:
        self._random = random
        self._id = group_id
        self._shared = None if random.random() < 0.5 else self._topics()
        self._left = [*member_ids(random, random.randint(1, random.choice([3, 6, 12])))]
        self._members: list[str] = []

    def _topics(self) -> list[str]:
        return self._random.sample([*TOPICS], self._random.randint(1, self._random.choice([2, 8])))

    def begins(self) -> Iterator[Move]:
        """Most members join, and some change."""
        random = self._random
        while self._left:
            yield self._joins()
            if random.random() < 0.2:
                yield self._changes()
        yield self._changes()
        if len(self._members) > 1:
            yield self._leaves()

    def goes_on(self) -> Iterator[Move]:
        """Somebody heartbeats when topics have grown, and leaves at last."""
        yield Move(group=self._id, member_id=self._members[0])
        yield self._leaves()

    def _joins(self) -> Move:
        random, member_id = self._random, self._left.pop(0)
        self._members.append(member_id)
        says: Fields = {
            "instance_id": f"instance-{random.randint(0, 10**6)}" if random.random() < 0.3 else None,
            "rack_id": random.choice([None, "a", "b"]),
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "subscribed_topic_names": self._shared or self._topics(),
            "server_assignor": random.choice([None, "uniform", "uniform", "range"]),
            "topic_partitions": [],
        }
        return Move(group=self._id, member_id=member_id, says=says, epoch=JOINS)

    def _changes(self) -> Move:
        member_id = self._random.choice(self._members)
        says: Fields = {"server_assignor": self._random.choice(["uniform", "range"])}
        if self._shared is None:
            says = {"subscribed_topic_names": self._topics()}
        return Move(group=self._id, member_id=member_id, says=says)

    def _leaves(self) -> Move:
        member_id = self._members.pop(self._random.randrange(len(self._members)))
        return Move(group=self._id, member_id=member_id, epoch=LEAVES)


def steps(random: Random, groups: int) -> Iterator[Step]:
    """What is done to a broker: batches of groups, with topics that grow meanwhile."""
    counts = dict(TOPICS)
    for first in range(0, groups, _BATCH):
        batch = [Group(random, f"group-{number}") for number in range(first, min(groups, first + _BATCH))]
        for group in batch:
            yield from group.begins()
        topic = random.choice([*counts])
        counts[topic] += random.randint(1, 3)
        yield Growth(topic=topic, count=counts[topic])
        for group in batch:
            yield from group.goes_on()


class Side:
    """A broker or a reference, which is asked one thing after the other."""

    def __init__(self, session: BrokerSession, dialogue: Dialogue) -> None:
        self._session = session
        self._dialogue = dialogue
        self._epochs: dict[tuple[str, str], int] = {}
        self._counts = dict(TOPICS)
        self._probes = 0

    async def takes(self, step: Step) -> Answered | None:
        """Take a step; return what a heartbeat led to."""
        if isinstance(step, Growth):
            await self._grow(step)
            return None
        answer = await self._heartbeat(step)
        return await self._described(step.group, answer)

    async def _heartbeat(self, move: Move) -> Answer:
        member = (move.group, move.member_id)
        epoch = self._epochs.get(member, 0) if move.epoch is None else move.epoch
        nothing_new: Fields = {"topic_partitions": None, "subscribed_topic_names": None}
        said: Fields = {"group_id": move.group, "member_id": move.member_id, "member_epoch": epoch}
        answer = await self._dialogue.ask("ConsumerGroupHeartbeat", 1, {**nothing_new, **said, **move.says})
        self._epochs[member] = answer.number("member_epoch")
        return answer

    async def _described(self, group: str, answer: Answer) -> Answered:
        described = await self._dialogue.ask("ConsumerGroupDescribe", 1, {"group_ids": [group]})
        (row,) = described.rows("groups")
        assigned = {
            member.text("member_id") or "": _partitions(member.fields["target_assignment"])
            for member in row.rows("members")
        }
        heartbeat = answer.text("error_code"), answer.number("member_epoch")
        return Answered(heartbeat=heartbeat, assignor=row.text("assignor_name"), assigned=assigned)

    async def _grow(self, growth: Growth) -> None:
        grown: Fields = {"name": growth.topic, "count": growth.count, "assignments": None}
        await self._dialogue.ask("CreatePartitions", 3, {"topics": [grown], "timeout_ms": 5000})
        self._counts[growth.topic] = growth.count
        await self.knows_topics()

    async def knows_topics(self) -> None:
        """Wait until the coordinator knows all partitions: a new group's only member is to have them."""
        for _ in range(_TRIES):
            self._probes += 1
            joins: Fields = {
                "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
                "subscribed_topic_names": [*self._counts],
                "topic_partitions": [],
            }
            probe = Move(group=f"probe-{self._probes}", member_id="probe", says=joins, epoch=JOINS)
            found = await self.takes(probe)
            assert found is not None
            if sum(map(len, found.assigned.get("probe", {}).values())) == sum(self._counts.values()):
                return
            await self._session.elapse(_EVERY_MS)
        raise AssertionError("the coordinator does not learn of its topics")


def _partitions(assignment: object) -> Mapping[str, tuple[int, ...]]:
    assert isinstance(assignment, Mapping)
    rows = Answer(assignment).rows("topic_partitions")
    return {row.text("topic_id") or "": tuple(sorted(row.numbers("partitions"))) for row in rows}


@asynccontextmanager
async def opened(session: BrokerSession) -> AsyncIterator[tuple[Side, Dialogue]]:
    """Ask on a connection of its own, where the topics are there and known."""
    connection = await session.connect()
    dialogue = Dialogue(connection)
    try:
        await dialogue.learn_versions()
        await create_topics(dialogue, TOPICS)
        side = Side(session, dialogue)
        await side.knows_topics()
        yield side, dialogue
    finally:
        await connection.close()
        await session.close()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of a comparison."""

    assignments: int = 0
    mismatches: list[tuple[Move, Answered, Answered]] = field(default_factory=list)
    """The heartbeat that led to it, what the reference answers, and what the broker does."""


async def compared(broker: Broker, target: Target, random: Random, groups: int) -> Outcome:
    """Have random groups on a broker and on its reference."""
    oracle = oracle_for(target, broker.description)
    reference = await oracle.target.start(
        broker_config={**oracle.base_config, **_CONFIG}, directory=Path(), progress=lambda _: None
    )
    assert isinstance(reference, ReferenceBroker), "a reference starts no others"
    outcome = Outcome()
    async with opened(broker.open_session("assignors")) as (theirs, dialogue):
        draws = Draws(topic_ids=await find_topic_ids(dialogue, TOPICS))
        async with opened(reference.open_session("assignors", draws)) as (ours, _):
            for step in steps(random, groups):
                expected, actual = await ours.takes(step), await theirs.takes(step)
                outcome.assignments += expected is not None
                if isinstance(step, Move) and expected and actual and expected != actual:
                    outcome.mismatches.append((step, expected, actual))
    return outcome


async def outcome_on(target: Target, directory: Path, *, groups: int, seed: int) -> Outcome:
    """Start a target, and have random groups on it."""
    await target.fetch(lambda _: None)
    broker = await target.start(broker_config=_CONFIG, directory=directory, progress=lambda _: None)
    try:
        return await compared(broker, target, Random(seed), groups)
    finally:
        await broker.stop()


def report(target: Target, outcome: Outcome, *, groups: int, took_s: float) -> str:
    """Say what came of it: the first mismatch, and the figures."""
    first = [
        f"{move}\n  reference: {expected}\n  {target.name}: {actual}\n"
        for move, expected, actual in outcome.mismatches[:1]
    ]
    wrong = len({move.group for move, _, _ in outcome.mismatches})
    return (
        f"{''.join(first)}{target.spec}: {groups} groups, {outcome.assignments} assignments, "
        f"{wrong} groups with a mismatch, {took_s:.0f} s\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="+")
    given = parser.parse_args(arguments)
    mismatches = 0
    for target in parse_targets(given.targets):
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            found = asyncio.run(outcome_on(target, Path(directory), groups=given.groups, seed=given.seed))
        took_s = time.monotonic() - began_s
        sys.stdout.write(report(target, found, groups=given.groups, took_s=took_s))
        sys.stdout.flush()
        mismatches += len(found.mismatches)
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
