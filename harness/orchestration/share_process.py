"""A process on an executor's machine that runs one share, and ends in order when its executor ends.

The process reads its share from its standard input. The executor keeps the other end of that pipe open. When
it is closed because the executor was killed, or when the driver asks for it, the process stops its brokers as
on Ctrl-C.

Nothing here depends on Spark: a Spark task calls `run_share`.
"""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from socket import gethostname
from typing import Final, TypeVar

from harness import __version__
from harness.orchestration.shares import InFolder, Share, carry_out, is_stopped, whole

S = TypeVar("S", bound=InFolder)
_LAST_LINES: Final = 15
_INTERRUPTED: Final = 130
_POLL_S: Final = 1.0


class ShareError(Exception):
    """A share could not be run on this machine; another machine may be able to."""


def run_share(share: Share, attempt: int) -> None:
    """Drive a share in a separate process, unless it is complete or stopped; raises ShareError."""
    in_process(carry_out, share, attempt)


def in_process(work: Callable[[S, int], Coroutine[object, object, None]], share: S, attempt: int) -> None:
    """Run a share in a separate process, unless another attempt completed it or it was stopped.

    Args:
        work: runs the share, and leaves its attempt in the share's folder; another process can import it.
        share: can be pickled.
        attempt: how often the share was begun before.

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
        pickle.dump((work, share, attempt), process.stdin)
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


async def _until_let_go(work: Coroutine[object, object, None], share: InFolder) -> None:
    driving = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(_cancel_when_stopped(share, driving))
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), _let_go, driving)
    loop.add_signal_handler(signal.SIGTERM, driving.cancel)
    try:
        await driving
    finally:
        stopping.cancel()


async def _cancel_when_stopped(share: InFolder, driving: "asyncio.Future[None]") -> None:
    while not is_stopped(share):  # noqa: ASYNC110 - another machine sets no event
        await asyncio.sleep(_POLL_S)
    driving.cancel()


def _let_go(driving: "asyncio.Future[None]") -> None:
    asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    driving.cancel()


def main() -> int:
    """Read a share from standard input, and run it until it ends or standard input is closed."""
    work, share, attempt = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the task that started this process
    try:
        asyncio.run(_until_let_go(work(share, attempt), share))
    except asyncio.CancelledError:
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
