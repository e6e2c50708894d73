"""The command that starts an external broker again, and the wait until the broker accepts connections.

The broker is the user's, and so is the command. When it has ended, the broker runs anew on the same data; a
broker that still ran was stopped by it first.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass
from typing import Final

from harness.targets.base.interface import ConnectionLost, TargetError
from harness.targets.base.tcp import StreamConnection
from harness.targets.secured.security import Security

RESTART_LIMIT_S: Final = 120.0
"""Time for the command to end, and then for the broker to accept connections."""
_LOOK_S: Final = 0.1
_SHOWN: Final = 400
"""How many characters of a failed command's output are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCommand:
    """A shell command that starts a broker again."""

    text: str
    limit_s: float = RESTART_LIMIT_S

    async def run(self, host: str, port: int, security: Security) -> None:
        """Run the command, and wait until the broker accepts connections.

        Args:
            host: the broker's host.
            port: the broker's port.
            security: the security settings of its connections.

        Raises:
            TargetError: the command failed, did not end, or the broker accepts no connection.
        """
        # A broker that the command leaves running keeps its output open, so that only a file can take it.
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_shell(
                self.text,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is for the run, not for the user's broker
            )
            try:
                async with asyncio.timeout(self.limit_s):
                    code = await process.wait()
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                if not isinstance(error, TimeoutError):
                    raise
                raise TargetError(
                    f"{self} did not end within {self.limit_s:g} s: it has to leave the broker behind"
                ) from None
            if code:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()[-_SHOWN:]
                raise TargetError(f"{self} ended with {code}: {said or 'it printed nothing'}")
        await self._accepted(host, port, security)

    async def _accepted(self, host: str, port: int, security: Security) -> None:
        until_s = time.monotonic() + self.limit_s
        while True:
            try:
                connection = await StreamConnection.open(host, port, security=security)
            except ConnectionLost as error:
                if time.monotonic() >= until_s:
                    raise TargetError(
                        f"{self} started no broker within {self.limit_s:g} s: {error}"
                    ) from None
                await asyncio.sleep(_LOOK_S)
            else:
                await connection.close()
                return

    def __str__(self) -> str:
        return f"the restart command `{self.text}`"
