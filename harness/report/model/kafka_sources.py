"""Links to the Kafka methods that decide something: the class's file on GitHub, at a release's tag.

The Scala coordinator and the Java coordinator have classes of the same name. A method that only the Scala
class has links to the newest release with that class.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from harness.report.model.phrases import link_address

_REPOSITORY: Final = "https://github.com/apache/kafka/blob"
_JAVA: Final = "4.3.1"
_SCALA: Final = "3.9.2"
"""The newest release that has the Scala coordinator."""
_COORDINATOR: Final = "group-coordinator/src/main/java/org/apache/kafka/coordinator/group"
_RUNTIME: Final = "coordinator-common/src/main/java/org/apache/kafka/coordinator/common/runtime"
_CONSUMER: Final = "clients/src/main/java/org/apache/kafka/clients/consumer"
_REQUESTS: Final = "clients/src/main/java/org/apache/kafka/common/requests"
_CORE: Final = "core/src/main/scala/kafka"
_SHARE_FETCHES: Final = "core/src/main/java/kafka/server/share"
_SHARE_SERVER: Final = "server/src/main/java/org/apache/kafka/server/share"
_METADATA: Final = "metadata/src/main/java/org/apache/kafka"
_FOLDERS: Final[Mapping[tuple[str, str, str], str]] = {
    (_JAVA, _COORDINATOR, "java"): "GroupConfig GroupCoordinatorConfig GroupCoordinatorService "
    "GroupCoordinatorShard GroupMetadataManager OffsetAndMetadata OffsetMetadataManager Utils",
    (_JAVA, f"{_COORDINATOR}/classic", "java"): "ClassicGroup ClassicGroupMember",
    (_JAVA, f"{_COORDINATOR}/modern", "java"): "ModernGroup",
    (_JAVA, f"{_COORDINATOR}/modern/consumer", "java"): "ConsumerGroup ConsumerGroupMember "
    "CurrentAssignmentBuilder TopicRegexResolver",
    (_JAVA, f"{_COORDINATOR}/modern/share", "java"): "ShareGroup ShareGroupConfigProvider",
    (_JAVA, f"{_COORDINATOR}/streams", "java"): "StreamsGroup",
    (_JAVA, f"{_COORDINATOR}/streams/assignor", "java"): "StickyTaskAssignor",
    (_JAVA, f"{_COORDINATOR}/streams/topics", "java"): "ChangelogTopics CopartitionedTopicsEnforcer "
    "InternalTopicManager RepartitionTopics",
    (
        _JAVA,
        f"{_COORDINATOR}/assignor",
        "java",
    ): "UniformHeterogeneousAssignmentBuilder UniformHomogeneousAssignmentBuilder",
    (_JAVA, _RUNTIME, "java"): "CoordinatorLoaderImpl CoordinatorOperationExceptionHelper "
    "CoordinatorRecordSerde CoordinatorRuntime",
    (_JAVA, _CONSUMER, "java"): "CooperativeStickyAssignor KafkaConsumer RoundRobinAssignor",
    (_JAVA, f"{_CONSUMER}/internals", "java"): "AbstractCoordinator ConsumerCoordinator ConsumerProtocol "
    "SubscriptionState",
    (_JAVA, _REQUESTS, "java"): "ApiVersionsResponse JoinGroupRequest LeaveGroupResponse RequestContext "
    "RequestHeader",
    (_JAVA, f"{_CORE}/cluster", "scala"): "Partition",
    (_JAVA, f"{_CORE}/coordinator/transaction", "scala"): "TransactionCoordinator "
    "TransactionMarkerRequestCompletionHandler TransactionStateManager",
    (_JAVA, f"{_CORE}/server", "scala"): "AclApis BrokerServer KafkaApis ReplicaManager",
    (_JAVA, f"{_CORE}/server/metadata", "scala"): "BrokerMetadataPublisher",
    (_JAVA, _SHARE_FETCHES, "java"): "DelayedShareFetch ShareFetchUtils SharePartition SharePartitionManager",
    (_JAVA, _SHARE_SERVER, "java"): "CachedSharePartition",
    (_JAVA, f"{_SHARE_SERVER}/context", "java"): "ShareSessionContext",
    (_JAVA, f"{_SHARE_SERVER}/fetch", "java"): "InFlightState PartitionMaxBytesStrategy",
    (_JAVA, f"{_SHARE_SERVER}/session", "java"): "ShareSession ShareSessionCache",
    (_JAVA, "server-common/src/main/java/org/apache/kafka/server/share", "java"): "SharePartitionKey",
    (_JAVA, "share-coordinator/src/main/java/org/apache/kafka/coordinator/share", "java"): (
        "PersisterStateBatchCombiner ShareCoordinatorShard"
    ),
    (_JAVA, f"{_METADATA}/controller", "java"): "ReplicationControlManager",
    (_JAVA, f"{_METADATA}/metadata/authorizer", "java"): "StandardAuthorizerData",
    (_JAVA, "server/src/main/java/org/apache/kafka/security/authorizer", "java"): "AclEntry",
    (_JAVA, "storage/src/main/java/org/apache/kafka/storage/internals/log", "java"): "ProducerAppendInfo",
    (_SCALA, f"{_CORE}/coordinator/group", "scala"): "GroupCoordinator GroupCoordinatorAdapter GroupMetadata",
    (_SCALA, f"{_CORE}/log", "scala"): "UnifiedLog",
    (_SCALA, f"{_CORE}/zk", "scala"): "KafkaZkClient",
}
"""Release, folder and suffix of the files of classes."""
_FILES: Final = {
    name: (tag, f"{folder}/{name}.{suffix}")
    for (tag, folder, suffix), names in _FOLDERS.items()
    for name in names.split()
}
_SCALA_MANAGER: Final = (_SCALA, f"{_CORE}/coordinator/group/GroupMetadataManager.scala")
_METHODS: Final = {
    **{
        f"GroupMetadataManager#{method}": _SCALA_MANAGER
        for method in (
            *("cleanupGroupMetadata", "doLoadGroupsAndOffsets", "getOffsets", "loadGroup"),
            *("loadGroupsAndOffsets", "partitionFor", "readGroupMessageValue", "readOffsetMessageValue"),
            *("removeGroupsForPartition", "scheduleLoadGroupAndOffsets", "storeGroup", "storeOffsets"),
        )
    },
    "Processor#processCompletedReceives": (_JAVA, f"{_CORE}/network/SocketServer.scala"),
}
"""Methods whose file is not named after their class, or is in another release."""
_NAMED: Final = re.compile(r"\b(?P<method>(?P<class>[A-Z]\w*)(?:\.\w+)?#\w+)|\b(?:KAFKA|KIP)-\d+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """A part of a scenario's source text."""

    text: str
    href: str
    """The link to the source; empty if unknown."""
    title: str
    """The link's tooltip."""


def source_parts(text: str) -> Iterator[SourcePart]:
    """Yield the parts of a source text: methods, KAFKA-numbers and KIPs as links, and text between them."""
    end = 0
    for found in _NAMED.finditer(text):
        if found.start() > end:
            yield SourcePart(text=text[end : found.start()], href="", title="")
        yield _part(found)
        end = found.end()
    if end < len(text):
        yield SourcePart(text=text[end:], href="", title="")


def _part(found: re.Match[str]) -> SourcePart:
    name = found.group()
    if found["method"] is None:
        return SourcePart(text=name, href=link_address(name), title=name)
    file = _METHODS.get(name) or _FILES.get(found["class"])
    if file is None:
        return SourcePart(text=name, href="", title="")
    tag, path = file
    title = f"{path.rpartition('/')[2]} of Kafka {tag}, on GitHub"
    return SourcePart(text=name, href=f"{_REPOSITORY}/{tag}/{path}", title=title)
