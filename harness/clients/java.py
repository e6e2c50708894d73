"""Kafka's own Java client: its application is compiled against the jars of a Kafka release."""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.clients.libraries import ClientLibrary
from harness.clients.steps import Feature
from harness.targets.base.interface import Progress, TargetError
from harness.targets.jars import cache
from harness.targets.jars.repository import COMPILER, COMPILER_VERSION, STREAMS, STREAMS_MIN, single_jar
from harness.targets.jars.resolved import LATEST, KafkaJars, kafka_jars, release_of
from harness.targets.jars.seals import check_seal, seal
from harness.targets.runtimes.java import JAVA_VERSION_MIN, JavaUse, java_for

JAVA: Final = "java"
_SOURCES: Final = Path(__file__).parent / "apps" / "java"
_MAIN: Final = "conformance.client.Main"
_RELEASE_MIN: Final = (2, 5)
"""Before this release, offsets of a transaction were sent without the committing member (KIP-447)."""
_FORGETFUL_MIN: Final = (4, 0)
"""From this release on, `metadata.recovery.strategy` is `rebootstrap` by default (KIP-1102)."""
_CONSUMER_MIN: Final = (4, 0)
_SHARE_MIN: Final = (4, 1)
_SHARE_LAG_MIN: Final = (4, 2)
"""From this release on, admin clients also get a share group's lag (KIP-1226)."""
_NO_SHARE: Final = "Java's client has share groups from 4.1 on; in 4.0 they are a preview of other messages"
_NO_STREAMS: Final = "Kafka Streams has the streams protocol from 4.2 on; in 4.1 it is a preview"
_CLASSIC_ONLY: Final = "Java's client has the consumer protocol from 4.0 on; before, it was a preview"
_FORGETS: Final = (
    "Java's client begins anew from its bootstrap servers when no broker is left (KIP-899), and a leader "
    "that knows no topic for a moment has its group rebalance (ConsumerCoordinator#rejoinNeededOrPending)"
)
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_REPORTED_LINES: Final = 3
_JVM_FLAGS: Final = (
    "-Xmx96m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)
"""Flags for many JVMs at once that each live for seconds."""


def is_java(spec: str) -> bool:
    """Return whether a client's name is Java's: `java` or `java:VERSION`."""
    return spec.partition(":")[0] == JAVA


async def java_library(spec: str, progress: Progress) -> ClientLibrary:
    """Return the Java client, compiled if that was not done yet.

    Args:
        spec: `java` for the client of the newest release, or `java:VERSION`.
        progress: called with what is going on.

    Raises:
        TargetError: there is no Java, or there are no jars, or the compiled classes were changed; the message
            contains the remedy.
    """
    version = spec.partition(":")[2] or LATEST
    if version != LATEST and (not _VERSION.fullmatch(version) or release_of(version) < _RELEASE_MIN):
        raise TargetError(f"client {spec}: Java's client has to be of Kafka 2.5 or newer, such as java:3.9.2")
    java = java_for(JavaUse.CLIENT)
    jars = await kafka_jars(version, progress)
    release = release_of(jars.version)
    if release >= STREAMS_MIN:
        streams = await single_jar(STREAMS, jars.version, progress)
        jars = dataclasses.replace(jars, class_path=f"{jars.class_path}:{streams}")
    classes = await _compiled(java, jars, progress)
    command = (str(java), *_JVM_FLAGS, "-cp", f"{classes}:{jars.class_path}", _MAIN)
    lacks = {Feature.STAYING: _FORGETS} if release >= _FORGETFUL_MIN else {}
    lacks |= {Feature.CONSUMER_PROTOCOL: _CLASSIC_ONLY} if release < _CONSUMER_MIN else {}
    lacks |= (
        dict.fromkeys((Feature.SHARE_GROUPS, Feature.SHARE_ADMIN), _NO_SHARE) if release < _SHARE_MIN else {}
    )
    lacks |= {Feature.STREAMS_GROUPS: _NO_STREAMS} if release < STREAMS_MIN else {}
    return ClientLibrary(name=spec.replace(":", "-"), version=jars.version, command=command, lacks=lacks)


async def _compiled(java: Path, jars: KafkaJars, progress: Progress) -> Path:
    """Return the folder of the application's classes, compiled once per source state and release."""
    folders = [_SOURCES, *(_SOURCES / name for name in _parts(release_of(jars.version)))]
    sources = sorted(source for folder in folders for source in folder.glob("*.java"))
    state = sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    directory = cache.prepared(cache.cache_directory() / "clients")
    final = directory / f"{jars.version}-{state}-checked"
    if not final.is_dir():
        async with cache.locked(directory, "compile", progress):
            if not final.is_dir():
                compiler = await single_jar(COMPILER, COMPILER_VERSION, progress)
                progress(f"compiling the Java client against Kafka {jars.version}")
                with cache.made_at(final) as classes:
                    await _compile([java, "-jar", compiler], jars, sources, classes)
                    seal(classes)
    await asyncio.to_thread(check_seal, final)
    return final


def _parts(release: tuple[int, int]) -> Iterator[str]:
    """Yield the names of the folders with sources that are compiled only against some releases."""
    yield "with_consumer_protocol" if release >= _CONSUMER_MIN else "without_it"
    if release >= _SHARE_MIN:
        yield "with_share_groups"
        yield "with_share_lag" if release >= _SHARE_LAG_MIN else "without_share_lag"
    if release >= STREAMS_MIN:
        yield "with_streams_groups"


async def _compile(
    command: Sequence[str | Path], jars: KafkaJars, sources: Sequence[Path], classes: Path
) -> None:
    compiler = await asyncio.create_subprocess_exec(
        *command,
        *("-source", str(JAVA_VERSION_MIN), "-target", str(JAVA_VERSION_MIN), "-proc:none", "-nowarn"),
        *("-d", classes),
        *("-cp", _unfolded(jars.class_path)),
        *sources,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await compiler.communicate()
    if compiler.returncode:
        reported = output.decode("utf-8", "replace").strip().splitlines()[:_REPORTED_LINES]
        raise TargetError(
            f"the Java client does not compile against Kafka {jars.version}: {' / '.join(reported)}"
        )


def _unfolded(class_path: str) -> str:
    """Return a class path with every jar by name; the compiler expands wildcards only as a command."""
    entries = [Path(entry) for entry in class_path.split(":")]
    found = [sorted(each.parent.glob("*.jar")) if each.name == "*" else [each] for each in entries]
    return ":".join(str(jar) for jars in found for jar in jars)
