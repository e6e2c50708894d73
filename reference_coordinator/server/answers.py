"""What is to be sent to clients, by connection, until all of it may be."""

from collections.abc import Set as AbstractSet
from typing import Final

from reference_coordinator.server import io_process

_SIZE_BYTES: Final = 4


class Answers:
    """Frames, and what is to happen to their connections behind them."""

    def __init__(self) -> None:
        self._parts: dict[int, list[bytes]] = {}
        self._confirmed: set[int] = set()
        self._closed: set[int] = set()

    def add(self, number: int, frame: bytes) -> None:
        """Add a frame for a connection."""
        parts = self._parts.setdefault(number, [])
        parts.append(len(frame).to_bytes(_SIZE_BYTES, "big"))
        parts.append(frame)

    def confirm(self, number: int) -> None:
        """Ask to be told when a client has taken all that is sent to it."""
        self._confirmed.add(number)

    def close(self, number: int) -> None:
        """Close a connection when everything is sent."""
        self._parts.setdefault(number, [])
        self._closed.add(number)

    def forget(self, number: int) -> None:
        """Drop what is for a connection, which is gone."""
        self._parts.pop(number, None)

    def numbers(self) -> AbstractSet[int]:
        """Whom something is for."""
        return self._parts.keys()

    def parcels(self) -> list[bytes]:
        """Return it as it goes over the link."""
        parcels: list[bytes] = []
        for number, parts in self._parts.items():
            content = b"".join(parts)
            parcels += (io_process.header(io_process.BYTES, number, len(content)), content)
            if number in self._confirmed:
                parcels.append(io_process.header(io_process.TAKEN, number, 0))
            if number in self._closed:
                parcels.append(io_process.header(io_process.CLOSED, number, 0))
        return parcels
