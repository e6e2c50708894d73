"""Resolves jars by coordinates, with the Ivy that PySpark contains.

Ivy runs as a separate program, with its built-in repository or a mirror that the user configures. Its output
is parsed, since nothing else reports what is missing.
"""

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from harness.targets.base.interface import Passing, Progress, TargetError

_RETRIEVE_PATTERN: Final = "[artifact]-[revision](-[classifier]).[ext]"
_UNRESOLVED: Final = re.compile(r"^\s*:: (\S+?)#(\S+?);(\S+?): (.+?)\s*$", re.MULTILINE)
_FAILED_DOWNLOAD: Final = re.compile(r"^\s*:: (\S+?)#(\S+?);(\S+?)!\S+\s*$", re.MULTILINE)
_UNREACHABLE: Final = re.compile(
    r"Server access error at url|UnknownHostException|ConnectException|SocketTimeoutException"
    r"|Host \S+ not found"
)
_REVISION_CHOSEN: Final = re.compile(r"^\s*\[(\S+)\] (\S+?)#(\S+?);", re.MULTILINE)
_PROXY_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_NEVER_BY_PROXY: Final = ("localhost", "127.*", "[::1]")
"""Hosts that Java connects to directly by default. Java uses one list for both schemes."""
_SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Ivy mostly waits for the network; two of them share the cores with a drive."""
_CONNECT_TIMEOUT_MS: Final = 10_000
_READ_TIMEOUT_MS: Final = 60_000

MIRROR_VARIABLE: Final = "KAFKA_CONFORMANCE_MAVEN_MIRROR"
"""Environment variable with the address of a mirror of Maven Central."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Coordinates:
    """A module in a Maven repository."""

    organisation: str
    module: str
    revision: str
    """A version, or an expression that Ivy resolves to one: `latest.release`, `(,4.4.0[`."""

    def __str__(self) -> str:
        return f"{self.organisation}:{self.module}:{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IvyReport:
    """The result of one resolution by Ivy."""

    succeeded: bool
    missing: tuple[Coordinates, ...]
    """Modules that were not found or whose jar could not be downloaded."""
    is_unreachable: bool
    """Whether a repository did not answer, so that `missing` means nothing."""
    revisions: Mapping[str, str]
    """The revision that Ivy chose for each module requested with a range."""


def ivy_jar() -> Path | None:
    """Return PySpark's Ivy, found without an import of PySpark; None if it does not exist.

    A child process of a Spark executor finds an archive of PySpark first, which contains no jars.
    """
    found = (sorted(Path(each, "pyspark", "jars").glob("ivy-*.jar")) for each in sys.path)
    return next((jars[-1] for jars in found if jars), None)


def require_ivy_jar() -> Path:
    """Return PySpark's Ivy; raise `TargetError` with the remedy if it does not exist."""
    jar = ivy_jar()
    if jar is None:
        raise TargetError(
            "Kafka's jars are fetched by the Ivy that PySpark ships, and PySpark is not installed: "
            "pip install 'kafka-conformance[spark]'"
        )
    return jar


def mirror_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's mirror of Maven Central, or None if there is none.

    Raises:
        TargetError: the configured value is not the address of a repository.
    """
    named = environment.get(MIRROR_VARIABLE, "").strip()
    if not named:
        return None
    try:
        url = urlsplit(named)
        is_usable = url.scheme == "file" or (url.scheme in _PROXY_PORTS and bool(url.hostname))
    except ValueError:
        is_usable = False
    if not is_usable:
        raise TargetError(
            f"{named!r} is not a mirror of Maven Central: --maven-mirror (or {MIRROR_VARIABLE}) takes the "
            "address of a Maven repository, which begins with https://, http:// or file://"
        )
    return named


def ivy_settings(mirror: str | None) -> str:
    """Return an ivysettings.xml: one repository, Maven Central or its mirror, with limited waits.

    Several Ivys may share a cache, since each locks the artifacts that it writes.
    """
    root = "" if mirror is None else f" root={quoteattr(mirror.rstrip('/') + '/')}"
    return (
        "<ivysettings>\n"
        '  <settings defaultResolver="maven"/>\n'
        '  <caches lockStrategy="artifact-lock-nio"/>\n'
        "  <timeout-constraints>\n"
        f'    <timeout-constraint name="bounded" connectionTimeout="{_CONNECT_TIMEOUT_MS}"'
        f' readTimeout="{_READ_TIMEOUT_MS}"/>\n'
        "  </timeout-constraints>\n"
        "  <resolvers>\n"
        f'    <ibiblio name="maven" m2compatible="true" timeoutConstraint="bounded"{root}/>\n'
        "  </resolvers>\n"
        "</ivysettings>\n"
    )


def ivy_module(
    wanted: Sequence[Coordinates], *, excluded: Sequence[Coordinates] = (), alone: bool = False
) -> str:
    """Return an ivy.xml that requests modules, with or without their run-time dependencies.

    Ivy stores its results under the name of the requesting module, and retrieves jars by that name. The name
    contains what is wanted, so that two Ivys with one cache never retrieve each other's jars.
    """
    kind, part = ("alone", "master") if alone else ("broker", "default")
    asking = re.sub("[^0-9A-Za-z.]+", "-", "-".join((kind, *(c.revision for c in (*wanted, *excluded)))))
    dependencies = "".join(
        f"    <dependency org={quoteattr(c.organisation)} name={quoteattr(c.module)}"
        f' rev={quoteattr(c.revision)} conf="default->{part}"/>\n'
        for c in wanted
    )
    exclusions = "".join(
        f"    <exclude org={quoteattr(c.organisation)} module={quoteattr(c.module)}/>\n" for c in excluded
    )
    return (
        '<ivy-module version="2.0">\n'
        f'  <info organisation="kafka-conformance" module="{asking}"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}{exclusions}  </dependencies>\n"
        "</ivy-module>\n"
    )


def parse_ivy_report(output: str, *, exit_status: int) -> IvyReport:
    """Parse Ivy's output."""
    missing = {
        Coordinates(organisation=m[1], module=m[2], revision=m[3])
        for pattern in (_UNRESOLVED, _FAILED_DOWNLOAD)
        for m in pattern.finditer(output)
    }
    return IvyReport(
        succeeded=exit_status == 0 and not missing,
        missing=tuple(sorted(missing)),
        is_unreachable=bool(missing) and _UNREACHABLE.search(output) is not None,
        revisions={m[3]: m[1] for m in _REVISION_CHOSEN.finditer(output)},
    )


def proxy_options(environment: Mapping[str, str]) -> list[str]:
    """Translate `https_proxy`, `no_proxy` and similar variables to Java's system properties."""
    options: list[str] = []
    exempt = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = [host.strip() for host in exempt.split(",") if host.strip()]
    if hosts:
        patterns = [*(f"*{host}" if host.startswith(".") else host for host in hosts), *_NEVER_BY_PROXY]
        options.append(f"-Dhttp.nonProxyHosts={'|'.join(patterns)}")
    for scheme, default_port in _PROXY_PORTS.items():
        variable = f"{scheme}_proxy"
        value = environment.get(variable) or environment.get(variable.upper())
        proxy = urlsplit(value if value and "://" in value else f"//{value or ''}")
        if proxy.hostname:
            options += [
                f"-D{scheme}.proxyHost={proxy.hostname}",
                f"-D{scheme}.proxyPort={proxy.port or default_port}",
            ]
    return options


async def retrieve(
    java: Path,
    module: str,
    *,
    ivy_cache: Path,
    destination: Path,
    log: Path,
    progress: Progress,
) -> IvyReport:
    """Run Ivy on an ivy.xml and put the jars into a directory.

    Args:
        java: the program that runs Ivy.
        module: the text of the ivy.xml.
        ivy_cache: Ivy's cache of its downloads; other Ivys may use it at the same time.
        destination: the directory for the jars.
        log: the file for Ivy's whole output; kept.
        progress: called with the number of downloaded jars.

    Raises:
        TargetError: the user's mirror is not an address.
    """
    settings_file = _written(log.with_suffix(".settings.xml"), ivy_settings(mirror_url()))
    module_file = _written(log.with_suffix(".xml"), module)
    process = await asyncio.create_subprocess_exec(
        java,
        *_SHORT_LIVED,
        *proxy_options(os.environ),
        "-jar",
        require_ivy_jar(),
        *("-settings", settings_file),
        *("-cache", ivy_cache),
        *("-ivy", module_file),
        *("-confs", "default"),
        *("-retrieve", f"{destination}/{_RETRIEVE_PATTERN}"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output = await _read_output(process, progress)
        exit_status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    _written(log, output)
    return parse_ivy_report(output, exit_status=exit_status)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


async def _read_output(process: asyncio.subprocess.Process, progress: Progress) -> str:
    assert process.stdout is not None
    lines: list[str] = []
    module_count = jar_count = 0
    async for raw in process.stdout:
        line = raw.decode("utf-8", "replace")
        lines.append(line)
        if line.startswith("\tfound "):
            module_count += 1
            progress(Passing(f"{module_count} modules found"))
        elif "[SUCCESSFUL ]" in line:
            jar_count += 1
            progress(Passing(f"{jar_count} of {module_count} jars downloaded"))
    return "".join(lines)
