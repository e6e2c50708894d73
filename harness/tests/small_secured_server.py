"""A server that speaks as much of Kafka, TLS and SASL as a client needs to be let in, or not."""

import asyncio
import base64
import hashlib
import hmac
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from harness.wire.codec import Fields, decode_request, encode_response
from harness.wire.schema import API_NAMES, api_key

USER, PASSWORD = "alice", "correct horse, battery=staple"
TOKEN = "header.payload."
_APIS = {"ApiVersions": (0, 0), "Metadata": (0, 9), "SaslHandshake": (0, 1), "SaslAuthenticate": (0, 0)}
_SALT, _ITERATIONS = b"salt of a test", 4096
_SIZE = struct.Struct(">i")
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def scram_answers(mechanism: str, first: str, final: str, password: str = PASSWORD) -> tuple[str, str]:
    """Return the server's messages for those of a client; it has no signature for one that is wrong."""
    name = _HASHES[mechanism]
    bare = first.removeprefix("n,,")
    nonce = f"{bare.partition('r=')[2]}of the server"
    server_first = f"r={nonce},s={base64.b64encode(_SALT).decode()},i={_ITERATIONS}"
    without_proof, _, proof = final.rpartition(",p=")
    message = f"{bare},{server_first},{without_proof}".encode()
    salted = hashlib.pbkdf2_hmac(name, password.encode(), _SALT, _ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", name)
    signature = hmac.digest(hashlib.new(name, client_key).digest(), message, name)
    expected = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    if base64.b64encode(expected).decode() != proof:
        return server_first, ""
    server_key = hmac.digest(salted, b"Server Key", name)
    return server_first, f"v={base64.b64encode(hmac.digest(server_key, message, name)).decode()}"


@dataclass(slots=True)
class SmallServer:
    """What it offers, and the connections that it has."""

    mechanisms: tuple[str, ...] = ()
    """With none it wants no SASL."""
    answers: Callable[[str, Fields], Fields | None] = lambda _api, _fields: None
    """Answers in place of its own, for who needs others."""
    port: int = 0
    authenticated: list[str] = field(default_factory=list)
    """Mechanisms by which clients were let in."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Be the peer of one connection."""
        conversation = _Conversation(self)
        try:
            while True:
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                if not 0 < size < 1 << 20:
                    break
                answer = conversation.answer(await reader.readexactly(size))
                if answer is None:
                    break
                writer.write(_SIZE.pack(len(answer)) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


class _Conversation:
    def __init__(self, server: SmallServer) -> None:
        self._server = server
        self._mechanism: str | None = None
        self._first: str | None = None
        self._is_in = not server.mechanisms

    def answer(self, payload: bytes) -> bytes | None:
        key, version = struct.unpack_from(">hh", payload)
        api = API_NAMES[key]
        decoded = decode_request(api, version, payload)
        fields = self._server.answers(api, decoded.fields) or self._fields(api, decoded.fields)
        if fields is None:
            return None
        return encode_response(api, version, correlation_id=decoded.correlation_id, fields=fields)

    def _fields(self, api: str, asked: Fields) -> Fields | None:
        match api:
            case "ApiVersions":
                rows: list[Fields] = [
                    {"api_key": api_key(name), "min_version": least, "max_version": most}
                    for name, (least, most) in _APIS.items()
                ]
                return {"error_code": "NONE", "api_keys": rows}
            case "SaslHandshake":
                return self._chosen(str(asked["mechanism"]))
            case "SaslAuthenticate":
                proof = asked["auth_bytes"]
                assert isinstance(proof, bytes)
                return self._authenticated(proof.decode())
            case _:
                return {"brokers": [], "topics": []} if self._is_in else None

    def _chosen(self, mechanism: str) -> Fields:
        if not self._server.mechanisms:
            return {"error_code": "ILLEGAL_SASL_STATE"}
        if mechanism not in self._server.mechanisms:
            return {
                "error_code": "UNSUPPORTED_SASL_MECHANISM",
                "mechanisms": list(self._server.mechanisms),
            }
        self._mechanism = mechanism
        return {"error_code": "NONE", "mechanisms": list(self._server.mechanisms)}

    def _authenticated(self, proof: str) -> Fields:
        match self._mechanism:
            case "PLAIN":
                return self._let_in("") if proof == f"\0{USER}\0{PASSWORD}" else self._refused()
            case "OAUTHBEARER":
                if proof == f"n,,\1auth=Bearer {TOKEN}\1\1":
                    return self._let_in("")
                return self._refused() if proof == "\1" else {"auth_bytes": b'{"status":"invalid_token"}'}
            case mechanism:
                assert mechanism is not None
                if self._first is None:
                    self._first = proof
                    return {"auth_bytes": scram_answers(mechanism, proof, "")[0].encode()}
                signature = scram_answers(mechanism, self._first, proof)[1]
                return self._let_in(signature) if signature else self._refused()

    def _let_in(self, last: str) -> Fields:
        assert self._mechanism is not None
        self._server.authenticated.append(self._mechanism)
        self._is_in = True
        return {"error_code": "NONE", "auth_bytes": last.encode()}

    def _refused(self) -> Fields:
        return {
            "error_code": "SASL_AUTHENTICATION_FAILED",
            "error_message": "Authentication failed: Invalid username or password",
        }


@asynccontextmanager
async def small_server(
    *mechanisms: str,
    tls: ssl.SSLContext | None = None,
    answers: Mapping[str, Fields] | None = None,
) -> AsyncIterator[SmallServer]:
    """Run a server on the loopback interface.

    Args:
        mechanisms: of SASL; with none it lets everybody in.
        tls: of its port; None for plain text.
        answers: by API, in place of its own.
    """
    server = SmallServer(mechanisms, lambda api, _: (answers or {}).get(api))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
