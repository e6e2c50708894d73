"""The processes of a run on a Spark cluster of this machine: found by a sign in their environment."""

import os
import uuid
from pathlib import Path
from typing import Final

import pytest

_SIGN: Final = "KAFKA_CONFORMANCE_TEST_RUN"


def signed(monkeypatch: pytest.MonkeyPatch) -> str:
    """Give whatever a run starts, however far down, a sign."""
    monkeypatch.setenv(_SIGN, uuid.uuid4().hex)
    return f"{_SIGN}={os.environ[_SIGN]}"


def commands(sign: str) -> dict[int, str]:
    """Return the processes of the run, by their ids."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            is_ours = sign.encode() in (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if is_ours and command and entry.name.isdecimal() and int(entry.name) != os.getpid():
            found[int(entry.name)] = command
    return found


def a_share(running: dict[int, str]) -> int:
    """Return the process of a share that goes on."""
    return next(each for each, command in running.items() if "share_process" in command)


def executor_above(process: int, running: dict[int, str]) -> int:
    """Return the executor under whose task a process runs."""
    while "CoarseGrainedExecutorBackend" not in running.get(process, ""):
        process = _parent(process)
    return process


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
