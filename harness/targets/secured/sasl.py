"""Authentication by SASL, with the requests of KIP-43 and KIP-152.

Source: SaslClientAuthenticator (3.9.2).
"""

from typing import Final

from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import Connection, ConnectionLost
from harness.targets.secured.scram import ScramClient, ScramError
from harness.targets.secured.security import AccessRefused, Credentials

_CLIENT_ID: Final = "kafka-conformance-sasl"
_NONE: Final = "NONE"
_DETAIL_CHARACTERS: Final = 200


async def authenticate(connection: Connection, credentials: Credentials) -> None:
    """Authenticate a new connection to a broker.

    Raises:
        AccessRefused: the broker refuses, or lacks the mechanism; the message has the reason and the remedy.
        ConnectionLost: the broker does not answer.
    """
    dialogue = Dialogue(connection, client_id=_CLIENT_ID)
    try:
        await _choose(dialogue, credentials.mechanism)
        await _prove(dialogue, credentials)
    except NotYet as error:
        if isinstance(error.__cause__, AccessRefused):
            raise error.__cause__ from error
        raise ConnectionLost(f"it ended the authentication: {error}") from error


async def mechanisms(connection: Connection) -> tuple[str, ...]:
    """Return a broker's SASL mechanisms; empty if it requires no authentication.

    Raises:
        NotYet: the broker does not answer.
    """
    answer = await Dialogue(connection, client_id=_CLIENT_ID).ask("SaslHandshake", 1, {"mechanism": ""})
    found = answer.fields.get("mechanisms")
    return tuple(sorted(map(str, found))) if isinstance(found, list) else ()


async def _choose(dialogue: Dialogue, mechanism: str) -> None:
    answer = await dialogue.ask("SaslHandshake", 1, {"mechanism": mechanism})
    error = answer.text("error_code")
    if error == "UNSUPPORTED_SASL_MECHANISM":
        found = answer.fields.get("mechanisms")
        offered = ", ".join(sorted(map(str, found))) if isinstance(found, list) and found else "none"
        raise AccessRefused(
            f"the broker has not the mechanism {mechanism}; it has {offered}: "
            "set sasl.mechanism to one of them"
        )
    if error == "ILLEGAL_SASL_STATE":
        raise AccessRefused(
            "the broker wants no SASL on this port: set security.protocol to PLAINTEXT or SSL, or choose "
            "another port"
        )
    if error != _NONE:
        raise AccessRefused(f"the broker answers SaslHandshake with {error}")


async def _prove(dialogue: Dialogue, credentials: Credentials) -> None:
    match credentials.mechanism:
        case "PLAIN":
            name, password = credentials.username, credentials.password
            await _say(dialogue, credentials, f"\0{name}\0{password}".encode())
        case "OAUTHBEARER":
            assert credentials.token is not None, "the settings have one"
            await _bear_token(dialogue, credentials, await credentials.token.token())
        case mechanism:
            scram = ScramClient(mechanism, credentials.username, credentials.password)
            server_first = await _say(dialogue, credentials, scram.first())
            try:
                scram.check(await _say(dialogue, credentials, scram.final(server_first)))
            except ScramError as error:
                raise AccessRefused(f"{mechanism} with the broker failed: {error}") from error


async def _bear_token(dialogue: Dialogue, credentials: Credentials, token: str) -> None:
    answer = await _say(dialogue, credentials, f"n,,\1auth=Bearer {token}\1\1".encode())
    if answer:
        # A refused client must acknowledge before it gets the error. Source: RFC 7628, 3.2.3.
        await _say(dialogue, credentials, b"\1")
        raise AccessRefused(f"the broker refuses the token: {_detail(answer.decode(errors='replace'))}")


async def _say(dialogue: Dialogue, credentials: Credentials, message: bytes) -> bytes:
    answer = await dialogue.ask("SaslAuthenticate", 0, {"auth_bytes": message})
    error = answer.text("error_code")
    if error == _NONE:
        proof = answer.fields.get("auth_bytes")
        return proof if isinstance(proof, bytes) else b""
    detail = _detail(answer.text("error_message") or "")
    raise AccessRefused(f"the broker refuses {_who(credentials)}: {error} ({detail}): {_remedy(credentials)}")


def _who(credentials: Credentials) -> str:
    if credentials.token is not None:
        return f"the token ({credentials.mechanism})"
    return f"{credentials.username!r} with this password ({credentials.mechanism})"


def _remedy(credentials: Credentials) -> str:
    if credentials.token is not None:
        return "check what sasl.token.command prints"
    return "check sasl.username and sasl.password, and that the broker knows this user with this mechanism"


def _detail(text: str) -> str:
    return text[:_DETAIL_CHARACTERS] or "it does not say why"
