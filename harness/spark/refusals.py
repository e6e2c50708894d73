"""What kept Spark from its work, as Python would have told it: a full disk, a file that is damaged.

A task tells of it somewhere down the causes of what the driver raises, in Java's words.
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
"""By the system's words, which Java passes on."""
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
    """Raise what the system refused Spark as the `OSError` that it is; all else passes as it came.

    It has to be left before the session is: without a JVM nobody knows the causes.

    Raises:
        OSError: with the system's code and, where Java names it, the file.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        refused = refusal_in(_whole_text(error))
        if refused is None:
            raise
        raise refused from error


def refusal_in(text: str) -> OSError | None:
    """Return what the system refused, if a Java stack trace with its causes tells of that."""
    found = _REFUSED.search(text)
    if found is None:
        return None
    code = _CODES[found["words"]]
    return OSError(code, found["words"], found["path"])


@contextmanager
def unreadable_files(damaged: Callable[[str], Exception]) -> Iterator[None]:
    """Raise what Spark could not read a file for as damage to what the file is part of.

    Args:
        damaged: makes the error from what is wrong.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        file = unreadable_file_in(_whole_text(error))
        if file is None:
            raise
        raise damaged(f"{file}: its content cannot be read") from error


def unreadable_file_in(text: str) -> str | None:
    """Return the file that Spark could not read, if a Java stack trace with its causes tells of one."""
    found = _UNREADABLE.search(text)
    return None if found is None else unquote(found["path"])


def _whole_text(error: Exception) -> str:
    """Return an error's text with its causes, which PySpark keeps to itself where it has a class for it."""
    return f"{error}\n{getattr(error, '_stackTrace', '')}"
