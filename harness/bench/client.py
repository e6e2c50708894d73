"""A client process, which runs a workload over sockets, or directly on a listener, and counts answers.

It uses blocking writes and one selector, so a request costs it a few microseconds. It returns its CPU time
with the count.
"""

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.bench.frames import UnexpectedAnswerError
from harness.bench.in_process import InProcessBroker
from harness.bench.model import Workload
from harness.bench.workloads import ExchangeGenerator, Tally, generators

_RECEIVE_BYTES: Final = 1 << 18
_SILENCE_MAX_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The work of one client."""

    workload: Workload
    prefix: str
    """The prefix of its groups' ids."""
    warm_up_s: float
    measured_s: float
    address: tuple[str, int] | None = None
    """The address of the broker; None for the reference in the client's own process."""
    profile: str = ""
    """The profile of the reference in process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The measurement of one client."""

    answered: int
    elapsed_s: float
    cpu_s: float


def carry(load: Load) -> Count:
    """Run a client's work to its end.

    Raises:
        UnexpectedAnswerError: the broker cannot be measured.
        OSError: the connection is gone.
    """
    tally = Tally()
    conversation = generators(load.workload, tally, prefix=load.prefix)
    meter = _Meter(tally, warm_up_s=load.warm_up_s, measured_s=load.measured_s)
    if load.address is None:
        _run_in_process(conversation, load.profile, meter.look)
    else:
        _run_over_tcp(conversation, load.address, meter.look)
    return meter.count()


class _Meter:
    """Reads the tally at the end of the warm-up and at the end of the measurement."""

    def __init__(self, tally: Tally, *, warm_up_s: float, measured_s: float) -> None:
        self._tally = tally
        self._begin_s = time.perf_counter() + warm_up_s
        self._end_s = self._begin_s + measured_s
        self._at_begin: tuple[int, float, float] | None = None
        self._at_end: tuple[int, float, float] | None = None

    def look(self) -> None:
        now_s = time.perf_counter()
        if self._at_begin is None:
            if now_s >= self._begin_s:
                self._at_begin = (self._tally.answered, now_s, time.process_time())
        elif self._at_end is None and now_s >= self._end_s:
            self._at_end = (self._tally.answered, now_s, time.process_time())
            self._tally.is_over = True

    def count(self) -> Count:
        assert self._at_begin is not None, "the talks ended before they were measured"
        assert self._at_end is not None, "the talks ended before they were measured"
        return Count(
            answered=self._at_end[0] - self._at_begin[0],
            elapsed_s=self._at_end[1] - self._at_begin[1],
            cpu_s=self._at_end[2] - self._at_begin[2],
        )


def _run_over_tcp(
    conversation: list[ExchangeGenerator], address: tuple[str, int], look: Callable[[], None]
) -> None:
    with selectors.DefaultSelector() as selector:
        for generator in conversation:
            connection = socket.create_connection(address, timeout=_SILENCE_MAX_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection, selectors.EVENT_READ, generator)
            connection.sendall(next(generator))
        try:
            while selector.get_map():
                ready = selector.select(_SILENCE_MAX_S)
                if not ready:
                    raise UnexpectedAnswerError(f"no answer for {_SILENCE_MAX_S:g} s")
                for key, _ in ready:
                    _go_on(selector, key)
                look()
        finally:
            for key in tuple(selector.get_map().values()):
                _socket_of(key).close()


def _go_on(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    connection, generator = _socket_of(key), key.data
    data = connection.recv(_RECEIVE_BYTES)
    if not data:
        raise UnexpectedAnswerError("the broker closed a connection")
    try:
        request = generator.send(data)
    except StopIteration:
        selector.unregister(connection)
        connection.close()
        return
    if request:
        connection.sendall(request)


def _socket_of(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def _run_in_process(conversation: list[ExchangeGenerator], profile: str, look: Callable[[], None]) -> None:
    broker = InProcessBroker(profile)
    going_on = {broker.connect(): generator for generator in conversation}
    for connection, generator in going_on.items():
        broker.send(connection, next(generator))
    while going_on:
        for connection, data in broker.receive():
            try:
                request = going_on[connection].send(data)
            except StopIteration:
                del going_on[connection]
            else:
                broker.send(connection, request)
        look()
