"""Files of a run's folder, read as data; strict about the fields that pages need."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError

DataT = TypeVar("DataT")


class StoredData(BaseModel):
    """A base for stored data: strict about its own fields; ignores fields that later versions add."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_whole(adapter: TypeAdapter[DataT], path: Path) -> DataT:
    """Read a file that was written as a whole.

    Raises:
        ReportError: it is missing.
        TraceError: it is damaged.
    """
    try:
        return adapter.validate_json(read_plain(path))
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise TraceError(f"{path} is damaged: {error.errors()[0]['msg']}") from error


def read_lines(adapter: TypeAdapter[DataT], path: Path) -> Iterator[DataT]:
    """Read a file that grows by lines, if it exists; an incomplete last line is ignored.

    Raises:
        TraceError: a line is damaged.
    """
    if not path.is_file():
        return
    # Only a newline ends a line: JSON may contain other characters that Python counts as line ends.
    *lines, _ = read_plain(path).split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            raise TraceError(f"{path}:{number} is damaged: {error.errors()[0]['msg']}") from error


class ReportError(Exception):
    """A run folder cannot be reported on.

    The message names what is missing or unreadable and the remedy; it is shown to the user as it is.
    """
