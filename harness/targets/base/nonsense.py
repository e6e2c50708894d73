"""Detects data that no broker would send, and reports it as the fault of the target that sent it.

`blaming_target` turns errors in the use of a target's answers into the loss of that target. The checks find
data that would otherwise cause an error much later, or first use up all memory.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from harness.targets.base.interface import TargetError

PORT_MAX: Final = 65535
PARTITIONS_MAX: Final = 100_000
"""For `__consumer_offsets`: a group in each partition is found by trying names. Kafka's default is 50."""
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"
_HOST_LENGTH_MAX: Final = 253
_LABEL_LENGTH_MAX: Final = 63
"""Source: RFC 1035, section 2.3.4."""
_DIGITS_MAX: Final = 20
"""More than a 64-bit number has, including its sign."""
_SHOWN: Final = 60
_NUMBER: Final = re.compile(r"[+-]?\d+")
_FAULTS: Final = (ArithmeticError, LookupError, MemoryError, RecursionError, ValueError)


@contextmanager
def blaming_target() -> Iterator[None]:
    """Turn errors that senseless values cause in the block into a `TargetError`.

    A failed assertion is a fault of the harness, and is passed on.
    """
    try:
        yield
    except _FAULTS as error:
        raise TargetError(f"sent nonsense: {type(error).__name__}: {shown(str(error))}") from error


def why_no_address(host: str, port: int) -> str | None:
    """Return why a host and a port are not an address, or None if they can be tried."""
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
    """Return a broker's configuration after a check.

    Raises:
        TargetError: a number has more digits than any that Kafka accepts, or a count is far too large.
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
    """Shorten and escape a target's text for a message: no control characters remain."""
    short = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in short)
