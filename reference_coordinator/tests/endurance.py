"""A server's memory over many requests: `python -m reference_coordinator.tests.endurance`."""

import argparse
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reference_coordinator.tests.attack import ask, received
from reference_coordinator.tests.server_process import ServerProcess, server_process
from reference_coordinator.tests.wire_client import framed, join_frame, read_response, request_frame

KINDS: Final = ("heartbeats", "commits", "groups")
_IN_FLIGHT: Final = 100
_PARTS: Final = 10
_SESSION_MS: Final = 1_800_000
_TIMEOUT_S: Final = 900
"""More than a machine stands still while somebody measures something else on it."""
_MIB: Final = 1 << 20


def endure(server: ServerProcess, kind: str, count: int) -> Iterator[tuple[int, int]]:
    """Send that many requests, or pairs of them; yields how many, and the memory then."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=_TIMEOUT_S) as client:
        ask(client, request_frame("find_coordinator", 0, key="g"))
        frames = _FRAMES[kind](client)
        for part in range(1, _PARTS + 1):
            _exchange(client, frames, count // _PARTS)
            yield part * (count // _PARTS), server.resident_bytes()


def _exchange(client: socket.socket, frames: Iterator[tuple[bytes, ...]], count: int) -> None:
    left = count
    while left:
        round_ = [next(frames) for _ in range(min(left, _IN_FLIGHT))]
        left -= len(round_)
        sent = [frame for each in round_ for frame in each]
        client.sendall(b"".join(map(framed, sent)))
        for _ in sent:
            received(client)


def _heartbeats(client: socket.socket) -> Iterator[tuple[bytes, ...]]:
    join = join_frame(session_timeout=_SESSION_MS, rebalance_timeout=_SESSION_MS)
    joined = read_response("join_group", 3, ask(client, join))
    member = {"group_id": "g", "generation_id": joined.generation_id, "member_id": joined.member_id}
    ask(client, request_frame("sync_group", 2, **member))
    while True:
        yield (request_frame("heartbeat", 0, **member),)


def _commits(_: socket.socket) -> Iterator[tuple[bytes, ...]]:
    offset = 0
    while True:
        offset += 1
        yield (_commit("committing", offset),)


def _groups(_: socket.socket) -> Iterator[tuple[bytes, ...]]:
    number = 0
    while True:
        number += 1
        group_id = f"group-{number}"
        yield _commit(group_id, 1), request_frame("delete_groups", 0, groups_names=(group_id,))


def _commit(group_id: str, offset: int) -> bytes:
    row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    return request_frame(
        "offset_commit",
        5,
        group_id=group_id,
        generation_id_or_member_epoch=-1,
        topics=({"name": "orders", "partitions": (row,)},),
    )


_FRAMES: Final = {"heartbeats": _heartbeats, "commits": _commits, "groups": _groups}


def main() -> None:
    """Print the memory after each tenth of each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append")
    given = parser.parse_args()
    for kind in given.kind or KINDS:
        with tempfile.TemporaryDirectory() as directory:
            options = ("--topic", "orders:3", "--config", "group.initial.rebalance.delay.ms=0")
            with server_process(Path(directory), *options) as server:
                began_s = time.monotonic()
                for answered, resident_bytes in endure(server, kind, given.count):
                    seconds = time.monotonic() - began_s
                    print(  # noqa: T201 - a command
                        f"{kind}: {answered} in {seconds:.0f} s, {resident_bytes / _MIB:.1f} MiB", flush=True
                    )


if __name__ == "__main__":
    main()
