"""Brokers that lie: a server that passes on what a true one says, and changes it on the way."""

import itertools
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from harness.wire.codec import Fields, FieldValue, decode_response, encode_response
from harness.wire.errors import WireError
from harness.wire.schema import API_NAMES, api_key

PATIENCE_S: Final = 10.0
OF_SCENARIOS: Final = b"ana"
"""In the client id of a scenario's requests, and in no request of the harness's own."""
_SIZE_BYTES: Final = 4
_HEAD: Final = struct.Struct(">hhi")
"""API key, API version, correlation id."""
_HEAD_OF_API: Final = struct.Struct(">hhh")
_MIB: Final = 1 << 20
_SLOW_S: Final = 4.0

Behaviour = Callable[[socket.socket], None]
"""What a server does with a connection, before it closes it."""


class Lie:
    """What is sent in the place of some true answers.

    Args:
        api: whose answers; of any API if not given.
        of_scenarios: whether only answers to scenarios are lied in.
        parts: from an answer, with its API and version, to what is sent; without an end where it never ends.
        closes: whether the connection is closed behind it.
    """

    def __init__(
        self,
        parts: "Parts",
        *,
        api: str | None = None,
        of_scenarios: bool = False,
        closes: bool = False,
    ) -> None:
        self._key = None if api is None else api_key(api)
        self._of_scenarios = of_scenarios
        self.parts = parts
        self.closes = closes

    def is_about(self, request: bytes) -> bool:
        """Tell whether the answer to a request is lied in."""
        if self._of_scenarios and OF_SCENARIOS not in request:
            return False
        return self._key is None or _HEAD.unpack_from(request)[0] == self._key


Parts = Callable[[bytes, str, int], Iterable[bytes]]


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[int]:
    """Serve on the loopback interface, and give the port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(PATIENCE_S)
            with suppress(OSError):
                behaviour(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

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


def then(count: int, last: Callable[[socket.socket, bytes], None], upstream_port: int) -> Behaviour:
    """Tell the truth so often on each connection, and then do something else with the next answer."""

    def behave(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", upstream_port), timeout=PATIENCE_S) as upstream:
            for number in itertools.count():
                upstream.sendall(sized(frame_of(connection)))
                answer = frame_of(upstream)
                if number >= count:
                    last(connection, answer)
                    return
                connection.sendall(sized(answer))

    return behave


def falls_silent(connection: socket.socket, _: bytes) -> None:
    """Read on, and say nothing more."""
    connection.settimeout(None)
    says_nothing(connection)


def resets(connection: socket.socket, _: bytes) -> None:
    """Break the connection off, so that the peer sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answers_as_before(connection: socket.socket, answer: bytes) -> None:
    """Give every further request the same answer, under its own correlation id."""
    while True:
        request = frame_of(connection)
        connection.sendall(sized(request[4:8] + answer[4:]))


def says_nothing(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def hangs_up(connection: socket.socket) -> None:
    return


def pours(connection: socket.socket) -> None:
    """Send bytes for ever, asked or not."""
    while True:
        connection.sendall(b"\0\0\0\x10" * 4096)


def lying(upstream_port: int, *lies: Lie) -> Behaviour:
    """Pass on what a true broker says, and lie where one of the lies is about it."""

    def behave(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", upstream_port), timeout=PATIENCE_S) as upstream:
            while True:
                request = frame_of(connection)
                upstream.sendall(sized(request))
                answer = frame_of(upstream)
                key, version, _ = _HEAD.unpack_from(request)
                lie = next((each for each in lies if each.is_about(request)), None)
                if lie is None:
                    connection.sendall(sized(answer))
                    continue
                for part in lie.parts(answer, API_NAMES.get(key, ""), version):
                    connection.sendall(part)
                if lie.closes:
                    return

    return behave


def lying_about_config(upstream_port: int, value: str) -> Behaviour:
    """Tell the truth but of the configuration: each number in it is this one."""

    def behave(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", upstream_port), timeout=PATIENCE_S) as upstream:
            while True:
                request = frame_of(connection)
                key, version, correlation_id = _HEAD.unpack_from(request)
                if key == api_key("DescribeConfigs"):
                    connection.sendall(sized(_config_of(value, version, correlation_id)))
                    continue
                upstream.sendall(sized(request))
                answer = frame_of(upstream)
                if key == api_key("ApiVersions") and version == 0:
                    answer = _advertising(answer, api_key("DescribeConfigs"))
                connection.sendall(sized(answer))

    return behave


def _config_of(value: str, version: int, correlation_id: int) -> bytes:
    config: Fields = {"name": "offsets.topic.num.partitions", "value": value}
    result: Fields = {"resource_name": "1", "resource_type": 4, "configs": [config]}
    fields: Fields = {"results": [result]}
    return encode_response("DescribeConfigs", version, correlation_id=correlation_id, fields=fields)


def _advertising(answer: bytes, key: int) -> bytes:
    """ApiVersions v0: correlation id, error code, a count, and as many keys with two versions."""
    rows = [answer[at : at + _HEAD_OF_API.size] for at in range(10, len(answer), _HEAD_OF_API.size)]
    rows = [row for row in rows if _HEAD_OF_API.unpack(row)[0] != key]
    rows.append(_HEAD_OF_API.pack(key, 2, 2))
    return answer[:6] + len(rows).to_bytes(4, "big") + b"".join(rows)


def _slow(answer: bytes, _: str, __: int) -> Iterator[bytes]:
    time.sleep(_SLOW_S)
    yield sized(answer)


def _bit_by_bit(answer: bytes, _: str, __: int) -> Iterator[bytes]:
    for each in sized(answer):
        time.sleep(1)
        yield bytes((each,))


def _endless(answer: bytes, _: str, __: int) -> Iterator[bytes]:
    yield (2**31 - 1).to_bytes(_SIZE_BYTES, "big") + answer
    yield from itertools.repeat(bytes(_MIB))


def _endless_answers(answer: bytes, _: str, __: int) -> Iterator[bytes]:
    return itertools.repeat(sized(answer))


def _with_error(code: int) -> Parts:
    """Put an error code wherever the answer has one."""

    def parts(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        try:
            reported = decode_response(api, version, answer)
            fields = _replaced(reported.fields, "error_code", f"ERROR_{code}")
            changed = encode_response(api, version, correlation_id=reported.correlation_id, fields=fields)
        except (WireError, ValueError, KeyError):
            changed = answer
        yield sized(changed)

    return parts


def _as_later_version(answer: bytes, api: str, version: int) -> Iterator[bytes]:
    """Give the answer the layout of the next version, if there is one."""
    reported = decode_response(api, version, answer)
    with suppress(WireError):
        answer = encode_response(
            api, version + 1, correlation_id=reported.correlation_id, fields=reported.fields
        )
    yield sized(answer)


def changing(change: Callable[[dict[str, FieldValue]], None]) -> Parts:
    """Change the fields of an answer."""

    def parts(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        reported = decode_response(api, version, answer)
        fields = dict(reported.fields)
        change(fields)
        yield sized(encode_response(api, version, correlation_id=reported.correlation_id, fields=fields))

    return parts


def with_field(name: str, value: object) -> Parts:
    """Put a value wherever the answer has a field of that name."""

    def parts(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        reported = decode_response(api, version, answer)
        fields = _replaced(reported.fields, name, value)
        yield sized(encode_response(api, version, correlation_id=reported.correlation_id, fields=fields))

    return parts


def _replaced(value: object, name: str, other: object) -> Fields:
    found = _deeply_replaced(value, name, other)
    assert isinstance(found, dict)
    return found


def _deeply_replaced(value: object, name: str, other: object) -> object:
    if isinstance(value, Mapping):
        return {
            key: other if key == name else _deeply_replaced(each, name, other) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_deeply_replaced(each, name, other) for each in value]
    return value


def _before(correlation_id: bytes) -> bytes:
    return struct.pack(">i", struct.unpack(">i", correlation_id)[0] - 1)


def _whole(change: Callable[[bytes], bytes]) -> Parts:
    return lambda answer, _, __: (change(answer),)


OF_ANY_ANSWER: Final[Mapping[str, Callable[..., Lie]]] = {
    "closes": partial(Lie, lambda _, __, ___: (), closes=True),
    "half a frame, closes": partial(Lie, _whole(lambda old: sized(old)[: len(old) // 2]), closes=True),
    "half a frame, waits": partial(Lie, _whole(lambda old: sized(old)[: len(old) // 2])),
    "a negative length": partial(Lie, _whole(lambda old: b"\xff\xff\xff\xfb" + old)),
    "the largest length": partial(Lie, _whole(lambda old: b"\x7f\xff\xff\xff" + old)),
    "an empty frame": partial(Lie, _whole(lambda _: sized(b""))),
    "garbage": partial(Lie, _whole(lambda _: sized(b"\xff" * 64))),
    "zeros": partial(Lie, _whole(lambda old: sized(old[:4] + bytes(len(old))))),
    "a byte less": partial(Lie, _whole(lambda old: sized(old[:-1]))),
    "a byte more": partial(Lie, _whole(lambda old: sized(old + b"!"))),
    "four billion elements": partial(Lie, _whole(lambda old: sized(old[:-1] + b"\xff\xff\xff\xff\x0f"))),
    "two billion elements": partial(Lie, _whole(lambda old: sized(old[:-4] + b"\x7f\xff\xff\xff"))),
    "a wrong correlation id": partial(Lie, _whole(lambda old: sized(b"\0\0\x7f\xff" + old[4:]))),
    "the correlation id before": partial(Lie, _whole(lambda old: sized(_before(old[:4]) + old[4:]))),
    "tags without an end": partial(Lie, _whole(lambda old: sized(old[:4] + b"\xff" * 10 + old[5:]))),
    "byte by byte": partial(Lie, lambda old, _, __: (bytes((each,)) for each in sized(old))),
    "once, closes": partial(Lie, _whole(sized), closes=True),
    "a later version's layout": partial(Lie, _as_later_version),
    "twice": partial(Lie, _whole(lambda old: sized(old) * 2)),
    "an unknown error code": partial(Lie, _with_error(4711)),
    "12 MiB behind it": partial(Lie, _whole(lambda old: sized(old + bytes(12 * _MIB)))),
    "after 4 s": partial(Lie, _slow),
    "a byte a second": partial(Lie, _bit_by_bit),
    "a frame without an end": partial(Lie, _endless),
    "answers without an end": partial(Lie, _endless_answers),
}
"""Lies that fit each answer."""
