"""Images of Kafka versions, with the environment interface of `apache/kafka`, from the resolver's jars."""

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, Final

from docker.errors import BuildError, ImageNotFound  # type: ignore[import-untyped] # its types are in containers.sdk

from harness.targets.base.interface import Progress, TargetError
from harness.targets.containers.engine import ENGINE_ERRORS, engine, reported
from harness.targets.containers.image import LOCAL_REPOSITORY, VERSION_LABEL, local_image
from harness.targets.containers.sdk import Client, Image
from harness.targets.jars.resolved import KafkaJars
from harness.tests.images.base import base_image, named_base

_RECIPE_LABEL: Final = "kafka-conformance.recipe"
_PROGRAMS: Final = frozenset({"run", "kafka-run-class.sh"})
_EXECUTABLE: Final = 0o755
_READABLE: Final = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """An image of a Kafka version that was built here."""

    name: str
    version: str
    digest: str
    created: str
    size_bytes: int
    was_there: bool = True
    """Whether it existed already, built from the same inputs, and was not rebuilt."""


def build_image(jars: KafkaJars, progress: Progress, *, base: str | None = None) -> BuiltImage:
    """Build the image of a version, unless it exists and none of its inputs has changed.

    Args:
        jars: the resolved jars of a released version.
        progress: called with the current activity.
        base: an image with Java and bash to build on; by default a Debian that is built here.

    Raises:
        TargetError: it cannot be built, with the remedy.
    """
    assert jars.home is not None, "only released versions have a home in the cache"
    name = local_image(jars.version)
    with engine() as client:
        below = base_image(client, progress) if base is None else named_base(client, base, progress)
        recipe = _recipe(jars.home / "libs", below)
        try:
            present = client.images.get(name)
        except ImageNotFound:
            present = None
        if present is not None and present.labels.get(_RECIPE_LABEL) == recipe:
            return _described(present, name)
        progress(f"building {name}")
        labels = {VERSION_LABEL: jars.version, _RECIPE_LABEL: recipe}
        arguments = {"BASE": below.id, "VERSION": jars.version}
        built = _built(client, name, jars.home / "libs", arguments, labels)
        if present is not None and present.id != built.id:
            with suppress(*ENGINE_ERRORS):  # a container may still use it
                client.images.remove(present.id, force=False)
        return _described(built, name, was_there=False)


def _built(
    client: Client, name: str, libs: Path, arguments: Mapping[str, str], labels: Mapping[str, str]
) -> Image:
    with tempfile.TemporaryFile() as context:
        _write_context(context, libs)
        try:
            image, _ = client.images.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                buildargs=arguments,
                labels=labels,
                rm=True,
            )
        except (BuildError, *ENGINE_ERRORS) as error:
            raise TargetError(f"{name} could not be built: {reported(error)}") from error
        return image


def built_images() -> tuple[BuiltImage, ...]:
    """Return the images of Kafka versions that were built here, by their names.

    Raises:
        TargetError: there is no engine.
    """
    with engine() as client:
        images = client.images.list(filters={"label": VERSION_LABEL})
        found = [
            _described(image, tag)
            for image in images
            for tag in image.tags
            if tag.startswith(f"{LOCAL_REPOSITORY}:")
        ]
    return tuple(sorted(found, key=lambda each: [int(part) for part in each.version.split(".")]))


def _described(image: Image, name: str, *, was_there: bool = True) -> BuiltImage:
    size = image.attrs.get("Size")
    return BuiltImage(
        name=name,
        version=image.labels.get(VERSION_LABEL, "0"),
        digest=image.id,
        created=str(image.attrs.get("Created", "")),
        size_bytes=size if isinstance(size, int) else 0,
        was_there=was_there,
    )


def _recipe(libs: Path, below: Image) -> str:
    """Return a hash of all inputs of an image."""
    recipe = hashlib.sha256(below.id.encode())
    for name, content in _texts():
        recipe.update(f"{name} {len(content)}\n".encode() + content)
    for jar in _jars(libs):
        recipe.update(f"{jar.name} {jar.stat().st_size}\n".encode())
    return recipe.hexdigest()


def _texts() -> Iterator[tuple[str, bytes]]:
    directory = resources.files("harness.tests.images") / "context"
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.is_file():
            yield entry.name, entry.read_bytes()


def _jars(libs: Path) -> list[Path]:
    return sorted(libs.glob("*.jar"))


def _write_context(file: IO[bytes], libs: Path) -> None:
    """Write the engine's build context as an archive."""
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in _texts():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = _EXECUTABLE if name in _PROGRAMS else _READABLE
            archive.addfile(entry, io.BytesIO(content))
        empty = tarfile.TarInfo("empty")
        empty.type, empty.mode = tarfile.DIRTYPE, _EXECUTABLE
        archive.addfile(empty)
        for jar in _jars(libs):
            archive.add(jar, arcname=f"libs/{jar.name}")
    file.seek(0)
