"""The reference's server as a process of its own, as users start it, with what it takes and says."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TIMEOUT_S: Final = 60
_READY: Final = re.compile(r"listening on 127\.0\.0\.1:(\d+)")
_KIB: Final = 1024


class ServerProcess:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], said: Path) -> None:
        self._process = process
        self._said = said
        assert process.stdout is not None
        ready = _READY.match(process.stdout.readline())
        assert ready is not None, self.said()
        self.port = int(ready[1])

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def said(self) -> str:
        """Return what it wrote to stderr."""
        return self._said.read_text(errors="replace")

    def peak_bytes(self) -> int:
        """Return the most memory that it and the process with its sockets had, each at its worst."""
        return sum(_status(pid, "VmHWM") for pid in self._pids())

    def resident_bytes(self) -> int:
        """Return the memory that both have now."""
        return sum(_status(pid, "VmRSS") for pid in self._pids())

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait(TIMEOUT_S)

    def stop(self) -> int:
        """End it in order; returns its exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(TIMEOUT_S)

    def _pids(self) -> list[int]:
        own = self._process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return [own, *map(int, children)]


@contextmanager
def server_process(
    directory: Path, *arguments: str, command: Sequence[str] = (), port: int = 0
) -> Iterator[ServerProcess]:
    """Run a server for as long as the context is open, whatever becomes of it.

    Args:
        directory: where its stderr is kept.
        arguments: more of its command line.
        command: what starts it, e.g. with other limits.
        port: where it listens; 0 takes a free one.
    """
    said = directory / "stderr.txt"
    with said.open("a") as stderr:
        listen = ("--listen", f"127.0.0.1:{port}")
        process = subprocess.Popen(
            [*command, sys.executable, "-m", "reference_coordinator", *listen, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    with process:
        try:
            yield ServerProcess(process, said)
        finally:
            process.kill()


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name == field:
            return int(rest.split()[0]) * _KIB
    raise AssertionError(field)
