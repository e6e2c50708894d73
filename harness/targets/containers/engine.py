"""The Docker engine: how to connect to it, and how to identify and remove what the harness started there.

Everything that the harness starts has labels that name its process. A reaper, a separate process, removes
what is left when that process ends in any way (`harness.targets.containers.reaper`). If the reaper was killed
as well, the rest is removed when the next container is started.
"""

import atexit
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, cast

import docker  # type: ignore[import-untyped] # its types are in containers.sdk
from docker.errors import APIError, DockerException, NotFound  # type: ignore[import-untyped] # likewise
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.docker_client import get_docker_host
from testcontainers.core.labels import SESSION_ID

from harness.targets.base.interface import TargetError
from harness.targets.containers.sdk import Client, Container, Network

SESSION_LABEL: Final = "kafka-conformance.session"
OWNER_LABEL: Final = "kafka-conformance.owner"
_MACHINE_LABEL: Final = "kafka-conformance.machine"
SPEC_LABEL: Final = "kafka-conformance.target"
REMEDY: Final = (
    "install and start a Docker engine (Debian: apt install docker.io), or let DOCKER_HOST name one"
)
ENGINE_ERRORS: Final = (DockerException, RequestException, OSError)
"""Exceptions of the SDK for an engine that refuses, does not answer or goes away."""
_UNIX: Final = "unix://"
_TIMEOUT_S: Final = 120
_START_TICKS: Final = 22 - 3
"""The field's index in /proc/PID/stat: proc(5) counts from 1, and the fields after the name begin with 3."""

# The reaper here replaces the Ryuk image, and ports are published on the loopback interface.
testcontainers_config.ryuk_disabled = True
testcontainers_config.tc_host_override = "localhost"


def reported(error: BaseException) -> str:
    """Return the message of an engine's error in one line."""
    explanation = error.explanation if isinstance(error, APIError) else None
    return " ".join(str(explanation or error).split())


def engine_address() -> str:
    """Return the engine's address from DOCKER_HOST or Docker's context."""
    return get_docker_host() or "unix:///var/run/docker.sock"


def engine_description() -> str:
    """Return the version and address of the engine.

    Raises:
        TargetError: no engine answers; with the remedy.
    """
    with engine() as client:
        return f"engine {client.version().get('Version', 'without a version')} at {engine_address()}"


@contextmanager
def engine() -> Iterator[Client]:
    """Provide a client of the engine, and close it afterwards.

    Raises:
        TargetError: no engine answers; with the remedy.
    """
    address = engine_address()
    try:
        _require_listener(address)
        client = cast(
            "Client",
            docker.DockerClient(
                base_url=address, timeout=_TIMEOUT_S, use_ssh_client=address.startswith("ssh:")
            ),
        )
        client.ping()
    except ENGINE_ERRORS as error:
        raise TargetError(f"no Docker engine answers at {address} ({_reason(error)}): {REMEDY}") from error
    try:
        yield client
    finally:
        client.close()


def _require_listener(address: str) -> None:
    """Raise an error if nobody listens, before the SDK would, which leaves a socket open then."""
    if address.startswith(_UNIX):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(address.removeprefix(_UNIX))


def _reason(error: BaseException) -> str:
    """Return the innermost reason: the SDK's message about a missing socket has three lines."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return reported(error)


def labels_for(spec: str) -> dict[str, str]:
    """Return the labels of everything that this process starts for a target."""
    _start_reaper()
    return {
        SESSION_LABEL: SESSION_ID,
        SPEC_LABEL: spec,
        OWNER_LABEL: f"{os.getpid()} {_started_ticks(os.getpid())}",
        _MACHINE_LABEL: _machine(),
    }


def _machine() -> str:
    """Return the scope of a process id: several machines or containers may share an engine."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{platform.node()} {namespace}".rstrip()


def _started_ticks(pid: int) -> str:
    """Return when a process was started; empty if it has ended, or if the system does not report it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return status.rpartition(")")[2].split()[_START_TICKS]


def owner_lives(owner: str) -> bool:
    """Return whether the process in an owner label is still the one that wrote the label."""
    pid, _, ticks = owner.partition(" ")
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return not ticks or _started_ticks(int(pid)) == ticks


def remove_leftovers() -> tuple[str, ...]:
    """Remove what ended processes of this machine left behind; return what was removed.

    Raises:
        TargetError: there is no engine.
    """
    with engine() as client:
        here = {"label": [SESSION_LABEL, f"{_MACHINE_LABEL}={_machine()}"]}
        containers = [
            container
            for container in client.containers.list(all=True, filters=here, ignore_removed=True)
            if not owner_lives(container.labels.get(OWNER_LABEL, ""))
        ]
        networks = [
            network for network in client.networks.list(filters=here) if not owner_lives(_owner_of(network))
        ]
        return _remove(containers, networks)


def _owner_of(network: Network) -> str:
    labels = network.attrs.get("Labels")
    return str(labels.get(OWNER_LABEL, "")) if isinstance(labels, Mapping) else ""


def remove_session(session: str) -> tuple[str, ...]:
    """Remove everything that one process started; return what was removed.

    Raises:
        TargetError: there is no engine.
    """
    with engine() as client:
        of_session = {"label": f"{SESSION_LABEL}={session}"}
        containers = client.containers.list(all=True, filters=of_session, ignore_removed=True)
        return _remove(containers, client.networks.list(filters=of_session))


def _remove(containers: Iterable[Container], networks: Iterable[Network]) -> tuple[str, ...]:
    removed: list[str] = []
    for container in containers:
        with suppress(NotFound, APIError):  # somebody else removes it at this moment
            container.remove(force=True, v=True)
            removed.append(f"container {container.name} ({container.labels.get(SPEC_LABEL, 'no target')})")
    for network in networks:
        with suppress(NotFound, APIError):
            network.remove()
            removed.append(f"network {network.name}")
    return tuple(removed)


_reaper: list["subprocess.Popen[bytes]"] = []
_reaper_lock: Final = threading.Lock()
_REAPER_EXIT_S: Final = 20


def _start_reaper() -> None:
    """Start the reaper once, which outlives this process and removes what it leaves behind."""
    with _reaper_lock:
        if _reaper:
            return
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "harness.targets.containers.reaper", SESSION_ID],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[2],
            start_new_session=True,
        )
        _reaper.append(process)
        atexit.register(_dismiss_reaper, process)


def _dismiss_reaper(process: "subprocess.Popen[bytes]") -> None:
    """Make the reaper remove containers at the end of this process; a word marks an orderly end."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.write(b"done")
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REAPER_EXIT_S)
