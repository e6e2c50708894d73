"""Reading a run's files, which anybody may have put there: plain files only, and nothing that fills memory.

A device or a pipe would never end, or keep a reader waiting for ever. A line of gigabytes would take several
times its size in memory, and a few compressed bytes can stand for gigabytes.
"""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from harness.trace.schema import TraceError

if sys.version_info >= (3, 14):
    from compression import zstd as zstd  # noqa: PLC0414 - others take it from here
else:
    from backports import zstd as zstd  # noqa: PLC0414 - others take it from here

_LINE_BYTES_MAX: Final = 256 * 1024 * 1024
"""As much as a whole trace has by default."""
_INFLATED_BYTES_MAX: Final = 1 << 30
"""Four times as much."""
_BLOCK_BYTES: Final = 1 << 20
_FRAME_HEADER_BYTES_MAX: Final = 18
COMPRESSED: Final = ".zst"
"""How the name of a file ends that is compressed with zstd."""
_RECORDS: Final = (".json", ".jsonl", ".parquet", ".bin", COMPRESSED)
_RESTORE: Final = "restore the file, or delete the run"
_KINDS: Final[Mapping[int, str]] = MappingProxyType(
    {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket",
    }
)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file, or a link to one, for reading.

    Raises:
        TraceError: it is a folder, a pipe, a device or a socket.
        OSError: it cannot be opened.
    """
    # Opening a pipe would wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _refuse_special(path, os.fstat(descriptor).st_mode)
    except TraceError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path) -> bytes:
    """Read a plain file, inflated if it is compressed; raises as `blocks_of` does."""
    return b"".join(blocks_of(path))


def blocks_of(path: Path) -> Iterator[bytes]:
    """Yield the content of a plain file, inflated if its name says that it is compressed.

    A file that was compressed as a whole must be whole. One that grew, such as a trace, is read up to where
    it was cut.

    Raises:
        TraceError: it is no plain file, is damaged, inflates to more than 1 GiB, or has a line of more than
            256 MiB.
        OSError: it cannot be read.
    """
    number, line_bytes = 1, 0
    with open_plain(path) as file:
        plain = iter(partial(file.read, _BLOCK_BYTES), b"")
        for block in _inflated(file, path) if path.suffix == COMPRESSED else plain:
            ends = block.count(b"\n")
            number += ends
            line_bytes = len(block) - block.rfind(b"\n") - 1 if ends else line_bytes + len(block)
            if line_bytes > _LINE_BYTES_MAX:
                raise TraceError(f"{path}:{number}: a line of more than {_LINE_BYTES_MAX >> 20} MiB")
            yield block


def _inflated(file: BinaryIO, path: Path) -> Iterator[bytes]:
    if not (begin := file.read(_FRAME_HEADER_BYTES_MAX)):
        return
    file.seek(0)
    size, due, is_cut = 0, None, False
    try:
        due = zstd.get_frame_info(begin).decompressed_size
        reader = zstd.ZstdFile(file)
        while block := reader.read1(_BLOCK_BYTES):
            size += len(block)
            if size > _INFLATED_BYTES_MAX:
                raise TraceError(f"{path}: inflates to more than {_INFLATED_BYTES_MAX >> 20} MiB")
            yield block
    except EOFError:
        is_cut = (
            True  # what grew was cut, and what was compressed as a whole is too small, unless it was empty
        )
    except zstd.ZstdError as error:
        raise TraceError(f"{path}: damaged, or not compressed with zstd: {error}; {_RESTORE}") from error
    if due is not None and (size < due or (is_cut and due == 0)):
        raise TraceError(f"{path}: cut short: {size} bytes are left of {due}; {_RESTORE}")


def refuse_special_files(folder: Path) -> None:
    """Refuse a run's folder in which something else stands where records, tables or journals belong.

    Commands ask whether many of them are there, and would take what is no plain file for missing.

    Raises:
        TraceError: there is such a thing; the message names it.
    """
    for parent, folders, files in chain(os.walk(folder), os.walk(folder / "record")):
        for name in (*folders, *files):
            if name.endswith(_RECORDS):
                path = Path(parent, name)
                try:
                    mode = path.stat().st_mode
                except OSError as error:
                    raise TraceError(f"{path}: cannot be read: {error.strerror}") from error
                _refuse_special(path, mode)


def _refuse_special(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise TraceError(f"{path}: not a plain file but {what}; {_RESTORE}")
