"""Captures made of a recording's frames: segments of TCP, written as tcpdump writes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from dpkt import ethernet, ip, ip6, loopback, pcap, pcapng, sll, sll2, tcp

from harness.captures.judging import Terms
from harness.replay import specification
from harness.tests.replayed import Recording
from harness.tests.tapped import framed
from harness.trace.events import Event, EventKind
from harness.wire.codec import Fields, decode_response, encode_request, encode_response

PORT = 9092
OPTIONS = (
    "--profile=3.9",
    "--broker-property=group.initial.rebalance.delay.ms=0",
    "--broker-property=group.min.session.timeout.ms=100",
    "--whole",
)
"""What a recording of 3.9 is judged with."""
BROKER = bytes((10, 0, 0, 5))
IN_SECONDS = 1_700_000_000.0
_MAX_BYTES_A_SEGMENT = 1400
_RECORDS_BYTES = 3 * _MAX_BYTES_A_SEGMENT


@dataclass(frozen=True, slots=True)
class Sent:
    """A segment with all that a packet needs."""

    at_ms: float
    client_port: int
    is_from_client: bool
    seq: int
    ack: int
    data: bytes = b""
    flags: int = tcp.TH_ACK


class Wire:
    """Connections of clients to one broker, as a capture sees them."""

    def __init__(self, *, cut: int = _MAX_BYTES_A_SEGMENT) -> None:
        self.sent: list[Sent] = []
        self._cut = cut
        self._next: dict[int, list[int]] = {}

    def opens(self, at_ms: float, port: int) -> None:
        # One of the sequence numbers wraps around soon.
        self._next[port] = [0xFFFF_FF00, 7_000]
        client, broker = self._next[port]
        self.sent += [
            Sent(at_ms, port, is_from_client=True, seq=client - 1, ack=0, flags=tcp.TH_SYN),
            Sent(
                *(at_ms, port),
                is_from_client=False,
                seq=broker - 1,
                ack=client,
                flags=tcp.TH_SYN | tcp.TH_ACK,
            ),
        ]

    def sends(self, at_ms: float, port: int, data: bytes, *, is_from_client: bool) -> None:
        if port not in self._next:
            self.opens(at_ms, port)
        for begin in range(0, len(data), self._cut):
            piece = data[begin : begin + self._cut]
            mine, others = (0, 1) if is_from_client else (1, 0)
            numbers = self._next[port]
            self.sent.append(
                Sent(at_ms, port, is_from_client, numbers[mine] % 2**32, numbers[others] % 2**32, piece)
            )
            numbers[mine] += len(piece)

    def ends(self, at_ms: float, port: int) -> None:
        client, broker = self._next[port]
        flags = tcp.TH_FIN | tcp.TH_ACK
        self.sent += [
            Sent(at_ms, port, is_from_client=True, seq=client % 2**32, ack=broker, flags=flags),
            Sent(at_ms, port, is_from_client=False, seq=broker, ack=(client + 1) % 2**32, flags=flags),
        ]


def wire_of(events: Iterable[Event], *, cut: int = _MAX_BYTES_A_SEGMENT) -> Wire:
    """Return the segments of a recording; each actor has a connection, says who it is, and fetches."""
    wire = Wire(cut=cut)
    ports: dict[str, int] = {}
    for event in events:
        actor = event.actor or ""
        if actor not in ports:
            ports[actor] = 40_000 + len(ports)
            _introduces(wire, event.at_ms, ports[actor], actor)
            _reads(wire, event.at_ms, ports[actor], actor)
        if event.raw is not None:
            is_request = event.kind == EventKind.REQUEST
            payload = bytes.fromhex(event.raw)
            wire.sends(event.at_ms, ports[actor], framed(payload), is_from_client=is_request)
    for port in ports.values():
        wire.ends(wire.sent[-1].at_ms, port)
    return wire


def _introduces(wire: Wire, at_ms: float, port: int, actor: str) -> None:
    fields: Fields = {"client_software_name": "made-up", "client_software_version": "1.2"}
    request = encode_request("ApiVersions", 3, correlation_id=90_000, client_id=actor, fields=fields)
    answer = encode_response("ApiVersions", 3, correlation_id=90_000, fields={})
    wire.sends(at_ms, port, framed(request), is_from_client=True)
    wire.sends(at_ms, port, framed(answer), is_from_client=False)


def _reads(wire: Wire, at_ms: float, port: int, actor: str) -> None:
    """Have a client fetch records, which no replay reads and which need several segments."""
    request = encode_request("Fetch", 4, correlation_id=90_001, client_id=actor, fields={})
    answer = (90_001).to_bytes(4, "big") + bytes(_RECORDS_BYTES)
    wire.sends(at_ms, port, framed(request), is_from_client=True)
    wire.sends(at_ms, port, framed(answer), is_from_client=False)


def _tcp_of(sent: Sent) -> tcp.TCP:
    ports = (sent.client_port, PORT) if sent.is_from_client else (PORT, sent.client_port)
    return tcp.TCP(
        sport=ports[0], dport=ports[1], seq=sent.seq, ack=sent.ack, flags=sent.flags, data=sent.data
    )


def ipv4(sent: Sent) -> bytes:
    client = bytes((10, 0, 0, 9))
    source, target = (client, BROKER) if sent.is_from_client else (BROKER, client)
    return bytes(ip.IP(src=source, dst=target, p=ip.IP_PROTO_TCP, data=_tcp_of(sent)))


def ipv6(sent: Sent) -> bytes:
    client, broker = bytes((*range(15), 9)), bytes((*range(15), 5))
    source, target = (client, broker) if sent.is_from_client else (broker, client)
    inner = bytes(_tcp_of(sent))
    return bytes(ip6.IP6(src=source, dst=target, nxt=ip.IP_PROTO_TCP, hlim=64, plen=len(inner), data=inner))


def on_ethernet(sent: Sent) -> bytes:
    return bytes(ethernet.Ethernet(src=b"\1" * 6, dst=b"\2" * 6, type=ethernet.ETH_TYPE_IP, data=ipv4(sent)))


def on_ethernet_ipv6(sent: Sent) -> bytes:
    return bytes(ethernet.Ethernet(src=b"\1" * 6, dst=b"\2" * 6, type=ethernet.ETH_TYPE_IP6, data=ipv6(sent)))


def cooked(sent: Sent) -> bytes:
    return bytes(sll.SLL(ethtype=ethernet.ETH_TYPE_IP, hdr=b"\0" * 8, data=ipv4(sent)))


def cooked_2(sent: Sent) -> bytes:
    return bytes(sll2.SLL2(ethtype=ethernet.ETH_TYPE_IP, hdr=b"\0" * 8, data=ipv4(sent)))


def on_loopback(sent: Sent) -> bytes:
    return bytes(loopback.Loopback(family=2, data=ipv4(sent)))


LINKS = {
    "Ethernet": (pcap.DLT_EN10MB, on_ethernet),
    "Ethernet with IPv6": (pcap.DLT_EN10MB, on_ethernet_ipv6),
    "Linux cooked": (pcap.DLT_LINUX_SLL, cooked),
    "Linux cooked, version 2": (276, cooked_2),
    "raw IPv4": (101, ipv4),
    "raw IPv6": (101, ipv6),
    "loopback": (pcap.DLT_NULL, on_loopback),
}


def pcap_bytes(sent: Sequence[Sent], link: str = "Ethernet") -> bytes:
    link_type, packet_of = LINKS[link]
    file = BytesIO()
    writer = pcap.Writer(file, snaplen=262_144, linktype=link_type)
    for each in sent:
        writer.writepkt(packet_of(each), ts=IN_SECONDS + each.at_ms / 1_000)
    return file.getvalue()


def pcapng_bytes(sent: Sequence[Sent]) -> bytes:
    file = BytesIO()
    writer = pcapng.Writer(file, snaplen=262_144, linktype=pcap.DLT_EN10MB)
    for each in sent:
        writer.writepkt(on_ethernet(each), ts=IN_SECONDS + each.at_ms / 1_000)
    return file.getvalue()


def write_pcap(path: Path, sent: Sequence[Sent], link: str = "Ethernet") -> Path:
    path.write_bytes(pcap_bytes(sent, link))
    return path


def in_halves(folder: Path, sent: Sequence[Sent]) -> list[Path]:
    """Write a capture as two files."""
    middle = len(sent) // 2
    return [write_pcap(folder / "1.pcap", sent[:middle]), write_pcap(folder / "2.pcap", sent[middle:])]


def with_forged(events: Sequence[Event], position: int, lies: Fields) -> list[Event]:
    """Return the events with bytes of one answer that say something else."""
    event = events[position]
    api, version = event.api or "", event.api_version or 0
    assert event.correlation_id is not None
    fields = {**decode_response(api, version, bytes.fromhex(event.raw or "")).fields, **lies}
    frame = encode_response(api, version, correlation_id=event.correlation_id, fields=fields)
    return [*events[:position], replace(event, raw=frame.hex()), *events[position + 1 :]]


def terms_of(recording: Recording, *, is_whole: bool = True, has_excerpts: bool = False) -> Terms:
    spec = specification(recording.profile, recording.config)
    return Terms(spec=spec, ports=frozenset((PORT,)), is_whole=is_whole, has_excerpts=has_excerpts)
