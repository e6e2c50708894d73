"""A disk without room: writes are refused, nothing is lost, and all goes on when there is some."""

import errno
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from reference_coordinator.core.errors import Errors
from reference_coordinator.log.batches import StoreError, StoreFullError
from reference_coordinator.log.directory import DirectoryStore
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.server.serving import serving
from reference_coordinator.server.tests.test_server import HEARTBEAT, TIMEOUT_S, Client, listener, running
from reference_coordinator.tests.crashing_disk import CrashingDisk
from reference_coordinator.tests.kept_broker import DIRECTORY, KeptBroker
from reference_coordinator.tests.log_kit import append, committed
from reference_coordinator.tests.wire_client import request_frame
from reference_coordinator.tests.wire_topic_client import TopicClient, batch


@dataclass
class FullDisk(CrashingDisk):
    """Takes half of what is written, and fails, while it is full or broken."""

    error: int = 0

    @override
    def append(self, path: Path, content: bytes) -> None:
        if self.error:
            super().append(path, content[: len(content) // 2])
            raise OSError(self.error, "no room")
        super().append(path, content)


def test_offsets_are_refused_until_there_is_room() -> None:
    disk, reported = FullDisk(), list[str]()
    store = DirectoryStore(DIRECTORY, profile_for("4.4"), num_partitions=1, files=disk, tell=reported.append)
    log = OffsetsLog(store)
    assert append(log, committed(1)) is Errors.NONE
    disk.error = errno.ENOSPC
    assert [append(log, committed(2)) for _ in range(3)] == [Errors.KAFKA_STORAGE_ERROR] * 3
    disk.error = 0
    assert append(log, committed(3)) is Errors.NONE

    again = DirectoryStore(DIRECTORY, profile_for("4.4"), num_partitions=1, files=disk)
    assert OffsetsLog(again).records == [committed(1), committed(3)]
    assert again.notices == ()
    assert reported == [
        "/data has no room: writes are refused until it has",
        "/data has room again: writes are taken",
    ]


def test_after_another_error_nothing_is_taken_any_more() -> None:
    disk = FullDisk()
    log = OffsetsLog(DirectoryStore(DIRECTORY, profile_for("4.4"), num_partitions=1, files=disk))
    disk.error = errno.EIO
    assert append(log, committed(1)) is Errors.KAFKA_STORAGE_ERROR
    disk.error = 0
    assert append(log, committed(1)) is Errors.KAFKA_STORAGE_ERROR


def test_what_could_not_be_saved_is_saved_when_there_is_room() -> None:
    disk = FullDisk()
    broker = KeptBroker(disk)
    client = TopicClient(broker)
    client.produce(batch(b"a"))
    disk.error = errno.ENOSPC
    with pytest.raises(StoreFullError):
        client.produce(batch(b"b"))
    disk.error = 0
    client = TopicClient(broker)
    client.produce(batch(b"c"))

    assert TopicClient(KeptBroker(disk)).values() == [b"a", b"b", b"c"]


def test_answers_wait_for_what_they_tell_of_and_others_are_served() -> None:
    is_full, failed = threading.Event(), threading.Event()

    def save() -> None:
        if is_full.is_set():
            failed.set()
            raise StoreFullError("no room")

    create = request_frame(
        "create_topics",
        2,
        topics=({"name": "new", "num_partitions": 1, "replication_factor": 1},),
        timeout=1000,
    )

    def created(client: Client) -> int:
        code: int = client.take("create_topics", 2).topics[0].error_code
        return code

    with serving(listener("3.9"), host="127.0.0.1", port=0) as serves:
        serves.save = save
        with running(serves), Client(serves.port) as first, Client(serves.port) as second:
            assert second.heartbeat() == Errors.NOT_COORDINATOR
            is_full.set()
            first.send(create, HEARTBEAT)
            assert failed.wait(TIMEOUT_S)
            while not _is_refused(second, create, created):
                pass
            assert second.heartbeat() == Errors.NOT_COORDINATOR
            is_full.clear()
            assert created(first) == Errors.NONE
            assert first.take("heartbeat", 0).error_code == Errors.NOT_COORDINATOR
            while _is_refused(second, create, created):
                pass


def _is_refused(client: Client, create: bytes, created: Callable[[Client], int]) -> bool:
    client.send(create)
    code = created(client)
    assert code in {Errors.KAFKA_STORAGE_ERROR, Errors.TOPIC_ALREADY_EXISTS}
    return code == Errors.KAFKA_STORAGE_ERROR


def test_an_error_that_is_not_about_room_is_for_good() -> None:
    disk = FullDisk()
    client = TopicClient(KeptBroker(disk))
    disk.error = errno.EIO
    with pytest.raises(StoreError, match="cannot be written"):
        client.produce(batch(b"b"))
