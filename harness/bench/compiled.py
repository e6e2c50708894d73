"""The reference's server translated to C by mypyc from the same source, to know what that would give.

Nothing needs it. What is built is kept beside the source it was built from, under a name made of that source,
so that a change of the source is never overlooked, and the checkout itself has nothing compiled in it.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base.interface import TargetError
from harness.targets.reference.tcp import REFERENCE_ROOT, ReferenceTcpTarget

_PACKAGE: Final = "reference_coordinator"
_KEPT_AS: Final = "reference-"
_UNNEEDED: Final = ("tests", "__pycache__")
_INTERPRETED: Final = (
    "__main__.py",  # run by name
    "server/io_process.py",  # run by path
    "core/values.py",  # makes classes at run time
    "profile/config.py",  # its fields begin as descriptions of themselves, which mypyc takes for wrong types
    "core/effects.py",  # a compiled class that is generic cannot be subscripted
    "core/timers.py",  # likewise
    "log/*.py",  # no part of it is used for every request
    "server/broker_store.py",  # likewise
    "server/control.py",  # likewise
    "server/journal.py",  # likewise
    "server/service.py",  # likewise
    "server/topic_files.py",  # likewise
)
_SETUP: Final = """
import sys
from mypyc.build import mypycify
from setuptools import setup
modules = mypycify(["--config-file", "", *sys.argv[1:]], opt_level="2")
setup(name="compiled", packages=[], ext_modules=modules, script_args=["--quiet", "build_ext", "--inplace"])
"""
_REPORTED_CHARACTERS: Final = 2000


class CompiledReferenceTarget(ReferenceTcpTarget):
    """The reference's server, compiled."""

    def __init__(self, profile: str | None = None, *, cache: Path) -> None:
        """Compile it, which takes minutes, unless this very source was compiled before.

        Raises:
            TargetError: mypyc or a C compiler is not there, or refuses the source.
        """
        super().__init__(profile, root=_compiled_root(cache))

    @property
    @override
    def spec(self) -> str:
        return "reference-tcp-compiled"

    @property
    @override
    def name(self) -> str:
        return self.spec


def _compiled_root(cache: Path) -> Path:
    """Return the folder that has the package as it is now, compiled."""
    root = cache / _digest(REFERENCE_ROOT / _PACKAGE)
    if not root.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            built = Path(directory) / "built"
            ignored = shutil.ignore_patterns(*_UNNEEDED)
            shutil.copytree(REFERENCE_ROOT / _PACKAGE, built / _PACKAGE, ignore=ignored)
            _compile(built)
            for outdated in cache.glob(f"{_KEPT_AS}*"):
                shutil.rmtree(outdated, ignore_errors=True)
            built.rename(root)
    return root


def _digest(package: Path) -> str:
    try:
        seen = hashlib.sha256(f"{sys.version} {version('mypy')}".encode())
    except PackageNotFoundError as error:
        raise TargetError("mypyc, a part of mypy, is not installed") from error
    for path in _modules(package):
        seen.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return f"{_KEPT_AS}{seen.hexdigest()[:16]}"


def _modules(package: Path) -> list[Path]:
    return sorted(path for path in package.rglob("*.py") if not set(path.parts) & set(_UNNEEDED))


def _compile(root: Path) -> None:
    package = root / _PACKAGE
    interpreted = {path for pattern in _INTERPRETED for path in package.glob(pattern)}
    modules = [str(each.relative_to(root)) for each in _modules(package) if each not in interpreted]
    done = subprocess.run(  # noqa: S603 - a program of ours, and our own files
        [sys.executable, "-c", _SETUP, *modules], cwd=root, capture_output=True, text=True, check=False
    )
    shutil.rmtree(root / "build", ignore_errors=True)
    if done.returncode != 0:
        reported = (done.stdout + done.stderr)[-_REPORTED_CHARACTERS:]
        raise TargetError(f"the reference cannot be compiled:\n{reported}")
