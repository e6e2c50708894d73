"""TLS with the settings of Kafka's clients, and explanations of its errors."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HOST_DIFFERS: Final = frozenset({62, 64})
"""Source: X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""
_EXPIRED: Final = frozenset({9, 10})
"""Source: X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"})
"""Error reasons of a handshake with a peer that sends other bytes than TLS, or none."""
_LIMIT_S: Final = 1.5


class TlsSettingError(Exception):
    """A TLS setting cannot be used; the message contains the property and the remedy."""


def tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Return a TLS context for settings.

    Args:
        settings: by their names in librdkafka.

    Raises:
        TlsSettingError: a file is missing, or is not a PEM file.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _trust(context, settings)
    if (chain := settings.get("ssl.certificate.location")) is not None:
        _identify(context, chain, settings)
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
        context.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _trust(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    file, text = settings.get("ssl.ca.location"), settings.get("ssl.ca.pem")
    if file is None and text is None:
        context.load_default_certs()
        return
    try:
        if file is not None and Path(file).is_dir():
            context.load_verify_locations(capath=file)
        else:
            context.load_verify_locations(cafile=file, cadata=text)
    except FileNotFoundError as error:
        raise TlsSettingError(f"ssl.ca.location: there is no file {file}") from error
    except (ssl.SSLError, OSError) as error:
        raise TlsSettingError(
            f"ssl.ca.location: {file or 'ssl.ca.pem'} has no certificate in PEM format; "
            "convert a Java store with keytool -exportcert -rfc"
        ) from error


def _identify(context: ssl.SSLContext, chain: str, settings: Mapping[str, str]) -> None:
    key = settings.get("ssl.key.location", chain)
    if missing := [each for each in (chain, key) if not Path(each).is_file()]:
        raise TlsSettingError(f"ssl.certificate.location, ssl.key.location: there is no file {missing[0]}")
    try:
        # Without a password, OpenSSL would prompt for one on the terminal.
        context.load_cert_chain(chain, key, password=settings.get("ssl.key.password", ""))
    except (ssl.SSLError, OSError) as error:
        raise TlsSettingError(
            f"ssl.certificate.location, ssl.key.location: {chain} and {key} are no certificate and key in "
            "PEM format that belong together, or ssl.key.password is wrong"
        ) from error


def explained(error: OSError) -> str:
    """Return what went wrong in a TLS handshake, and the remedy."""
    match error:
        case ssl.SSLCertVerificationError(verify_code=code) if code in _HOST_DIFFERS:
            return (
                f"the broker's certificate is for another host ({error.verify_message}): reach the broker by "
                "a name in its certificate, or set ssl.endpoint.identification.algorithm=none"
            )
        case ssl.SSLCertVerificationError(verify_code=code) if code in _EXPIRED:
            return (
                f"the broker's certificate is not valid today ({error.verify_message}): renew it, or set the "
                "clock"
            )
        case ssl.SSLCertVerificationError():
            return (
                "the broker's certificate is signed by an authority that nobody named "
                f"({error.verify_message}): set ssl.ca.location to the certificate of that authority"
            )
        case ssl.SSLError() if _is_of_tls(error):
            return (
                f"the broker ends the TLS handshake ({error.reason or error}): it may want a client "
                "certificate that it trusts (ssl.certificate.location, ssl.key.location)"
            )
        case _:
            return (
                "it ends the TLS handshake without a word: either it does not speak TLS on this port (set "
                "security.protocol to PLAINTEXT or SASL_PLAINTEXT), or it wants a client certificate "
                "(ssl.certificate.location, ssl.key.location)"
            )


def _is_of_tls(error: OSError) -> bool:
    return (
        isinstance(error, ssl.SSLError)
        and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        and error.reason not in _NO_TLS
    )


async def speaks_tls(host: str, port: int) -> bool:
    """Return whether a port answers the start of a TLS handshake; nothing else is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_LIMIT_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except OSError as error:  # includes TimeoutError
        return _is_of_tls(error)
    writer.transport.abort()
    return True
