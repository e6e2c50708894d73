"""The process with the sockets: bytes in and out, many connections over one link."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reference_coordinator.server.io_process import (
    BYTES,
    CLOSED,
    OPENED,
    PAUSE,
    RESUME,
    TAKEN,
    IoProcess,
    Parcel,
    Unpacking,
    header,
)
from reference_coordinator.tests.attack import exactly

TIMEOUT_S = 60
LARGE = bytes(range(256)) * 40_000


class Link:
    """A server's end of a link."""

    def __init__(self, end: socket.socket, address: tuple[str, int]) -> None:
        end.settimeout(TIMEOUT_S)
        self._end = end
        self._address = address
        self._unpacking = Unpacking()
        self._arrived: list[Parcel] = []

    def client(self) -> socket.socket:
        return socket.create_connection(self._address, timeout=TIMEOUT_S)

    def send(self, *parcels: Parcel) -> None:
        self._end.sendall(
            b"".join(header(kind, number, len(content)) + content for kind, number, content in parcels)
        )

    def receive(self) -> Parcel:
        while not self._arrived:
            self._arrived += self._unpacking.parcels(self._end.recv(1 << 16))
        return self._arrived.pop(0)

    def receive_content(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            kind, _, more = self.receive()
            assert kind == BYTES
            content += more
        return content


@contextmanager
def io_process() -> Iterator[Link]:
    acceptor = socket.create_server(("127.0.0.1", 0))
    end, io_process_end = socket.socketpair()
    thread = threading.Thread(target=IoProcess([acceptor], io_process_end).run)
    thread.start()
    with acceptor, end, io_process_end:
        try:
            yield Link(end, acceptor.getsockname())
        finally:
            end.shutdown(socket.SHUT_RDWR)
            thread.join(TIMEOUT_S)
            assert not thread.is_alive()


@pytest.fixture(name="link")
def link_to_an_io_process() -> Iterator[Link]:
    with io_process() as link:
        yield link


def test_a_client_is_announced_carried_and_said_to_be_gone(link: Link) -> None:
    with link.client() as client:
        assert link.receive() == (OPENED, 1, b"0 127.0.0.1")
        client.sendall(b"question")
        assert link.receive() == (BYTES, 1, b"question")
        link.send((BYTES, 1, b"answer"))
        assert exactly(client, 6) == b"answer"

    assert link.receive() == (CLOSED, 1, b"")


def test_connections_are_kept_apart(link: Link) -> None:
    with link.client() as first, link.client() as second:
        assert {link.receive()[1], link.receive()[1]} == {1, 2}
        link.send((BYTES, 2, b"to the second"), (BYTES, 1, b"to the first"))

        assert exactly(first, 12) == b"to the first"
        assert exactly(second, 13) == b"to the second"


def test_a_connection_is_closed_when_everything_is_sent_and_not_before(link: Link) -> None:
    with link.client() as client:
        link.receive()
        link.send((BYTES, 1, LARGE), (BYTES, 1, b"end"), (CLOSED, 1, b""))

        assert exactly(client, len(LARGE) + 3) == LARGE + b"end"
        assert client.recv(1) == b""


def test_what_is_said_of_a_closed_connection_is_late_and_no_fault(link: Link) -> None:
    with link.client() as client:
        link.receive()
        link.send((CLOSED, 1, b""), (BYTES, 1, b"late"), (CLOSED, 1, b""), (BYTES, 9, b"never seen"))

        assert client.recv(1) == b""
    with link.client() as other:
        assert link.receive() == (OPENED, 2, b"0 127.0.0.1")
        link.send((BYTES, 2, b"served"))
        assert exactly(other, 6) == b"served"


def test_large_contents_pass_whole_in_both_directions(link: Link) -> None:
    with link.client() as client:
        link.receive()
        sender = threading.Thread(target=client.sendall, args=(LARGE,))
        sender.start()
        assert link.receive_content(len(LARGE)) == LARGE
        sender.join(TIMEOUT_S)
        link.send((BYTES, 1, LARGE))

        assert exactly(client, len(LARGE)) == LARGE


def test_a_server_that_writes_before_it_reads_does_not_wait_forever(link: Link) -> None:
    with link.client() as client:
        link.receive()
        sender = threading.Thread(target=client.sendall, args=(LARGE,))
        sender.start()
        link.send((BYTES, 1, LARGE))

        assert link.receive_content(len(LARGE)) == LARGE
        assert exactly(client, len(LARGE)) == LARGE
        sender.join(TIMEOUT_S)


def test_a_server_is_reported_when_a_client_has_taken_everything_and_not_before(link: Link) -> None:
    with link.client() as client, link.client() as other:
        assert {link.receive()[1], link.receive()[1]} == {1, 2}
        link.send((BYTES, 1, LARGE), (TAKEN, 1, b""), (TAKEN, 2, b""))

        assert link.receive() == (TAKEN, 2, b"")
        assert exactly(client, len(LARGE)) == LARGE
        assert link.receive() == (TAKEN, 1, b"")
        other.sendall(b"more")
        assert link.receive() == (BYTES, 2, b"more")


def test_a_paused_connection_is_not_read_from_until_it_is_resumed(link: Link) -> None:
    with link.client() as client, link.client() as other:
        assert {link.receive()[1], link.receive()[1]} == {1, 2}
        link.send((PAUSE, 1, b""), (TAKEN, 1, b""))
        assert link.receive() == (TAKEN, 1, b"")
        client.sendall(b"kept back")
        other.sendall(b"first")
        assert link.receive() == (BYTES, 2, b"first")
        link.send((BYTES, 1, b"answer"))
        assert exactly(client, 6) == b"answer"
        link.send((RESUME, 1, b""))

        assert link.receive() == (BYTES, 1, b"kept back")


def test_a_paused_connection_can_be_closed(link: Link) -> None:
    with link.client() as client:
        link.receive()
        link.send((PAUSE, 1, b""), (CLOSED, 1, b""))

        assert client.recv(1) == b""


def test_an_io_process_closes_all_when_its_server_hangs_up() -> None:
    with io_process() as link:
        client = link.client()
        link.receive()
    with client:
        assert client.recv(1) == b""


def test_parcels_are_cut_out_of_the_stream_however_it_comes() -> None:
    stream = header(BYTES, 7, 5) + b"whole" + header(CLOSED, 8, 0)
    unpacking = Unpacking()

    parcels = [each for byte in stream for each in unpacking.parcels(bytes((byte,)))]

    assert parcels == Unpacking().parcels(stream) == [(BYTES, 7, b"whole"), (CLOSED, 8, b"")]
