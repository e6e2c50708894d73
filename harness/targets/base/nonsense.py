"""What a target sends that no broker would: told as the fault of that target, and of no other.

`blaming_target` turns what goes wrong while a target's answers are used into the loss of that target. The
checks find what would go wrong much later, or take all memory first.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from harness.targets.base.interface import TargetError

PORT_MAX: Final = 65535
PARTITIONS_MAX: Final = 100_000
"""Of `__consumer_offsets`: a group for each is looked for by trying names. Kafka's default is 50."""
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"
_HOST_LENGTH_MAX: Final = 253
_LABEL_LENGTH_MAX: Final = 63
"""Source: RFC 1035, section 2.3.4."""
_DIGITS_MAX: Final = 20
"""More than a number of 64 bits has, its sign included."""
_SHOWN: Final = 60
_NUMBER: Final = re.compile(r"[+-]?\d+")
_FAULTS: Final = (ArithmeticError, LookupError, MemoryError, RecursionError, ValueError)


@contextmanager
def blaming_target() -> Iterator[None]:
    """Turn whatever is raised within by values that make no sense into a `TargetError`.

    What fails an assertion of ours is our own fault, and passes.
    """
    try:
        yield
    except _FAULTS as error:
        raise TargetError(f"sent nonsense: {type(error).__name__}: {shown(str(error))}") from error


def why_no_address(host: str, port: int) -> str | None:
    """Say why nobody can be reached by a host and a port; None where one may try."""
    if not 0 < port <= PORT_MAX:
        return f"{shown(host)}:{port} is not an address: a port is 1 to {PORT_MAX}"
    labels = [len(label) for label in host.removesuffix(".").split(".")]
    if len(host) > _HOST_LENGTH_MAX or not 0 < min(labels) <= max(labels) <= _LABEL_LENGTH_MAX:
        return (
            f"{shown(host)}:{port} is not an address: a host has 1 to {_HOST_LENGTH_MAX} characters, "
            f"and 1 to {_LABEL_LENGTH_MAX} between two dots"
        )
    if not host.isprintable() or any(each.isspace() for each in host):
        return f"{shown(host)}:{port} is not an address: there is no such character in a host"
    try:
        host.encode("idna")
    except UnicodeError:
        return f"{shown(host)}:{port} is not an address: no such host can be looked up (IDNA)"
    return None


def checked_config(config: Mapping[str, str]) -> Mapping[str, str]:
    """Return a configuration as a broker told it.

    Raises:
        TargetError: a number in it has more digits than any that Kafka takes, or a count is beyond all use.
    """
    for name, value in config.items():
        if _NUMBER.fullmatch(value) and len(value) > _DIGITS_MAX:
            raise TargetError(f"sent nonsense: {shown(name)} is a number of {len(value)} digits")
    reported = config.get(_NUM_PARTITIONS, "")
    if reported.isdecimal() and int(reported) > PARTITIONS_MAX:
        raise TargetError(
            f"sent nonsense: {_NUM_PARTITIONS}={reported}, of which {PARTITIONS_MAX} are the most"
        )
    return config


def shown(text: str) -> str:
    """Write what a target sent so that it fits a message: short, and without control characters."""
    short = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in short)
