"""Extract TCP segments from packets, whatever link they were captured on."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, TypeAlias

from dpkt import dpkt, ethernet, ip, ip6, loopback, pcap, sll, sll2, tcp

from harness.captures.files import Packet
from harness.captures.notes import Notes
from harness.tap.journal import Endpoint

Address: TypeAlias = tuple[bytes, int]
"""IP address and port."""
_RAW: Final = (pcap.DLT_RAW, 12, 14)
"""Link types of raw IP that some systems use instead of 101, the one that files should have."""
_RAW_IN_FILES: Final = 101
_IPV4_IN_FILES: Final = 228
_IPV6_IN_FILES: Final = 229
_SLL2_IN_FILES: Final = 276
_IPV6: Final = 6


def _raw_ip(data: bytes) -> dpkt.Packet:
    return ip6.IP6(data) if data[0] >> 4 == _IPV6 else ip.IP(data)


_READERS: Final[Mapping[int, Callable[[bytes], dpkt.Packet]]] = {
    pcap.DLT_EN10MB: ethernet.Ethernet,
    pcap.DLT_LINUX_SLL: sll.SLL,
    _SLL2_IN_FILES: sll2.SLL2,
    pcap.DLT_NULL: loopback.Loopback,
    pcap.DLT_LOOP: loopback.Loopback,
    _RAW_IN_FILES: _raw_ip,
    _IPV4_IN_FILES: _raw_ip,
    _IPV6_IN_FILES: _raw_ip,
    **dict.fromkeys(_RAW, _raw_ip),
}
"""Packet readers by link type. Source: LINKTYPE_ values of tcpdump.org."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A TCP segment between a client and a broker."""

    at_ms: float
    client: Address
    broker: Address
    side: Endpoint
    """The side that sent it."""
    seq: int
    ack: int | None
    is_syn: bool
    is_fin: bool
    is_rst: bool
    data: bytes


def segments_of(packets: Iterable[Packet], ports: Collection[int], notes: Notes) -> Iterator[Segment]:
    """Yield the segments from and to the given ports; count all other packets in the notes."""
    for packet in packets:
        read = _tcp_of(packet)
        if read is None:
            notes.unread_packets += 1
            continue
        around, inner = read
        if inner.dport not in ports and inner.sport not in ports:
            notes.note_other_port(min(inner.dport, inner.sport))
            continue
        is_from_client = inner.dport in ports
        source, target = (around.src, inner.sport), (around.dst, inner.dport)
        yield Segment(
            at_ms=packet.at_ms,
            client=source if is_from_client else target,
            broker=target if is_from_client else source,
            side=Endpoint.CLIENT if is_from_client else Endpoint.BROKER,
            seq=inner.seq,
            ack=inner.ack if inner.flags & tcp.TH_ACK else None,
            is_syn=bool(inner.flags & tcp.TH_SYN),
            is_fin=bool(inner.flags & tcp.TH_FIN),
            is_rst=bool(inner.flags & tcp.TH_RST),
            data=bytes(inner.data),
        )


def in_words(address: Address) -> str:
    """Return `host:port`."""
    host = ip_address(address[0])
    return f"[{host}]:{address[1]}" if host.version == _IPV6 else f"{host}:{address[1]}"


def _tcp_of(packet: Packet) -> tuple[ip.IP | ip6.IP6, tcp.TCP] | None:
    read = _READERS.get(packet.link_type)
    if read is None:
        return None
    try:
        found = read(packet.data)
        while not isinstance(found, ip.IP | ip6.IP6) and isinstance(found.data, dpkt.Packet):
            found = found.data
        if isinstance(found, ip.IP | ip6.IP6) and isinstance(found.data, tcp.TCP):
            return found, found.data
    except Exception:  # noqa: BLE001 - dpkt raises anything for packets that are not Kafka traffic
        return None
    return None
