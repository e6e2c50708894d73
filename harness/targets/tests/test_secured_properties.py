"""Settings by the names of both kinds of clients, from a file and from the environment."""

import ssl
import subprocess
from pathlib import Path

import pytest

from harness.targets.jars.repository import mirror_url
from harness.targets.secured.properties import (
    COMMAND_CONFIG_VARIABLE,
    CommandConfigError,
    configured_security,
    read_properties,
    security_of,
)
from harness.targets.secured.security import PLAINTEXT
from harness.targets.secured.variables import MIRROR_VARIABLE
from harness.tests.certificates import Authority
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]

SECRET = 'pass"word\\ with; all=of it'
JAVA = """\
# as for kafka-topics --command-config
security.protocol = SASL_PLAINTEXT
sasl.mechanism: SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="alice" \\
    password="pass\\\\"word\\\\\\\\ with; all=of it";
request.timeout.ms=1000
"""
LIBRDKAFKA = f"""\
security.protocol=sasl_plaintext
sasl.mechanisms=SCRAM-SHA-512
sasl.username=alice
sasl.password={SECRET.replace(chr(92), chr(92) * 2)}
"""


def written(directory: Path, text: str) -> Path:
    file = directory / "client.properties"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", [JAVA, LIBRDKAFKA])
def test_java_and_librdkafka_say_the_same(text: str, tmp_path: Path) -> None:
    security = configured_security({COMMAND_CONFIG_VARIABLE: str(written(tmp_path, text))})
    assert security.protocol == "SASL_PLAINTEXT"
    assert security.credentials is not None
    assert (security.credentials.mechanism, security.credentials.username) == ("SCRAM-SHA-512", "alice")
    assert security.credentials.password == SECRET
    assert SECRET not in repr(security)


def test_the_environment_wins(tmp_path: Path) -> None:
    without = LIBRDKAFKA.rpartition("sasl.password")[0]
    security = configured_security(
        {
            COMMAND_CONFIG_VARIABLE: str(written(tmp_path, without)),
            "KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD": SECRET,
            "KAFKA_CONFORMANCE_CLIENT_SASL_MECHANISM": "PLAIN",
        }
    )
    assert security.credentials is not None
    assert (security.credentials.mechanism, security.credentials.password) == ("PLAIN", SECRET)


def test_without_settings_there_is_plain_text() -> None:
    assert configured_security({}) is PLAINTEXT
    assert security_of({"bootstrap.servers": "elsewhere:9092"}) is PLAINTEXT


def test_a_file_in_javas_format(tmp_path: Path) -> None:
    text = "! comment\n  a = 1\nb:2\nc 3\nd\\=e=f\\u0041\\n\ng=one, \\\n   two\nempty=\n"
    assert read_properties(written(tmp_path, text)) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d=e": "fA\n",
        "g": "one, two",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"security.protocol": "TLS"}, "choose from PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"sasl.mechanism": "PLAIN"}, "has no effect with security.protocol=PLAINTEXT"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is missing: choose from PLAIN"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "choose from PLAIN"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"},
            "needs sasl.username and sasl.password",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "needs sasl.token.command"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/nowhere.pem"}, "there is no file /nowhere.pem"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "/no.pem"}, "there is no file /no.pem"),
        ({"security.protocol": "SSL", "ssl.truststore.type": "JKS"}, "only PEM"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "NONE"}, "ssl.cipher.suites is not supported"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": SECRET},
            "sasl.jaas.config cannot be read",
        ),
    ],
)
def test_what_is_wrong_is_named_without_a_secret(properties: dict[str, str], why: str) -> None:
    with pytest.raises(CommandConfigError, match=why) as raised:
        security_of(properties)
    assert SECRET not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandConfigError, match="No such file"):
        configured_security({COMMAND_CONFIG_VARIABLE: str(tmp_path / "none.properties")})


@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.truststore.location"])
def test_tls_trusts_who_is_named_and_checks_the_host(name: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    security = security_of({"security.protocol": "SSL", name: str(authority.file)})
    assert security.tls is not None
    assert security.tls.check_hostname
    assert len(security.tls.get_ca_certs()) == 1


def test_tls_may_pass_over_the_host_or_all() -> None:
    for name, value, mode in (
        ("ssl.endpoint.identification.algorithm", "", ssl.CERT_REQUIRED),
        ("ssl.endpoint.identification.algorithm", "none", ssl.CERT_REQUIRED),
        ("enable.ssl.certificate.verification", "false", ssl.CERT_NONE),
    ):
        security = security_of({"security.protocol": "SSL", name: value})
        assert security.tls is not None
        assert not security.tls.check_hostname
        assert security.tls.verify_mode is mode


def test_a_key_that_does_not_belong_to_a_certificate_is_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = (authority.certificate_for(name) for name in ("one", "other"))
    settings = {"security.protocol": "SSL", "ssl.certificate.location": str(one.chain)}
    assert security_of({**settings, "ssl.key.location": str(one.key)}).tls is not None
    with pytest.raises(CommandConfigError, match="belong together"):
        security_of({**settings, "ssl.key.location": str(other.key)})


def inherited() -> set[str]:
    """The variables that a child of this process gets."""
    listed = subprocess.run(["env", "-0"], capture_output=True, check=True).stdout
    return {each.partition("=")[0] for each in listed.decode().split("\0")}


def test_no_child_inherits_a_secret_that_was_read_and_it_can_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secrets = {
        "KAFKA_CONFORMANCE_CLIENT_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "KAFKA_CONFORMANCE_CLIENT_SASL_MECHANISM": "PLAIN",
        "KAFKA_CONFORMANCE_CLIENT_SASL_USERNAME": "alice",
        "KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD": "secret",
        MIRROR_VARIABLE: "https://alice:secret@maven.example",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    assert set(secrets) <= inherited()

    for _ in range(2):
        credentials = configured_security().credentials
        assert credentials is not None
        assert credentials.password == "secret"
        assert mirror_url() == secrets[MIRROR_VARIABLE]
        assert not set(secrets) & inherited()


def test_a_variable_that_is_set_later_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("https://one.example", "https://two.example"):
        monkeypatch.setenv(MIRROR_VARIABLE, url)
        assert mirror_url() == url


def test_a_command_takes_the_secrets_before_it_starts_anything(
    monkeypatch: pytest.MonkeyPatch, kafka_conformance: CommandLine
) -> None:
    monkeypatch.setenv("KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD", "secret")

    assert kafka_conformance("--version") == 0
    assert "KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD" not in inherited()
