"""The program that runs librdkafka's mock clusters; it imports nothing from the harness.

Every connection to it gets a cluster in a separate process, because a mock cluster aborts its process when it
reaches an unexpected state. The cluster's address is sent over that connection, and the cluster ends when the
connection is closed. librdkafka comes from confluent-kafka. The cluster is created with librdkafka's mock
API, since confluent-kafka's configuration only sets the number of brokers.
"""

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Final

from confluent_kafka import cimpl

_HOST: Final = "127.0.0.1"
_PRODUCER: Final = 0
"""A type of client; the mock cluster works with any. Source: rd_kafka_type_t."""
_ERROR_BYTES: Final = 512
_REBALANCE_DELAY_MS: Final = 1
"""Almost no delay; with 0 the timer would never expire, and no group would get a first generation."""
_NEWLINE: Final = b"\n"


def main(topics: Mapping[str, int]) -> None:
    """Serve clusters until the process ends.

    Args:
        topics: the topics of every cluster, with their partition counts.
    """
    signal.signal(signal.SIGCHLD, _reap)
    with socket.create_server((_HOST, 0), backlog=256) as address:
        _say(f"listening on {_HOST}:{address.getsockname()[1]} librdkafka {cimpl.libversion()[0]}")
        while True:
            connection, _ = address.accept()
            if os.fork() == 0:
                address.close()
                _serve(connection, topics)
            connection.close()


def _serve(connection: socket.socket, topics: Mapping[str, int]) -> None:
    """Run a cluster as long as a connection is open, then end the process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    connection.sendall(_cluster(topics).encode() + _NEWLINE)
    while connection.recv(1):
        pass
    os._exit(0)


def _cluster(topics: Mapping[str, int]) -> str:
    """Start a mock cluster of one broker and return its address."""
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_new.restype = library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    error = ctypes.create_string_buffer(_ERROR_BYTES)
    client = ctypes.c_void_p(library.rd_kafka_new(_PRODUCER, None, error, ctypes.c_size_t(_ERROR_BYTES)))
    if client.value is None:
        raise RuntimeError(f"librdkafka makes no client: {error.value.decode()}")
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, 1))
    if cluster.value is None:
        raise RuntimeError("librdkafka makes no mock cluster")
    library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, ctypes.c_int32(_REBALANCE_DELAY_MS))
    for name, partition_count in topics.items():
        if library.rd_kafka_mock_topic_create(cluster, name.encode(), partition_count, 1):
            raise RuntimeError(f"the mock cluster makes no topic {name}")
    address: bytes = library.rd_kafka_mock_cluster_bootstraps(cluster)
    return address.decode()


def _reap(_signal: int, _frame: FrameType | None) -> None:
    """Reap clusters that ended, and report those that aborted."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSIGNALED(status):
            _say(f"a cluster (pid {pid}) ended itself with {signal.Signals(os.WTERMSIG(status)).name}")


def _say(text: str) -> None:
    # A single unbuffered write, since a signal handler may interrupt a buffered one.
    os.write(1, text.encode() + _NEWLINE)


if __name__ == "__main__":
    main({name: int(count) for name, _, count in (text.rpartition(":") for text in sys.argv[1:])})
