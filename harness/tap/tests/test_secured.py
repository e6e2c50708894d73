"""A tap between clients in plain text and a broker with TLS and SASL, and one that passes SASL on."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.tap import Tap
from harness.tap.framing import Dialogue, RequestStream
from harness.tap.run import TapPlan, is_secured
from harness.targets.base.interface import TargetError
from harness.targets.base.layout import Endpoint, Layout
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import Namespace, TopicNames
from harness.targets.external.run_namespace import RunNamespace
from harness.targets.external.target import ExternalBroker, ExternalTarget
from harness.targets.secured.properties import security_of
from harness.targets.secured.security import PLAINTEXT, Security
from harness.targets.secured.variables import PROPERTY_PREFIX
from harness.tests.certificates import Authority
from harness.tests.made_events import BARE_BROKER
from harness.tests.small_secured_server import PASSWORD, USER, SmallServer, small_server
from harness.tests.tapped import RUN_ID, TARGET, connected, framed, request


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallServer]:
    """A server with TLS and SASL on a thread of its own, and an environment that fits it."""
    authority = Authority(tmp_path)
    certificate = authority.certificate_for("broker", "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    for name, value in {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "SCRAM-SHA-256",
        "SASL_USERNAME": USER,
        "SASL_PASSWORD": PASSWORD,
        "SSL_CA_LOCATION": str(authority.file),
    }.items():
        monkeypatch.setenv(f"{PROPERTY_PREFIX}{name}", value)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = small_server("SCRAM-SHA-256", tls=context)
    try:
        yield asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result(20)
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_client_in_plain_text_reaches_a_secured_broker_and_no_password_is_kept(
    server: SmallServer, tmp_path: Path
) -> None:
    with Tap(f"127.0.0.1:{server.port}", tmp_path / "tap", is_secured=True) as tap:
        with connected(tap.bootstrap_servers) as client:
            assert client.ask("Metadata", 4, {"topics": []})["brokers"] == []
        events = list(tap.events(run_id=RUN_ID, target=TARGET))
    assert server.authenticated == ["SCRAM-SHA-256"]
    assert [event.api for event in events if event.api] == ["Metadata", "Metadata"]
    kept = [file.read_bytes() for file in (tmp_path / "tap").iterdir()]
    assert not any(PASSWORD.encode() in each for each in kept)


def test_a_broker_that_refuses_ends_the_clients_connection_and_the_log_says_why(
    server: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{PROPERTY_PREFIX}SASL_PASSWORD", "a wrong one")
    with (
        Tap(f"127.0.0.1:{server.port}", tmp_path / "tap", is_secured=True) as tap,
        connected(tap.bootstrap_servers) as client,
    ):
        assert client.receive(1) == b""
    said = (tmp_path / "tap" / "tap.log").read_text()
    assert "check sasl.username and sasl.password" in said
    assert "a wrong one" not in said


def test_a_tap_lends_rights_to_nobody_on_other_machines(tmp_path: Path) -> None:
    secured = security_of(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
    )
    for listen, security, expected in (
        ("127.0.0.1:0", secured, True),
        ("0.0.0.0:9092", PLAINTEXT, False),
    ):
        assert is_secured(tap_plan(listen, tmp_path), external_broker(security)) == expected
    with pytest.raises(TargetError, match=r"let it listen on 127\.0\.0\.1, not on 0\.0\.0\.0:9092"):
        is_secured(tap_plan("0.0.0.0:9092", tmp_path), external_broker(secured))


def tap_plan(listen: str, out: Path) -> TapPlan:
    target = ExternalTarget("127.0.0.1", 9092)
    return TapPlan(
        run_id="run", target=target, listen=listen, advertise=None, out=out, command="", checks=False
    )


def external_broker(security: Security) -> ExternalBroker:
    namespace = Namespace.new("run")
    run_namespace = RunNamespace(
        namespace=namespace,
        guard=Guard(namespace=namespace),
        layout=Layout(nodes={1: Endpoint(node_id=1, host="127.0.0.1", port=9092)}),
        topics=TopicNames(namespace, ()),
        security=security,
    )
    return ExternalBroker(BARE_BROKER, run_namespace)


@pytest.mark.parametrize("cut", [1, 5, 11, 12, 13, 30, 1000])
def test_a_password_that_a_client_sends_itself_is_passed_and_not_kept(cut: int) -> None:
    fields = {"auth_bytes": f"\0{USER}\0{PASSWORD}".encode()}
    before, after = (framed(request("ListGroups", 1, {}, correlation_id=n)) for n in (1, 3))
    sent = before + framed(request("SaslAuthenticate", 0, fields, correlation_id=2)) + after
    stream = RequestStream(Dialogue(relocate=lambda host, port, _: (host, port), remark=lambda _: None))
    passed = b"".join(stream.take(sent[at : at + cut]) for at in range(0, len(sent), cut))
    assert passed + stream.flush() == sent
    kept = b"".join(bytes(part) for part, _ in stream.kept)
    assert PASSWORD.encode() not in kept
    assert sum(left_out for _, left_out in stream.kept) > len(PASSWORD)
    assert kept.startswith(before)
    assert kept.endswith(after)
