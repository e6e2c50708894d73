"""A server under mutated frames, with a healthy neighbour: `python -m reference_coordinator.tests.attack`."""

import argparse
import multiprocessing
import selectors
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from reference_coordinator.tests.mutated_frames import mutated_frames
from reference_coordinator.tests.server_process import server_process
from reference_coordinator.tests.wire_client import framed, join_frame, read_response, request_frame

_CONNECTIONS: Final = 16
_PATIENCE_S: Final = 0.05
"""How long a frame may go without an answer before its connection is given up: some are answered late."""
_HEARTBEAT_EVERY_S: Final = 0.02
_TIMEOUT_S: Final = 60
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack showed."""

    frames: int
    seconds: float
    answered: int
    closed: int
    """Frames for which the server closed the connection."""
    peak_bytes: int
    """Of the server and the process with its sockets, each at its worst."""
    heartbeats: int
    """Of the neighbour, each of them answered."""
    slowest_heartbeat_s: float
    is_running: bool
    failures: int
    """Requests that a handler failed on."""
    exit_status: int


def attack(directory: Path, *, profile: str, frames: int, seed: int = 0) -> Outcome:
    """Send frames to a server, and return how it and its neighbour fared."""
    with server_process(directory, "--profile", profile, "--topic", "orders:3") as server:
        inner, outer = multiprocessing.Pipe()
        neighbour = multiprocessing.get_context("spawn").Process(
            target=_neighbour, args=(server.port, outer), daemon=True
        )
        neighbour.start()
        inner.recv()
        began_s = time.monotonic()
        answered, closed = _Attackers(server.port, mutated_frames(profile, seed, frames)).run()
        seconds = time.monotonic() - began_s
        is_running = server.is_running
        inner.send(None)
        heartbeats, slowest_s = inner.recv()
        neighbour.join(_TIMEOUT_S)
        return Outcome(
            frames=frames,
            seconds=seconds,
            answered=answered,
            closed=closed,
            peak_bytes=server.peak_bytes(),
            heartbeats=heartbeats,
            slowest_heartbeat_s=slowest_s,
            is_running=is_running,
            failures=server.said().count("cannot be handled"),
            exit_status=server.stop(),
        )


def ask(connection: socket.socket, frame: bytes) -> bytes:
    """Send a frame, and return the answer."""
    connection.sendall(framed(frame))
    return received(connection)


def received(connection: socket.socket) -> bytes:
    """Receive a frame."""
    (size,) = struct.unpack(">i", exactly(connection, 4))
    return exactly(connection, size)


def exactly(connection: socket.socket, size: int) -> bytes:
    """Receive so many bytes."""
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError
        received += chunk
    return bytes(received)


def _neighbour(port: int, pipe: "Connection[object, object]") -> None:
    """Be the only member of a group, and heartbeat until somebody says that it is enough."""
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as connection:
        ask(connection, request_frame("find_coordinator", 0, key="healthy"))
        times = {"session_timeout": _TIMEOUT_S * 1000, "rebalance_timeout": _TIMEOUT_S * 1000}
        join = join_frame(group_id="healthy", **times)
        joined = read_response("join_group", 3, ask(connection, join))
        member = {
            "group_id": "healthy",
            "generation_id": joined.generation_id,
            "member_id": joined.member_id,
        }
        ask(connection, request_frame("sync_group", 2, **member))
        pipe.send(None)
        heartbeats, slowest_s = 0, 0.0
        while not pipe.poll(_HEARTBEAT_EVERY_S):
            asked_s = time.monotonic()
            answer = read_response("heartbeat", 0, ask(connection, request_frame("heartbeat", 0, **member)))
            slowest_s = max(slowest_s, time.monotonic() - asked_s)
            assert answer.error_code == 0, answer
            heartbeats += 1
        pipe.send((heartbeats, slowest_s))


class _Attackers:
    """Connections that send one frame after the other, each when the one before is done with."""

    def __init__(self, port: int, frames: Iterator[bytes]) -> None:
        self._port = port
        self._frames = frames
        self._selector = selectors.DefaultSelector()
        self._until_s: dict[socket.socket, float] = {}
        """By connection with a frame that is not answered, when it is given up."""
        self._answered = 0
        self._closed = 0

    def run(self) -> tuple[int, int]:
        for _ in range(_CONNECTIONS):
            self._send(self._opened())
        while self._until_s:
            for key, _ in self._selector.select(_PATIENCE_S):
                assert isinstance(key.fileobj, socket.socket)
                self._receive(key.fileobj)
            now_s = time.monotonic()
            for connection in [each for each, until_s in self._until_s.items() if until_s < now_s]:
                self._replace(connection)
        return self._answered, self._closed

    def _opened(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=_TIMEOUT_S)
        self._selector.register(connection, selectors.EVENT_READ)
        return connection

    def _send(self, connection: socket.socket) -> None:
        frame = next(self._frames, None)
        if frame is None:
            self._drop(connection)
            return
        self._until_s[connection] = time.monotonic() + _PATIENCE_S
        try:
            connection.sendall(framed(frame))
        except OSError:
            self._replace(connection)

    def _receive(self, connection: socket.socket) -> None:
        try:
            received(connection)
        except OSError:
            self._closed += 1
            self._replace(connection)
        else:
            self._answered += 1
            self._send(connection)

    def _replace(self, connection: socket.socket) -> None:
        self._drop(connection)
        self._send(self._opened())

    def _drop(self, connection: socket.socket) -> None:
        self._until_s.pop(connection, None)
        self._selector.unregister(connection)
        connection.close()


def main() -> None:
    """Print what an attack of the size that the command line names shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--profile", default="4.4")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        outcome = attack(Path(directory), profile=given.profile, frames=given.frames, seed=given.seed)
        failures = (Path(directory) / "stderr.txt").read_text().split("cannot be handled")[1:6]
    print(  # noqa: T201 - a command
        f"{outcome.frames} frames in {outcome.seconds:.0f} s: {outcome.answered} answered, "
        f"{outcome.closed} closed, {outcome.failures} failed in a handler; "
        f"memory at most {outcome.peak_bytes / _MIB:.0f} MiB; neighbour: {outcome.heartbeats} heartbeats, "
        f"the slowest {outcome.slowest_heartbeat_s * 1000:.0f} ms; "
        f"running: {outcome.is_running}, then exit status {outcome.exit_status}"
    )
    for each in failures:
        print(each[:3000])  # noqa: T201 - likewise


if __name__ == "__main__":
    main()
