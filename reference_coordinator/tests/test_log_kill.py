"""The server killed under load: whatever it had answered is there when it is started again."""

import random
import re
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reference_coordinator.tests.wire_client import read_response, request_frame

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 20
PARTITIONS = 8
READY = re.compile(r"listening on 127\.0\.0\.1:(\d+) ")


class Client:
    """One connection to a server of our own."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reference_coordinator", "--data-dir", data_dir, "--topic", "orders:8"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready = READY.match(self.process.stdout.readline())
        assert ready is not None
        self.socket = socket.create_connection(("127.0.0.1", int(ready[1])), timeout=TIMEOUT_S)

    def ask(self, api: str, version: int, **fields: Any) -> Any:  # noqa: ANN401 - kio's classes and their fields
        self.send(api, version, **fields)
        return read_response(api, version, self.receive())

    def send(self, api: str, version: int, **fields: Any) -> None:  # noqa: ANN401 - likewise
        frame = request_frame(api, version, **fields)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def kill(self) -> str:
        """Kill it at once; returns what it had said."""
        self.process.send_signal(signal.SIGKILL)
        _, said = self.process.communicate(timeout=TIMEOUT_S)
        self.socket.close()
        return said

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            chunk = self.socket.recv(size - len(content))
            if not chunk:
                raise ConnectionResetError
            content += chunk
        return content


def commit(client: Client, partition: int, offset: int) -> None:
    row = {"partition_index": partition, "committed_offset": offset, "committed_metadata": "m"}
    client.send(
        "offset_commit",
        5,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=({"name": "orders", "partitions": (row,)},),
    )


def fetch(client: Client) -> dict[int, int]:
    answer = client.ask(
        "offset_fetch", 5, group_id="g", topics=({"name": "orders", "partition_indexes": range(PARTITIONS)},)
    )
    assert answer.error_code.name == "none"
    return {row.partition_index: row.committed_offset for row in answer.topics[0].partitions}


@pytest.mark.parametrize("seed", range(5))
def test_what_was_answered_before_a_kill_is_there(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    acknowledged = dict.fromkeys(range(PARTITIONS), -1)
    sent = dict(acknowledged)
    for round_ in range(2):
        client = Client(tmp_path)
        client.ask("find_coordinator", 1, key="g", key_type=0)
        found = fetch(client)
        assert all(found[each] >= acknowledged[each] for each in found), (seed, round_)
        acknowledged = found
        sent = dict(found)
        die_after = chance.randint(20, 300)
        unanswered: list[int] = []
        with suppress(OSError):
            for number in range(400):
                partition = number % PARTITIONS
                sent[partition] += 1
                commit(client, partition, sent[partition])
                unanswered.append(partition)
                if len(unanswered) == PARTITIONS:
                    answered = unanswered.pop(0)
                    client.receive()
                    acknowledged[answered] += 1
                if number == die_after:
                    break
        assert client.kill() == ""
    client = Client(tmp_path)
    client.ask("find_coordinator", 1, key="g", key_type=0)
    found = fetch(client)
    client.kill()
    for partition, offset in found.items():
        assert acknowledged[partition] <= offset <= sent[partition], (seed, partition)
    assert sum(acknowledged.values()) > 0
