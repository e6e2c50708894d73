"""Targets that lie: whatever they send, the run ends in time, with a verdict and with what came on record."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.conduct.run import ConductedRun, conduct
from harness.report.exit_code import ExitCode
from harness.runner.drive import Limits
from harness.scenario.script import Receive, Script
from harness.targets import dialogue
from harness.targets.external import ExternalTarget
from harness.tests.conducted import Quiet, outcomes, plan_of, reference_server
from harness.trace.events import EventKind
from harness.trace.files import read_events
from harness.verdict import Outcome

HELD: Final = "classic/heartbeat/empty-group-id"
_PATIENCE_S: Final = 10.0
_SIZE_BYTES: Final = 4
_OF_SCENARIOS: Final = b"ana"
"""In the client id of a scenario's requests, and in no request of the harness's own."""

Behaviour = Callable[[socket.socket], None]
"""What a server does with a connection, before it closes it."""
Lie = Callable[[bytes], bytes | None]
"""From a true response to what is sent instead, or None to close the connection."""


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[int]:
    """Serve on the loopback interface, and give the port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(_PATIENCE_S)
            with suppress(OSError):
                behaviour(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def exactly(connection: socket.socket, count: int) -> bytes:
    """Read so many bytes; `ConnectionError` when the other side has closed before."""
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError
        received += part
    return received


def frame_of(connection: socket.socket) -> bytes:
    return exactly(connection, int.from_bytes(exactly(connection, _SIZE_BYTES), "big"))


def sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(_SIZE_BYTES, "big") + payload


def answers(*replies: bytes) -> Behaviour:
    """Answer each request with these bytes."""

    def behave(connection: socket.socket) -> None:
        while True:
            frame_of(connection)
            for reply in replies:
                connection.sendall(reply)

    return behave


def says_nothing(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def hangs_up(connection: socket.socket) -> None:
    return


def conducted_with(port: int, reports: Path, *, limits: Limits | None = None) -> ConductedRun:
    target = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=300)
    plan = plan_of(reports, [target], HELD, limits=limits)
    return conduct(replace(plan, scripts={HELD: impatient(plan.scripts[HELD])}), Quiet())


def impatient(script: Script) -> Script:
    """Wait for answers only as long as a server on the loopback interface may need."""
    steps = (replace(step, within_ms=500) if isinstance(step, Receive) else step for step in script.steps)
    return replace(script, steps=tuple(steps))


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        pytest.param(hangs_up, "closed by the peer", id="hangs up"),
        pytest.param(says_nothing, "no frame within", id="says nothing"),
        pytest.param(answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "bytes announced", id="speaks HTTP"),
        pytest.param(answers(b"\xff\xff\xff\xff"), "frame of -1 bytes announced", id="a negative size"),
        pytest.param(answers(b"\0\0\0\x40half"), "no frame within", id="half a frame, and waits"),
        pytest.param(answers(sized(b"")), "ApiVersions v0", id="an empty frame"),
        pytest.param(answers(sized(b"\xff" * 64)), "ApiVersions v0", id="a frame of garbage"),
        pytest.param(answers(sized(b"\0\0\0\x01\0\0\0\0\0\0")), "no usable version", id="serves no API"),
    ],
)
def test_who_is_no_broker_is_told_to_be_unavailable_and_how_it_behaved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, told: str
) -> None:
    monkeypatch.setattr(dialogue, "_ANSWER_TIMEOUT_MS", 100.0)
    with serving(behaviour) as port:
        run = conducted_with(port, tmp_path)
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "did not get ready within 0.3 s" in run.footer.ended
    assert told in run.footer.ended
    assert set(outcomes(run, f"external-127.0.0.1-{port}").values()) == {Outcome.INDETERMINATE}


def test_an_address_where_nobody_listens_is_unavailable(tmp_path: Path) -> None:
    with serving(hangs_up) as port:
        pass
    run = conducted_with(port, tmp_path)
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "connection refused" in run.footer.ended


def lying(upstream_port: int, lie: Lie) -> Behaviour:
    """Pass on what the harness asks on its own account, and lie to scenarios."""

    def behave(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", upstream_port), timeout=_PATIENCE_S) as upstream:
            while True:
                request = frame_of(connection)
                upstream.sendall(sized(request))
                answer = frame_of(upstream)
                reply: bytes | None = sized(answer)
                if _OF_SCENARIOS in request:
                    reply = lie(answer)
                if reply is None:
                    return
                connection.sendall(reply)

    return behave


@pytest.fixture(scope="module", name="truth")
def _truth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with reference_server("4.4", log=tmp_path_factory.mktemp("truth") / "server.log") as port:
        yield port


def with_error(code: int) -> Lie:
    """Heartbeat v4: correlation id, no tagged fields, throttle time, error code, no tagged fields."""
    return lambda answer: sized(answer[:9] + code.to_bytes(2, "big") + answer[11:])


@pytest.mark.parametrize(
    ("lie", "kind", "told"),
    [
        pytest.param(lambda _: None, EventKind.CLOSED, "closed by the peer", id="closes"),
        pytest.param(
            lambda answer: sized(answer)[:-1], EventKind.NO_ANSWER, None, id="a frame that stops short"
        ),
        pytest.param(
            lambda answer: sized(b"\0\0\x7f\xff" + answer[4:]),
            EventKind.UNSOLICITED,
            None,
            id="a wrong correlation id",
        ),
        pytest.param(lambda answer: sized(answer[:-1]), EventKind.MALFORMED, None, id="a missing byte"),
        pytest.param(lambda answer: sized(answer + b"!"), EventKind.MALFORMED, None, id="a byte too many"),
        pytest.param(with_error(4711), EventKind.RESPONSE, "ERROR_4711", id="an error that no Kafka knows"),
        pytest.param(
            lambda answer: sized(answer[:-1] + b"\x01\x09\x02no"),
            EventKind.MALFORMED,
            None,
            id="an unknown tag",
        ),
    ],
)
def test_a_lie_in_a_conversation_is_on_record(
    tmp_path: Path, truth: int, lie: Lie, kind: EventKind, told: str | None
) -> None:
    with serving(lying(truth, lie)) as port:
        run = conducted_with(port, tmp_path, limits=Limits(scenario_s=20))
    name = f"external-127.0.0.1-{port}"
    events = read_events(run.folder.events(name)).events
    recorded = next(event for event in events if event.kind == kind)
    assert told is None or told in f"{recorded.fields} {recorded.note}"
    assert run.footer.ended == "complete"
    assert Outcome.HARNESS_ERROR not in outcomes(run, name).values()
    assert run.exit_code == ExitCode.UNEXPECTED


def test_an_answer_that_comes_twice_is_seen_as_soon_as_the_next_is_awaited(
    tmp_path: Path, truth: int
) -> None:
    with serving(lying(truth, lambda answer: sized(answer) * 2)) as port:
        target = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=300)
        run = conduct(plan_of(tmp_path, [target], "classic/heartbeat/empty-group"), Quiet())
    assert run.exit_code == ExitCode.UNEXPECTED
    assert run.checked.differences[0].step == 3
    events = read_events(run.folder.events(target.name)).events
    assert [event.step for event in events if event.kind == EventKind.UNSOLICITED] == [3, 5, 7, 9]
