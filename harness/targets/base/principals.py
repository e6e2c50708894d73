"""Principals of brokers that the harness starts with an authorizer, only on the loopback interface."""

from typing import Final

from harness.targets.base.conformance import PRINCIPALS
from harness.targets.secured.security import Credentials, Security

AUTHORIZER: Final = "authorizer.class.name"
"""The broker property that sets the authorizer class."""
_LISTENER: Final = "SASL_PLAINTEXT"
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


def as_principal(name: str) -> Security:
    """Return the security settings of a principal's connection."""
    return Security(credentials=Credentials(mechanism="PLAIN", username=name, password=_password(name)))


def principal_name(name: str | None) -> str:
    """Return the name of a principal in Kafka's form, as an authorizer uses it."""
    return "User:ANONYMOUS" if name is None else f"User:{name}"


def principals_properties(host: str, port: int) -> dict[str, str]:
    """Return the properties of a second listener on this port, which authenticates principals."""
    users = " ".join(f'user_{each}="{_password(each)}"' for each in PRINCIPALS)
    return {
        "listeners": f"{_LISTENER}://{host}:{port}",
        "advertised.listeners": f"{_LISTENER}://{host}:{port}",
        # Kafka maps the controller's listener itself only where no other listener has a custom name.
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,{_LISTENER}:{_LISTENER}",
        "sasl.enabled.mechanisms": "PLAIN",
        f"listener.name.{_LISTENER.lower()}.plain.sasl.jaas.config": f"{_MODULE} required {users};",
    }


def _password(name: str) -> str:
    """Return a principal's password, which only identifies it: any reader could start the broker too."""
    return f"{name}-of-conformance"
