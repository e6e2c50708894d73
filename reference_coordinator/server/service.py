"""The server that a command line describes: one broker, with or without a directory, or a cluster."""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.broker.listener import Listener, Shared
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis, TopicId
from reference_coordinator.core.values import value
from reference_coordinator.log.persistence import kept_log
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.server.broker_store import BrokerStore
from reference_coordinator.server.control import Control
from reference_coordinator.server.served import Commands
from reference_coordinator.server.server import Server
from reference_coordinator.server.serving import serving, serving_cluster

_MILLIS_PER_SECOND: Final = 1000


@value
class Options:
    """The options of the command line."""

    host: str
    port: int
    """The port of the first broker; those of the others follow it, unless it is 0."""
    profile: Profile
    properties: dict[str, str]
    config: GroupCoordinatorConfig
    """The configuration from the properties."""
    names_num_partitions: bool
    """Whether the command line sets the number of the log's partitions."""
    topics: dict[str, int]
    topic_ids: dict[str, TopicId]
    """The ids of some topics; the others have ids made of their names."""
    seed: int
    data_dir: Path | None
    brokers: int
    control: tuple[str, int] | None
    """The address at which a cluster receives commands for its brokers."""


def opened(options: Options, tell: Callable[[str], None]) -> AbstractContextManager[Server]:
    """Return the server of a command line; report bytes that were found on the disk and cut off.

    Raises:
        LockedDirectoryError, DamagedLogError, MisplacedGroupError: see `DirectoryStore`.
        OSError: an address cannot be listened on, or the directory cannot be read or written.
    """
    if options.brokers > 1:
        return _cluster(options)
    if options.data_dir is None:
        return _forgetful(options)
    return _kept(options, options.data_dir, tell)


def _forgetful(options: Options) -> AbstractContextManager[Server]:
    def make_listener(host: str, port: int) -> Listener:
        return Listener(
            profile=options.profile,
            config=options.config,
            choices=DeterministicChoices(seed=options.seed),
            host=host,
            port=port,
            topics=options.topics,
        )

    return serving(
        make_listener,
        host=options.host,
        port=options.port,
        request_max_bytes=options.config.socket_request_max_bytes,
    )


@contextmanager
def _kept(options: Options, directory: Path, tell: Callable[[str], None]) -> Iterator[Server]:
    store = BrokerStore(directory, tell=tell)
    with (
        kept_log(
            directory,
            options.profile,
            num_partitions=options.config.offsets_topic_num_partitions
            if options.names_num_partitions
            else None,
            codec=options.config.offsets_topic_compression_codec,
            tell=tell,
            around=store.around,
        ) as kept,
        closing(store),
    ):
        state = store.restore(
            kept.log, options.topics, topic_ids=options.topic_ids, num_partitions=kept.num_partitions
        )
        for notice in store.notices:
            tell(notice)

        def make_listener(host: str, port: int) -> Listener:
            listener = Listener(
                profile=options.profile,
                config=replace(options.config, offsets_topic_num_partitions=kept.num_partitions),
                # New members must not get the ids of members in the log.
                choices=DeterministicChoices(seed=options.seed + kept.num_records),
                host=host,
                port=port,
                shared=Shared(state=state),
            )
            now_ms = Millis(int(time.time() * _MILLIS_PER_SECOND))
            listener.publish(now_ms=now_ms)
            listener.write_parked_markers(now_ms=now_ms)
            return listener

        with serving(
            make_listener,
            host=options.host,
            port=options.port,
            request_max_bytes=options.config.socket_request_max_bytes,
        ) as server:
            server.save = store.save
            yield server


@contextmanager
def _cluster(options: Options) -> Iterator[Server]:
    def make_cluster(ports: Sequence[int]) -> Cluster:
        return Cluster(
            profile=options.profile,
            config=options.config,
            choices=DeterministicChoices(seed=options.seed),
            nodes=[
                Node(node_id=each, host=options.host, port=port) for each, port in enumerate(ports, start=1)
            ],
            topics=options.topics,
        )

    ports = [options.port + each if options.port else 0 for each in range(options.brokers)]
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        if options.control is not None:
            datagrams.bind(options.control)

        def make_commands(cluster: Cluster) -> Commands | None:
            if options.control is None:
                return None
            return Control(cluster, datagrams, dict(options.properties))

        with serving_cluster(
            make_cluster,
            make_commands,
            host=options.host,
            ports=ports,
            request_max_bytes=options.config.socket_request_max_bytes,
        ) as server:
            yield server
