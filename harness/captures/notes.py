"""What people should know about a capture beside its findings."""

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
    """Counts made while a capture is read; complete at the end of the capture."""

    damages: list[str] = field(default_factory=list)
    """Damaged files, each with the position of the damage."""
    packets: int = 0
    unread_packets: int = 0
    """Packets without TCP over IP, or of an unknown link type."""
    connections: int = 0
    """Connections to the given ports."""
    encrypted: set[str] = field(default_factory=set)
    """Connections that use TLS."""
    lost: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Bytes that are missing from the capture, by connection and sender."""
    skipped: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Captured bytes outside whole frames, near a loss or at the start, by connection and sender."""
    without_request: Counter[str] = field(default_factory=Counter)
    """Answers whose requests were not captured, by connection."""
    gaps: defaultdict[str, list[Gap]] = field(default_factory=lambda: defaultdict(list))
    """Times in which requests or answers may be missing, by connection."""
    other_ports: Counter[int] = field(default_factory=Counter)
    """Packets of other connections, by the lower one of their two ports."""

    def note_other_port(self, port: int) -> None:
        """Count a packet of a connection to none of the given ports."""
        if port in self.other_ports or len(self.other_ports) < _PORTS_NOTED_MAX:
            self.other_ports[port] += 1

    def add(self, other: "Notes") -> None:
        """Add the notes about another part of the input."""
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
