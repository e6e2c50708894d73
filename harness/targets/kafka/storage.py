"""A KRaft broker's log directory, which Kafka requires to be formatted before the first start.

Formatting needs a separate JVM for half a second, so a version's formatted directory is cached and copied for
each start. Only the cluster's id is new, so that a broker can be distinguished from any other.
"""

import asyncio
import re
import secrets
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.targets.base.interface import Progress, TargetError
from harness.targets.base.program import Program
from harness.targets.jars import cache
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.properties import Ports, broker_properties, render_properties

_FORMAT_TIMEOUT_S: Final = 60
_CLUSTER_ID_BYTES: Final = 16
_CLUSTER_ID: Final = re.compile(r"^cluster\.id=(.*)$", re.MULTILINE)
_NODE_ID: Final = re.compile(r"^node\.id=.*$", re.MULTILINE)
_DIRECTORY_ID: Final = re.compile(r"^directory\.id=.*$", re.MULTILINE)
_META: Final = "meta.properties"


def new_cluster_id() -> str:
    """Return a new id in Kafka's format: 16 bytes in URL-safe Base64. Source: Uuid#toString (3.9.2)."""
    return urlsafe_b64encode(secrets.token_bytes(_CLUSTER_ID_BYTES)).decode().rstrip("=")


def cluster_id_of(storage: Path) -> str | None:
    """Return the id of the cluster that a broker's directory belongs to, or None while it has none."""
    try:
        found = _CLUSTER_ID.search((storage / _META).read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else found[1].strip()


async def format_storage(
    java: Path,
    jars: KafkaJars,
    *,
    storages: Mapping[int, Path],
    features: Mapping[str, str],
    directory: Path,
    progress: Progress,
) -> None:
    """Create formatted directories for the nodes of a new cluster.

    Args:
        java: the program that runs the formatter.
        jars: the jars of the brokers that will use them.
        storages: a directory for each node id; created, and must not exist.
        features: feature levels of the cluster; the other features are at the newest level.
        directory: the directory for the formatter's configuration and log.
        progress: called when a template must be created first.
    """
    cluster_id = new_cluster_id()
    for node_id, storage in storages.items():
        await _copy_formatted(
            java, jars, storage=storage, features=features, directory=directory, progress=progress
        )
        meta = storage / _META
        text = _CLUSTER_ID.sub(f"cluster.id={cluster_id}", meta.read_text(encoding="utf-8"))
        text = _NODE_ID.sub(f"node.id={node_id}", text)
        meta.write_text(_DIRECTORY_ID.sub(f"directory.id={_new_directory_id()}", text), encoding="utf-8")


def _new_directory_id() -> str:
    """Return an id for a log directory: ids must be unique in a cluster. Source: KIP-858."""
    return f"A{new_cluster_id()[1:]}"  # not one that Kafka reserves, and not one that begins with a dash


async def _copy_formatted(
    java: Path,
    jars: KafkaJars,
    *,
    storage: Path,
    features: Mapping[str, str],
    directory: Path,
    progress: Progress,
) -> None:
    levels = tuple(f"{name}={level}" for name, level in sorted(features.items()))
    if jars.home is None:
        await _format(java, jars, storage=storage, levels=levels, directory=directory)
        return
    name = "-".join(("storage", *levels))
    template = jars.home / name
    if not template.is_dir():
        async with cache.locked(jars.home, name, progress):
            if not template.is_dir():
                progress("formatting storage")
                with cache.made_at(template) as temporary:
                    await _format(java, jars, storage=temporary, levels=levels, directory=directory)
    shutil.copytree(template, storage)


async def _format(
    java: Path, jars: KafkaJars, *, storage: Path, levels: Sequence[str], directory: Path
) -> None:
    configuration = directory / "format.properties"
    unused = Ports(broker=1, controller=2)
    properties = broker_properties(jars.version, {}, ports=unused, storage=storage)
    configuration.write_text(render_properties(properties), encoding="utf-8")
    jvm = Program(
        [
            *(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars.class_path),
            *("kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAg", "-c", configuration),
            *(word for level in levels for word in ("--feature", level)),
        ],
        log=directory / "format.log",
        directory=directory,
    )
    try:
        async with asyncio.timeout(_FORMAT_TIMEOUT_S):
            status = await jvm.ended()
    except TimeoutError:
        raise TargetError(f"formatting storage took over {_FORMAT_TIMEOUT_S} s; see {jvm.log}") from None
    finally:
        jvm.kill()
    if status or cluster_id_of(storage) is None:
        raise TargetError(f"storage could not be formatted (exit status {status}):\n{jvm.log_tail()}")
