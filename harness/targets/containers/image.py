"""Images: their names, and where they are found.

An image of a registry is used unchanged. If it is neither present nor can be pulled, an image that was built
locally (`harness.tests.images`) replaces `apache/kafka` of the same version.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from docker.errors import ImageNotFound  # type: ignore[import-untyped] # its types are in containers.sdk

from harness.targets.base.interface import Progress, TargetError
from harness.targets.containers.engine import ENGINE_ERRORS, engine, reported
from harness.targets.containers.sdk import Client, Image
from harness.targets.jars.resolved import release_of

LOCAL_REPOSITORY: Final = "kafka-conformance/kafka"
"""The repository of images that were built locally."""
VERSION_LABEL: Final = "kafka-conformance.kafka-version"
_NAME: Final = re.compile(r"(?P<repository>[a-z0-9][a-z0-9._/:-]*?):(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*)")
_VERSION: Final = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)(?:[.-].*)?")


class Make(StrEnum):
    """The maker of an image, which decides how it is configured."""

    APACHE = "Apache Kafka"
    CONFLUENT = "Confluent Platform"
    REDPANDA = "Redpanda"


_MAKES: Final[Mapping[str, Make]] = {
    "apache/kafka": Make.APACHE,
    "apache/kafka-native": Make.APACHE,
    LOCAL_REPOSITORY: Make.APACHE,
    "confluentinc/cp-kafka": Make.CONFLUENT,
    "redpandadata/redpanda": Make.REDPANDA,
}
"""Repositories, without a registry."""
_CONFLUENT_OLDEST: Final = (7, 4)
"""The first version whose image starts without a ZooKeeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageName:
    """The parts of an image's name."""

    repository: str
    tag: str
    make: Make
    kafka_version: str | None
    """The release of Apache Kafka in it; None if it contains another broker."""

    def __str__(self) -> str:
        """Return the name as users write it."""
        return f"{self.repository}:{self.tag}"


def parse_image(name: str) -> ImageName:
    """Parse the name of an image.

    Raises:
        TargetError: it is not a name, the image's configuration is unknown, or the tag contains no version.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise TargetError(f"{name!r} is not an image with a tag; write for instance apache/kafka:4.3.1")
    repository, tag = found["repository"], found["tag"]
    make = next((make for known, make in _MAKES.items() if f"/{repository}".endswith(f"/{known}")), None)
    if make is None:
        known = ", ".join(_MAKES)
        raise TargetError(f"{name!r}: how this image is configured is not known; that of {known} is")
    return ImageName(repository=repository, tag=tag, make=make, kafka_version=_kafka_version(make, name, tag))


def _kafka_version(make: Make, name: str, tag: str) -> str | None:
    found = _VERSION.fullmatch(tag)
    if found is None:
        raise TargetError(f"{name!r}: the tag {tag!r} names no version, so nobody could tell what was driven")
    match make:
        case Make.REDPANDA:
            return None
        case Make.APACHE:
            return found[1]
        case Make.CONFLUENT:
            return _kafka_of_confluent(name, release_of(found[1]))


def _kafka_of_confluent(name: str, platform: tuple[int, int]) -> str:
    """Return the Kafka version of a release of the platform: 7.9 has 3.9, 8.1 has 4.1."""
    if platform < _CONFLUENT_OLDEST:
        raise TargetError(f"{name!r}: images before 7.4 need a ZooKeeper beside them; use kafka:VERSION")
    return f"{platform[0] - 4}.{platform[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundImage:
    """An image that the engine has."""

    name: str
    """The image to start."""
    digest: str
    """The registry's digest; the engine's own id for an image that was built locally."""
    notes: tuple[str, ...]


def find_image(wanted: ImageName, progress: Progress) -> FoundImage:
    """Return the image that is present, else pull it, else return the one that was built locally.

    Raises:
        TargetError: there is no image, with the remedy; or no engine.
    """
    with engine() as client:
        image = _present(client, str(wanted))
        if image is not None:
            return _found(str(wanted), image)
        progress(f"pulling {wanted}")
        try:
            return _found(str(wanted), client.images.pull(str(wanted)))
        except ENGINE_ERRORS as error:
            return _built_here(
                client, wanted, f"{wanted} is not here and could not be pulled: {reported(error)}"
            )


def _built_here(client: Client, wanted: ImageName, why: str) -> FoundImage:
    if wanted.make is not Make.APACHE:
        raise TargetError(f"{why}; pull it, or load it with `docker load`")
    name = local_image(wanted.kafka_version or wanted.tag)
    image = _present(client, name)
    if image is None:
        remedy = f"`python tools/images.py {wanted.kafka_version}` makes one that is like it, in a checkout"
        raise TargetError(f"{why}; {remedy}")
    return _found(name, image, f"{name} takes the place of {wanted}, built here from the released jars", why)


def _present(client: Client, name: str) -> Image | None:
    try:
        return client.images.get(name)
    except ImageNotFound:
        return None


def _found(name: str, image: Image, *notes: str) -> FoundImage:
    digests = image.attrs.get("RepoDigests")
    digest = str(digests[0]) if isinstance(digests, list) and digests else f"{name} {image.id}"
    return FoundImage(name=name, digest=digest, notes=(f"image {digest}", *notes))


def local_image(version: str) -> str:
    """Return the name of the locally built image of a Kafka version, whether it exists or not."""
    return f"{LOCAL_REPOSITORY}:{version}"
