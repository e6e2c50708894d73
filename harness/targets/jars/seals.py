"""The SHA-512 of all that is made or installed in the cache, recorded when it is made and checked before use.

A cache may be restored from elsewhere, as in CI, or damaged. The record is in the folder itself. Each line is
one of `sha512sum`; for a link it has the hash of where the link leads.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.jars.locks import sha512_of

_RECORD: Final = "SHA512SUMS"


class ChangedCacheError(TargetError):
    """Something in the cache is no longer what was made there."""


def seal(folder: Path) -> None:
    """Record the hashes of all files in a folder that was just made; it may have none."""
    record = folder / _RECORD
    record.write_text("".join(f"{found}  {name}\n" for name, found in _hashes_of(folder).items()), "utf-8")


def check_seal(folder: Path) -> None:
    """Check that all files in a folder are as they were when it was made.

    Raises:
        ChangedCacheError: one is another, is missing, or was added, or the record is missing.
    """
    recorded = _recorded(folder)
    found = _hashes_of(folder)
    for name in sorted(recorded.keys() | found.keys()):
        if recorded.get(name) != found.get(name):
            expected, actual = (
                f"SHA-512 {each[name]}" if name in each else "no such file" for each in (recorded, found)
            )
            raise ChangedCacheError(
                f"{folder / name} was changed after it was made, and is not used. "
                f"Expected: {expected}. Found: {actual}. Remedy: delete {folder}; it is made again"
            )


def _recorded(folder: Path) -> dict[str, str]:
    record = folder / _RECORD
    try:
        lines = record.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ChangedCacheError(
            f"{record} cannot be read ({error}), so nobody knows whether {folder} was changed. "
            f"Expected: the SHA-512 of each file. Found: none. Remedy: delete {folder}; it is made again"
        ) from error
    return {name: found for found, _, name in (line.partition("  ") for line in lines)}


def _hashes_of(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(_files(folder)) if path != folder / _RECORD)
    return {path.relative_to(folder).as_posix(): _hash_of(path) for path in files}


def _hash_of(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha512(os.fsencode(path.readlink())).hexdigest()
    return sha512_of(path) if path.is_file() else "of no plain file"


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files and links below a folder."""
    for parent, folders, files in os.walk(folder):
        below = Path(parent)
        yield from (below / name for name in files)
        yield from (below / name for name in folders if (below / name).is_symlink())
