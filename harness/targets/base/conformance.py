"""Configuration, principals and topics of every broker that the harness starts."""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.targets.secured.security import Credentials, Security

CHECK_INTERVAL: Final = "offsets.retention.check.interval.ms"
"""The property for how often a broker looks for expired offsets, and removes Empty groups without any."""
_ONE_DAY_MS: Final = "86400000"
CONFORMANCE_CONFIG: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
    CHECK_INTERVAL: _ONE_DAY_MS,
}
"""Properties of every broker that the harness starts, for quick suites; a scenario's own override them.

After Kafka's default of ten minutes, a check would remove the Empty groups of whatever runs just then.
"""

QUICK_CONSUMER_GROUPS: Mapping[str, str] = {
    "group.share.enable": "true",
    "group.streams.initial.rebalance.delay.ms": "0",
    **{f"group.{each}.min.session.timeout.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.min.heartbeat.interval.ms": "100" for each in ("consumer", "share", "streams")},
    **{f"group.{each}.assignment.interval.ms": "0" for each in ("consumer", "share", "streams")},
}
"""Further properties for brokers from 4.0 on; the interval has an effect from 4.3 on, `enable` in 4.1.

Releases ignore properties that they do not know.
"""

OF_CONFIGURED_GROUPS = "group.consumer.assignment.interval.ms"
"""A property of releases in which a single group can be configured with intervals of 0 (4.3).

Earlier releases list a group for ever once it has been configured.
"""

PRINCIPALS: Sequence[str] = ("ana", "bob", "carol", "dora")
"""Principals that may connect to a broker with an authorizer (Capability.PRINCIPALS)."""

CONFORMANCE_TOPICS: Mapping[str, int] = {"orders": 3, "payments": 2}
"""Topics, with their partition counts, that every broker has before the first scenario."""


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
