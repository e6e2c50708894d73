"""The security settings of connections, and the error for settings that do not match a broker."""

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
    """A broker and the security settings do not match; the message contains the mismatch and the remedy.

    Another attempt with the same settings ends in the same way.
    """


@dataclass(slots=True, kw_only=True)
class TokenCommand:
    """A program that prints a token for OAUTHBEARER. Its output is used for a minute.

    Attributes:
        command: the program and its arguments in shell syntax; no shell is started.
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
    """The user of a connection, and the secret that proves it. Its text contains no secret.

    Attributes:
        mechanism: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` or `OAUTHBEARER`.
        username: the user for PLAIN and SCRAM.
        password: the password for PLAIN and SCRAM.
        token: the token program for OAUTHBEARER.
    """

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: TokenCommand | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The security settings of connections to a broker.

    Attributes:
        tls: the TLS context; None for plain text.
        credentials: the SASL credentials; None if the broker requires none.
    """

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None

    @property
    def protocol(self) -> str:
        """Kafka's name of the protocol.

        Source: SecurityProtocol (3.9.2).
        """
        transport = "PLAINTEXT" if self.tls is None else "SSL"
        return transport if self.credentials is None else f"SASL_{transport}"


PLAINTEXT: Final = Security()
"""The settings if nothing is configured."""
