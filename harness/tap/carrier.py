"""The process of a tap, which listens, carries bytes between clients and brokers, and stores them undecoded.

Its parent sends it lines of JSON over a link: `{"conversation": NAME}`. The answer repeats the name, with the
`address` of that conversation or an `error`. Later answers about it also contain the first request that a
guard has `refused`. When the parent closes the link, for whatever reason, the tap ends.

An iteration first passes bytes on, and then stores all that came in one write. So a killed process loses only
what it was about to write.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from harness.tap.connection import Connection, React
from harness.tap.framing import Dialogue
from harness.tap.journal import MAGIC, Beginning, Closing, Endpoint, Kind, Opening, Remark, header
from harness.tap.listeners import (
    Address,
    Listener,
    ListenerGroup,
    parse_address,
    parse_addresses,
    peer_of,
    written,
)
from harness.tap.secured import SecuredWay
from harness.targets.base.nonsense import why_no_address
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import Namespace
from harness.targets.secured.properties import configured_security
from harness.trace.schema import json_object

_SWEEP_S: Final = 1.0
_LOOKOUT_S: Final = 0.0002
"""How long it polls before it sleeps, since being woken takes longer than passing something on."""
_LINK_BYTES: Final = 1 << 16


class ParentGoneError(Exception):
    """The parent has closed the link, so the tap must end."""


class Journal:
    """A journal whose entries are gathered and written together."""

    def __init__(self, path: Path, bootstrap: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._began_ns = time.monotonic_ns()
        self._gathered: list[bytes] = [MAGIC]
        began = Beginning(
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"), bootstrap=bootstrap
        )
        self.keep_record(Kind.BEGUN, 0, began)
        self.write()

    def keep(self, kind: Kind, connection: int, content: bytes) -> None:
        """Gather an entry."""
        at_ns = time.monotonic_ns() - self._began_ns
        self._gathered += (header(kind, connection, at_ns, len(content)), content)

    def keep_record(
        self, kind: Kind, connection: int, record: Beginning | Opening | Closing | Remark
    ) -> None:
        """Gather an entry whose content is JSON."""
        self.keep(kind, connection, json.dumps(asdict(record)).encode())

    def write(self) -> None:
        """Hand everything gathered to the operating system."""
        if not self._gathered:
            return
        entries = b"".join(self._gathered)
        self._gathered.clear()
        while entries:
            entries = entries[os.write(self._descriptor, entries) :]


class Carrier:
    """All connections of a tap, in one loop."""

    def __init__(
        self,
        link: socket.socket,
        journal: Journal,
        bootstrap: tuple[Address, ...],
        listen: Address,
        advertised: str,
        guard: Guard | None = None,
        secured: SecuredWay | None = None,
    ) -> None:
        link.settimeout(0)
        self._link = link
        self._link_rest = b""
        self._journal = journal
        self._bootstrap = bootstrap
        self._listen = listen
        self._advertised = advertised
        self._guard = guard
        self._secured = secured
        self._refused: dict[str, str] = {}
        """The first request that was refused to the clients of each conversation."""
        self._poll = select.epoll()
        self._reactions: dict[int, React] = {}
        self._conversations: dict[str, Address] = {}
        self._connections: dict[int, Connection] = {}
        self._connected = 0
        self._discarded: list[socket.socket] = []
        self._resting: list[Listener] = []
        """Listeners that accept no connection at the moment, because there are too many open files."""

    def run(self) -> None:
        """Carry bytes until the parent closes the link."""
        self.watch(self._link, select.EPOLLIN, self._hear_parent)
        swept_s = time.monotonic()
        try:
            while True:
                for descriptor, events in self._ready():
                    reaction = self._reactions.get(descriptor)
                    if reaction is not None:
                        reaction(events)
                self._close_discarded()
                self._journal.write()
                now_s = time.monotonic()
                if now_s - swept_s > _SWEEP_S:
                    swept_s = now_s
                    self._sweep(now_s)
        except ParentGoneError:
            pass
        finally:
            for connection in tuple(self._connections.values()):
                connection.end(Endpoint.TAP, "the tap was stopped", reset=False)
            self._close_discarded()
            self._journal.write()

    def _ready(self) -> list[tuple[int, int]]:
        """Wait until a socket is ready: poll for a short time, yielding the processor, then sleep."""
        until_s = time.monotonic() + _LOOKOUT_S
        while not (ready := self._poll.poll(0)):
            if time.monotonic() > until_s:
                return self._poll.poll(_SWEEP_S)
            os.sched_yield()
        return ready

    def watch(self, watched: socket.socket, events: int, react: React) -> None:
        """See `Surroundings`."""
        descriptor = watched.fileno()
        if descriptor in self._reactions:
            self._poll.modify(descriptor, events)
        else:
            self._poll.register(descriptor, events)
        self._reactions[descriptor] = react

    def _forget(self, watched: socket.socket) -> None:
        if self._reactions.pop(watched.fileno(), None) is not None:
            self._poll.unregister(watched)

    def discard(self, finished: socket.socket) -> None:
        """See `Surroundings`."""
        self._forget(finished)
        # Its descriptor must not be reused while this iteration has events for it.
        self._discarded.append(finished)

    def _close_discarded(self) -> None:
        for finished in self._discarded:
            finished.close()
        self._discarded.clear()

    def keep(self, kind: Kind, connection: int, content: bytes) -> None:
        """See `Surroundings`."""
        self._journal.keep(kind, connection, content)

    def keep_closing(self, connection: int, side: Endpoint, how: str) -> None:
        """See `Surroundings`."""
        self._journal.keep_record(Kind.CLOSED, connection, Closing(side=side, how=how))

    def over(self, connection: Connection) -> None:
        """See `Surroundings`."""
        self._connections.pop(connection.number, None)
        if connection.dialogue.refused is not None:
            self._refused.setdefault(connection.dialogue.conversation, connection.dialogue.refused)

    def _hear_parent(self, _: int) -> None:
        data = self._link.recv(_LINK_BYTES)
        if not data:
            raise ParentGoneError
        *lines, self._link_rest = (self._link_rest + data).split(b"\n")
        for line in lines:
            name = str(json_object(line, where="a question")["conversation"])
            answer = {"conversation": name} | self._conversation(name)
            # When the parent gets its answer, the journal must contain everything passed on before it asked.
            self._journal.write()
            self._link.sendall(json.dumps(answer).encode() + b"\n")

    def _conversation(self, name: str) -> dict[str, str]:
        if name not in self._conversations:
            host, port = self._listen
            conversation = ListenerGroup(
                name=name,
                bootstrap=self._bootstrap,
                host=host,
                advertised=self._advertised,
                opened=self._accept_at,
            )
            try:
                listener = conversation.listen(0 if self._conversations else port)
            except OSError as error:
                return {"error": f"nobody can listen on {written(self._listen)}: {error.strerror or error}"}
            self._conversations[name] = (self._advertised, listener.port)
        refused = {"refused": self._refused[name]} if name in self._refused else {}
        return {"address": written(self._conversations[name]), **refused}

    def _accept_at(self, listener: Listener) -> None:
        self.watch(listener.acceptor, select.EPOLLIN, partial(self._accept, listener))

    def _accept(self, listener: Listener, _: int) -> None:
        try:
            client, _peer = listener.acceptor.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            # Too many open files: new connections wait until others have closed.
            self._forget(listener.acceptor)
            self._resting.append(listener)
            return
        host, port = listener.next_address()
        if (why_not := why_no_address(host, port)) is not None:
            # A broker has advertised this address; only connections to it are refused.
            sys.stderr.write(f"{listener.broker}: {why_not}\n")
            client.close()
            return
        if self._secured is not None:
            broker = self._secured.socket_to(host, port)
            self._open(listener, client, broker, (host, port)).connected()
            return
        try:
            family, _type, _protocol, _name, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )[0]
            broker = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            client.close()
            return
        self._open(listener, client, broker, (host, port)).connect(address)

    def _open(
        self, listener: Listener, client: socket.socket, broker: socket.socket, address: Address
    ) -> Connection:
        self._connected += 1
        number = self._connected
        opening = Opening(
            conversation=listener.conversation.name,
            client=peer_of(client),
            broker=listener.broker,
            address=written(address),
        )
        self._journal.keep_record(Kind.OPENED, number, opening)
        dialogue = Dialogue(
            relocate=listener.conversation.relocate,
            remark=partial(self._journal.keep_record, Kind.REMARK, number),
            conversation=listener.conversation.name,
            guard=self._guard,
        )
        connection = self._connections[number] = Connection(number, client, broker, dialogue, self)
        return connection

    def _sweep(self, now_s: float) -> None:
        for connection in tuple(self._connections.values()):
            if connection.deadline_s is not None and connection.deadline_s < now_s:
                connection.end(Endpoint.BROKER, "did not accept in time", reset=True)
        resting, self._resting = self._resting, []
        for listener in resting:
            self._accept_at(listener)


def main(
    link: str, journal: str, bootstrap: str, listen: str, advertised: str, prefix: str, is_secured: str
) -> None:
    """Run the process of a tap. With a prefix, clients may change nothing whose name lacks it."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # These signals are meant for the parent, which closes the link when it has ended.
        signal.signal(each, signal.SIG_IGN)
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    carrier = Carrier(
        socket.socket(fileno=int(link)),
        Journal(Path(journal), bootstrap),
        parse_addresses(bootstrap),
        parse_address(listen),
        advertised,
        Guard(namespace=Namespace(prefix), serves_clients=True) if prefix else None,
        SecuredWay(configured_security()) if is_secured else None,
    )
    # Imported modules stay for good, so the garbage collector need not scan them while bytes wait.
    gc.freeze()
    carrier.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
