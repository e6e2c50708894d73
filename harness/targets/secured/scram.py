"""The client side of SCRAM. Source: RFC 5802, RFC 7677, ScramSaslClient (3.9.2)."""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

_NONCE_BYTES: Final = 24
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_ITERATIONS_MIN: Final = 4096
"""Source: ScramMechanism (3.9.2)."""
_ITERATIONS_MAX: Final = 1_000_000
"""More iterations would keep this process busy for seconds."""


class ScramError(Exception):
    """The broker's part of the exchange is wrong."""


class ScramClient:
    """One exchange, which proves that both the client and the broker know the password."""

    def __init__(self, mechanism: str, username: str, password: str, *, nonce: str | None = None) -> None:
        self._hash = _HASHES[mechanism]
        self._password = password.encode()
        # Commas and equals signs divide the fields of a message. Source: ScramFormatter#saslName (3.9.2).
        self._name = username.replace("=", "=3D").replace(",", "=2C")
        self._nonce = nonce or base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        self._server_signature = b""

    @property
    def _first_bare(self) -> str:
        return f"n={self._name},r={self._nonce}"

    def first(self) -> bytes:
        """Return the client's first message."""
        return f"n,,{self._first_bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the client's last message.

        Args:
            server_first: the broker's answer to the first message.

        Raises:
            ScramError: the broker's answer is malformed, or its values are unacceptable.
        """
        fields = _fields(server_first)
        try:
            nonce, salt = fields["r"], base64.b64decode(fields["s"], validate=True)
            iterations = int(fields["i"])
        except (KeyError, ValueError, binascii.Error) as error:
            raise ScramError("its first message has no nonce, salt and number of iterations") from error
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("its nonce does not continue the client's")
        if not _ITERATIONS_MIN <= iterations <= _ITERATIONS_MAX:
            raise ScramError(
                f"it asks for {iterations} iterations, not {_ITERATIONS_MIN} to {_ITERATIONS_MAX}"
            )
        without_proof = f"c=biws,r={nonce}"
        message = b",".join((self._first_bare.encode(), server_first, without_proof.encode()))
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client_key).digest(), message)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Check the broker's last message.

        Raises:
            ScramError: the broker does not know the password, or reports why it refuses the client.
        """
        fields = _fields(server_final)
        if "e" in fields:
            raise ScramError(f"it refuses the client: {fields['e']}")
        expected = base64.b64encode(self._server_signature).decode()
        if not hmac.compare_digest(fields.get("v", "").encode(), expected.encode()):
            raise ScramError("it does not prove that it knows the password: it may be another's broker")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


def _fields(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError as error:
        raise ScramError("its message is no text") from error
    return {name: value for name, _, value in (part.partition("=") for part in parts)}
