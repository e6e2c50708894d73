"""A tap between plain sockets, for tests that look at how bytes are carried and at nothing that they mean."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from harness.tap import Tap
from harness.trace.events import Event
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request

PATIENCE_S = 20.0
RUN_ID = "run-1"
TARGET = "peer"


class Line:
    """A connected socket that speaks in frames where it is asked to."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(PATIENCE_S)
        self.socket = connected

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self, size: int) -> bytes:
        """Return so many bytes, or fewer when nothing more can come."""
        data = b""
        while len(data) < size and (more := self.socket.recv(size - len(data))):
            data += more
        return data

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self.receive(4))
        return self.receive(size)

    def ask(
        self, api: str, version: int, fields: Fields, *, correlation_id: int = 1
    ) -> dict[str, FieldValue]:
        """Hold one exchange with whoever is at the other end."""
        self.send(framed(request(api, version, fields, correlation_id=correlation_id)))
        return decode_response(api, version, self.receive_frame()).fields

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Tapped:
    """A port that a test serves itself, tapped."""

    def __init__(self, acceptor: socket.socket, tap: Tap) -> None:
        self._acceptor = acceptor
        self._lines: list[Line] = []
        self.tap = tap

    def open(self, conversation: str | None = None) -> tuple[Line, Line]:
        """Return both ends of a new connection: the client's, and the broker's."""
        address = self.tap.bootstrap_servers if conversation is None else self.tap.conversation(conversation)
        client = connected(address)
        self._lines.append(client)
        accepted, _ = self._acceptor.accept()
        broker = Line(accepted)
        self._lines.append(broker)
        return client, broker

    def close(self) -> None:
        for line in self._lines:
            line.close()

    def serve_no_more(self) -> None:
        self._acceptor.close()

    def events(self) -> list[Event]:
        return list(self.tap.events(run_id=RUN_ID, target=TARGET))


@contextmanager
def tapped_port(directory: Path, *, prefix: str = "") -> Iterator[Tapped]:
    """Tap a port of this process; with a prefix, as if others used it too."""
    with socket.create_server(("127.0.0.1", 0)) as acceptor:
        acceptor.settimeout(PATIENCE_S)
        with Tap(f"127.0.0.1:{acceptor.getsockname()[1]}", directory, prefix=prefix) as tap:
            tapped = Tapped(acceptor, tap)
            try:
                yield tapped
            finally:
                tapped.close()


def connected(address: str) -> Line:
    host, _, port = address.rpartition(":")
    return Line(socket.create_connection((host, int(port)), timeout=PATIENCE_S))


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def request(api: str, version: int, fields: Fields, *, correlation_id: int = 1) -> bytes:
    return encode_request(api, version, correlation_id=correlation_id, client_id="ana", fields=fields)
