"""`path:DIR`: a local broker from a directory of jars, a distribution, or a working tree of Kafka."""

import dataclasses
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Unpack

from typing_extensions import override

from harness.targets.base.interface import (
    Broker,
    Capability,
    Launch,
    Target,
    TargetError,
)
from harness.targets.jars.cache import cache_directory
from harness.targets.jars.locks import is_recorded
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.local import START_TIMEOUT_MS, LocalPlan, local_capabilities, start_local

_KAFKA_JAR_PREFIX: Final = "kafka_2."
_KAFKA_JAR: Final = re.compile(r"kafka_2\.\d+-(\d[\w.-]*?)\.jar")
_CLIENTS_JAR: Final = re.compile(r"kafka-clients-(\d[\w.-]*?)\.jar")
_VERSION_ENTRY: Final = "kafka/kafka-version.properties"
_NOT_FOR_RUNNING: Final = re.compile(
    r"-(test|tests|sources|javadoc|scaladoc|test-sources|test-fixtures)\.jar$"
)
_LOGGING_BINDING: Final = re.compile(r"(slf4j-(simple|reload4j|log4j12)|log4j-slf4j2?-impl|logback-classic)-")
_RELEASE: Final = re.compile(r"\d+\.\d+(?:\.\d+)?")
_LOG4J_1: Final = """\
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{HH:mm:ss.SSS} %-5p %c - %m%n
"""
_LOG4J_2: Final = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{HH:mm:ss.SSS} %-5p %c - %m%n
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
"""


class PathTarget(Target):
    """A Kafka in a directory."""

    def __init__(
        self, directory: Path, *, profile: str | None = None, start_timeout_ms: float = START_TIMEOUT_MS
    ) -> None:
        self._directory = directory
        self._profile = profile
        self._start_timeout_ms = start_timeout_ms

    @property
    @override
    def spec(self) -> str:
        return f"path:{self._directory}"

    @property
    @override
    def name(self) -> str:
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", self._directory.resolve().name).strip("-.")
        return f"path-{slug or 'root'}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        try:
            version = jars_in(self._directory).version
        except TargetError:  # `start` reports it, and the run then treats the target as unavailable
            return frozenset()
        return local_capabilities(version, java_coordinator=False)

    @property
    @override
    def foreseen_profile(self) -> str | None:
        try:
            return self._profile or profile_of(jars_in(self._directory).version)
        except TargetError:  # `start` reports it
            return None

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        jars = dataclasses.replace(
            jars_in(self._directory), jvm_options=_logging_options(launch["directory"])
        )
        plan = LocalPlan(
            spec=self.spec,
            profile=self._profile or profile_of(jars.version),
            implementation=f"Apache Kafka {jars.version} from {self._directory} (local JVM)",
            jars=jars,
            broker_config=launch["broker_config"],
            start_timeout_ms=self._start_timeout_ms,
            breakpoints=frozenset(launch.get("breakpoints", ())),
        )
        return await start_local(plan, directory=launch["directory"], progress=launch["progress"])


def profile_of(version: str) -> str:
    """Return the release in a version: `4.5.0` for `4.5.0-SNAPSHOT`.

    Raises:
        TargetError: the version contains no release.
    """
    found = _RELEASE.match(version)
    if found is None:
        raise TargetError(f"Kafka's version {version!r} names no release: say which one with --profile")
    return found[0]


def jars_in(directory: Path) -> KafkaJars:
    """Return a broker's jars from a directory.

    It may be a directory of jars; one with jars in `libs`, like a distribution; or a working tree of Kafka
    in which `./gradlew jar copyDependantLibs` has run.

    Raises:
        TargetError: it contains no Kafka; the message lists the searched places.
    """
    for jars in (_flat(directory), _flat(directory / "libs"), _working_tree(directory)):
        if any(jar.name.startswith(_KAFKA_JAR_PREFIX) for jar in jars):
            binding, notes = _logging_binding(jars)
            return KafkaJars(
                version=_version_of(jars),
                class_path=":".join(str(jar) for jar in (*jars, *binding)),
                home=None,
                notes=notes,
            )
    raise TargetError(
        f"no kafka_2.13-*.jar in {directory}, {directory}/libs or {directory}/core/build/libs: "
        "name a directory of Kafka's jars, a distribution, or a working tree after "
        "`./gradlew jar copyDependantLibs`"
    )


def _flat(directory: Path) -> tuple[Path, ...]:
    return _for_running(directory.resolve().glob("*.jar"))


def _working_tree(directory: Path) -> tuple[Path, ...]:
    """Return the modules' own jars, which must come first on the class path, then their dependencies."""
    root = directory.resolve()
    own = [*root.glob("*/build/libs/*.jar"), *root.glob("*/*/build/libs/*.jar")]
    return (*_for_running(own), *_for_running(root.glob("core/build/dependant-libs-*/*.jar")))


def _for_running(jars: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted(jar for jar in jars if _NOT_FOR_RUNNING.search(jar.name) is None))


def _version_of(jars: tuple[Path, ...]) -> str:
    """Return the version in the jars' names, else the one inside the clients' jar."""
    for pattern in (_KAFKA_JAR, _CLIENTS_JAR):
        for jar in jars:
            found = pattern.fullmatch(jar.name)
            if found is not None:
                return found[1]
    return next((v for jar in jars if (v := _version_inside(jar)) is not None), "unknown")


def _version_inside(jar: Path) -> str | None:
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read(_VERSION_ENTRY).decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    found = re.search(r"^version=(\S+)", text, re.MULTILINE)
    return None if found is None else found[1]


def _logging_binding(jars: tuple[Path, ...]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Return a logging binding from the cache if the jars have none, or a note that there is none."""
    if any(_LOGGING_BINDING.match(jar.name) for jar in jars):
        return (), ()
    cached = sorted(cache_directory().glob("*/libs/slf4j-simple-*.jar"))
    recorded = [jar for jar in cached if is_recorded(jar)]
    if recorded:
        return (recorded[-1],), ()
    return (), ("the jars have no logging binding: the broker's log stays empty",)


def _logging_options(directory: Path) -> tuple[str, ...]:
    """Write a configuration for each logging library that Kafka may use, with output to the console."""
    options: list[str] = []
    for name, option, text in (
        ("log4j.properties", "log4j.configuration", _LOG4J_1),
        ("log4j2.properties", "log4j2.configurationFile", _LOG4J_2),
    ):
        path = directory / name
        path.write_text(text, encoding="utf-8")
        options.append(f"-D{option}={path.resolve().as_uri()}")
    return tuple(options)
