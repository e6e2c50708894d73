"""The interface of a tap: start and stop its process, and read what it recorded."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.tap.journal import JOURNAL
from harness.tap.listeners import parse_address, parse_addresses
from harness.tap.reading import events_of_journal
from harness.targets.secured.properties import configured_properties
from harness.trace.events import Event
from harness.trace.schema import json_object

CONVERSATION: Final = "tap"
"""Name of the conversation that connections belong to if no other is requested."""
_ROOT: Final = Path(__file__).resolve().parents[2]
_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are looked for, not bound
_START_TIMEOUT_S: Final = 30.0
_STOP_TIMEOUT_S: Final = 10.0
_LINK_BYTES: Final = 1 << 16


class TapError(Exception):
    """A tap could not be set up, or was lost; the message names the cause and the remedy."""


class Tap:
    """A running tap between clients and one cluster; its methods block for milliseconds, on any thread.

    Attributes:
        journal: the file with every byte, in chronological order; it stays complete if a process is killed.
        bootstrap_servers: `HOST:PORT` for clients of the conversation `tap`.
        pid: the id of the tap's process.
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
        """Start the tap, which is listening when this returns.

        Args:
            bootstrap: the cluster's `HOST:PORT`, several separated by commas.
            out: folder of the journal, made if it is missing.
            listen: the address of the first conversation; for port 0 the system chooses one, as it does for
                all further brokers and conversations.
            advertise: the host that clients get; that of `listen` if not given.
            prefix: the prefix of all names that clients may change on an external broker; without one,
                clients are unrestricted.
            is_secured: whether connections to the brokers have the configured security; those of the clients
                are in plain text.

        Raises:
            TapError: the address cannot be listened on or is invalid, or a journal exists already.
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
        self._link, self._process = self._started(arguments, configured_properties() if is_secured else {})
        self.pid = self._process.pid
        self._link.settimeout(_START_TIMEOUT_S)
        try:
            self.bootstrap_servers = self.conversation(CONVERSATION)
        except TapError:
            self.stop()
            raise

    def _started(
        self, arguments: Iterable[str], security: Mapping[str, str]
    ) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
        """Start the process, and send it the properties of secured connections, which nobody can read."""
        link, theirs = socket.socketpair()
        with theirs, self._log.open("wb") as log:
            command = [str(theirs.fileno()), str(self.journal.resolve()), *arguments]
            process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                [sys.executable, "-m", "harness.tap.carrier", *command],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        assert process.stdin is not None
        with process.stdin, contextlib.suppress(BrokenPipeError):  # a process that has ended is found later
            process.stdin.write(json.dumps(dict(security)).encode())
        return link, process

    def conversation(self, name: str) -> str:
        """Open a separate conversation, and return the `HOST:PORT` for its clients.

        Connections to that address, and to the brokers that it advertises, have this name as `scenario_id` in
        the trace. So scripts that run side by side on one cluster can be distinguished. Idempotent.

        Raises:
            TapError: the tap is gone, or no port is left.
        """
        return self._asked_about(name)["address"]

    def refusal(self, name: str) -> str | None:
        """Return the first request of a conversation's clients that was refused; None if none was.

        Raises:
            TapError: as above.
        """
        return self._asked_about(name).get("refused")

    def _asked_about(self, name: str) -> Mapping[str, str]:
        with self._lock:
            try:
                self._link.sendall(json.dumps({"conversation": name}).encode() + b"\n")
                answer: dict[str, str] = json_object(self._line(), where="an answer")
                while answer["conversation"] != name:  # A late answer to another question.
                    answer = json_object(self._line(), where="an answer")
            except (OSError, ValueError) as error:
                raise TapError(self.failure() or f"the tap does not answer: {error}") from error
        if "error" in answer:
            raise TapError(answer["error"])
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
        """End all connections and the process; its journal is complete. Idempotent."""
        self._is_stopped = self._is_stopped or self._process.poll() is None
        self._link.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def events(self, *, run_id: str, target: str) -> Iterator[Event]:
        """Decode the journal into the events of a trace in chronological order; works while it taps, too.

        `scenario_id` is the conversation, `actor` the client id, `connection` the connection's number and the
        broker (`7 node 1`), `step` always -1; `at_ms` counts from the tap's start. Everything that a client
        has received before the call is included.
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
