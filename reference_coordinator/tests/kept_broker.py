"""A broker in this process whose disk is one in memory, which may stop at any step, for tests."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, Shared
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis, TopicId
from reference_coordinator.log.directory import DirectoryStore
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.server.broker_store import BrokerStore
from reference_coordinator.tests.crashing_disk import CrashingDisk
from reference_coordinator.tests.wire_broker import PORT, WireBroker

DIRECTORY = Path("/data")
PROFILE = "4.4"


class KeptBroker(WireBroker):
    """A broker over a directory: what it answers was saved before, as the server does it."""

    def __init__(self, disk: CrashingDisk, *, topic_ids: Mapping[str, TopicId] | None = None) -> None:
        super().__init__(PROFILE)
        store = BrokerStore(DIRECTORY, files=disk)
        directory = DirectoryStore(DIRECTORY, profile_for(PROFILE), num_partitions=1, files=disk)
        self.state = store.restore(
            OffsetsLog(store.around(directory)),
            {"orders": 3},
            topic_ids=topic_ids or {},
            num_partitions=directory.num_partitions,
        )
        self.notices = store.notices
        self.served = _Saving(self, store)
        self.listener.publish(now_ms=self.now_ms)
        self.listener.write_parked_markers(now_ms=self.now_ms)


class _Saving(Listener):
    def __init__(self, broker: KeptBroker, store: BrokerStore) -> None:
        super().__init__(
            profile=profile_for(PROFILE),
            config=GroupCoordinatorConfig.from_properties(
                {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
            ),
            choices=DeterministicChoices(),
            host="localhost",
            port=PORT,
            shared=Shared(state=broker.state),
        )
        self._store = store

    @override
    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        outgoing = super().received(connection, frame, now_ms=now_ms)
        self._store.save()
        return outgoing
