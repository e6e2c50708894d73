"""Who may connect to brokers that we start with an authorizer, on the loopback interface alone."""

from typing import Final

from harness.targets.base.interface import PRINCIPALS
from harness.targets.secured.security import Credentials, Security

AUTHORIZER: Final = "authorizer.class.name"
"""The property of a broker that decides who may do what."""
_LISTENER: Final = "SASL_PLAINTEXT"
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


def as_principal(name: str) -> Security:
    """Return what a connection needs to be somebody's."""
    return Security(credentials=Credentials(mechanism="PLAIN", username=name, password=_password(name)))


def principal_name(name: str | None) -> str:
    """Return who an authorizer takes somebody for, in Kafka's form."""
    return "User:ANONYMOUS" if name is None else f"User:{name}"


def principals_properties(host: str, port: int) -> dict[str, str]:
    """Return what a broker is told beside its other listener, so that it asks who connects on this port."""
    users = " ".join(f'user_{each}="{_password(each)}"' for each in PRINCIPALS)
    return {
        "listeners": f"{_LISTENER}://{host}:{port}",
        "advertised.listeners": f"{_LISTENER}://{host}:{port}",
        # Kafka maps the controller's listener by itself only where no other asks for a name.
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,{_LISTENER}:{_LISTENER}",
        "sasl.enabled.mechanisms": "PLAIN",
        f"listener.name.{_LISTENER.lower()}.plain.sasl.jaas.config": f"{_MODULE} required {users};",
    }


def _password(name: str) -> str:
    """Whoever can read this can start the broker too: it keeps nobody out, and names who comes."""
    return f"{name}-of-conformance"
