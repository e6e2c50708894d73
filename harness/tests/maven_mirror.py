"""A small Maven repository in a folder: two Kafkas of one jar each, and what their logging needs."""

import hashlib
import zipfile
from pathlib import Path
from typing import Final

KAFKA_VERSIONS: Final = ("9.8.2", "9.9.0")
"""Versions that no lock is shipped for, so that jars of one line may stand for them."""
_KAFKA: Final = "org/apache/kafka/kafka_2.13"
_LOGGING: Final = ("org/slf4j/slf4j-simple", "1.7.36")


def maven_repository(root: Path, *, without_jar: str | None = None, content: str = "") -> Path:
    """Make it.

    Args:
        root: where.
        without_jar: a version of Kafka that is described there but cannot be downloaded.
        content: what makes Kafka's jars others than those of another mirror.
    """
    for version in KAFKA_VERSIONS:
        _publish(root, _KAFKA, version, has_jar=version != without_jar, content=content)
    _publish(root, *_LOGGING)
    versions = "".join(f"<version>{version}</version>" for version in KAFKA_VERSIONS)
    _write(
        root / _KAFKA / "maven-metadata.xml",
        f"<metadata><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><versioning>"
        f"<release>{KAFKA_VERSIONS[-1]}</release><versions>{versions}</versions></versioning></metadata>".encode(),
    )
    return root


def _publish(root: Path, module: str, version: str, *, has_jar: bool = True, content: str = "") -> None:
    group, _, artifact = module.rpartition("/")
    directory = root / module / version
    directory.mkdir(parents=True)
    pom = (
        "<project><modelVersion>4.0.0</modelVersion>"
        f"<groupId>{group.replace('/', '.')}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></project>"
    )
    _write(directory / f"{artifact}-{version}.pom", pom.encode())
    if has_jar:
        jar = directory / f"{artifact}-{version}.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr(zipfile.ZipInfo("version.txt"), version + content)
        _write(jar, jar.read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.with_name(f"{path.name}.sha1").write_text(hashlib.sha1(content).hexdigest())
