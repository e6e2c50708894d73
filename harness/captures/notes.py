"""What people should know about a capture beside its findings."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from harness.tap.frames import FrameCutter
from harness.tap.journal import Endpoint

_PORTS_NOTED_MAX: Final = 1_000
_PORTS_SHOWN: Final = 5
_APIS_SHOWN: Final = 6
_ENCRYPTED_NAMED_MAX: Final = 100


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
    without_frames: int = 0
    """Connections with bytes and without a whole frame of Kafka, beside those with TLS."""
    encrypted: set[str] = field(default_factory=set)
    """The first connections that use TLS."""
    also_encrypted: int = 0
    """How many others use it."""
    lost: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Bytes that are missing from the capture, by connection and sender."""
    skipped: Counter[tuple[str, Endpoint]] = field(default_factory=Counter)
    """Captured bytes outside whole frames, near a loss or at the start, by connection and sender."""
    requests: Counter[str] = field(default_factory=Counter)
    """Requests by API."""
    has_groups: bool = False
    """Whether any request was about a group."""
    malformed: list[tuple[str, str, str]] = field(default_factory=list)
    """Connections that a broker ended because of a request that nobody can read, with client and API."""
    without_request: Counter[str] = field(default_factory=Counter)
    """Answers whose requests were not captured, by connection."""
    other_ports: Counter[int] = field(default_factory=Counter)
    """Packets of other connections, by the lower one of their two ports."""

    def note_encrypted(self, name: str) -> None:
        """Count a connection that uses TLS, and remember its name unless there are many."""
        if len(self.encrypted) < _ENCRYPTED_NAMED_MAX:
            self.encrypted.add(name)
        else:
            self.also_encrypted += 1

    def note_streams(self, name: str, cutters: Mapping[Endpoint, FrameCutter], without_request: int) -> None:
        """Add what of a connection is missing, and what cannot be read."""
        self.without_request.update({name: without_request} if without_request else {})
        self.lost.update({(name, side): each.lost for side, each in cutters.items() if each.lost})
        self.skipped.update({(name, side): each.skipped for side, each in cutters.items() if each.skipped})

    def note_other_port(self, port: int) -> None:
        """Count a packet of a connection to none of the given ports."""
        if port in self.other_ports or len(self.other_ports) < _PORTS_NOTED_MAX:
            self.other_ports[port] += 1

    def add(self, other: "Notes") -> None:
        """Add the notes about another part of the input."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            is_either = isinstance(mine, bool | set)
            setattr(self, each.name, mine | theirs if is_either else mine + theirs)

    def in_words(self) -> Iterator[str]:
        """Yield a line for each thing that was noted."""
        yield from sorted(self.damages)
        if self.unread_packets:
            yield f"{self.unread_packets} of {self.packets} packets are no TCP over IP that can be read"
        if not self.has_groups:
            yield from self._why_no_groups()
        yield from self._of_streams()
        for name, client, api in sorted(self.malformed):
            yield (
                f"connection {name}: client {client or 'without a name'} sent a request that cannot be read "
                f"({api}), for which the broker ended the connection; it changes nothing"
            )
        for name, count in sorted(self.without_request.items()):
            yield f"connection {name}: {count} answers to requests that are not in the capture are left out"

    def _why_no_groups(self) -> Iterator[str]:
        most_first = sorted(self.other_ports.items(), key=lambda each: (-each[1], each[0]))
        ports = ", ".join(str(port) for port, _ in most_first[:_PORTS_SHOWN])
        if not self.connections:
            yield "no connection to a broker's port; " + (
                f"name it with --port, most packets are of {ports}" if ports else "nothing else either"
            )
            return
        asked = ", ".join(f"{api} {count}" for api, count in self.requests.most_common(_APIS_SHOWN))
        if self.requests or not (self.encrypted or self.without_frames):
            counted = f"{self.connections} connections, {self.requests.total()} requests, none about groups"
            yield counted + (f": {asked}" if asked else "")
        if ports:
            yield f"other packets are of the ports {ports}; name a broker's with --port"

    def _of_streams(self) -> Iterator[str]:
        for name in sorted(self.encrypted):
            yield f"connection {name} speaks TLS: it cannot be read"
        if self.also_encrypted:
            yield f"{self.also_encrypted} more connections speak TLS: they cannot be read"
        if self.without_frames:
            counted = f"{self.without_frames} of {self.connections}"
            yield f"{counted} connections have bytes, and no whole frame of Kafka"
        for name, side in sorted(self.lost | self.skipped):
            yield (
                f"connection {name}, from the {side}: {self.lost[name, side]} bytes are not in the capture, "
                f"and {self.skipped[name, side]} beside them cannot be read"
            )
