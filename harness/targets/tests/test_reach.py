"""Brokers and security settings that do not fit together: what is said, and that it is said at once."""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.external.reach import reach
from harness.targets.secured.properties import security_of
from harness.targets.secured.security import PLAINTEXT, Security
from harness.tests.certificates import Authority
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.small_secured_server import PASSWORD, TOKEN, USER, SmallServer, small_server

WRONG = "a secret that nobody prints"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def tls(authority: Authority) -> ssl.SSLContext:
    return server_tls(authority, "IP:127.0.0.1")


def server_tls(authority: Authority, *hosts: str) -> ssl.SSLContext:
    certificate = authority.certificate_for("-".join(("broker", *hosts)).replace(":", "-"), *hosts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    return context


def sasl(
    mechanism: str, *, password: str = PASSWORD, protocol: str = "SASL_PLAINTEXT", **ca: str
) -> Security:
    return security_of(
        {
            "security.protocol": protocol,
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "sasl.password": password,
            "sasl.token.command": f"{sys.executable} -c \"print('{TOKEN}')\"",
            **{name.replace("_", "."): value for name, value in ca.items()},
        }
    )


async def refusal(server: AbstractAsyncContextManager[SmallServer], security: Security) -> str:
    """Return why a server is not reached."""
    async with server as served, asyncio.timeout(NOW_OR_NEVER_S):
        with pytest.raises(TargetError) as raised:
            await reach("127.0.0.1", served.port, security)
    assert WRONG not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_who_knows_the_password_is_let_in(
    mechanism: str, tls: ssl.SSLContext, authority: Authority
) -> None:
    for context, protocol in ((None, "SASL_PLAINTEXT"), (tls, "SASL_SSL")):
        async with small_server(mechanism, tls=context) as server:
            ca = {} if context is None else {"ssl_ca_location": str(authority.file)}
            await reach("127.0.0.1", server.port, sasl(mechanism, protocol=protocol, **ca))
            assert server.authenticated == [mechanism]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_wrong_password(mechanism: str) -> None:
    said = await refusal(small_server(mechanism), sasl(mechanism, password=WRONG))
    assert f"refuses 'alice' with this password ({mechanism}): SASL_AUTHENTICATION_FAILED" in said
    assert "check sasl.username and sasl.password" in said


def bearer(command: str) -> Security:
    return security_of(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.token.command": command,
        }
    )


async def test_a_token_that_is_refused_is_not_printed() -> None:
    said = await refusal(small_server("OAUTHBEARER"), bearer(f"echo '{WRONG}'"))
    assert "refuses the token (OAUTHBEARER)" in said
    assert "check what sasl.token.command prints" in said


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/nowhere/tokens", "No such file"),
        ("false", "exit status 1 and printed no token"),
        ("true", "exit status 0 and printed no token"),
    ],
)
async def test_a_token_command_that_prints_none(command: str, why: str) -> None:
    assert why in await refusal(small_server("OAUTHBEARER"), bearer(command))


async def test_a_mechanism_that_the_broker_has_not() -> None:
    said = await refusal(small_server("SCRAM-SHA-512", "OAUTHBEARER"), sasl("PLAIN"))
    assert "has not the mechanism PLAIN; it has OAUTHBEARER, SCRAM-SHA-512: set sasl.mechanism" in said


async def test_a_broker_that_wants_no_sasl() -> None:
    assert "wants no SASL on this port: set security.protocol" in await refusal(small_server(), sasl("PLAIN"))


async def test_a_broker_that_wants_sasl(tls: ssl.SSLContext, authority: Authority) -> None:
    said = await refusal(small_server("PLAIN"), PLAINTEXT)
    assert "wants authentication by SASL (PLAIN): set security.protocol=SASL_PLAINTEXT" in said
    trusting = security_of({"security.protocol": "SSL", "ssl.ca.location": str(authority.file)})
    said = await refusal(small_server("PLAIN", tls=tls), trusting)
    assert "wants authentication by SASL (PLAIN): set security.protocol=SASL_SSL" in said


async def test_an_authority_that_nobody_named(tls: ssl.SSLContext) -> None:
    said = await refusal(small_server(tls=tls), security_of({"security.protocol": "SSL"}))
    assert "signed by an authority that nobody named" in said
    assert "set ssl.ca.location" in said


async def test_a_certificate_of_another_host(authority: Authority) -> None:
    server = small_server(tls=server_tls(authority, "DNS:kafka.example"))
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(authority.file)}
    said = await refusal(server, security_of(trusting))
    assert "certificate is for another host" in said
    assert "ssl.endpoint.identification.algorithm=none" in said

    async with small_server(tls=server_tls(authority, "DNS:kafka.example")) as served:
        lenient = security_of({**trusting, "ssl.endpoint.identification.algorithm": "none"})
        await reach("127.0.0.1", served.port, lenient)


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_broker_that_wants_a_client_certificate(newest: ssl.TLSVersion, authority: Authority) -> None:
    context = server_tls(authority, "IP:127.0.0.1")
    context.maximum_version = newest
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(authority.file)}
    said = await refusal(small_server(tls=context), security_of(trusting))
    assert "want" in said
    assert "client certificate" in said
    assert "ssl.certificate.location, ssl.key.location" in said

    certificate = authority.certificate_for("client")
    ours = {"ssl.certificate.location": str(certificate.chain), "ssl.key.location": str(certificate.key)}
    async with small_server(tls=context) as served:
        await reach("127.0.0.1", served.port, security_of({**trusting, **ours}))


async def test_plain_text_to_a_tls_port(tls: ssl.SSLContext) -> None:
    assert "it speaks TLS: set security.protocol to SSL or SASL_SSL" in await refusal(
        small_server(tls=tls), PLAINTEXT
    )
    said = await refusal(small_server("PLAIN", tls=tls), sasl("PLAIN"))
    assert "it speaks TLS: set security.protocol to SSL or SASL_SSL" in said


async def test_tls_to_a_plain_text_port() -> None:
    said = await refusal(small_server(), security_of({"security.protocol": "SSL"}))
    assert "it does not speak TLS on this port (set security.protocol to PLAINTEXT or SASL_PLAINTEXT)" in said


@asynccontextmanager
async def false_server() -> AsyncIterator[SmallServer]:
    """Lets everybody in by SCRAM, and knows no password."""
    first = {"auth_bytes": b"v=AAAA"}
    async with small_server("SCRAM-SHA-256", answers={"SaslAuthenticate": first}) as server:
        yield server


async def test_a_broker_that_does_not_know_the_password() -> None:
    assert "SCRAM-SHA-256 with the broker failed" in await refusal(false_server(), sasl("SCRAM-SHA-256"))


def test_the_text_of_settings_has_no_secret() -> None:
    assert PASSWORD not in repr(sasl("PLAIN"))
