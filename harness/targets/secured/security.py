"""How a connection is secured, and what is said where a broker and these settings do not fit together."""

import asyncio
import shlex
import ssl
import time
from dataclasses import dataclass, field
from typing import Final

from harness.targets.base.interface import ConnectionLost

_TOKEN_LIMIT_S: Final = 4.0
_TOKEN_REUSED_S: Final = 60.0


class AccessRefused(ConnectionLost):
    """A broker and the security settings do not fit together; the message says which of them, and the remedy.

    Another attempt with the same settings ends in the same way.
    """


@dataclass(slots=True, kw_only=True)
class TokenCommand:
    """A program that prints a token for OAUTHBEARER. Its output is used for a minute.

    Attributes:
        command: with its arguments, as a shell would read them; no shell is started.
    """

    command: str
    _token: str = field(default="", init=False, repr=False)
    _until_s: float = field(default=0.0, init=False, repr=False)

    async def token(self) -> str:
        """Return a token.

        Raises:
            AccessRefused: the program fails, prints nothing, or takes too long.
        """
        if time.monotonic() < self._until_s:
            return self._token
        program, *arguments = shlex.split(self.command)
        try:
            process = await asyncio.create_subprocess_exec(
                program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise AccessRefused(f"sasl.token.command: {program}: {error.strerror}") from error
        try:
            async with asyncio.timeout(_TOKEN_LIMIT_S):
                printed, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AccessRefused(
                f"sasl.token.command: {program} printed no token within {_TOKEN_LIMIT_S:g} s"
            ) from None
        token = printed.decode("ascii", errors="replace").strip()
        if process.returncode or not token:
            raise AccessRefused(
                f"sasl.token.command: {program} ended with exit status {process.returncode}"
                f"{'' if token else ' and printed no token'}; run it in a shell to see why"
            )
        self._token, self._until_s = token, time.monotonic() + _TOKEN_REUSED_S
        return token


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who a connection is for, and the proof of it. Its text has no secret.

    Attributes:
        mechanism: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` or `OAUTHBEARER`.
        username: of PLAIN and SCRAM.
        password: likewise.
        token: of OAUTHBEARER.
    """

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: TokenCommand | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How connections to a broker are secured.

    Attributes:
        tls: of the connection; None for plain text.
        credentials: for SASL; None where the broker wants none.
    """

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None

    @property
    def protocol(self) -> str:
        """Kafka's name of it.

        Source: SecurityProtocol (3.9.2).
        """
        transport = "PLAINTEXT" if self.tls is None else "SSL"
        return transport if self.credentials is None else f"SASL_{transport}"


PLAINTEXT: Final = Security()
"""What connections have where nothing is configured."""
