"""The settings of secured connections, with the names that Kafka's Java clients and librdkafka use.

They come from a file and the environment, never from the command line, which other users of the machine could
read. The environment takes precedence, so that a file without secrets can be under version control.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from harness.targets.secured.security import PLAINTEXT, Credentials, Security, TokenCommand
from harness.targets.secured.tls import TlsSettingError, tls_context
from harness.targets.secured.variables import PROPERTY_PREFIX, environment_with_secrets

COMMAND_CONFIG_VARIABLE: Final = "KAFKA_CONFORMANCE_COMMAND_CONFIG"
"""The environment variable with the path of the properties file."""
_TRANSPORTS: Final = {"PLAINTEXT": False, "SSL": True, "SASL_PLAINTEXT": False, "SASL_SSL": True}
"""Whether each protocol uses TLS. Source: SecurityProtocol (3.9.2)."""
_WITH_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_BEARER: Final = "OAUTHBEARER"
_ALIASES: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.location": "ssl.certificate.location",
}
"""Alternative names of the properties below."""
_KNOWN: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.username",
        "sasl.password",
        "sasl.jaas.config",
        "sasl.token.command",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
        "enable.ssl.certificate.verification",
    }
)
_STORE_TYPES: Final = ("ssl.truststore.type", "ssl.keystore.type")
_OF_SECURITY: Final = ("security.", "sasl.", "ssl.")
_JAAS: Final = re.compile(
    r"\s*[\w.$]+\s+(?:required|requisite|sufficient|optional)\s+(?P<options>.*);\s*", re.DOTALL
)
_JAAS_OPTION: Final = re.compile(
    r"(?P<name>\w+)\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<plain>[^\s;]+))"
)
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_PAIR: Final = re.compile(r"(?P<name>(?:\\.|[^\\\s=:])+)(?:\s*[=:]\s*|\s+|$)(?P<value>.*)", re.DOTALL)


class CommandConfigError(Exception):
    """A security property is wrong; the message contains its name and the remedy, but no secret."""


def configured_security(environment: Mapping[str, str] | None = None) -> Security:
    """Return the security settings for external brokers; plain text if nothing is configured.

    Raises:
        CommandConfigError: a property is unknown, missing or wrong, or the file cannot be read.
    """
    return security_of(configured_properties(environment))


def configured_properties(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the properties that a file and an environment set; by default this process's environment.

    Raises:
        CommandConfigError: the file cannot be read.
    """
    environment = environment_with_secrets() if environment is None else environment
    file = environment.get(COMMAND_CONFIG_VARIABLE)
    properties = read_properties(Path(file)) if file else {}
    for name, value in environment.items():
        if name.startswith(PROPERTY_PREFIX):
            properties[name.removeprefix(PROPERTY_PREFIX).lower().replace("_", ".")] = value
    return properties


def read_properties(file: Path, option: str = "--command-config") -> dict[str, str]:
    """Return the properties of a file in Java's format, which an option names.

    Raises:
        CommandConfigError: it cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandConfigError(f"{file}: {error.strerror}; {option} names a properties file") from error
    except UnicodeDecodeError as error:
        raise CommandConfigError(f"{file} is no text; {option} names a properties file") from error
    return {
        _unescaped(found["name"]): _unescaped(found["value"])
        for line in _logical_lines(text)
        if (found := _PAIR.fullmatch(line))
    }


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; an odd number of backslashes at the end continues a line in the next."""
    begun = ""
    for line in text.splitlines():
        whole = begun + line.lstrip()
        if not begun and whole.startswith(("#", "!")):
            continue
        goes_on = (len(whole) - len(whole.rstrip("\\"))) % 2
        begun = whole[:-1] if goes_on else ""
        if whole and not goes_on:
            yield whole
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        escaped = found[1]
        return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _CONTROLS.get(escaped, escaped)

    return _ESCAPED.sub(replaced, text)


def security_of(properties: Mapping[str, str]) -> Security:
    """Return the security settings in properties; unrelated properties are ignored.

    Raises:
        CommandConfigError: a property is unknown, missing or wrong.
    """
    settings = _canonical(properties)
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _TRANSPORTS:
        raise CommandConfigError(f"security.protocol={protocol}: choose from {', '.join(_TRANSPORTS)}")
    if protocol == "PLAINTEXT" and (
        unused := sorted(name for name in settings if name != "security.protocol")
    ):
        raise CommandConfigError(
            f"{unused[0]} has no effect with security.protocol=PLAINTEXT: set security.protocol to SSL, "
            "SASL_PLAINTEXT or SASL_SSL"
        )
    try:
        tls = tls_context(settings) if _TRANSPORTS[protocol] else None
    except TlsSettingError as error:
        raise CommandConfigError(str(error)) from error
    credentials = _credentials(settings) if protocol.startswith("SASL_") else None
    return Security(tls=tls, credentials=credentials) if tls or credentials else PLAINTEXT


def _canonical(properties: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, value in properties.items():
        known = _ALIASES.get(name, name)
        if known in _KNOWN:
            settings[known] = value
        elif name in _STORE_TYPES:
            if value.upper() != "PEM":
                raise CommandConfigError(
                    f"{name}={value}: only PEM can be read; convert the store with keytool or openssl"
                )
        elif name.startswith(_OF_SECURITY):
            raise CommandConfigError(f"{name} is not supported; these are: {', '.join(sorted(_KNOWN))}")
    return settings


def _credentials(settings: Mapping[str, str]) -> Credentials:
    mechanism = settings.get("sasl.mechanism", "").upper()
    if mechanism == _BEARER:
        return Credentials(mechanism=mechanism, token=TokenCommand(command=_token_command(settings)))
    if mechanism not in _WITH_PASSWORD:
        given = f"sasl.mechanism={mechanism}" if mechanism else "sasl.mechanism is missing"
        raise CommandConfigError(f"{given}: choose from {', '.join((*_WITH_PASSWORD, _BEARER))}")
    options = _jaas_options(settings)
    username = settings.get("sasl.username") or options.get("username", "")
    password = settings.get("sasl.password") or options.get("password", "")
    if not username or not password:
        raise CommandConfigError(
            f"{mechanism} needs sasl.username and sasl.password, or sasl.jaas.config with both; you can give "
            f"the password as {PROPERTY_PREFIX}SASL_PASSWORD in the environment"
        )
    return Credentials(mechanism=mechanism, username=username, password=password)


def _token_command(settings: Mapping[str, str]) -> str:
    command = settings.get("sasl.token.command", "")
    try:
        is_there = bool(shlex.split(command))
    except ValueError:
        is_there = False
    if not is_there:
        raise CommandConfigError(
            f"{_BEARER} needs sasl.token.command: a program, with arguments, that prints a token"
        )
    return command


def _jaas_options(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the login module's options in `sasl.jaas.config`; empty if there is no such property."""
    text = settings.get("sasl.jaas.config")
    if text is None:
        return {}
    found = _JAAS.fullmatch(text)
    if found is None:
        raise CommandConfigError(
            'sasl.jaas.config cannot be read: write MODULE required username="NAME" password="PASSWORD";'
        )
    return {
        each["name"]: each["plain"] or re.sub(r"\\(.)", r"\1", each["quoted"] or "")
        for each in _JAAS_OPTION.finditer(found["options"])
    }
