"""The data to be sent to clients, by connection, until all of it may be sent."""

from collections.abc import Set as AbstractSet

from reference_coordinator.server import io_process


class Answers:
    """Bytes for connections, and the actions that follow them."""

    def __init__(self) -> None:
        self._parts: dict[int, list[bytes | memoryview]] = {}
        self._confirmed: set[int] = set()
        self._closed: set[int] = set()

    def add(self, number: int, *data: bytes | memoryview) -> None:
        """Add bytes for a connection."""
        self._parts.setdefault(number, []).extend(data)

    def confirm(self, number: int) -> None:
        """Request a notice when a client has taken everything that is sent to it."""
        self._confirmed.add(number)

    def close(self, number: int) -> None:
        """Close a connection after everything is sent."""
        self._parts.setdefault(number, [])
        self._closed.add(number)

    def forget(self, number: int) -> None:
        """Drop the data for a connection that is gone."""
        self._parts.pop(number, None)

    def numbers(self) -> AbstractSet[int]:
        """Return the numbers of the connections with data."""
        return self._parts.keys()

    def parcels(self) -> list[bytes]:
        """Return everything as parcels for the link."""
        parcels: list[bytes] = []
        for number, parts in self._parts.items():
            content = b"".join(parts)
            parcels += (io_process.header(io_process.BYTES, number, len(content)), content)
            if number in self._confirmed:
                parcels.append(io_process.header(io_process.TAKEN, number, 0))
            if number in self._closed:
                parcels.append(io_process.header(io_process.CLOSED, number, 0))
        return parcels
