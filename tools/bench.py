"""Time the reference beside a local Kafka: `python tools/bench.py [--target kafka:4.3.1] [--rounds 3]`.

The reference in process, its server and Kafka take turns, so that other work on the machine affects all
alike. Printed are the medians of requests per second, and of the ratio of the server to Kafka, with the least
and the most. Requests are encoded before anything is measured: what a client learns, its member id and the
generation, are placeholders of the same length at first, which costs a search in some 100 bytes.
"""

import argparse
import asyncio
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from harness.orchestration.plan import parse_targets
from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.targets.base.interface import Target
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.wire.codec import Fields, encode_request
from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for

Address = tuple[str, int]
Conversation = Generator[bytes, bytes, None]
"""Yields bytes to send, which may be empty, and receives the bytes that came next, cut anywhere."""
_RECEIVE_BYTES: Final = 1 << 18
_SILENCE_MAX_S: Final = 20.0
_WARM_UP_S: Final = 0.3
_HOST: Final = "127.0.0.1"

_CLIENT_ID: Final = "bench"
_SIZE_BYTES: Final = 4
_CORRELATION_ID: Final = 1
_SESSION_TIMEOUT_MS: Final = 30_000
_SUBSCRIPTION: Final = b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff\0\0\0\0"
"""A consumer's subscription: version 1, the topic `orders`, no user data, no owned partitions."""
_ASSIGNMENT: Final = b"\0\1\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
"""Partition 0 of `orders`."""
_MEMBER_ID: Final = f"{_CLIENT_ID}-00000000-0000-0000-0000-000000000000"
_GENERATION_ID: Final = 0x5E5E5E5E
_MEMBER_ID_LENGTH_MAX: Final = 126
"""Longer texts have a length of two bytes in a compact encoding."""
_GENERATION_BYTES: Final = _GENERATION_ID.to_bytes(4, "big")

_JOIN_VERSION: Final = 6
_SYNC_VERSION: Final = 4
_HEARTBEAT_VERSION: Final = 4
_LEAVE_VERSION: Final = 4
"""The first flexible versions, which every release from 2.4 on serves."""
_ERROR_CODE_AT: Final = slice(9, 11)
"""After correlation id, tagged fields of the header and throttle time, as in all four versions."""
_GENERATION_AT: Final = slice(11, 15)
_PROTOCOL_NAME_AT: Final = 15
"""In the answer to JoinGroup, before the leader and the member id."""
_NONE: Final = b"\0\0"
_MEMBER_ID_REQUIRED: Final = (79).to_bytes(2, "big")


class UnexpectedAnswerError(Exception):
    """A broker did not answer as expected, so it cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The identity of a member once its join has completed."""

    member_id: bytes
    generation_id: bytes


@dataclass(slots=True)
class GroupFrames:
    """All requests of the only member of a group, each with its size in front."""

    group_id: str
    first_join: bytes = field(init=False)
    _join: bytes = field(init=False)
    _sync: bytes = field(init=False)
    _heartbeat: bytes = field(init=False)
    _leave: bytes = field(init=False)

    def __post_init__(self) -> None:
        group = {"group_id": self.group_id}
        member = {**group, "member_id": _MEMBER_ID, "group_instance_id": None}
        of_generation = {**member, "generation_id": _GENERATION_ID}
        join: Fields = {
            **member,
            "session_timeout_ms": _SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": _SESSION_TIMEOUT_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
        }
        sync: Fields = {
            **of_generation,
            "assignments": [{"member_id": _MEMBER_ID, "assignment": _ASSIGNMENT}],
        }
        leaving: Fields = {"member_id": _MEMBER_ID, "group_instance_id": None}
        self.first_join = _frame("JoinGroup", _JOIN_VERSION, {**join, "member_id": ""})
        self._join = _frame("JoinGroup", _JOIN_VERSION, join)
        self._sync = _frame("SyncGroup", _SYNC_VERSION, sync)
        self._heartbeat = _frame("Heartbeat", _HEARTBEAT_VERSION, of_generation)
        self._leave = _frame("LeaveGroup", _LEAVE_VERSION, {**group, "members": [leaving]})

    def join(self, member_id: bytes) -> bytes:
        """Return a JoinGroup with the member id that was assigned."""
        return _with_id(self._join, member_id)

    def sync(self, member: Member) -> bytes:
        """Return a SyncGroup with the assignment."""
        return _filled(self._sync, member)

    def heartbeat(self, member: Member) -> bytes:
        """Return a heartbeat of the member."""
        return _filled(self._heartbeat, member)

    def leave(self, member: Member) -> bytes:
        """Return a LeaveGroup of the member."""
        return _filled(self._leave, member)


def _filled(frame: bytes, member: Member) -> bytes:
    return _with_id(frame, member.member_id).replace(_GENERATION_BYTES, member.generation_id)


def _with_id(frame: bytes, member_id: bytes) -> bytes:
    filled = frame[_SIZE_BYTES:].replace(_compact(_MEMBER_ID.encode()), _compact(member_id))
    return len(filled).to_bytes(_SIZE_BYTES, "big") + filled


def _compact(text: bytes) -> bytes:
    return bytes((len(text) + 1,)) + text


def _frame(api: str, version: int, fields: Fields) -> bytes:
    frame = encode_request(api, version, correlation_id=_CORRELATION_ID, client_id=_CLIENT_ID, fields=fields)
    return len(frame).to_bytes(_SIZE_BYTES, "big") + frame


def given_member_id(answer: bytes) -> bytes:
    """Return the member id in the answer to a first JoinGroup, which has the error _MEMBER_ID_REQUIRED."""
    expect(answer, "JoinGroup without a member id", _MEMBER_ID_REQUIRED)
    at = _PROTOCOL_NAME_AT
    for _ in ("protocol_name", "leader"):
        at += max(1, answer[at])
    length = answer[at] - 1
    if not 0 < length <= _MEMBER_ID_LENGTH_MAX:
        raise UnexpectedAnswerError(f"a member id that requests cannot be prepared for: {answer!r}")
    return answer[at + 1 : at + 1 + length]


def joined(answer: bytes, member_id: bytes) -> Member:
    """Return the member that joined, from the answer to its JoinGroup."""
    expect(answer, "JoinGroup")
    return Member(member_id=member_id, generation_id=answer[_GENERATION_AT])


def expect(answer: bytes, request: str, error_code: bytes = _NONE) -> None:
    """Raise an error if an answer does not have the expected error code."""
    if answer[_ERROR_CODE_AT] != error_code:
        reported = int.from_bytes(answer[_ERROR_CODE_AT], "big", signed=True)
        raise UnexpectedAnswerError(f"{request} was answered with error {reported}: {answer!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What clients do: whole cycles of a member, or heartbeats if some are in flight."""

    connections: int
    in_flight: int = 0

    def __str__(self) -> str:
        if self.in_flight:
            return f"heartbeats, {self.in_flight} in flight, {self.connections} connections"
        return f"cycles, {self.connections} groups"

    def conversations(self, tally: "Tally", prefix: str) -> list[Conversation]:
        """Return a conversation for each connection, each with its own group."""
        groups = [GroupFrames(f"{prefix}-{number}") for number in range(self.connections)]
        if self.in_flight:
            return [_heartbeats(group, tally, self.in_flight) for group in groups]
        return [_cycles(group, tally) for group in groups]


WORKLOADS: Final = (
    *(Workload(connections=count) for count in (1, 8, 64)),
    *(Workload(connections=1, in_flight=count) for count in (1, 10, 100, 1000)),
    Workload(connections=8, in_flight=100),
)


@dataclass(slots=True)
class Tally:
    """Counts answers from the end of the warm-up to the end of the measurement."""

    seconds: float
    answered: int = 0
    is_over: bool = False
    _began_s: float = field(default_factory=time.perf_counter)
    _before: int | None = None

    def look(self) -> None:
        """Look at the clock."""
        passed_s = time.perf_counter() - self._began_s - _WARM_UP_S
        if self._before is None and passed_s >= 0:
            self._before = self.answered
        if passed_s >= self.seconds and not self.is_over:
            self.is_over = True
            self.seconds = passed_s
            self.answered -= self._before or 0

    @property
    def rate(self) -> float:
        """The answers per second."""
        return self.answered / self.seconds


def _cycles(group: GroupFrames, tally: Tally) -> Conversation:
    while not tally.is_over:
        member = yield from _join(group, tally)
        expect((yield from _ask(group.heartbeat(member), tally)), "Heartbeat")
        expect((yield from _ask(group.leave(member), tally)), "LeaveGroup")


def _heartbeats(group: GroupFrames, tally: Tally, in_flight: int) -> Conversation:
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


class InProcessBroker:
    """A listener, driven by the real clock."""

    def __init__(self, profile: str) -> None:
        self._listener = Listener(
            profile=profile_for(profile),
            config=GroupCoordinatorConfig.from_properties(CONFORMANCE_CONFIG),
            choices=DeterministicChoices(),
            host=_HOST,
            port=9092,
            topics=CONFORMANCE_TOPICS,
        )
        self._arrived: dict[ConnectionId, list[bytes]] = {}
        self._make_coordinator()

    def _make_coordinator(self) -> None:
        """Request a group's coordinator, which makes this broker the coordinator of all groups."""
        question = encode_request("FindCoordinator", 3, correlation_id=1, fields={"key": "g", "key_type": 0})
        self._deliver(self._listener.received(self.connect(), question, now_ms=_now_ms()))
        self._arrived.clear()

    def connect(self) -> ConnectionId:
        """Open a connection."""
        return self._listener.connected(client_host=_HOST)

    def send(self, connection: ConnectionId, stream: bytes) -> None:
        """Send whole requests, each with its size in front."""
        now_ms, position = _now_ms(), 0
        while position < len(stream):
            begin = position + _SIZE_BYTES
            position = begin + int.from_bytes(stream[position:begin], "big")
            self._deliver(self._listener.received(connection, stream[begin:position], now_ms=now_ms))

    def receive(self) -> list[tuple[ConnectionId, bytes]]:
        """Return the bytes sent to each connection since the last call, after firing due deadlines."""
        deadline_ms, now_ms = self._listener.next_deadline(), _now_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._deliver(self._listener.advance(now_ms=now_ms))
        arrived = [(connection, b"".join(parts)) for connection, parts in self._arrived.items()]
        self._arrived.clear()
        return arrived

    def _deliver(self, outgoing: tuple[Outgoing, ...]) -> None:
        for each in outgoing:
            assert isinstance(each, SendFrame), f"the reference closed a connection: {each}"
            parts = self._arrived.setdefault(each.connection, [])
            parts.append(len(each.frame).to_bytes(_SIZE_BYTES, "big"))
            parts.append(each.frame)


def _now_ms() -> Millis:
    return Millis(int(time.monotonic() * 1000))


def measured(
    workload: Workload, address: Address | None, *, profile: str, prefix: str, seconds: float
) -> float:
    """Return the requests per second of a broker; without an address, of the reference in this process."""
    tally = Tally(seconds)
    conversations = workload.conversations(tally, prefix)
    if address is None:
        _run_in_process(conversations, InProcessBroker(profile), tally)
    else:
        _run_over_tcp(conversations, address, tally)
    return tally.rate


def _run_over_tcp(conversations: list[Conversation], address: Address, tally: Tally) -> None:
    with selectors.DefaultSelector() as selector:
        for conversation in conversations:
            connection = socket.create_connection(address, timeout=_SILENCE_MAX_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection, selectors.EVENT_READ, conversation)
            connection.sendall(next(conversation))
        while selector.get_map():
            ready = selector.select(_SILENCE_MAX_S)
            if not ready:
                raise UnexpectedAnswerError(f"no answer for {_SILENCE_MAX_S:g} s")
            for key, _ in ready:
                _go_on(selector, key)
            tally.look()


def _go_on(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    connection = key.fileobj
    assert isinstance(connection, socket.socket)
    data = connection.recv(_RECEIVE_BYTES)
    if not data:
        raise UnexpectedAnswerError("the broker closed a connection")
    try:
        request = key.data.send(data)
    except StopIteration:
        selector.unregister(connection)
        connection.close()
        return
    if request:
        connection.sendall(request)


def _run_in_process(conversations: list[Conversation], broker: InProcessBroker, tally: Tally) -> None:
    going_on = {broker.connect(): conversation for conversation in conversations}
    for connection, conversation in going_on.items():
        broker.send(connection, next(conversation))
    while going_on:
        for connection, data in broker.receive():
            try:
                request = going_on[connection].send(data)
            except StopIteration:
                del going_on[connection]
            else:
                broker.send(connection, request)
        tally.look()


async def bench(
    target: Target, *, rounds: int, seconds: float, heat_up_s: float, say: Callable[[str], None]
) -> None:
    """Start both brokers, and let the subjects take turns at each workload.

    Raises:
        TargetError: a broker cannot be started.
        UnexpectedAnswerError: a subject cannot be measured.
    """
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-conformance-bench-")))
        addresses: list[Address | None] = [None]
        profile = ""
        for each in (target, None):
            started = ReferenceTcpTarget(profile) if each is None else each
            logs = root / str(len(addresses))
            logs.mkdir()
            broker = await started.start(broker_config={}, directory=logs, progress=say)
            stack.push_async_callback(broker.stop)
            profile = profile or broker.description.profile
            host, _, port = broker.description.bootstrap.rpartition(":")
            addresses.insert(1, (host, int(port)))
        say(f"{'':44} {'in process':>10} {'over TCP':>10} {target.name:>12}  ratio")
        for workload in WORKLOADS:
            rates = await asyncio.to_thread(
                _in_turns, workload, addresses, profile, rounds=rounds, seconds=seconds, heat_up_s=heat_up_s
            )
            say(_line(workload, rates))


def _in_turns(
    workload: Workload,
    addresses: list[Address | None],
    profile: str,
    *,
    rounds: int,
    seconds: float,
    heat_up_s: float,
) -> list[list[float]]:
    """Return the rates of the subjects, round by round; a JVM compiles by use, so that all get warm first."""
    name = f"{workload.connections}-{workload.in_flight}"
    for address in addresses:
        measured(workload, address, profile=profile, prefix=f"{name}-warm", seconds=heat_up_s)
    return [
        [
            measured(workload, address, profile=profile, prefix=f"{name}-{number}", seconds=seconds)
            for address in addresses
        ]
        for number in range(rounds)
    ]


def _line(workload: Workload, rates: list[list[float]]) -> str:
    ratios = [server / kafka for _, server, kafka in rates]
    medians = [median(each) for each in zip(*rates, strict=True)]
    shown = " ".join(f"{rate:{width},.0f}" for rate, width in zip(medians, (10, 10, 12), strict=True))
    return f"{workload!s:44} {shown}  {median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="kafka:4.3.1", help="what the reference is compared with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--heat-up", type=float, default=5.0, help="seconds before the first round")
    given = parser.parse_args()
    (target,) = parse_targets([given.target], profile=None)
    work = bench(target, rounds=given.rounds, seconds=given.seconds, heat_up_s=given.heat_up, say=print)
    asyncio.run(work, debug=False)


if __name__ == "__main__":
    main()
