"""A Kafka with TLS, SASL and ACLs: who gets in, what is said to who does not, and where no password is."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.targets.base.interface import TargetError
from harness.targets.external.reach import reach
from harness.targets.external.target import ExternalTarget
from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE, security_of
from harness.targets.secured.security import PLAINTEXT, Security
from harness.targets.tests.test_external_stock import left_on
from harness.tests.completed_runs import CHECKOUT
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.secured_broker import (
    MECHANISMS,
    PASSWORD,
    Right,
    SecuredBroker,
    allowed,
    secured_broker,
    token_command,
)
from harness.trace.files import RunFolder, read_records
from harness.verdict import Outcome

pytestmark = pytest.mark.broker

PATTERNS = ("classic/join/**", "offsets/request/**", "transactions/commit/**")
_ROW = re.compile(r"\| (\w+) \| `([^`]+)`( \(prefixed\))? \| ([\w, ]+) \|")


def documented() -> list[Right]:
    """The rights that docs/external.md lists."""
    text = (CHECKOUT / "docs" / "external.md").read_text().partition("## Rights")[2].partition("\n## ")[0]
    return [
        Right(resource=found[1], name=found[2], is_prefix=bool(found[3]), operation=operation)
        for found in _ROW.finditer(text)
        for operation in found[4].split(", ")
    ]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with asyncio.Runner() as runner:
        context = secured_broker("3.9.2", tmp_path_factory.mktemp("secured"))
        yield runner.run(context.__aenter__())
        runner.run(context.__aexit__(None, None, None))


async def reached(address: str, security: Security) -> None:
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(NOW_OR_NEVER_S):
        await reach(host, int(port), security)


async def refusal(address: str, security: Security) -> str:
    with pytest.raises(TargetError) as raised:
        await reached(address, security)
    assert PASSWORD not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_every_mechanism_lets_in_who_has_the_password(mechanism: str, broker: SecuredBroker) -> None:
    secret = {"sasl.password": PASSWORD, "sasl.token.command": token_command()}
    await reached(broker.sasl_ssl, security_of({**broker.properties(mechanism), **secret}))


async def test_a_client_certificate_lets_in(broker: SecuredBroker) -> None:
    client = broker.authority.certificate_for("client")
    trusting = {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority.file)}
    await reached(broker.ssl, security_of({**trusting, "ssl.keystore.location": str(client.both)}))
    assert "may want a client certificate" in await refusal(broker.ssl, security_of(trusting))


async def test_what_does_not_fit_together_is_said_with_its_remedy(broker: SecuredBroker) -> None:
    right = {**broker.properties(), "sasl.password": PASSWORD}
    wrong = security_of({**right, "sasl.password": f"{PASSWORD}!"})
    assert "check sasl.username and sasl.password" in await refusal(broker.sasl_ssl, wrong)
    unknown = security_of({**right, "ssl.ca.location": str(broker.authority.certificate_for("other").chain)})
    assert "set ssl.ca.location" in await refusal(broker.sasl_ssl, unknown)
    assert "it speaks TLS: set security.protocol" in await refusal(broker.sasl_ssl, PLAINTEXT)
    plain = {name: value for name, value in right.items() if not name.startswith("ssl.")}
    no_tls = security_of({**plain, "security.protocol": "SASL_PLAINTEXT"})
    assert "it speaks TLS: set security.protocol" in await refusal(broker.sasl_ssl, no_tls)
    assert "does not speak TLS on this port" in await refusal(broker.plain, security_of(right))
    assert "wants no SASL on this port" in await refusal(broker.plain, no_tls)
    no_sasl = {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority.file)}
    assert "it wants authentication by SASL (OAUTHBEARER, PLAIN, SCRAM" in await refusal(
        broker.sasl_ssl, security_of(no_sasl)
    )


def command_lines() -> Iterator[bytes]:
    """What `ps` shows of every process that there is."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes()
        except OSError:
            continue


def carried_out(
    broker: SecuredBroker, directory: Path, *command: str, password: str = PASSWORD
) -> tuple[int, str]:
    """Run a command against the broker; nothing that it prints, writes or is called has the password."""
    config = directory / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in broker.properties().items()))
    environment = {
        **os.environ,
        COMMAND_CONFIG_VARIABLE: str(config),
        "KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD": password,
    }
    target = ("--target", f"external:{broker.sasl_ssl}", "--out", str(directory / "reports"))
    printed = directory / "printed"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.cli", *command, *target],
            cwd=CHECKOUT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        while process.returncode is None:
            assert not [line for line in command_lines() if password.encode() in line]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    telling = [
        file for file in directory.rglob("*") if file.is_file() and password.encode() in file.read_bytes()
    ]
    assert telling == []
    return process.returncode, printed.read_text()


def test_a_run_with_the_documented_rights_conforms_and_tells_no_password(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    with allowed(broker.admin, documented()):
        code, printed = carried_out(broker, tmp_path, "run", "--no-report", *PATTERNS)
    assert code == 0, printed
    assert "left behind" not in printed
    assert asyncio.run(left_on(broker.plain)) == []
    (folder,) = (tmp_path / "reports").glob("2*")
    judgements = read_records(Judgement, RunFolder(folder).judgements)
    judged = [each for each in judgements if each.target.startswith("external-")]
    assert sum(each.outcome == Outcome.CONFORMS for each in judged) > 50
    # Only a name that belongs to nobody lies outside what these rights are for.
    refused = [each.reason for each in judged if "lacks rights" in each.reason]
    assert refused
    assert [why for why in refused if "no name" not in why] == []


def test_a_wrong_password_ends_a_run_with_69_and_is_not_printed(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    command = ("run", "--no-report", "classic/heartbeat/**")
    code, printed = carried_out(broker, tmp_path, *command, password="a wrong secret")
    assert code == ExitCode.UNAVAILABLE
    assert "check sasl.username and sasl.password" in printed


def test_real_clients_reach_the_broker_through_the_tap_and_need_no_password(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    libraries = [
        word for name in ("confluent-kafka", "kafka-python", "java:3.9.2") for word in ("--client", name)
    ]
    with allowed(broker.admin, documented()):
        code, printed = carried_out(broker, tmp_path, "clients", *libraries, "clients/rebalance/eager")
    assert code == 0, printed


async def started(broker: SecuredBroker) -> None:
    """Have a run begin and end."""
    host, _, port = broker.sasl_ssl.rpartition(":")
    security = security_of({**broker.properties(), "sasl.password": PASSWORD})
    target = ExternalTarget(host, int(port), security=security)
    begun = await target.start(broker_config={}, directory=Path(), progress=lambda _: None)
    await begun.stop()


async def test_without_rights_the_first_that_is_missing_is_named(broker: SecuredBroker) -> None:
    with pytest.raises(TargetError, match=r"lacks rights: Describe on Group .*GROUP_AUTHORIZATION_FAILED"):
        await started(broker)


@pytest.mark.parametrize("missing", [each for each in documented() if each.is_prefix], ids=str)
async def test_every_right_of_a_run_is_needed_and_named(missing: Right, broker: SecuredBroker) -> None:
    with (
        allowed(broker.admin, [each for each in documented() if each != missing]),
        pytest.raises(TargetError, match=rf"lacks rights: .*{missing.operation} on {missing.resource}"),
    ):
        await started(broker)
