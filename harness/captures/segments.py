"""Read captures (pcap and pcapng) packet by packet, and extract TCP segments, whatever link they are of."""

import heapq
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from dpkt import Error, dpkt, ethernet, ip, ip6, loopback, pcap, pcapng, sll, sll2, tcp

from harness.captures.notes import Notes
from harness.tap.journal import Endpoint
from harness.tap.listeners import written

_PACKET_BYTES_MAX: Final = 1 << 24
"""The largest packet of any capture; a larger size means that the file is damaged."""
_FILE_HEADER: Final = pcap.FileHdr.__hdr_len__
_NANOSECOND_MAGICS: Final = frozenset((pcap.TCPDUMP_MAGIC_NANO, pcap.PMUDPCT_MAGIC_NANO))
_BIG_ENDIAN_MAGICS: Final = frozenset((pcap.TCPDUMP_MAGIC, pcap.TCPDUMP_MAGIC_NANO, pcap.MODPCAP_MAGIC))
_LINK_TYPE: Final = 0xFFFF
"""The bits of the link type; the other bits of that header field are the length of a frame's checksum."""
_BLOCK_HEAD: Final = 8
"""The type and length of a block."""
_BLOCK_BYTES_MIN: Final = 12
_MICROSECONDS: Final = 6


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of a capture, up to the bytes that were captured."""

    at_ms: float
    """Time since the first packet of all files; within a file it never goes back, even if the clock does."""
    link_type: int
    data: bytes


class DamagedError(Exception):
    """A capture is damaged, or ends too early; the packets before the damage are read."""


def packets_of(paths: Sequence[Path], notes: Notes, *, began_ms: float) -> Iterator[Packet]:
    """Read the packets of all captures in the order of time, which begins with the first, since 1970.

    A damaged file is read up to the damage, and its position is added to the notes.
    """
    files = (packets_of_file(path, notes, began_ms=began_ms) for path in paths)
    yield from heapq.merge(*files, key=lambda packet: packet.at_ms)


def first_packet_ms(path: Path) -> float:
    """Return when a capture begins, since 1970; infinite if it has no packet."""
    first = next(packets_of_file(path, Notes(), began_ms=0.0), None)
    return inf if first is None else first.at_ms


def packets_of_file(path: Path, notes: Notes, *, began_ms: float) -> Iterator[Packet]:
    """Read the packets of one capture, as `packets_of` does."""
    with path.open("rb") as file:
        magic = int.from_bytes(file.read(4), "big")
        file.seek(0)
        begin, now_ms = 0, 0.0
        packets = _of_pcapng(file) if magic == pcapng.PCAPNG_BT_SHB else _of_pcap(file, magic)
        try:
            for packet in packets:
                notes.packets += 1
                now_ms = max(now_ms, packet.at_ms - began_ms)
                yield replace(packet, at_ms=now_ms)
                begin = file.tell()
        except (DamagedError, Error, struct.error, ValueError, LookupError) as error:
            why = str(error) or type(error).__name__
            size = path.stat().st_size
            notes.damages.append(f"{path}: damaged behind byte {begin} of {size}: {why}; read up to there")


def _of_pcap(file: BinaryIO, magic: int) -> Iterator[Packet]:
    kind = pcap.FileHdr if magic in _BIG_ENDIAN_MAGICS else pcap.LEFileHdr
    header = kind(_exactly(file, _FILE_HEADER))
    packet_header = pcap.MAGIC_TO_PKT_HDR[magic]
    in_ms = 1_000_000 if magic in _NANOSECOND_MAGICS else 1_000
    while head := file.read(packet_header.__hdr_len__):
        if len(head) < packet_header.__hdr_len__:
            raise DamagedError("the file ends within the header of a packet")
        packet = packet_header(head)
        data = _exactly(file, packet.caplen)
        yield Packet(packet.tv_sec * 1_000 + packet.tv_usec / in_ms, header.linktype & _LINK_TYPE, data)


def _exactly(file: BinaryIO, size: int) -> bytes:
    if size > _PACKET_BYTES_MAX:
        raise DamagedError(f"{size} bytes are announced, which no packet has")
    data = file.read(size)
    if len(data) < size:
        raise DamagedError(
            f"the file ends within a packet: {size} bytes are announced, {len(data)} are there"
        )
    return data


class _Interface(NamedTuple):
    link_type: int
    ticks_in_ms: float
    offset_ms: float


def _of_pcapng(file: BinaryIO) -> Iterator[Packet]:
    order, interfaces = "<", list[_Interface]()
    while head := file.read(_BLOCK_HEAD):
        if len(head) < _BLOCK_HEAD:
            raise DamagedError("the file ends within the header of a block")
        if int.from_bytes(head[:4], "big") == pcapng.PCAPNG_BT_SHB:
            order_mark = _exactly(file, 4)
            order = "<" if int.from_bytes(order_mark, "little") == pcapng.BYTE_ORDER_MAGIC else ">"
            head, interfaces = head + order_mark, []
        kind, size = struct.unpack_from(f"{order}II", head)
        if size < _BLOCK_BYTES_MIN or size % 4:
            raise DamagedError(f"a block of {size} bytes is announced")
        block = head + _exactly(file, size - len(head))
        if kind == pcapng.PCAPNG_BT_IDB:
            interfaces.append(_interface(block, order))
        elif kind == pcapng.PCAPNG_BT_EPB:
            read = pcapng.EnhancedPacketBlockLE if order == "<" else pcapng.EnhancedPacketBlock
            packet = read(block)
            interface = interfaces[packet.iface_id]
            ticks = (packet.ts_high << 32) | packet.ts_low
            at_ms = interface.offset_ms + ticks / interface.ticks_in_ms
            yield Packet(at_ms, interface.link_type, packet.pkt_data)


def _interface(block: bytes, order: str) -> _Interface:
    read = pcapng.InterfaceDescriptionBlockLE if order == "<" else pcapng.InterfaceDescriptionBlock
    described = read(block)
    power, base, offset_s = _MICROSECONDS, 10, 0
    for option in described.opts:
        if option.code == pcapng.PCAPNG_OPT_IF_TSRESOL and option.data:
            power, base = option.data[0] & 0x7F, 2 if option.data[0] & 0x80 else 10
        elif option.code == pcapng.PCAPNG_OPT_IF_TSOFFSET and len(option.data) == 8:
            (offset_s,) = struct.unpack(f"{order}q", option.data)
    return _Interface(described.linktype, float(base) ** power / 1_000, offset_s * 1_000.0)


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
    return written((str(ip_address(address[0])), address[1]))


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
