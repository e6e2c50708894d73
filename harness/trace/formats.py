"""The format version of a run's files, and the refusal of others.

A file of another format lacks what today's harness goes by, and nothing can stand in for it. So a run of an
older harness is run again. The version goes up with every change to a class of stored records.
"""

from hashlib import sha256
from typing import Final

from harness.trace.schema import TraceError

FORMAT_VERSION: Final = 8
"""The version that this harness writes and reads."""
_DIGEST_LENGTH: Final = 12


def config_digest(broker_config: str) -> str:
    """Return a hash of a broker's properties, given as JSON with sorted keys."""
    return sha256(broker_config.encode()).hexdigest()[:_DIGEST_LENGTH]


def refuse_other_formats(header: object, *, where: str) -> None:
    """Refuse the header of a run that an older or a later harness wrote.

    Raises:
        TraceError: names both formats and what to do.
    """
    if not isinstance(header, dict):
        return
    version = header.get("format_version", 1)
    if version == FORMAT_VERSION or not isinstance(version, int):
        return
    age, remedy = (
        ("a later", "update the harness") if version > FORMAT_VERSION else ("an older", _again(header))
    )
    raise TraceError(
        f"{where}: {age} harness wrote this run, in format {version}; this one reads format "
        f"{FORMAT_VERSION}: {remedy}"
    )


def _again(header: dict[object, object]) -> str:
    command = header.get("command")
    return f"run it again: {command}" if isinstance(command, str) and command else "run it again"
