"""Signals in the midst of commands that drive or wait: `python -m harness.tests.interruptions`.

It prints how each command ended: exit code, time from the signal to the end, what it said last.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from harness.results.status import ExitCode
from harness.tests.forked_command import forked
from harness.tests.lying_broker import says_nothing, serving
from harness.tests.patience import wait_until
from harness.trace.files import RunFolder

SIGNALS: Final[Mapping[str, Sequence[signal.Signals]]] = {
    "SIGINT": (signal.SIGINT,),
    "SIGTERM": (signal.SIGTERM,),
    "SIGHUP": (signal.SIGHUP,),
    "five times Ctrl-C": (signal.SIGINT,) * 5,
    "SIGTERM, then Ctrl-C": (signal.SIGTERM, signal.SIGINT),
}
ASKS: Final = "asks the broker"
COMMANDS: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "run": (
        ("run", "--target", "{silent}", "--no-report", "--run-id", "run", "classic/heartbeat/*"),
        ASKS,
    ),
    "clients": (
        ("clients", "--client", "kafka-python", "--target", "{silent}", "--run-id", "run"),
        ASKS,
    ),
    "tap, not ready": (("tap", "--target", "{silent}", "--run-id", "run"), "asking"),
    "tap": (("tap", "--target", "reference-tcp", "--run-id", "run"), "clients find it at"),
    "diff": (
        (
            *("diff", "--versions", "", "--target", "reference:3.9", "--target", "{silent}"),
            *("--run-id", "run", "classic/heartbeat/*"),
        ),
        ASKS,
    ),
    "gate": (("gate", "{out}/no-run", "--config", "{pipe}"), ""),
}
"""A command line, and what it says once it waits; nothing where it waits for `{pipe}`.

`{silent}` is a broker that answers nobody, and nobody writes to the pipe.
"""
_BETWEEN_S: Final = 0.05
_KEPT_OPEN: Final[list[int]] = []
"""Ends of pipes, which would let their readers go on if they were closed."""
_TRACES: Final = frozenset({"run", "diff", "tap"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a command ended."""

    command: str
    signals: str
    code: int
    seconds: float
    """From the first signal."""
    faults: tuple[str, ...]


def interrupted(command: str, signals: str) -> Ending:
    """Start a command, send it signals as soon as it waits, and return how it ended."""
    line, waits = COMMANDS[command]
    with tempfile.TemporaryDirectory() as directory, serving(says_nothing) as port:
        out, log = Path(directory), Path(directory) / "log"
        pipe = out / "pipe"
        os.mkfifo(pipe)
        given = [each.format(silent=f"external:127.0.0.1:{port}", out=out, pipe=pipe) for each in line]
        with forked((*given, "--out", directory), out) as process:
            if waits == ASKS:
                wait_until(lambda: is_asked(port), what=f"{command}: asks the broker")
            elif waits:
                wait_until(lambda: log.exists() and waits in log.read_text(), what=f"{command}: {waits}")
            else:
                wait_until(lambda: _is_opened(pipe), what=f"{command}: opens its policy")
                # Before it sleeps in its read a signal may come too late to end the read: nothing would ever.
                wait_until(lambda: _sleeps(process), what=f"{command}: reads its policy")
            began_s = time.monotonic()
            for number in SIGNALS[signals]:
                if process.is_alive() and process.pid is not None:
                    os.kill(process.pid, number)
                    time.sleep(_BETWEEN_S)
            wait_until(lambda: not process.is_alive(), what=f"{command}: the end after {signals}")
            seconds = time.monotonic() - began_s
            code = process.exitcode
        faults = _faults(command, signals, code, log.read_text(errors="replace"), out / "run")
    return Ending(
        command=command, signals=signals, code=-1 if code is None else code, seconds=seconds, faults=faults
    )


def is_asked(port: int) -> bool:
    """Tell whether somebody has a connection to a port of this machine. Source: Linux, proc_net_tcp(5)."""
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return any(local.endswith(f":{port:04X}") and state == "01" for _, local, _, state, *_ in lines)


def _is_opened(pipe: Path) -> bool:
    """Tell whether somebody has opened a pipe to read from it; whoever has goes on, and waits for text."""
    try:
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    _KEPT_OPEN.append(writer)
    return True


def _sleeps(process: BaseProcess) -> bool:
    """Tell whether a process waits in the kernel. Source: Linux, proc_pid_stat(5), `state`."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def _faults(command: str, signals: str, code: int | None, said: str, run: Path) -> tuple[str, ...]:
    found = []
    wanted: set[int | None] = {ExitCode.NOTHING_RAN if command == "tap" else ExitCode.INTERRUPTED}
    if len(SIGNALS[signals]) > 1:
        # A shell tells 130 of both: Python gives up its handlers before it has ended.
        wanted |= {ExitCode.INTERRUPTED, -signal.SIGINT}
    if code not in wanted:
        found.append(f"exit code {code}")
    waits = COMMANDS[command][1]
    if waits == ASKS and "is an external broker" not in said:
        found.append("not said what is done to a broker of others")
    if "Traceback" in said or "Exception ignored" in said:
        found.append(f"a traceback: {said.strip().splitlines()[-1]:.100}")
    is_kept = run.is_dir() and RunFolder(run).run_json.is_file()
    if command in _TRACES and not is_kept:
        found.append("what was recorded is not kept")
    return tuple(found)


def endings() -> Iterator[Ending]:
    """Send each kind of signals to each command."""
    for command in COMMANDS:
        for signals in SIGNALS:
            yield interrupted(command, signals)


def main() -> None:
    """Print the table; ends with 1 where a command did not end as it should."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    is_faulty = False
    for each in endings():
        print(  # noqa: T201 - a command
            f"{each.command} | {each.signals} | {each.code} | {each.seconds:.2f} s | "
            f"{', '.join(each.faults) or 'as it should'}",
            flush=True,
        )
        is_faulty |= bool(each.faults)
    sys.exit(is_faulty)


if __name__ == "__main__":
    main()
