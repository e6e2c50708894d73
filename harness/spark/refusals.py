"""Spark's failures as the errors Python would have raised: a full disk, a damaged file.

The cause is somewhere in the chain of Java causes of the driver's exception, as text.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no annotations
from pyspark.errors import PySparkException

_CODES: Final = {
    os.strerror(code): code
    for code in (
        *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOTDIR, errno.EMFILE, errno.ENFILE),
    )
}
"""Error codes by the system's message, which Java passes on."""
_REFUSED: Final = re.compile(
    r"\bjava\.(?:io|nio\.file)\.\w+: (?:(?P<path>/[^\n]*?)(?:: | \())?(?P<words>{})\)?$".format(
        "|".join(map(re.escape, _CODES))
    ),
    re.MULTILINE,
)
"""E.g. `Caused by: java.io.FileNotFoundException: /tables/part-0.parquet (Permission denied)`."""

_UNREADABLE: Final = re.compile(
    r"\[FAILED_READ_FILE\.\w+\] [^\n]*?\bfile (?:file:)?/*(?P<path>/[^\n]+?)\.(?:\s|$)"
)
"""E.g. `[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/runs/a.parquet. …`."""


@contextmanager
def system_refusals() -> Iterator[None]:
    """Raise operations that the system refused Spark as `OSError`; other errors pass unchanged.

    The context must end before the session does: the causes are read from the JVM.

    Raises:
        OSError: with the system's code and, if Java names it, the file.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        refused = refusal_in(_whole_text(error))
        if refused is None:
            raise
        raise refused from error


def refusal_in(text: str) -> OSError | None:
    """Return the system's error named in a Java stack trace with its causes; None if there is none."""
    found = _REFUSED.search(text)
    if found is None:
        return None
    code = _CODES[found["words"]]
    return OSError(code, found["words"], found["path"])


@contextmanager
def unreadable_files(damaged: Callable[[str], Exception]) -> Iterator[None]:
    """Raise Spark's error on an unreadable file as damage to the data that the file belongs to.

    Args:
        damaged: makes the error from a description of the damage.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        file = unreadable_file_in(_whole_text(error))
        if file is None:
            raise
        raise damaged(f"{file}: its content cannot be read") from error


def unreadable_file_in(text: str) -> str | None:
    """Return the file that Spark could not read, named in a Java stack trace with its causes; else None."""
    found = _UNREADABLE.search(text)
    return None if found is None else unquote(found["path"])


def _whole_text(error: Exception) -> str:
    """Return an error's text with its causes, which PySpark stores privately in errors of its own classes."""
    return f"{error}\n{getattr(error, '_stackTrace', '')}"
