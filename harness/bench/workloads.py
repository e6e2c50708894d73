"""The requests of a workload's connection and the expected answers, for any transport.

A generator yields bytes to send, which may be empty, and receives the bytes that came next, cut anywhere. It
ends by itself soon after `Tally.is_over` is set, and leaves its group as it found it.
"""

from collections.abc import Generator
from dataclasses import dataclass

from harness.bench.frames import (
    GroupFrames,
    Member,
    UnexpectedAnswerError,
    expect,
    given_member_id,
    joined,
)
from harness.bench.model import TrafficKind, Workload

ExchangeGenerator = Generator[bytes, bytes, None]
_SIZE_BYTES = 4


@dataclass(slots=True)
class Tally:
    """The state shared by the generators of one client."""

    answered: int = 0
    is_over: bool = False


def generators(workload: Workload, tally: Tally, *, prefix: str) -> list[ExchangeGenerator]:
    """Return a generator for each connection, each with its own group."""
    groups = [GroupFrames(f"{prefix}-{number}") for number in range(workload.connections)]
    if workload.talk is TrafficKind.CYCLES:
        return [_cycles(group, tally) for group in groups]
    return [_heartbeats(group, tally, workload.in_flight) for group in groups]


def _cycles(group: GroupFrames, tally: Tally) -> ExchangeGenerator:
    while not tally.is_over:
        member = yield from _join(group, tally)
        expect((yield from _ask(group.heartbeat(member), tally)), "Heartbeat")
        expect((yield from _ask(group.leave(member), tally)), "LeaveGroup")


def _heartbeats(group: GroupFrames, tally: Tally, in_flight: int) -> ExchangeGenerator:
    member = yield from _join(group, tally)
    heartbeat = group.heartbeat(member)
    answer = yield from _ask(heartbeat, tally)
    expect(answer, "Heartbeat")
    # All answers are equal, even in the correlation id, so many are checked in one comparison.
    expected = len(answer).to_bytes(_SIZE_BYTES, "big") + answer
    awaited = in_flight
    data = yield heartbeat * in_flight
    while awaited:
        count = len(data) // len(expected)
        complete, rest = data[: count * len(expected)], data[count * len(expected) :]
        if complete != expected * count:
            raise UnexpectedAnswerError(f"heartbeats were answered differently: {complete[:200]!r}")
        tally.answered += count
        again = 0 if tally.is_over else count
        awaited += again - count
        if awaited:
            data = rest + (yield heartbeat * again)
    expect((yield from _ask(group.leave(member), tally)), "LeaveGroup")


def _join(group: GroupFrames, tally: Tally) -> Generator[bytes, bytes, Member]:
    member_id = given_member_id((yield from _ask(group.first_join, tally)))
    member = joined((yield from _ask(group.join(member_id), tally)), member_id)
    expect((yield from _ask(group.sync(member), tally)), "SyncGroup")
    return member


def _ask(request: bytes, tally: Tally) -> Generator[bytes, bytes, bytes]:
    """Send a request while no other is in flight; return its answer without the size in front."""
    data = yield request
    while len(data) < _SIZE_BYTES or len(data) < _SIZE_BYTES + int.from_bytes(data[:_SIZE_BYTES], "big"):
        data += yield b""
    tally.answered += 1
    return data[_SIZE_BYTES:]
