"""The ports at which tapped clients reach brokers: one for each broker in each conversation."""

import contextlib
import errno
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Final, TypeAlias

Address: TypeAlias = tuple[str, int]

BOOTSTRAP: Final = "bootstrap"
BACKLOG: Final = 1024
_BROKERS_MAX: Final = 512
"""The most ports for brokers in a conversation: more would exhaust the files that may be open."""


@dataclass(slots=True)
class Listener:
    """A port, and the broker that it leads to."""

    acceptor: socket.socket
    conversation: "ListenerGroup"
    broker: str
    """The broker's name for people: `bootstrap`, or `node 1`."""
    addresses: Iterator[Address]
    """The broker's address for each further connection. Only a bootstrap has several, in turn."""
    port: int
    """The port to which clients connect."""


@dataclass(slots=True)
class ListenerGroup:
    """The listeners of one conversation, whose clients get the same addresses and so can be identified."""

    name: str
    bootstrap: tuple[Address, ...]
    host: str
    """The host on which ports are opened."""
    advertised: str
    """The host that clients get instead."""
    opened: Callable[[Listener], None]
    """Called with each new listener."""
    _by_address: dict[Address, Listener] = field(default_factory=dict)

    def listen(self, port: int = 0) -> Listener:
        """Open the port for clients that bootstrap; raise `OSError` if that is impossible."""
        listener = self._open(BOOTSTRAP, self.bootstrap, port)
        if len(self.bootstrap) == 1:
            # With several addresses, the port is not that of a single broker: connections go to each in turn.
            self._by_address[self.bootstrap[0]] = listener
        return listener

    def relocate(self, host: str, port: int, node_id: int) -> Address:
        """Return the address for clients of the broker that is advertised at another; `OSError` as above."""
        listener = self._by_address.get((host, port))
        if listener is None:
            listener = self._by_address[host, port] = self._open(BOOTSTRAP, ((host, port),), 0)
        if node_id >= 0:
            listener.broker = f"node {node_id}"
        return self.advertised, listener.port

    def _open(self, broker: str, addresses: tuple[Address, ...], port: int) -> Listener:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        if len(self._by_address) >= _BROKERS_MAX:
            raise OSError(errno.EMFILE, f"more than {_BROKERS_MAX} brokers are advertised")
        acceptor = socket.create_server((self.host, port), family=family, backlog=BACKLOG)
        acceptor.settimeout(0)
        listener = Listener(acceptor, self, broker, cycle(addresses), acceptor.getsockname()[1])
        self.opened(listener)
        return listener


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`, with an IPv6 address in brackets.

    Raises:
        ValueError: the text is not an address.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise ValueError(f"{text!r} is not an address; write for instance 127.0.0.1:9092")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse one or several addresses, separated by commas.

    Raises:
        ValueError: one of them is not an address.
    """
    return tuple(parse_address(each) for each in text.split(","))


def written(address: Address) -> str:
    """Write an address as `HOST:PORT`."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def peer_of(connected: socket.socket) -> str:
    """Return the address at the other end, or an empty string if it is gone already."""
    with contextlib.suppress(OSError):
        host, port, *_ = connected.getpeername()
        return written((host, port))
    return ""
