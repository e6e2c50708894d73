"""A tap as others use it: a process that carries bytes, started and stopped, and what it kept."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.tap.journal import JOURNAL
from harness.tap.listeners import parse_address, parse_addresses
from harness.tap.reading import events_of_journal
from harness.trace.events import Event
from harness.trace.schema import json_object

CONVERSATION: Final = "tap"
"""Name of the conversation that connections belong to where no other is asked for."""
_ROOT: Final = Path(__file__).resolve().parents[2]
_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are looked for, not bound
_START_TIMEOUT_S: Final = 30.0
_STOP_TIMEOUT_S: Final = 10.0
_LINK_BYTES: Final = 1 << 16


class TapError(Exception):
    """A tap could not be set up, or was lost; the message names the thing and the remedy."""


class Tap:
    """A running tap between clients and one cluster; its methods block for milliseconds, on any thread.

    Attributes:
        journal: the file with every byte, in the order of happening; whoever is killed loses none of it.
    """

    def __init__(
        self,
        bootstrap: str,
        out: Path,
        *,
        listen: str = "127.0.0.1:0",
        advertise: str | None = None,
        prefix: str = "",
        is_secured: bool = False,
    ) -> None:
        """Start it; it listens when this returns.

        Args:
            bootstrap: the cluster's `HOST:PORT`, several separated by commas.
            out: folder of the journal, made if it is missing.
            listen: where the first conversation is to be had; port 0 is one of the system's choice, and so
                are all ports for further brokers and conversations.
            advertise: the host that clients are told; that of `listen` if not given.
            prefix: of all that clients may change on a broker of others; without one they are free.
            is_secured: whether connections to the brokers have the configured security; those of the clients
                are in plain text.

        Raises:
            TapError: nobody can listen there, an address makes no sense, or a journal is there already.
        """
        self.journal = out / JOURNAL
        advertised = _advertised(bootstrap, listen, advertise)
        if self.journal.exists():
            raise TapError(f"{self.journal}: another tap's journal is there; nothing is added to it")
        out.mkdir(parents=True, exist_ok=True)
        self._log = out / "tap.log"
        self._lock = threading.Lock()
        self._is_stopped = False
        self._unread = b""
        arguments = (bootstrap, listen, advertised, prefix, "secured" if is_secured else "")
        self._link, self._process = self._started(*arguments)
        self._link.settimeout(_START_TIMEOUT_S)
        try:
            self._bootstrap_servers = self.conversation(CONVERSATION)
        except TapError:
            self.stop()
            raise

    def _started(self, *arguments: str) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
        """Start the process; return the link to it, and the process."""
        link, theirs = socket.socketpair()
        with theirs, self._log.open("wb") as log:
            command = [str(theirs.fileno()), str(self.journal.resolve()), *arguments]
            process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                [sys.executable, "-m", "harness.tap.carrier", *command],
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        return link, process

    @property
    def bootstrap_servers(self) -> str:
        """`HOST:PORT` for clients of the conversation `tap`."""
        return self._bootstrap_servers

    @property
    def pid(self) -> int:
        """Id of its process."""
        return self._process.pid

    def conversation(self, name: str) -> str:
        """Open a conversation of its own, and return the `HOST:PORT` for its clients.

        Whatever connects there, and to the brokers that are advertised there, has this name as `scenario_id`
        in the trace: so scripts that run side by side on one cluster are told apart. Idempotent.

        Raises:
            TapError: the tap is gone, or no port is left.
        """
        return self._asked_about(name)["address"]

    def refusal(self, name: str) -> str | None:
        """Return the first request of a conversation's clients that was not passed; None if all were.

        Raises:
            TapError: as above.
        """
        return self._asked_about(name).get("refused")

    def _asked_about(self, name: str) -> Mapping[str, str]:
        with self._lock:
            try:
                self._link.sendall(json.dumps({"conversation": name}).encode() + b"\n")
                answer = self._answer_about(name)
            except (OSError, ValueError) as error:
                raise TapError(self.failure() or f"the tap does not answer: {error}") from error
        if "error" in answer:
            raise TapError(answer["error"])
        return answer

    def _answer_about(self, name: str) -> Mapping[str, str]:
        """Take the next answer about a conversation; one too late for its question is passed over."""
        while True:
            answer: dict[str, str] = json_object(self._line(), where="an answer")
            if answer["conversation"] == name:
                return answer

    def _line(self) -> bytes:
        while b"\n" not in self._unread:
            data = self._link.recv(_LINK_BYTES)
            if not data:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_STOP_TIMEOUT_S)
                raise ConnectionResetError("it has ended")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def failure(self) -> str | None:
        """Return why the tap is gone, or None while it is not, or once it was stopped."""
        status = self._process.poll()
        if status is None or self._is_stopped:
            return None
        last = self._log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        return (
            f"the tap (pid {self._process.pid}) ended with exit status {status}: {last or 'it said nothing'}"
        )

    def stop(self) -> None:
        """End all connections and the process; what it kept is whole. Idempotent."""
        self._is_stopped = self._is_stopped or self._process.poll() is None
        self._link.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def events(self, *, run_id: str, target: str) -> Iterator[Event]:
        """Decode what was kept, as the events of a trace in the order of happening; also while it taps.

        `scenario_id` is the conversation, `actor` the client id, `connection` the connection's number and the
        broker (`7 node 1`), `step` always -1; `at_ms` counts from the tap's start. Whatever a client has
        received before is among them.
        """
        if not self._is_stopped:
            with contextlib.suppress(TapError):
                self.conversation(CONVERSATION)
        return events_of_journal(self.journal, run_id=run_id, target=target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _advertised(bootstrap: str, listen: str, advertise: str | None) -> str:
    try:
        parse_addresses(bootstrap)
        host, _ = parse_address(listen)
    except ValueError as error:
        raise TapError(str(error)) from error
    if advertise is None and host in _WILDCARDS:
        raise TapError(f"{listen} is everywhere and nowhere: say which host clients are told (advertise)")
    return advertise or host
