"""The base image: Debian with a JRE, built by debootstrap from apt's package source."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from docker.errors import ImageNotFound  # type: ignore[import-untyped] # its types are in containers.sdk

from harness.targets.base.interface import Lasting, Progress, TargetError
from harness.targets.containers.engine import ENGINE_ERRORS, engine, reported
from harness.targets.containers.sdk import Client, Image

_SUITE: Final = "bookworm"
_JAVA: Final = "openjdk-17-jre-headless"
"""Runs every broker from 2.4 to 4.4."""
_SNAPSHOT: Final = "20260711T101637Z"
"""The timestamp of the suite's state in the image, as Debian's snapshot service names it."""
_RELEASE_SHA256: Final = "c8394efad1f4e1a7440d044a3598dee3266171d189990fb7b8a2331f346a3801"
"""The hash of that state's Release file, which has the SHA-256 of the lists with each package's SHA-256."""
SOURCE_VARIABLE: Final = "KAFKA_CONFORMANCE_DEBIAN"
"""Environment variable that names the package source, such as a snapshot's address."""
BASE_IMAGE: Final = f"kafka-conformance/java:17-{_SUITE}-{_SNAPSHOT[:8]}"
_DISPENSABLE: Final = (
    "var/cache/apt",
    "var/lib/apt/lists",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
)
"""Directories with a third of debootstrap's output, and nothing that a broker reads."""
_LOG_TAIL_LINES: Final = 8
_PIECE_BYTES: Final = 1 << 20
_OTHERWISE: Final = "or name an image that has a Java and bash with --base"


def base_image(client: Client, progress: Progress) -> Image:
    """Return the base image, and build it if it is missing, which takes half a minute.

    Raises:
        TargetError: it cannot be built, with the remedy.
    """
    try:
        return client.images.get(BASE_IMAGE)
    except ImageNotFound:
        _make(client, debootstrap_found(), progress)
        return client.images.get(BASE_IMAGE)


def named_base(client: Client, name: str, progress: Progress) -> Image:
    """Return the image with a name as a base, and pull it if it is missing.

    Raises:
        TargetError: it is missing and cannot be pulled.
    """
    try:
        return client.images.get(name)
    except ImageNotFound:
        progress(f"pulling {name}")
    try:
        return client.images.pull(name)
    except ENGINE_ERRORS as error:
        raise TargetError(f"{name} is not here and could not be pulled: {reported(error)}") from error


def debootstrap_found() -> str:
    """Return the path of debootstrap.

    Raises:
        TargetError: it is not installed, or this process is not root's; with the remedy.
    """
    debootstrap = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if debootstrap is None:
        raise TargetError(
            f"debootstrap is needed to make {BASE_IMAGE}: install it (apt install debootstrap), {_OTHERWISE}"
        )
    if os.geteuid() != 0:
        raise TargetError(
            f"debootstrap can make {BASE_IMAGE} for root alone: run this with sudo, {_OTHERWISE}"
        )
    return debootstrap


def _make(client: Client, debootstrap: str, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-base-") as work:
        root = Path(work) / "root"
        _bootstrap(debootstrap, root, progress)
        check_snapshot(root, progress)
        for name in _DISPENSABLE:
            shutil.rmtree(root / name, ignore_errors=True)
        progress(f"importing {BASE_IMAGE}")
        _import(client, root)


def _bootstrap(debootstrap: str, root: Path, progress: Progress) -> None:
    progress(f"making a Debian {_SUITE} with {_JAVA} (once; about half a minute)")
    command = [debootstrap, "--variant=minbase", f"--include={_JAVA}", _SUITE, str(root), *_mirror()]
    last_lines: deque[str] = deque(maxlen=_LOG_TAIL_LINES)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last_lines.append(line)
            if line.startswith("I: "):
                progress(f"debootstrap: {line[3:].rstrip().rstrip('.').lower()}")
    if process.returncode:
        tail = "".join(last_lines).rstrip()
        raise TargetError(
            f"debootstrap ended with exit status {process.returncode}: see that apt's package source can be "
            f"reached, {_OTHERWISE}\n{tail}"
        )


def check_snapshot(root: Path, progress: Progress) -> None:
    """Check whether a Debian was built from the snapshot that the image should have.

    A package source that the user named must have that snapshot. The source of this machine has Debian's
    current state; a later state is reported and accepted.

    Raises:
        TargetError: the named source has another state of the suite; with the remedy.
    """
    files = sorted((root / "var/lib/apt/lists").glob(f"*_dists_{_SUITE}_*Release"))
    found = [sha256(file.read_bytes()).hexdigest() for file in files]
    if found == [_RELEASE_SHA256]:
        return
    reported_of = f"SHA-256 {', '.join(found)}" if found else "no Release file"
    differs = (
        f"Debian {_SUITE} is not that of {_SNAPSHOT}: expected SHA-256 {_RELEASE_SHA256}, found {reported_of}"
    )
    if os.environ.get(SOURCE_VARIABLE):
        raise TargetError(f"{differs}. Let {SOURCE_VARIABLE} name the address of that snapshot, {_OTHERWISE}")
    progress(Lasting(f"{differs}. To build on that one, let {SOURCE_VARIABLE} name the snapshot's address"))


def _mirror() -> Sequence[str]:
    """Return the source that the user named, else apt's of this machine, else none: debootstrap's default."""
    if named := os.environ.get(SOURCE_VARIABLE):
        return (named,)
    apt_get = shutil.which("apt-get")
    if apt_get is None:
        return ()
    answer = subprocess.run(
        [apt_get, "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    return re.findall(rf"^Debian {_SUITE} (https?://\S+)$", answer.stdout, re.MULTILINE)[:1]


def _import(client: Client, root: Path) -> None:
    repository, _, tag = BASE_IMAGE.rpartition(":")
    command = ["tar", "-C", str(root), "--numeric-owner", "-c", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        assert tar.stdout is not None
        # Streamed in pieces, since the total size is unknown.
        pieces = iter(functools.partial(tar.stdout.read, _PIECE_BYTES), b"")
        try:
            client.api.import_image_from_stream(pieces, repository=repository, tag=tag, changes=())
        except ENGINE_ERRORS as error:
            raise TargetError(f"{BASE_IMAGE} could not be imported: {reported(error)}") from error


if __name__ == "__main__":
    with engine() as _client:
        base_image(_client, print)
