"""A broker with topics, and short words for what consumers send."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Final, ParamSpec, TypeVar

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.metadata_image import MetadataImage, TopicImage
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from reference_coordinator.tests.calls import Call
from reference_coordinator.tests.kit import Broker

GROUP: Final = GroupId("g")
Owned = dict[str, tuple[int, ...]]
EVERY_RELEASE: Final = ("4.0.0", "4.0", "4.1.0", "4.1", "4.2", "4.3.0", "4.3", "4.4")
NO_INTERVAL: Final = {"group.consumer.assignment.interval.ms": "0"}


def topic_id(name: str) -> TopicId:
    """The id that a topic of that name has in these tests."""
    return TopicId(f"00000000-0000-0000-0000-{name.encode().hex():0>12}")


def image(version: int, **topics: int) -> MetadataImage:
    """An image with topics of so many partitions."""
    return MetadataImage(
        version=version,
        topics={
            name: TopicImage(name=name, topic_id=topic_id(name), num_partitions=partitions)
            for name, partitions in topics.items()
        },
    )


def heartbeat_of(
    member: str,
    epoch: int,
    *,
    names: tuple[str, ...] | None = None,
    regex: str | None = None,
    owned: Owned | None = None,
    instance: str | None = None,
    timeout_ms: int = -1,
    assignor: str | None = None,
    rack: str | None = None,
    group: str = GROUP,
) -> ConsumerGroupHeartbeatRequest:
    """What a member sends that tells so much."""
    if epoch == 0:
        timeout_ms = 5_000 if timeout_ms == -1 else timeout_ms
        owned = owned or {}
    return ConsumerGroupHeartbeatRequest(
        group_id=GroupId(group),
        member_id=MemberId(member),
        member_epoch=epoch,
        instance_id=None if instance is None else GroupInstanceId(instance),
        rack_id=rack,
        rebalance_timeout_ms=Millis(timeout_ms),
        subscribed_topic_names=names,
        subscribed_topic_regex=regex,
        server_assignor=assignor,
        topic_partitions=None
        if owned is None
        else tuple(
            ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id(name), partitions=partitions)
            for name, partitions in owned.items()
        ),
    )


P = ParamSpec("P")
T = TypeVar("T")


def _said(
    of_request: Callable[["Consumers", ConsumerGroupHeartbeatRequest], T],
    make: Callable[P, ConsumerGroupHeartbeatRequest],
) -> Callable[Concatenate["Consumers", P], T]:
    """A method that takes what its request is made of."""

    def said(consumers: "Consumers", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return of_request(consumers, make(*args, **kwargs))

    return said


@dataclass
class Consumers:
    """Consumers of one group on one broker, with topics that come and go."""

    broker: Broker
    version: int = 0

    @classmethod
    def on(cls, profile: str, properties: dict[str, str] | None = None, **topics: int) -> "Consumers":
        """Consumers of a broker of a release; topics have so many partitions."""
        consumers = cls(Broker(profile=profile, properties={**NO_INTERVAL, **(properties or {})}))
        consumers.topics(**topics)
        return consumers

    def topics(self, **topics: int) -> None:
        """Let these be all topics."""
        self.version += 1
        before = self.broker.coordinator.shard.metadata_image.topics
        effects = self.broker.coordinator.on_metadata_update(
            image(self.version, **topics), {*before, *topics}, now_ms=self.broker.now
        )
        self.broker.settle(effects)

    def answer(
        self, request: ConsumerGroupHeartbeatRequest, *, version: int = 1
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat as it is, and have its answer."""
        return self.broker.send(request, version=version).as_(ConsumerGroupHeartbeatResponse)

    def _call(self, request: ConsumerGroupHeartbeatRequest) -> Call:
        return self.broker.send(request, version=1)

    def _epoch_and_owned(self, request: ConsumerGroupHeartbeatRequest) -> tuple[int, Owned | None]:
        response = self.answer(request)
        assert response.error_code is Errors.NONE
        return response.member_epoch, assignment_of(response)

    def _error(self, request: ConsumerGroupHeartbeatRequest) -> Errors:
        return self.answer(request).error_code

    call = _said(_call, heartbeat_of)
    """Send a heartbeat."""
    beat = _said(answer, heartbeat_of)
    """Send a heartbeat, and have its answer."""
    epoch_and_owned = _said(_epoch_and_owned, heartbeat_of)
    """The member's epoch and its assignment, of a heartbeat that is not refused."""
    error = _said(_error, heartbeat_of)
    """How a heartbeat is refused."""

    def describe(self, group: str = GROUP) -> ConsumerGroupDescribeResponseGroup:
        """The group as an administrator sees it."""
        request = ConsumerGroupDescribeRequest(group_ids=(GroupId(group),))
        response = self.broker.send(request, version=1).as_(ConsumerGroupDescribeResponse)
        return response.groups[0]

    def epochs(self) -> tuple[str, int, int]:
        """The group's state, its epoch, and that of its assignment."""
        group = self.describe()
        return group.group_state, group.group_epoch, group.assignment_epoch


def assignment_of(response: ConsumerGroupHeartbeatResponse) -> Owned | None:
    """The partitions that a member is told of, by topic."""
    if response.assignment is None:
        return None
    names = {topic_id(chr(each)): chr(each) for each in range(128)}
    return {names[each.topic_id]: each.partitions for each in response.assignment.topic_partitions}


def described(assignment: ConsumerGroupDescribeResponseAssignment) -> Owned:
    """What a member of a description has, by topic."""
    return {each.topic_name: each.partitions for each in assignment.topic_partitions}
