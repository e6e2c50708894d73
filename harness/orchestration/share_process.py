"""Shares of a cluster's work: each runs in a process on an executor's machine, and counts once.

A share leaves a folder that the driver and all executors see; `docs/cluster.md` shows what is in it. An
attempt is renamed when it is complete, so that a share that runs twice counts once. The process reads its
share from its standard input, and the executor keeps the other end of that pipe open. When it is closed
because the executor was killed, or when the driver asks for it, the process stops its brokers as on Ctrl-C.

Nothing here depends on Spark: a Spark task calls `run_share`.
"""

import asyncio
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from socket import gethostname
from typing import Final, Protocol

from harness import __version__
from harness.capacity import share_start_slots
from harness.targets.jars.cache import cache_directory, prepared

OUTCOME: Final = "outcome.json"
"""The file that an attempt writes last, also when it was cancelled."""
LOGS: Final = "logs"
"""The folder of brokers' logs in that of an attempt."""
_WHOLE: Final = "whole"
_ATTEMPT: Final = "attempt-"
_STOP: Final = "stop"
_LAST_LINES: Final = 15
_INTERRUPTED: Final = 130
_POLL_S: Final = 1.0


class ShareError(Exception):
    """A share could not be run on this machine; another machine may be able to."""


class Share(Protocol):
    """A part of the work of a cluster; it can be pickled."""

    @property
    def folder(self) -> Path:
        """The folder `share-N`."""

    async def carry_out(self, folder: Path, attempt: int) -> None:
        """Do the work, and leave the outcome in an attempt's folder, `OUTCOME` last.

        The folder is empty. A further attempt, from 1 on, needs other names on the wire, since a broker that
        still runs may remember those of the first.

        Raises:
            CancelledError: the share was cancelled; what was recorded until then is in the folder.
            OSError: the folder cannot be written.
        """


def run_share(share: Share, attempt: int) -> None:
    """Run a share in a separate process, unless another attempt completed it or it was stopped.

    Raises:
        ShareError: this machine cannot use the run's folder or has another harness, or the process failed.
    """
    look(share.folder.parent, __version__)
    if whole(share) is not None or is_stopped(share):
        return
    share.folder.mkdir(exist_ok=True)
    log = share.folder / f"attempt-{attempt}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.orchestration.share_process"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert process.stdin is not None
    try:
        pickle.dump((share, attempt), process.stdin)
        process.stdin.flush()
    except BrokenPipeError:
        pass  # the log of the process contains the reason
    # `communicate` would close the pipe, and the process would take its executor for dead.
    status = process.wait()
    if status:
        last_lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise ShareError(
            "\n".join([f"a share's process on {gethostname()} ended with status {status}", *last_lines])
        )


async def attempted(share: Share, attempt: int) -> None:
    """Carry a share out in this process, and rename its folder when it is complete."""
    share_start_slots(prepared(cache_directory()) / f"starts-{gethostname()}")
    folder = share.folder / f"{_ATTEMPT}{attempt}"
    folder.mkdir(parents=True)
    await share.carry_out(folder, attempt)
    become_whole(folder)


def look(folder: Path, version: str) -> None:
    """Check that this machine sees a folder, can write to it, and has the driver's version of the harness.

    Raises:
        ShareError: a check failed; the message names the remedy.
    """
    host = gethostname()
    if version != __version__:
        raise ShareError(f"{host} has version {__version__} of the harness, and the driver {version}")
    if not folder.is_dir():
        raise ShareError(
            f"{host} does not see {folder}: let --out name a folder that the driver and all executors share, "
            "under the same path"
        )
    try:
        probe = folder / f".probe-{host}-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ShareError(f"{host} cannot write to {folder}: {error.strerror}") from error


def become_whole(folder: Path) -> None:
    """Rename an attempt as the complete one; delete it if another attempt was complete first."""
    whole = folder.with_name(_WHOLE)
    try:
        folder.rename(whole)
    except OSError:
        if not whole.is_dir():
            raise
        shutil.rmtree(folder, ignore_errors=True)


def whole(share: Share) -> Path | None:
    """Return the folder of the share's complete attempt, or None while there is none."""
    folder = share.folder / _WHOLE
    return folder if has_ended(folder) else None


def begun(share: Share) -> Path | None:
    """Return the folder of the complete attempt, or else of the last that was begun."""
    found = [each for each in share.folder.glob(f"{_ATTEMPT}*") if each.is_dir()]
    last = max(found, key=lambda each: int(each.name.removeprefix(_ATTEMPT)), default=None)
    return whole(share) or last


def has_ended(attempt: Path) -> bool:
    """Return whether an attempt has written its outcome."""
    return (attempt / OUTCOME).is_file()


def stop(share: Share) -> None:
    """Ask all attempts at a share to end, on any machine: cancelling a task may not reach them."""
    share.folder.mkdir(exist_ok=True)
    (share.folder / _STOP).touch()


def is_stopped(share: Share) -> bool:
    """Return whether attempts at a share were asked to end."""
    return (share.folder / _STOP).exists()


async def _until_let_go(share: Share, attempt: int) -> None:
    driving = asyncio.ensure_future(attempted(share, attempt))
    stopping = asyncio.ensure_future(_cancel_when_stopped(share, driving))
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), _let_go, driving)
    loop.add_signal_handler(signal.SIGTERM, driving.cancel)
    try:
        await driving
    finally:
        stopping.cancel()


async def _cancel_when_stopped(share: Share, driving: "asyncio.Future[None]") -> None:
    while not is_stopped(share):  # noqa: ASYNC110 - another machine sets no event
        await asyncio.sleep(_POLL_S)
    driving.cancel()


def _let_go(driving: "asyncio.Future[None]") -> None:
    asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    driving.cancel()


def main() -> int:
    """Read a share from standard input, and run it until it ends or standard input is closed."""
    share, attempt = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the task that started this process
    try:
        asyncio.run(_until_let_go(share, attempt))
    except asyncio.CancelledError:
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
