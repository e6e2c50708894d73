"""Compare with brokers what the assignors assign: `python -m harness.tests.assignors_beside kafka:4.4.0`.

Random groups of a type, whose members join, change and leave, are on a broker and on the reference of its
release, which has the ids of the broker's topics. Consumer groups see topics grow. Each assignment is
compared, member by member. For consumer groups,
`python -m reference_coordinator.groups.consumer.tests.assignor_answers.beside_kafka` compares the assignors
alone, with larger groups.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from harness.orchestration.plan import parse_targets
from harness.scenario.ask import REBALANCE_TIMEOUT_MS
from harness.scenario.heartbeating import JOINS
from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.interface import Broker, BrokerSession, Target
from harness.targets.base.prepare import create_topics, find_topic_ids
from harness.targets.reference.draws import Draws
from harness.targets.reference.oracle import oracle_for
from harness.targets.reference.target import ReferenceBroker
from harness.tests.random_groups import CHANGELOGS, CONSUMER, KINDS, TOPICS, Assigned, GroupType, Move
from harness.wire.codec import Fields

_BATCH: Final = 20
"""Groups that are there at once, and see the same topics grow."""
_CONFIG: Final = {"group.coordinator.append.linger.ms": "0"}
_TRIES: Final = 200
_EVERY_MS: Final = 50


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


def steps(kind: str, random: Random, groups: int) -> Iterator[Step]:
    """What is done to a broker: batches of groups, with topics that grow meanwhile."""
    group_type, random_group = KINDS[kind]
    counts = dict(TOPICS)
    for first in range(0, groups, _BATCH):
        numbers = range(first, min(groups, first + _BATCH))
        batch = [random_group(random, f"group-{number}") for number in numbers]
        for group in batch:
            yield from group.begins()
        if group_type.topics_grow:
            topic = random.choice([*counts])
            counts[topic] += random.randint(1, 3)
            yield Growth(topic=topic, count=counts[topic])
        for group in batch:
            yield from group.goes_on()


class Side:
    """A broker or a reference, which is asked one thing after the other."""

    def __init__(self, session: BrokerSession, dialogue: Dialogue, group_type: GroupType) -> None:
        self._session = session
        self._type = group_type
        self._dialogue = dialogue
        self._epochs: dict[tuple[str, str], int] = {}
        self._owned: dict[tuple[str, str], Fields] = {}
        self._counts = {**TOPICS, **CHANGELOGS}
        self._probes = 0

    async def takes(self, step: Step) -> Answered | None:
        """Take a step; return what a heartbeat led to."""
        if isinstance(step, Growth):
            await self._grow(step)
            return None
        return await self._settled(step, self._type)

    async def _settled(self, move: Move, group_type: GroupType) -> Answered:
        """Let a member heartbeat, until it has as many partitions as it is to have."""
        for _ in range(_TRIES):
            found = await self._described(move, group_type, await self._heartbeat(move, group_type))
            given = found.assigned.get(move.member_id, {})
            if move.partition_count in (None, sum(map(len, given.values()))):
                return found
            move = Move(group=move.group, member_id=move.member_id, partition_count=move.partition_count)
            await self._session.elapse(_EVERY_MS)
        raise AssertionError(f"{move.group} is not given {move.partition_count} partitions")

    async def _heartbeat(self, move: Move, group_type: GroupType) -> Answer:
        member = (move.group, move.member_id)
        epoch = self._epochs.get(member, 0) if move.epoch is None else move.epoch
        owned: Fields = self._owned.get(member, {}) if move.epoch is None else {}
        said: Fields = {"group_id": move.group, "member_id": move.member_id, "member_epoch": epoch}
        fields = {**group_type.unchanged, **owned, **said, **move.says}
        answer = await self._dialogue.ask(group_type.heartbeat, group_type.version, fields)
        self._epochs[member] = answer.number("member_epoch")
        if any(answer.fields.get(name) is not None for name in group_type.owned):
            self._owned[member] = {name: answer.fields[name] or () for name in group_type.owned}
        return answer

    async def _described(self, move: Move, group_type: GroupType, answer: Answer) -> Answered:
        asked: Fields = {"group_ids": [move.group]}
        described = await self._dialogue.ask(group_type.describe, group_type.version, asked)
        (row,) = described.rows("groups")
        assigned = {
            member.text("member_id") or "": group_type.assigned(member) for member in row.rows("members")
        }
        epoch = answer.number("member_epoch") if group_type.compares_epochs else 0
        heartbeat = answer.text("error_code"), epoch
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
            found = await self._settled(probe, CONSUMER)
            if sum(map(len, found.assigned.get("probe", {}).values())) == sum(self._counts.values()):
                return
            await self._session.elapse(_EVERY_MS)
        raise AssertionError("the coordinator does not learn of its topics")


@asynccontextmanager
async def opened(session: BrokerSession, group_type: GroupType) -> AsyncIterator[tuple[Side, Dialogue]]:
    """Ask on a connection of its own, where the topics are there and known."""
    connection = await session.connect()
    dialogue = Dialogue(connection)
    try:
        await dialogue.learn_versions()
        await create_topics(dialogue, TOPICS)
        await create_topics(dialogue, CHANGELOGS)
        side = Side(session, dialogue, group_type)
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


async def compared(broker: Broker, target: Target, kind: str, random: Random, groups: int) -> Outcome:
    """Have random groups on a broker and on its reference."""
    group_type, _ = KINDS[kind]
    oracle = oracle_for(target, broker.description)
    config = {**oracle.base_config, **_CONFIG, **group_type.broker_config}
    reference = await oracle.target.start(broker_config=config, directory=Path(), progress=lambda _: None)
    assert isinstance(reference, ReferenceBroker), "a reference starts no others"
    outcome = Outcome()
    async with opened(broker.open_session("assignors"), group_type) as (theirs, dialogue):
        draws = Draws(topic_ids=await find_topic_ids(dialogue, {**TOPICS, **CHANGELOGS}))
        async with opened(reference.open_session("assignors", draws), group_type) as (ours, _):
            for step in steps(kind, random, groups):
                expected, actual = await ours.takes(step), await theirs.takes(step)
                outcome.assignments += expected is not None
                if isinstance(step, Move) and expected and actual and expected != actual:
                    outcome.mismatches.append((step, expected, actual))
    return outcome


async def outcome_on(
    target: Target, directory: Path, *, groups: int, seed: int, kind: str = "consumer"
) -> Outcome:
    """Start a target, and have random groups on it."""
    await target.fetch(lambda _: None)
    config = {**_CONFIG, **KINDS[kind][0].broker_config}
    broker = await target.start(broker_config=config, directory=directory, progress=lambda _: None)
    try:
        return await compared(broker, target, kind, Random(seed), groups)
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
    parser.add_argument("--type", choices=[*KINDS], default="consumer", help="the type of the groups")
    parser.add_argument("targets", nargs="+")
    given = parser.parse_args(arguments)
    mismatches = 0
    for target in parse_targets(given.targets):
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            found = asyncio.run(
                outcome_on(target, Path(directory), groups=given.groups, seed=given.seed, kind=given.type)
            )
        took_s = time.monotonic() - began_s
        sys.stdout.write(report(target, found, groups=given.groups, took_s=took_s))
        sys.stdout.flush()
        mismatches += len(found.mismatches)
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
