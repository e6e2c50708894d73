"""A server with its I/O process for the duration of a context: of one broker, or of a cluster."""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.listener import ConnectionId, Listener
from reference_coordinator.server import io_process
from reference_coordinator.server.served import Commands
from reference_coordinator.server.server import Server

REQUEST_MAX_BYTES: Final = 100 * 1024 * 1024
"""The default of `socket.request.max.bytes`."""
_BACKLOG: Final = 512

ListenerFactory = Callable[[str, int], Listener]
"""Creates the listener once host and port, which clients get, are known."""


@contextlib.contextmanager
def serving(
    make_listener: ListenerFactory, *, host: str, port: int, request_max_bytes: int = REQUEST_MAX_BYTES
) -> Iterator[Server]:
    """Listen on an address, port 0 being a free one, while the context is open.

    Clients are accepted from now on, and served while `Server.run` runs.

    Raises:
        OSError: the address cannot be listened on.
    """
    with _io_process(host, [port]) as (link, ports):
        listener = make_listener(host, ports[0])
        server = Server(
            listener,
            lambda _, client_host: listener.connected(client_host=client_host),
            link=link,
            ports=ports,
            request_max_bytes=request_max_bytes,
        )
        try:
            yield server
        finally:
            server.close()


@contextlib.contextmanager
def serving_cluster(
    make_cluster: Callable[[Sequence[int]], Cluster],
    make_commands: Callable[[Cluster], Commands | None],
    *,
    host: str,
    ports: Sequence[int],
    request_max_bytes: int = REQUEST_MAX_BYTES,
) -> Iterator[Server]:
    """Listen on a port for each broker of a cluster, as `serving` does for one.

    Raises:
        OSError: an address cannot be listened on.
    """
    with _io_process(host, ports) as (link, bound_ports):
        cluster = make_cluster(bound_ports)
        node_ids = cluster.node_ids_up

        def connect(acceptor: int, client_host: str) -> ConnectionId | None:
            node_id = node_ids[acceptor]
            if not cluster.is_reachable(node_id):
                return None
            return cluster.connected(node_id, client_host=client_host)

        server = Server(
            cluster,
            connect,
            link=link,
            ports=bound_ports,
            request_max_bytes=request_max_bytes,
            commands=make_commands(cluster),
        )
        try:
            yield server
        finally:
            server.close()


@contextlib.contextmanager
def _io_process(host: str, ports: Sequence[int]) -> Iterator[tuple[socket.socket, tuple[int, ...]]]:
    """Start an I/O process, which ends when its link is closed; yield the link, and its ports."""
    with contextlib.ExitStack() as opened:
        acceptors = [opened.enter_context(_acceptor(host, port)) for port in ports]
        bound_ports = tuple(each.getsockname()[1] for each in acceptors)
        link, io_process_link = socket.socketpair()
        opened.enter_context(io_process_link)
        passed = [each.fileno() for each in (io_process_link, *acceptors)]
        process = subprocess.Popen(  # noqa: S603 - a program of ours, and numbers
            [sys.executable, "-I", "-S", io_process.__file__, *map(str, passed)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
        )
    try:
        yield link, bound_ports
    finally:
        link.close()
        process.wait()


def _acceptor(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(address, family=family, backlog=_BACKLOG)
