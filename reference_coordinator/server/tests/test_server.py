"""The TCP server: frames out of a stream, faults, timers, and clients that know nothing of us."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest
from confluent_kafka.admin import AdminClient as ConfluentAdminClient

from reference_coordinator.broker.listener import Listener
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.server.server import Server
from reference_coordinator.server.serving import serving
from reference_coordinator.tests.attack import received
from reference_coordinator.tests.wire_client import framed, join_frame, read_response, request_frame

TIMEOUT_S = 60
INITIAL_DELAY_MS = 50
SESSION_MS = 200
PROFILES = ["2.8.2", "3.9", "4.4"]


def listener(profile: str) -> Callable[[str, int], Listener]:
    def make(host: str, port: int) -> Listener:
        return Listener(
            profile=profile_for(profile),
            config=GroupCoordinatorConfig.from_properties(
                {
                    "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
                    "group.min.session.timeout.ms": "100",
                }
            ),
            choices=DeterministicChoices(),
            host=host,
            port=port,
            topics={"orders": 3},
        )

    return make


class Clock:
    """A server's clock that stands still until a test puts it forward."""

    def __init__(self) -> None:
        self._now_ms = Millis(1_000_000)

    def now_ms(self) -> Millis:
        """Return the time."""
        return self._now_ms

    def put_forward(self, port: int, ms: int) -> None:
        """Let time pass at a server, once it has taken in what was sent before."""
        with Client(port) as client:
            for _ in range(2):
                client.heartbeat()
        self._now_ms = Millis(self._now_ms + ms)


@contextmanager
def running(serves: Server) -> Iterator[None]:
    """Serve from a thread of its own, so that blocking clients can be used."""
    thread = threading.Thread(target=serves.run)
    thread.start()
    try:
        yield
    finally:
        serves.stop()
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()


@contextmanager
def server(profile: str = "3.9", clock: Clock | None = None) -> Iterator[int]:
    """Serve, and yield the port."""
    with serving(listener(profile), host="127.0.0.1", port=0) as serves:
        if clock is not None:
            serves.now_ms = clock.now_ms  # type: ignore[method-assign] # for this one server
        with running(serves):
            yield serves.port


@pytest.fixture(name="port")
def port_of_a_server() -> Iterator[int]:
    with server() as port:
        yield port


class Client:
    """A blocking client."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(map(framed, frames)))

    def receive(self) -> bytes:
        return received(self.socket)

    def take(self, api: str, version: int) -> Any:  # noqa: ANN401 - an entity of kio's
        """Receive a response, and read it."""
        return read_response(api, version, self.receive())

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def heartbeat(self) -> int:
        self.send(HEARTBEAT)
        code: int = self.take("heartbeat", 0).error_code
        return code


def elect(port: int) -> None:
    """Make the server the coordinator: the first FindCoordinator creates the log."""
    with Client(port) as client:
        client.send(request_frame("find_coordinator", 0, key="g"))
        client.receive()


HEARTBEAT = request_frame("heartbeat", 0, group_id="g")
JOIN = join_frame()


def test_frames_are_cut_out_of_the_stream_however_it_comes(port: int) -> None:
    stream = framed(HEARTBEAT) * 3
    with Client(port) as client:
        for chunk in (stream[:2], stream[2:9], stream[9:-1], stream[-1:]):
            client.socket.sendall(chunk)

        codes = [client.take("heartbeat", 0).error_code for _ in range(3)]

    assert codes == [Errors.NOT_COORDINATOR] * 3


@pytest.mark.parametrize(
    "sent",
    [*(struct.pack(">i", size) for size in (-1, -(2**31), 100 * 1024 * 1024 + 1, 0)), framed(b"no request")],
    ids=["negative", "the most negative", "too large", "nothing", "no request"],
)
def test_a_size_or_a_frame_that_is_none_closes_the_connection_and_no_other(port: int, sent: bytes) -> None:
    with Client(port) as bad, Client(port) as good:
        bad.socket.sendall(sent)

        assert bad.is_closed()
        assert good.heartbeat() == Errors.NOT_COORDINATOR


def test_a_client_that_goes_away_in_mid_frame_harms_nobody(port: int) -> None:
    with Client(port) as client:
        client.socket.sendall(struct.pack(">i", 1000) + b"half")
    with Client(port) as client:
        assert client.heartbeat() == Errors.NOT_COORDINATOR


def test_a_parked_request_is_answered_when_its_time_comes(port: int) -> None:
    elect(port)
    with Client(port) as parked, Client(port) as other:
        parked.send(JOIN, HEARTBEAT)

        assert other.heartbeat() == Errors.UNKNOWN_MEMBER_ID
        assert parked.take("join_group", 3).generation_id == 1
        assert parked.take("heartbeat", 0).error_code == Errors.UNKNOWN_MEMBER_ID


def test_a_parked_client_that_goes_away_harms_nobody() -> None:
    clock = Clock()
    with server(clock=clock) as port, Client(port) as other:
        elect(port)
        with Client(port) as parked:
            parked.send(JOIN)
        other.send(JOIN)
        # The second member has the first wait as long again.
        for _ in range(2):
            clock.put_forward(port, INITIAL_DELAY_MS)

        assert other.take("join_group", 3).generation_id == 1


@pytest.mark.parametrize(("profile", "is_reported"), [("2.8.2", False), ("3.9", True)])
def test_a_server_stops_with_clients_parked(profile: str, *, is_reported: bool) -> None:
    with server(profile) as port:
        elect(port)
        member, newcomer = Client(port), Client(port)
        member.send(JOIN)
        member_id = member.take("join_group", 3).member_id
        assignment = ({"member_id": member_id, "assignment": b"a"},)
        of_member: Any = {"group_id": "g", "generation_id": 1, "member_id": member_id}
        member.send(request_frame("sync_group", 0, **of_member, assignments=assignment))
        member.receive()
        newcomer.send(JOIN)
        errors = None
        while errors != Errors.REBALANCE_IN_PROGRESS:
            member.send(request_frame("heartbeat", 0, **of_member))
            errors = member.take("heartbeat", 0).error_code
    with member, newcomer:
        if is_reported:
            answer = newcomer.take("join_group", 3)
            assert answer.error_code == Errors.NOT_COORDINATOR
        assert newcomer.is_closed()


@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")
@pytest.mark.parametrize("profile", PROFILES)
def test_kafka_python_administers_groups(profile: str) -> None:
    # Its import warns, which only a test may ignore, and it ships no types.
    from kafka import KafkaAdminClient  # type: ignore[import-untyped] # noqa: PLC0415 - as said above

    with server(profile) as port:
        elect(port)
        admin = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{port}", request_timeout_ms=TIMEOUT_S * 1000)
        try:
            assert "orders" in admin.list_topics()
            assert admin.list_groups() == []
            (described,) = admin.describe_groups(["g"]).values()
        finally:
            admin.close()

    assert described["group_state"] == "Dead"


@pytest.mark.parametrize("profile", PROFILES)
def test_librdkafka_sees_the_cluster_and_its_groups(profile: str) -> None:
    with server(profile) as port:
        admin = ConfluentAdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        metadata = admin.list_topics(timeout=TIMEOUT_S)
        groups = admin.list_consumer_groups(request_timeout=TIMEOUT_S).result()

    assert len(metadata.topics["orders"].partitions) == 3
    assert (groups.valid, groups.errors) == ([], [])


def test_frames_that_come_together_are_answered_in_their_order(port: int) -> None:
    with Client(port) as client:
        client.send(*(request_frame("heartbeat", 0, correlation_id=each, group_id="g") for each in range(50)))

        assert [client.receive()[:4] for _ in range(50)] == [struct.pack(">i", each) for each in range(50)]


@pytest.mark.parametrize(
    "faulty",
    [framed(b"no request") + framed(HEARTBEAT), struct.pack(">i", -1)],
    ids=["frame", "size"],
)
def test_what_came_before_a_fault_is_answered_and_nothing_behind_it(port: int, faulty: bytes) -> None:
    with Client(port) as client:
        client.socket.sendall(framed(HEARTBEAT) + faulty)

        assert client.take("heartbeat", 0).error_code == Errors.NOT_COORDINATOR
        assert client.is_closed()


def test_a_session_that_a_heartbeat_prolonged_ends_all_the_same() -> None:
    clock = Clock()
    join = join_frame(session_timeout=SESSION_MS, rebalance_timeout=TIMEOUT_S * 10_000)
    with server(clock=clock) as port, Client(port) as silent, Client(port) as newcomer:
        elect(port)
        silent.send(join)
        clock.put_forward(port, INITIAL_DELAY_MS)
        member_id = silent.take("join_group", 3).member_id
        of_member: Any = {"group_id": "g", "generation_id": 1, "member_id": member_id}
        silent.send(request_frame("sync_group", 0, **of_member), request_frame("heartbeat", 0, **of_member))
        silent.receive()
        assert silent.take("heartbeat", 0).error_code == Errors.NONE
        newcomer.send(JOIN)
        clock.put_forward(port, SESSION_MS)

        assert newcomer.take("join_group", 3).leader != member_id
