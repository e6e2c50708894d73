"""Bytes in a form for people."""

from functools import lru_cache
from typing import Final

BYTES_A_LINE: Final = 16
_PRINTABLE: Final = bytes(byte if 0x20 <= byte < 0x7F else ord(".") for byte in range(256))


@lru_cache(maxsize=4096)
def hexdump(digits: str) -> str:
    """Return a hex dump of hexadecimal digits: offset, sixteen bytes, and their printable ASCII.

    Text that is not an even number of hexadecimal digits is returned unchanged.
    """
    try:
        frame = bytes.fromhex(digits)
    except ValueError:
        return digits
    lines = (frame[start : start + BYTES_A_LINE] for start in range(0, len(frame), BYTES_A_LINE))
    return "\n".join(_line(index * BYTES_A_LINE, chunk) for index, chunk in enumerate(lines))


def _line(offset: int, chunk: bytes) -> str:
    text = chunk.translate(_PRINTABLE).decode("ascii")
    return f"{offset:04x}  {chunk.hex(' '):<{BYTES_A_LINE * 3 - 1}}  {text}"
