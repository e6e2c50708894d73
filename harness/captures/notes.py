"""What people should know of a capture beside its findings."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.replay.gaps import Gap
from harness.tap.journal import Endpoint

_PORTS_NOTED_MAX: Final = 1_000
_PORTS_SHOWN: Final = 5


@dataclass(slots=True)
class Notes:
    """Counted while a capture is read; complete when it is at its end."""

    damages: list[str] = field(default_factory=list)
    """Files that are damaged, each with the place."""
    packets: int = 0
    unread_packets: int = 0
    """Packets with no TCP over IP in them, or of a link type that is not known."""
    connections: int = 0
    """Connections to the ports that were asked for."""
    encrypted: set[str] = field(default_factory=set)
    """Connections that speak TLS."""
    lost: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Bytes that the capture does not have, by connection and sender."""
    skipped: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Bytes that it has, and that are no whole frame: beside a loss, or before the first frame."""
    without_request: Counter[str] = field(default_factory=Counter)
    """Answers to requests that were not seen, by connection."""
    gaps: defaultdict[str, list[Gap]] = field(default_factory=lambda: defaultdict(list))
    """When requests or answers may be missing, by connection."""
    other_ports: Counter[int] = field(default_factory=Counter)
    """Packets of other connections, by the lower of their ports."""

    def note_other_port(self, port: int) -> None:
        """Count a packet of a connection that nobody asked for."""
        if port in self.other_ports or len(self.other_ports) < _PORTS_NOTED_MAX:
            self.other_ports[port] += 1

    def add(self, other: "Notes") -> None:
        """Add what was noted of another part of the input."""
        self.damages = sorted((*self.damages, *other.damages))
        self.packets += other.packets
        self.unread_packets += other.unread_packets
        self.connections += other.connections
        self.encrypted |= other.encrypted
        self.lost.update(other.lost)
        self.skipped.update(other.skipped)
        self.without_request.update(other.without_request)
        self.gaps.update(other.gaps)
        self.other_ports.update(other.other_ports)

    def in_words(self) -> Iterator[str]:
        """Yield a line for each thing that was noted."""
        yield from sorted(self.damages)
        if self.unread_packets:
            yield f"{self.unread_packets} of {self.packets} packets are no TCP over IP that can be read"
        if not self.connections:
            most_first = sorted(self.other_ports.items(), key=lambda each: (-each[1], each[0]))
            ports = ", ".join(str(port) for port, _ in most_first[:_PORTS_SHOWN])
            yield "no connection to a broker's port; " + (
                f"name it with --port, most packets are of {ports}" if ports else "nothing else either"
            )
        for name in sorted(self.encrypted):
            yield f"connection {name} speaks TLS: it cannot be read"
        for name, side in sorted(self.lost | self.skipped):
            yield (
                f"connection {name}, from the {side}: {self.lost[name, side]} bytes are not in the capture, "
                f"and {self.skipped[name, side]} beside them cannot be read"
            )
        for name, count in sorted(self.without_request.items()):
            yield f"connection {name}: {count} answers to requests that are not in the capture are left out"
