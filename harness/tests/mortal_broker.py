"""The reference as a broker that ends at a request with an API key that no API has, for tests.

`python -m harness.tests.mortal_broker ...` takes what `python -m reference_coordinator` does.
"""

import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reference_coordinator import __main__ as command
from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing
from reference_coordinator.core.ids import Millis

DEADLY: Final = b"\x7f\xff"
"""The API key of the request that ends the broker."""
_LOOK_S: Final = 0.02
_LOOKS_MAX: Final = 500
_RECEIVED: Final = Listener.received


def _received(
    self: Listener, connection: ConnectionId, frame: bytes, *, now_ms: Millis
) -> tuple[Outgoing, ...]:
    if frame[:2] == DEADLY:
        os._exit(2)
    return _RECEIVED(self, connection, frame, now_ms=now_ms)


@dataclass(frozen=True, slots=True)
class MortalBroker:
    """A broker that may end, and the command that starts it again."""

    port: int
    directory: Path

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    @property
    def restart_command(self) -> str:
        """A shell command that ends it if it runs, and starts it on the same data."""
        pid, log = (shlex.quote(str(self.directory / name)) for name in ("pid", "log"))
        data = shlex.quote(str(self.directory / "data"))
        run = f"{shlex.quote(sys.executable)} -m harness.tests.mortal_broker"
        options = f"--listen {self.address} --profile 3.9 --topic orders:1 --data-dir {data}"
        wait = 'while kill -0 "$old" 2>/dev/null; do sleep 0.05; done'
        end = f'old=$(cat {pid} 2>/dev/null); if [ -n "$old" ]; then kill "$old" 2>/dev/null; {wait}; fi'
        return f"{end}; {run} {options} >>{log} 2>&1 & echo $! >{pid}"

    def stop(self) -> None:
        """End the process that was started last, and wait until it is gone."""
        with suppress(FileNotFoundError, ProcessLookupError):
            pid = int((self.directory / "pid").read_text())
            os.kill(pid, signal.SIGTERM)
            for _ in range(_LOOKS_MAX):
                os.kill(pid, 0)
                time.sleep(_LOOK_S)


@contextmanager
def mortal_broker(directory: Path) -> Iterator[MortalBroker]:
    """Provide a broker that has not been started yet, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    broker = MortalBroker(port=port, directory=directory)
    try:
        yield broker
    finally:
        broker.stop()


if __name__ == "__main__":
    Listener.received = _received  # type: ignore[method-assign] # the broker ends where it would answer
    sys.exit(command.main())
