"""The first connection to an external broker, which checks that it is reachable and grants access."""

import asyncio
from typing import Final

from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import ConnectionLost, TargetError, closing
from harness.targets.base.tcp import SPEAKS_TLS, StreamConnection
from harness.targets.secured.sasl import mechanisms
from harness.targets.secured.security import PLAINTEXT, AccessRefused, Security
from harness.targets.secured.tls import speaks_tls

REACH_TIMEOUT_S: Final = 4.0
"""The time without an answer after which a broker counts as unreachable."""
REACH_PAUSE_S: Final = 0.2
REFUSALS: Final = 6
"""How many attempts in a row may fail at once, for example because nothing listens."""
_ENDED: Final = "by the peer"
"""Part of the message for a connection that the broker ended: closed, or reset, by the peer."""
_MAY_WANT_CERTIFICATE: Final = (
    "it ends the connection before the first answer: it may want a client certificate that it trusts "
    "(ssl.certificate.location, ssl.key.location)"
)
"""With TLS 1.3 a broker receives the client's certificate after the client's handshake is over."""
_SPEAKING_LIMIT_MS: Final = 1500.0
"""Time limit for the first answer. A broker that is starting may take longer, and is awaited later."""


async def reach(host: str, port: int, security: Security = PLAINTEXT) -> None:
    """Connect once, to distinguish a broker that does not exist from one that is not ready.

    Raises:
        TargetError: no connection is accepted within `REACH_TIMEOUT_S` or `REFUSALS` attempts, or the broker
            and the security settings do not match.
    """
    async with closing(await _connected(host, port, security)) as connection:
        why_not = await _why_not_served(connection, host, port, security)
    if why_not is not None:
        raise TargetError(f"{host}:{port}: {why_not}")


async def _connected(host: str, port: int, security: Security) -> StreamConnection:
    last = f"{host}:{port} does not accept"
    try:
        async with asyncio.timeout(REACH_TIMEOUT_S):
            for _ in range(REFUSALS):
                try:
                    return await StreamConnection.open(host, port, security=security)
                except AccessRefused as error:
                    raise TargetError(str(error)) from error
                except ConnectionLost as error:
                    last = str(error)
                is_refused = SPEAKS_TLS in last or _ENDED in last
                if is_refused and security.tls is None and await speaks_tls(host, port):
                    raise TargetError(f"{host}:{port}: {SPEAKS_TLS}")
                await asyncio.sleep(REACH_PAUSE_S)
    except TimeoutError:
        raise TargetError(f"{last}, asked for {REACH_TIMEOUT_S:g} s") from None
    raise TargetError(f"{last}, asked {REFUSALS} times")


async def _why_not_served(
    connection: StreamConnection, host: str, port: int, security: Security
) -> str | None:
    """Return why a broker serves nobody with these settings; None if it does, or if the reason is unknown.

    Before authentication, a broker with SASL answers ApiVersions and closes the connection on anything else.

    Source: SaslServerAuthenticator#handleKafkaRequest (3.9.2).
    """
    is_first_answered = False
    try:
        async with asyncio.timeout(_SPEAKING_LIMIT_MS / 1000):
            dialogue = Dialogue(connection)
            await dialogue.learn_versions()
            is_first_answered = True
            await dialogue.ask("Metadata", dialogue.version_of("Metadata", (4, 7, 9)), {"topics": []})
    except TimeoutError:
        return None
    except NotYet as error:
        if isinstance(error.__cause__, AccessRefused):
            return str(error.__cause__)
        if _ENDED not in str(error):
            return SPEAKS_TLS if SPEAKS_TLS in str(error) else None
        if is_first_answered:
            return await _why_no_more(host, port, security)
        if security.tls is not None:
            return _MAY_WANT_CERTIFICATE
        return SPEAKS_TLS if await speaks_tls(host, port) else None
    return None


async def _why_no_more(host: str, port: int, security: Security) -> str | None:
    """Find the SASL mechanisms of a broker that only answered ApiVersions, and return what to configure."""
    if security.credentials is not None:
        return None
    connection = await StreamConnection.open(host, port, security=security)
    try:
        async with asyncio.timeout(_SPEAKING_LIMIT_MS / 1000):
            offered = await mechanisms(connection)
    except (NotYet, TimeoutError):
        return None
    finally:
        await connection.close()
    protocol = "SASL_PLAINTEXT" if security.tls is None else "SASL_SSL"
    return (
        f"it wants authentication by SASL ({', '.join(offered)}): set security.protocol={protocol}, "
        "sasl.mechanism, sasl.username and sasl.password (--command-config)"
        if offered
        else None
    )
