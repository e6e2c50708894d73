"""The Docker engine: how it is reached, and how what we start there is told from the rest and taken away.

Everything of ours has labels that name the process it belongs to. A reaper, a process of its own, takes away
what is left when that process ends, however it ends (`harness.targets.containers.reaper`); what even the
reaper left, because it was killed as well, goes when the next container is started.
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
"""What the SDK raises when the engine refuses, does not answer or goes away."""
_UNIX: Final = "unix://"
_TIMEOUT_S: Final = 120
_START_TICKS: Final = 22 - 3
"""Where /proc/PID/stat tells it: proc(5) counts from 1, and what follows the name begins with the third."""

# No image of Ryuk is needed where we clean up ourselves, and ports are published where we say.
testcontainers_config.ryuk_disabled = True
testcontainers_config.tc_host_override = "localhost"


def reported(error: BaseException) -> str:
    """Return what an engine's error says, in one line."""
    explanation = error.explanation if isinstance(error, APIError) else None
    return " ".join(str(explanation or error).split())


def engine_address() -> str:
    """Return where the engine is looked for, as DOCKER_HOST or Docker's context tells."""
    return get_docker_host() or "unix:///var/run/docker.sock"


def engine_description() -> str:
    """Return which engine answers, and where.

    Raises:
        TargetError: none does; with the remedy.
    """
    with engine() as client:
        return f"engine {client.version().get('Version', 'without a version')} at {engine_address()}"


@contextmanager
def engine() -> Iterator[Client]:
    """Give a client of the engine, and close it.

    Raises:
        TargetError: there is none that answers; with the remedy.
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
    """Find out that nobody listens before the SDK does, which would leave a socket open then."""
    if address.startswith(_UNIX):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(address.removeprefix(_UNIX))


def _reason(error: BaseException) -> str:
    """Return the innermost reason: what the SDK says of a socket that is not there fills three lines."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return reported(error)


def labels_for(spec: str) -> dict[str, str]:
    """Return the labels of whatever is started for a target by this process."""
    _start_reaper()
    return {
        SESSION_LABEL: SESSION_ID,
        SPEC_LABEL: spec,
        OWNER_LABEL: f"{os.getpid()} {_started_ticks(os.getpid())}",
        _MACHINE_LABEL: _machine(),
    }


def _machine() -> str:
    """Name what a process id is an id in: several machines, or containers, may share an engine."""
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{platform.node()} {namespace}".rstrip()


def _started_ticks(pid: int) -> str:
    """Return when a process was started; nothing when it is gone, or where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return status.rpartition(")")[2].split()[_START_TICKS]


def owner_lives(owner: str) -> bool:
    """Tell whether the process that a label names is still the one that wrote it."""
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
    """Take away what processes of this machine that live no more have left; return what it was.

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
    """Take away all that one process has started; return what it was.

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
        with suppress(NotFound, APIError):  # somebody else takes it away at this moment
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
    """Start, once, the process that outlives this one and takes away what it leaves."""
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
    """Let the reaper do its work, for this process is at its end; a word says that the end is orderly."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.write(b"done")
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REAPER_EXIT_S)
