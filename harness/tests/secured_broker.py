"""A real Kafka with TLS, SASL and an authorizer, beside the plain listener by which tests administer it."""

import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from harness.targets.base.ports import free_port
from harness.targets.kafka import local_nodes
from harness.targets.kafka.properties import HOST, broker_properties
from harness.tests.certificates import Authority
from harness.tests.stock_brokers import stock_brokers

USER: Final = "alice"
PASSWORD: Final = "a secret, that=nobody prints"
"""Looked for in all that the harness prints and writes."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_BEARER_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_RESOURCES: Final = {
    "Group": ResourceType.GROUP,
    "Topic": ResourceType.TOPIC,
    "TransactionalId": ResourceType.TRANSACTIONAL_ID,
    "Cluster": ResourceType.BROKER,
}
_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class SecuredBroker:
    """Where it listens, and who vouches for it."""

    plain: str
    sasl_ssl: str
    ssl: str
    """Wants a client certificate."""
    authority: Authority

    def properties(self, mechanism: str = "SCRAM-SHA-512", **others: str) -> Mapping[str, str]:
        """Return what a client of the SASL listener sets, without the password."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "ssl.ca.location": str(self.authority.file),
            **{name.replace("_", "."): value for name, value in others.items()},
        }

    @property
    def admin(self) -> AdminClient:
        """Who may do everything."""
        return AdminClient({"bootstrap.servers": self.plain, "log_level": 2})


def _listeners(authority: Authority) -> Mapping[str, str]:
    broker = authority.certificate_for("broker", "IP:127.0.0.1")
    modules = {
        "plain": f'{_PLAIN_MODULE} required user_{USER}="{PASSWORD}";',
        "scram-sha-256": f"{_SCRAM_MODULE} required;",
        "scram-sha-512": f"{_SCRAM_MODULE} required;",
        "oauthbearer": f'{_BEARER_MODULE} required unsecuredLoginStringClaim_sub="broker";',
    }
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SECURED:SASL_SSL,MUTUAL:SSL",
        "listener.name.secured.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        **{f"listener.name.secured.{name}.sasl.jaas.config": text for name, text in modules.items()},
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(broker.both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client",
    }


@contextmanager
def _further_listeners(ports: Mapping[str, int], further: Mapping[str, str]) -> Iterator[None]:
    """Give brokers that start within more than the one listener that the harness gives them."""
    usual = broker_properties

    def more(*args: object, **kwargs: object) -> dict[str, str]:
        properties = usual(*args, **kwargs)  # type: ignore[arg-type] # as it was called
        added = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
        own = {name: f"{properties[name]},{added}" for name in ("listeners", "advertised.listeners")}
        return {**properties, **further, **own}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_nodes, "broker_properties", more)
        yield


@asynccontextmanager
async def secured_broker(version: str, directory: Path) -> AsyncIterator[SecuredBroker]:
    """Run a broker with a user for SCRAM, and with no rights for anybody but administrators."""
    ports = {"SECURED": free_port(), "MUTUAL": free_port()}
    authority = Authority(directory)
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "100",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    with _further_listeners(ports, _listeners(authority)):
        async with stock_brokers(version, directory, settings=settings) as nodes:
            host, port = next(iter(nodes.brokers.values())).address
            broker = SecuredBroker(
                plain=f"{host}:{port}",
                sasl_ssl=f"{host}:{ports['SECURED']}",
                ssl=f"{host}:{ports['MUTUAL']}",
                authority=authority,
            )
            _add_users(broker.admin)
            yield broker


def _add_users(admin: AdminClient) -> None:
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        user = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        for future in admin.alter_user_scram_credentials([user]).values():
            future.result(_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What a principal may do."""

    resource: str
    name: str
    is_prefix: bool
    operation: str

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}"

    @property
    def binding(self) -> AclBinding:
        """This right of the user, as an administrator gives it."""
        return AclBinding(
            _RESOURCES[self.resource],
            self.name,
            ResourcePatternType.PREFIXED if self.is_prefix else ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.operation).upper()],
            AclPermissionType.ALLOW,
        )


@contextmanager
def allowed(admin: AdminClient, rights: Sequence[Right]) -> Iterator[None]:
    """Give the user some rights, and no others, and take them away at the end."""
    bindings = [each.binding for each in rights]
    for made in admin.create_acls(bindings).values():
        made.result(_TIMEOUT_S)
    try:
        yield
    finally:
        ours = [
            AclBindingFilter(
                each.restype,
                each.name,
                each.resource_pattern_type,
                each.principal,
                each.host,
                each.operation,
                each.permission_type,
            )
            for each in bindings
        ]
        for deleted in admin.delete_acls(ours).values():
            deleted.result(_TIMEOUT_S)


def token_command() -> str:
    """Return a command that prints a token of the user that nobody signed, valid for an hour."""
    code = (
        "import base64, json, time; now = int(time.time()); "
        "part = lambda each: base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b'=').decode(); "
        f"claims = dict(sub='{USER}', iat=now, exp=now + 3600); "
        "print(part(dict(alg='none')) + '.' + part(claims) + '.')"
    )
    return f'{sys.executable} -c "{code}"'
