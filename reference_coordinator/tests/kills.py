"""A server killed again and again under writes: `python -m reference_coordinator.tests.kills`.

The servers are forked off a process that has everything imported, so that a thousand starts take minutes.
Each is a whole server all the same, with its door, and SIGKILL ends it at any of its instructions.
"""

import argparse
import functools
import multiprocessing
import os
import random
import re
import select
import socket
import struct
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Self
from unittest.mock import patch

from reference_coordinator.__main__ import main as serve
from reference_coordinator.log.persistence import kept_log
from reference_coordinator.server import service
from reference_coordinator.tests.attack import ask, exactly
from reference_coordinator.tests.wire_client import read_response, request_frame
from reference_coordinator.tests.wire_topic_client import PRODUCE_VERSION, batch, one, values_of

PARTITIONS: Final = 4
_POINTS_OF_A_DIRECTORY: Final = 50
_SEGMENT_BYTES: Final = 4_096
"""So small that kills hit the beginning of a segment, and the compaction of closed ones."""
_IN_FLIGHT: Final = 8
_ANSWERS_MAX: Final = 60
_LONGEST_S: Final = 0.005
_TIMEOUT_S: Final = 60
_FETCH_VERSION: Final = 4
_READY: Final = re.compile(rb"listening on 127\.0\.0\.1:(\d+)")
_Place = tuple[str, int]
"""`commit` or `produce`, and a partition."""


@dataclass(slots=True)
class Reported:
    """What one directory's servers were sent, and what of it they acknowledged."""

    sent: Counter[_Place] = field(default_factory=Counter)
    """By place: the writes so far are numbered from 1 to this."""
    acknowledged: Counter[_Place] = field(default_factory=Counter)


@dataclass(slots=True)
class Outcome:
    """What kills showed."""

    points: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    """Writes that were under way when a server was killed."""
    survived: int = 0
    """Of those, how many were there afterwards."""
    lost: list[str] = field(default_factory=list)
    said: str = ""
    """What servers wrote to stderr."""


def kill_often(directory: Path, *, points: int, seed: int = 0) -> Outcome:
    """Kill a server that many times while it is written to, and look each time at what it still has."""
    chance = random.Random(seed)
    outcome = Outcome()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    errors = directory / "stderr.txt"
    while outcome.points < points:
        data_dir = directory / f"data-{outcome.points}"
        reported = Reported()
        for _ in range(min(_POINTS_OF_A_DIRECTORY, points - outcome.points)):
            with _Server(data_dir, errors) as server:
                _look(server, reported, outcome)
                _write_until_killed(server, reported, outcome, chance)
            outcome.points += 1
        with _Server(data_dir, errors) as server:
            _look(server, reported, outcome)
    outcome.said = errors.read_text()
    return outcome


class _Server:
    """One server, forked off, and a connection to it; it ends with the context."""

    def __init__(self, data_dir: Path, errors: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        reader, writer = context.Pipe(duplex=False)
        arguments = ("--data-dir", str(data_dir), "--topic", f"orders:{PARTITIONS}")
        self._process = context.Process(target=_serve, args=(arguments, writer, errors), daemon=True)
        self._process.start()
        writer.close()
        with os.fdopen(os.dup(reader.fileno()), "rb") as said:
            ready = _READY.match(said.readline())
        reader.close()
        assert ready is not None, errors.read_text()
        self.client = socket.create_connection(("127.0.0.1", int(ready[1])), timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.kill()

    def kill(self) -> None:
        """End it by SIGKILL. Idempotent."""
        self._process.kill()
        self._process.join(_TIMEOUT_S)

    def ask(self, api: str, version: int, **fields: Any) -> Any:  # noqa: ANN401 - kio's classes and their fields
        return read_response(api, version, ask(self.client, request_frame(api, version, **fields)))


def _serve(arguments: Sequence[str], writer: "Connection[object, object]", errors: Path) -> None:
    """Be a server, as the command line starts it, but for the size of its segments."""
    os.dup2(writer.fileno(), 1)
    sys.stdout = os.fdopen(1, "w")
    with errors.open("a") as file:
        os.dup2(file.fileno(), 2)
    small = functools.partial(kept_log, segment_bytes=_SEGMENT_BYTES)
    with patch.object(service, "kept_log", small):
        sys.exit(serve(arguments))


def _write_until_killed(server: _Server, reported: Reported, outcome: Outcome, chance: random.Random) -> None:
    """Keep writes under way, and kill the server at some instant after some answers."""
    under_way: deque[_Place] = deque()
    answers, end_s = chance.randrange(_ANSWERS_MAX), None
    while True:
        if end_s is None and not answers:
            end_s = time.monotonic() + chance.uniform(0, _LONGEST_S)
        left_s = _TIMEOUT_S if end_s is None else end_s - time.monotonic()
        if left_s <= 0:
            break
        if len(under_way) < _IN_FLIGHT:
            place = (chance.choice(("commit", "produce")), chance.randrange(PARTITIONS))
            reported.sent[place] += 1
            _send(server, place, reported.sent[place])
            under_way.append(place)
        elif select.select([server.client], [], [], left_s)[0]:
            _receive(server, under_way, reported, outcome)
            answers = max(answers - 1, 0)
    server.kill()
    try:
        # What was answered before the end counts, though it is read only now.
        while under_way:
            _receive(server, under_way, reported, outcome)
    except OSError:
        outcome.unanswered += len(under_way)


def _send(server: _Server, place: _Place, number: int) -> None:
    kind, partition = place
    if kind == "commit":
        row = {"partition_index": partition, "committed_offset": number, "committed_metadata": "m"}
        frame = request_frame(
            "offset_commit",
            5,
            group_id="g",
            generation_id_or_member_epoch=-1,
            topics=({"name": "orders", "partitions": (row,)},),
        )
    else:
        records = one("orders", partition, batch(b"%d" % number))
        frame = request_frame("produce", PRODUCE_VERSION, acks=-1, topic_data=records)
    server.client.sendall(struct.pack(">i", len(frame)) + frame)


def _receive(server: _Server, under_way: deque[_Place], reported: Reported, outcome: Outcome) -> None:
    (size,) = struct.unpack(">i", exactly(server.client, 4))
    frame = exactly(server.client, size)
    place = under_way.popleft()
    if place[0] == "commit":
        (topic,) = read_response("offset_commit", 5, frame).topics
        (row,) = topic.partitions
    else:
        (topic,) = read_response("produce", PRODUCE_VERSION, frame).responses
        (row,) = topic.partition_responses
    assert row.error_code == 0, row
    reported.acknowledged[place] += 1
    outcome.acknowledged += 1


def _look(server: _Server, reported: Reported, outcome: Outcome) -> None:
    """Compare what the server has with what was acknowledged, and go on from what it has."""
    server.ask("find_coordinator", 1, key="g", key_type=0)
    for place in [(kind, each) for kind in ("commit", "produce") for each in range(PARTITIONS)]:
        found = (
            _committed(server, place[1]) if place[0] == "commit" else _produced(server, place[1], reported)
        )
        if not reported.acknowledged[place] <= found <= reported.sent[place]:
            outcome.lost.append(
                f"{place} after {outcome.points} kills: {reported.acknowledged[place]} were acknowledged, "
                f"{reported.sent[place]} sent, {found} found"
            )
        outcome.survived += found - reported.acknowledged[place]
        reported.sent[place] = reported.acknowledged[place] = found


def _committed(server: _Server, partition: int) -> int:
    asked = ({"name": "orders", "partition_indexes": (partition,)},)
    (topic,) = server.ask("offset_fetch", 5, group_id="g", topics=asked).topics
    offset: int = topic.partitions[0].committed_offset
    return max(offset, 0)


def _produced(server: _Server, partition: int, reported: Reported) -> int:
    """Return how many records there are, each of which is the one that was sent in its place."""
    known: int = reported.acknowledged["produce", partition]
    begin = max(known - _IN_FLIGHT, 0)
    wanted = {"partition": partition, "fetch_offset": begin, "partition_max_bytes": 1 << 20}
    topics = ({"topic": "orders", "partitions": (wanted,)},)
    answer = server.ask("fetch", _FETCH_VERSION, replica_id=-1, max_bytes=1 << 20, topics=topics)
    row = answer.responses[0].partitions[0]
    if row.error_code:
        return -1
    values = values_of(row.records or b"")
    assert values == [b"%d" % number for number in range(begin + 1, begin + 1 + len(values))], values
    return begin + len(values)


def main() -> None:
    """Print what as many kills as the command line names show; ends with 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        outcome = kill_often(Path(directory), points=given.points, seed=given.seed)
    print(  # noqa: T201 - a command
        f"{outcome.points} kills in {time.monotonic() - began_s:.0f} s: {outcome.acknowledged} writes "
        f"acknowledged, {len(outcome.lost)} places with losses; {outcome.unanswered} writes were under way, "
        f"{outcome.survived} of them survived; {outcome.said.count('Traceback')} tracebacks"
    )
    for each in outcome.lost:
        print(each)  # noqa: T201 - likewise
    sys.exit(bool(outcome.lost))


if __name__ == "__main__":
    main()
