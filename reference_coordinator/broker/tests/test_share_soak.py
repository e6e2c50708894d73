"""A share group whose members crash, fall silent and come back: what becomes of each record."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest

from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.broker.kafka_apis import KafkaApis
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, ResponseToken, TopicPartition
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.shares.messages import (
    AcknowledgementBatch,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    SharePartitionRequest,
    ShareRequest,
    ShareResponse,
    ShareTopicRequest,
)
from reference_coordinator.tests.wire_topic_client import batch
from reference_coordinator.topic_logs.batch import BatchHeader, read_header

pytestmark = pytest.mark.slow

GROUP = GroupId("soak")
BATCH = 500
LOCK_MS = 1_000
DELIVERIES = 10
STEP_MS = 40
ACCEPT, RELEASE = 1, 2


@dataclass
class Soak:
    """A broker with a topic of so many records, and three members."""

    total: int
    random: Random = field(default_factory=lambda: Random(7))
    accepted: Counter[int] = field(default_factory=Counter)
    delivered: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.now_ms = Millis(0)
        config = GroupCoordinatorConfig(
            group_share_record_lock_duration_ms=LOCK_MS, group_share_delivery_count_limit=DELIVERIES
        )
        self.apis = KafkaApis(
            config=config,
            profile=profile_for("4.3.1"),
            choices=DeterministicChoices(),
            node=Node(node_id=1, host="localhost", port=1),
        )
        self.topic_id = self.apis.cluster.topics.create("events", 1).topic_id
        self.apis.cluster.share_states.initialize(GROUP, self.topic_id, 0, state_epoch=0, start_offset=0)
        log = self.apis.cluster.topics.logs.log(TopicPartition("events", 0))
        records = batch(*(b"x",) * BATCH)
        header = read_header(records, api_version=9)
        assert isinstance(header, BatchHeader)
        for _ in range(self.total // BATCH):
            log.append_as_leader(records, header, leader_epoch=0)
        self.tokens = count(1)
        self.connections = count(1)
        self.members = {name: self.connect(name) for name in ("ana", "bob", "cat")}

    def connect(self, name: str) -> "Member":
        return Member(self, name, next(self.connections))

    def ask(self, request: ShareRequest, connection: int) -> ShareResponse:
        token = ResponseToken(next(self.tokens))
        context = RequestContext(api_version=1, client_id=None, client_host="", connection=connection)
        (answer,) = self.apis.clients.shares.handle(request, context, token, now_ms=self.now_ms)
        return answer.response

    def elapse(self) -> None:
        self.now_ms = Millis(self.now_ms + STEP_MS)
        self.apis.clients.shares.advance(now_ms=self.now_ms)

    def step(self) -> None:
        """Let a member fetch, and do with its records what members do."""
        name = self.random.choice(("ana", "bob", "cat"))
        member = self.members[name]
        ranges = member.fetch()
        for first, last in ranges:
            self.delivered.update(range(first, last + 1))
        fate = self.random.random()
        if fate < 0.1:
            self.apis.clients.shares.disconnected(member.connection, now_ms=self.now_ms)
            self.members[name] = self.connect(name)
        elif fate > 0.15 and ranges:
            types = tuple(self.random.choices((ACCEPT, RELEASE), (20, 1), k=ranges[0][1] - ranges[0][0] + 1))
            member.acknowledge(ranges, types if fate < 0.5 else ())
        self.elapse()


@dataclass
class Member:
    soak: Soak
    name: str
    connection: int
    epoch: int = 0

    def fetch(self) -> list[tuple[int, int]]:
        response = self.soak.ask(
            ShareFetchRequest(
                group_id=GROUP,
                member_id=self.name,
                share_session_epoch=self.epoch,
                max_wait_ms=Millis(0),
                min_bytes=0,
                max_bytes=1 << 20,
                max_records=BATCH,
                batch_size=BATCH,
                topics=() if self.epoch else self.topics(()),
            ),
            self.connection,
        )
        assert isinstance(response, ShareFetchResponse)
        assert response.error_code is Errors.NONE
        self.epoch += 1
        return [
            (each.first_offset, each.last_offset)
            for topic in response.responses
            for partition in topic.partitions
            for each in partition.acquired_records
        ]

    def acknowledge(self, ranges: list[tuple[int, int]], types: tuple[int, ...]) -> None:
        """Accept all records, or say of those of the first range what became of each."""
        said = [types or (ACCEPT,), *((ACCEPT,) for _ in ranges[1:])]
        batches = tuple(
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=each)
            for (first, last), each in zip(ranges, said, strict=True)
        )
        response = self.soak.ask(
            ShareAcknowledgeRequest(
                group_id=GROUP,
                member_id=self.name,
                share_session_epoch=self.epoch,
                topics=self.topics(batches),
            ),
            self.connection,
        )
        assert isinstance(response, ShareAcknowledgeResponse)
        assert [each.error_code for topic in response.responses for each in topic.partitions] == [Errors.NONE]
        self.epoch += 1
        for each in batches:
            offsets = range(each.first_offset, each.last_offset + 1)
            said_of = each.acknowledge_types
            kinds = said_of if len(said_of) > 1 else said_of * len(offsets)
            self.soak.accepted.update(
                offset for offset, kind in zip(offsets, kinds, strict=True) if kind == ACCEPT
            )

    def topics(self, batches: tuple[AcknowledgementBatch, ...]) -> tuple[ShareTopicRequest, ...]:
        partition = SharePartitionRequest(partition_index=0, acknowledgement_batches=batches)
        return (ShareTopicRequest(topic_id=self.soak.topic_id, partitions=(partition,)),)


def soaked(total: int) -> Soak:
    soak = Soak(total)
    idle_steps = 0
    # A lock, and nothing to be had all the while: all is settled.
    while idle_steps < 3 * LOCK_MS // STEP_MS:
        before = soak.delivered.total()
        soak.step()
        idle_steps = idle_steps + 1 if soak.delivered.total() == before else 0
    return soak


@pytest.mark.parametrize("total", [5_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_no_record_is_lost_and_none_accepted_twice(total: int) -> None:
    soak = soaked(total)

    assert set(soak.accepted.values()) <= {1}
    lost = [
        offset
        for offset in range(total)
        if not soak.accepted[offset] and soak.delivered[offset] != DELIVERIES
    ]
    assert lost == []
    assert max(soak.delivered.values()) <= DELIVERIES
    assert soak.accepted.total() >= 0.99 * total
