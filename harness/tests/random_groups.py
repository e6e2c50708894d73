"""Random groups of each type: their members come, change and go."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeAlias, cast

from typing_extensions import override

from harness.scenario.ask import REBALANCE_TIMEOUT_MS
from harness.scenario.heartbeating import JOINS, LEAVES
from harness.scenario.streams import subtopology, topic_info, topology
from harness.targets.base.dialogue import Answer
from harness.wire.codec import Fields
from reference_coordinator.groups.consumer.tests.assignor_answers.groups import member_ids

TOPICS: Final[Mapping[str, int]] = {f"topic-{number}": 1 + number * 7 % 20 for number in range(20)}
"""Topics that the groups share, with the partitions that they have at first."""
CHANGELOGS: Final[Mapping[str, int]] = {f"{topic}-changelog": count for topic, count in TOPICS.items()}
"""The topics for the state of streams groups' tasks."""
Assigned: TypeAlias = Mapping[str, Mapping[str, tuple[int, ...]]]
"""By member and topic id, or by member and subtopology, the partitions that a member is to have."""
_TASKS: Final = ("active_tasks", "standby_tasks", "warmup_tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One heartbeat of a member."""

    group: str
    member_id: str
    says: Fields = field(default_factory=dict)
    """What it says beside its group, id and epoch."""
    epoch: int | None = None
    """Where it joins or leaves."""
    partition_count: int | None = None
    """How many partitions it is to have; it heartbeats until then. None if one heartbeat is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupType:
    """How groups of a type are spoken to."""

    heartbeat: str
    describe: str
    version: int
    unchanged: Fields
    """What a heartbeat says of what it does not change."""
    assignment: str
    """The field of a described member with what it is to have."""
    broker_config: Mapping[str, str] = field(default_factory=dict)
    topics_grow: bool = False
    """Whether groups see topics grow."""
    compares_epochs: bool = True
    """Whether a member has the same epochs wherever it is."""
    owned: tuple[str, ...] = ()
    """The fields of a heartbeat with what the member has, as it was assigned."""

    def assigned(self, member: Answer) -> Mapping[str, tuple[int, ...]]:
        """Return what a described member is to have."""
        assignment = member.fields[self.assignment]
        assert isinstance(assignment, Mapping)
        found = Answer(assignment)
        rows = {row.text("topic_id") or "": row for row in found.rows("topic_partitions")}
        for kind in _TASKS:
            rows |= {f"{kind} of {row.text('subtopology_id')}": row for row in found.rows(kind)}
        return {name: tuple(sorted(row.numbers("partitions"))) for name, row in rows.items()}


CONSUMER: Final = GroupType(
    heartbeat="ConsumerGroupHeartbeat",
    describe="ConsumerGroupDescribe",
    version=1,
    unchanged={"topic_partitions": None, "subscribed_topic_names": None},
    assignment="target_assignment",
    topics_grow=True,
)
SHARE: Final = GroupType(
    heartbeat="ShareGroupHeartbeat",
    describe="ShareGroupDescribe",
    version=1,
    unchanged={"subscribed_topic_names": None},
    assignment="assignment",
    compares_epochs=False,
)
SHARE_PREVIEW: Final = replace(
    SHARE,
    version=0,
    broker_config={"unstable.api.versions.enable": "true", "group.share.enable": "true"},
)
"""Share groups as in 4.0."""
STREAMS: Final = GroupType(
    heartbeat="StreamsGroupHeartbeat",
    describe="StreamsGroupDescribe",
    version=0,
    unchanged={"topology": None, "process_id": None, "client_tags": None, **dict.fromkeys(_TASKS)},
    assignment="target_assignment",
    broker_config={"group.streams.num.standby.replicas": "1"},
    owned=_TASKS,
)


class RandomGroup(ABC):
    """A random group."""

    def __init__(self, random: Random, group_id: str) -> None:
        self._random = random
        self._id = group_id
        self._left = [*member_ids(random, random.randint(1, random.choice([3, 6, 12])))]
        self._members: list[str] = []

    @abstractmethod
    def _joining(self) -> Fields:
        """Return what a member says that joins."""

    @abstractmethod
    def _changing(self) -> Fields:
        """Return what a member says that changes."""

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

    def _all_go_on(self) -> Iterator[Move]:
        yield from (Move(group=self._id, member_id=each) for each in self._members)
        if len(self._members) > 1:
            yield self._leaves()
            yield from (Move(group=self._id, member_id=each) for each in self._members)

    def _joins(self) -> Move:
        member_id = self._left.pop(0)
        self._members.append(member_id)
        return Move(group=self._id, member_id=member_id, says=self._joining(), epoch=JOINS)

    def _changes(self) -> Move:
        return Move(group=self._id, member_id=self._random.choice(self._members), says=self._changing())

    def _leaves(self) -> Move:
        member_id = self._members.pop(self._random.randrange(len(self._members)))
        return Move(group=self._id, member_id=member_id, epoch=LEAVES)


def _topics(random: Random) -> list[str]:
    return random.sample([*TOPICS], random.randint(1, random.choice([2, 8])))


class RandomConsumerGroup(RandomGroup):
    """A random consumer group, with equal or different subscriptions, votes, racks and static members."""

    def __init__(self, random: Random, group_id: str) -> None:
        self._shared = None if random.random() < 0.5 else _topics(random)
        super().__init__(random, group_id)

    @override
    def _joining(self) -> Fields:
        random = self._random
        return {
            "instance_id": f"instance-{random.randint(0, 10**6)}" if random.random() < 0.3 else None,
            "rack_id": random.choice([None, "a", "b"]),
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "subscribed_topic_names": self._shared or _topics(random),
            "server_assignor": random.choice([None, "uniform", "uniform", "range"]),
            "topic_partitions": [],
        }

    @override
    def _changing(self) -> Fields:
        if self._shared is None:
            return {"subscribed_topic_names": _topics(self._random)}
        return {"server_assignor": self._random.choice(["uniform", "range"])}


class RandomShareGroup(RandomGroup):
    """A random share group, with equal or different subscriptions.

    A broker takes a moment to begin the share state of each topic, so a first member awaits all of it.
    """

    def __init__(self, random: Random, group_id: str) -> None:
        super().__init__(random, group_id)
        self._all = random.sample([*TOPICS], random.randint(1, 6))
        self._are_alike = random.random() < 0.5

    @override
    def begins(self) -> Iterator[Move]:
        scout = Move(
            group=self._id,
            member_id="AAAAAAAAAAAAAAAAAAAAAA",
            says={"subscribed_topic_names": self._all},
            epoch=JOINS,
            partition_count=sum(TOPICS[each] for each in self._all),
        )
        yield scout
        yield Move(group=self._id, member_id=scout.member_id, epoch=LEAVES)
        yield from super().begins()

    @override
    def goes_on(self) -> Iterator[Move]:
        """All heartbeat, and again after somebody left, so that each is given what it is to have."""
        return self._all_go_on()

    @override
    def _joining(self) -> Fields:
        return {"rack_id": self._random.choice([None, "a"]), **self._changing()}

    @override
    def _changing(self) -> Fields:
        some = self._random.sample(self._all, self._random.randint(1, len(self._all)))
        return {"subscribed_topic_names": self._all if self._are_alike else some}


class RandomStreamsGroup(RandomGroup):
    """A random streams group: processes of several members, and tasks with and without state."""

    def __init__(self, random: Random, group_id: str) -> None:
        super().__init__(random, group_id)
        self._process_count = random.randint(1, 4)
        self._topology = topology(
            *(
                subtopology(
                    str(number),
                    sources=(topic,),
                    changelogs=(topic_info(f"{topic}-changelog"),) if random.random() < 0.6 else (),
                )
                for number, topic in enumerate(random.sample([*TOPICS], random.randint(1, 3)))
            )
        )

    @override
    def goes_on(self) -> Iterator[Move]:
        """All heartbeat, and again after somebody left, with the tasks that they were given."""
        return self._all_go_on()

    @override
    def _joining(self) -> Fields:
        random = self._random
        return {
            "instance_id": f"instance-{random.randint(0, 10**6)}" if random.random() < 0.3 else None,
            "rack_id": random.choice([None, "a", "b"]),
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "topology": cast("Fields", self._topology),
            "client_tags": [],
            **{each: [] for each in _TASKS},
            **self._changing(),
        }

    @override
    def _changing(self) -> Fields:
        return {"process_id": f"process-{self._random.randrange(self._process_count)}"}


KINDS: Final[Mapping[str, tuple[GroupType, type[RandomGroup]]]] = {
    "consumer": (CONSUMER, RandomConsumerGroup),
    "share": (SHARE, RandomShareGroup),
    "share-preview": (SHARE_PREVIEW, RandomShareGroup),
    "streams": (STREAMS, RandomStreamsGroup),
}
