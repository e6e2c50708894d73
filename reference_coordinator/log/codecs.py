"""Compression of batches, by Kafka's codec numbers; cramjam does all of it except the framing of snappy."""

from types import MappingProxyType
from typing import Final, Protocol

import cramjam

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
NAMES: Final = MappingProxyType({NONE: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"})

_XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_LENGTH_BYTES: Final = 4


class UnreadableCodecError(Exception):
    """Bytes are not valid data of their codec, or Kafka does not have this codec."""


def compress(content: bytes, codec: int) -> bytes:
    """Compress the records of a batch. Source: CompressionType (4.3.1)."""
    match codec:
        case 0:
            return content
        case 1:
            return bytes(cramjam.gzip.compress(content))
        case 2:
            return _snappy_compress(content)
        case 3:
            return _lz4_compress(content)
        case 4:
            return bytes(cramjam.zstd.compress(content))
        case _:
            raise UnreadableCodecError(f"Kafka has no codec {codec}")


def decompress(content: bytes, codec: int, *, bytes_max: int | None = None) -> bytes:
    """Decompress the records of a batch, whichever program compressed them.

    Args:
        content: the compressed bytes.
        codec: the number of their codec.
        bytes_max: the maximum size of the result; None for no limit.

    Raises:
        UnreadableCodecError: the bytes cannot be decompressed, or the result exceeds the maximum.
    """
    try:
        match codec:
            case 0:
                return content
            case 1:
                return _within(cramjam.gzip, content, bytes_max)
            case 2:
                return _snappy_decompress(content, bytes_max)
            case 3:
                return _within(cramjam.lz4, content, bytes_max)
            case 4:
                return _within(cramjam.zstd, content, bytes_max)
            case _:
                raise UnreadableCodecError(f"Kafka has no codec {codec}")
    except cramjam.DecompressionError as error:
        raise UnreadableCodecError(f"these are no {NAMES[codec]} data: {error}") from error


class _Codec(Protocol):
    """One of cramjam's modules."""

    def decompress(self, data: bytes) -> cramjam.Buffer: ...

    def decompress_into(self, data: bytes, output: bytearray) -> int: ...


def _within(codec: _Codec, content: bytes, bytes_max: int | None) -> bytes:
    if bytes_max is None:
        return bytes(codec.decompress(content))
    # Only a buffer of fixed size makes these decoders stop; the kernel allocates its pages on first use.
    unpacked = bytearray(bytes_max)
    size = codec.decompress_into(content, unpacked)
    return bytes(memoryview(unpacked)[:size])


def _lz4_compress(content: bytes) -> bytes:
    """Compress in independent blocks, as Kafka requires.

    Source: Lz4BlockOutputStream.FLG#validate (4.3.1).
    """
    compressor = cramjam.lz4.Compressor(block_linked=False, content_checksum=False)
    compressor.compress(content)
    return bytes(compressor.finish())


def _snappy_compress(content: bytes) -> bytes:
    """Compress in blocks, each preceded by its length. Source: SnappyOutputStream of snappy-java."""
    framed = bytearray(_XERIAL_HEADER)
    for begin in range(0, len(content), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(content[begin : begin + _XERIAL_BLOCK_BYTES]))
        framed += len(block).to_bytes(_LENGTH_BYTES, "big") + block
    return bytes(framed)


def _snappy_decompress(framed: bytes, bytes_max: int | None) -> bytes:
    if not framed.startswith(_XERIAL_MAGIC):
        return _snappy_block(framed, bytes_max)
    content = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(framed):
        begin = position + _LENGTH_BYTES
        position = begin + int.from_bytes(framed[position:begin], "big")
        if position > len(framed):
            raise UnreadableCodecError("a block of snappy data is cut short")
        content += _snappy_block(framed[begin:position], bytes_max and bytes_max - len(content))
    return bytes(content)


def _snappy_block(block: bytes, bytes_max: int | None) -> bytes:
    size = cramjam.snappy.decompress_raw_len(block)
    if bytes_max is not None and size > bytes_max:
        raise UnreadableCodecError(f"a block unpacks to {size} bytes, where {bytes_max} are left")
    return bytes(cramjam.snappy.decompress_raw(block))
