"""Administration of a cluster for scripts: topics, group configurations, and a look into the groups' log.

It uses confluent-kafka, on a thread of its own, whichever library a script runs with.
"""

import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Final

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined] # its types do not export the others
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from harness.targets.base.interface import TargetError

_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.5
_LOG_LEVEL: Final = 2
"""Only critical messages are logged; a broker that goes away during a script is not one."""
_DEFAULT_REPLICATION: Final = -1
"""The brokers' default (KIP-464): on our clusters, all brokers, so that a topic survives the loss of any."""
_GROUPS_TOPIC: Final = "__consumer_offsets"
_RECORDS_AT_ONCE: Final = 500
_SHORT: Final = struct.Struct(">h")
_OFFSET_KEY_VERSIONS: Final = (0, 1)
"""Source: OffsetCommitKey (3.9.2)."""


class Admin:
    """An administrator of one cluster; its methods block."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def _client(self) -> AdminClient:
        """Return a client, to be dropped soon: it would go on connecting to a broker that is gone."""
        return AdminClient(
            {"bootstrap.servers": self._bootstrap, "client.id": "client-scripts", "log_level": _LOG_LEVEL}
        )

    def make_topic(self, topic: str, partition_count: int) -> None:
        """Create a topic, and wait until metadata requests return it.

        Raises:
            TargetError: the topic cannot be created.
        """
        wanted = NewTopic(topic, partition_count, _DEFAULT_REPLICATION)
        client = self._client()
        made = client.create_topics([wanted], request_timeout=_TIMEOUT_S)
        self._finish(made[topic], f"topic {topic} cannot be made")
        self._await_partitions(client, topic, partition_count)

    def grow_topic(self, topic: str, partition_count: int) -> None:
        """Give a topic more partitions, and wait until metadata requests return them.

        Raises:
            TargetError: the topic cannot be given more partitions.
        """
        client = self._client()
        grown = client.create_partitions([NewPartitions(topic, partition_count)], request_timeout=_TIMEOUT_S)
        self._finish(grown[topic], f"topic {topic} cannot grow")
        self._await_partitions(client, topic, partition_count)

    def configure_group(self, group: str, config: Mapping[str, str]) -> None:
        """Set dynamic configurations of a group, which need not exist.

        Raises:
            TargetError: the configurations are refused.
        """
        wanted = ConfigResource(
            ConfigResource.Type.GROUP,
            group,
            incremental_configs=[
                ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                for name, value in config.items()
            ],
        )
        client = self._client()
        done = client.incremental_alter_configs([wanted], request_timeout=_TIMEOUT_S)
        self._finish(done[wanted], f"group {group} cannot be configured")

    def _finish(self, future: Future[None], trouble: str) -> None:
        try:
            future.result(_TIMEOUT_S)
        except ck.KafkaException as error:
            raise TargetError(f"{trouble}: {error.args[0].str()}") from error

    def _await_partitions(self, client: AdminClient, topic: str, partition_count: int) -> None:
        until_s = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < until_s:
            reported = client.list_topics(topic, timeout=_TIMEOUT_S).topics.get(topic)
            if (
                reported is not None
                and sum(1 for each in reported.partitions.values() if each.leader >= 0) == partition_count
            ):
                return
            time.sleep(_POLL_S / 10)
        raise TargetError(f"topic {topic} has no leaders of its {partition_count} partitions")

    def partitions_with_commits(self, group: str) -> tuple[int, tuple[int, ...]]:
        """Return the partition count of `__consumer_offsets`, and the partitions with a group's commits.

        Raises:
            TargetError: clients cannot read the topic.
        """
        try:
            return self._look_for(group)
        except ck.KafkaException as error:
            raise TargetError(f"{_GROUPS_TOPIC} cannot be read: {error.args[0].str()}") from error

    def _look_for(self, group: str) -> tuple[int, tuple[int, ...]]:
        consumer = ck.Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": f"looks-only-{uuid.uuid4()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": _LOG_LEVEL,
            }
        )
        try:
            count = len(self._client().list_topics(timeout=_TIMEOUT_S).topics[_GROUPS_TOPIC].partitions)
            consumer.assign(
                [ck.TopicPartition(_GROUPS_TOPIC, number, ck.OFFSET_BEGINNING) for number in range(count)]
            )
            assigned = {
                partition for partition, key in _keys_until_end(consumer, count) if group_of_key(key) == group
            }
            return count, tuple(sorted(assigned))
        finally:
            consumer.close()


def _keys_until_end(consumer: ck.Consumer, partition_count: int) -> Iterator[tuple[int, bytes]]:
    ended: set[int] = set()
    until_s = time.monotonic() + _TIMEOUT_S
    while len(ended) < partition_count:
        if time.monotonic() > until_s:
            raise TargetError(f"{_GROUPS_TOPIC} cannot be read to its end within {_TIMEOUT_S:g} s")
        for message in consumer.consume(_RECORDS_AT_ONCE, _POLL_S):
            partition, error = message.partition(), message.error()
            assert partition is not None
            if error is None:
                yield partition, message.key() or b""
            elif error.code() == ck.KafkaError._PARTITION_EOF:  # noqa: SLF001 - the library's own name for it
                ended.add(partition)
            else:
                raise ck.KafkaException(error)


def group_of_key(key: bytes) -> str | None:
    """Return the group whose commit a key of `__consumer_offsets` is for; None for other keys."""
    if len(key) < 2 * _SHORT.size or _SHORT.unpack_from(key)[0] not in _OFFSET_KEY_VERSIONS:
        return None
    (length,) = _SHORT.unpack_from(key, _SHORT.size)
    return key[2 * _SHORT.size :][:length].decode(errors="replace")
