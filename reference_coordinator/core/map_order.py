"""The hash codes of Java and the iteration orders of hash maps on the JVM.

Kafka uses `String#hashCode` to break ties in a protocol vote and to find a group's partition. This is as
deterministic as the rest of the protocol, so the reference computes it as well.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final

from reference_coordinator.core.java import as_long

_INT_MASK: Final = 0xFFFFFFFF
_INT_MIN_UNSIGNED: Final = 0x80000000
_SMALLEST_TABLE: Final = 16
_LOAD_FACTOR: Final = 0.75
_TRIE_BITS: Final = 5
_TRIE_MASK: Final = 0b11111
_HASH_BITS: Final = 32
_REMEMBERED_GROUPS: Final = 4096
_REMEMBERED_TOPICS: Final = 4096
_LONG_MASK: Final = 0xFFFFFFFFFFFFFFFF


def utf16_length(text: str) -> int:
    """Source: String#length, which counts UTF-16 code units."""
    return len(utf16_order(text)) // 2


def string_hash_code(text: str) -> int:
    """Return the hash of a string, as an unsigned 32-bit integer. Source: String#hashCode."""
    result = 0
    for unit in _utf16_units(text):
        result = (31 * result + unit) & _INT_MASK
    return result


@lru_cache(maxsize=_REMEMBERED_TOPICS)
def uuid_hash_code(uuid: str) -> int:
    """Return the hash of a UUID in text form, unsigned as for a string. Source: Uuid#hashCode (4.3.1)."""
    number = int(uuid.replace("-", ""), 16)
    return (number >> 96 ^ number >> 64 ^ number >> 32 ^ number) & _INT_MASK


def int_hash_code(number: int) -> int:
    """Return the hash of an `Integer`, as an unsigned 32-bit integer. Source: Integer#hashCode."""
    return number & _INT_MASK


def uuid_order(uuid: str) -> tuple[int, int]:
    """Return the sort key of a UUID: its two signed halves. Source: Uuid#compareTo (4.3.1)."""
    number = int(uuid.replace("-", ""), 16)
    return as_long(number >> 64), as_long(number & _LONG_MASK)


def utf16_order(text: str) -> bytes:
    """Return the sort key of a string. Source: String#compareTo, which compares UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


@lru_cache(maxsize=_REMEMBERED_GROUPS)
def partition_for(group_id: str, num_partitions: int) -> int:
    """Return the partition of `__consumer_offsets` that contains a group.

    Source: Utils#abs (4.3.1), which returns 0 for the lowest negative int.
    """
    unsigned = string_hash_code(group_id)
    if unsigned == _INT_MIN_UNSIGNED:
        return 0
    absolute = unsigned if unsigned < _INT_MIN_UNSIGNED else _INT_MASK - unsigned + 1
    return absolute % num_partitions


def in_java_hash_map_order(keys: Sequence[str]) -> list[str]:
    """Return distinct keys in the iteration order of a `java.util.HashMap` that they are added to in turn."""
    pairs = _by_bucket(keys, [string_hash_code(key) for key in keys])
    return [key for _, key in sorted(pairs, key=itemgetter(0))]


def partitions_in_java_hash_map_order(partitions: Iterable[int]) -> list[int]:
    """Return the distinct partitions of `__consumer_offsets` in the iteration order of a HashMap.

    Source: TopicPartition#hashCode (4.3.1).
    """
    distinct = list(dict.fromkeys(partitions))
    topic = string_hash_code("__consumer_offsets")
    codes = [(31 * (31 + partition) + topic) & _INT_MASK for partition in distinct]
    named = _by_bucket([str(partition) for partition in distinct], codes)
    positions = sorted(range(len(distinct)), key=lambda index: (named[index][0], index))
    return [distinct[index] for index in positions]


def topic_partitions_in_scala_map_order(partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return distinct partitions in the order of Scala's mutable HashMap: by bucket, then by hash.

    Source: scala.collection.mutable.HashMap (2.13), TopicPartition#hashCode (3.9.2).
    """
    distinct = list(dict.fromkeys(partitions))
    codes = [(31 * (31 + partition) + string_hash_code(topic)) & _INT_MASK for topic, partition in distinct]
    buckets = [bucket for bucket, _ in _by_bucket([topic for topic, _ in distinct], codes)]
    order = sorted(
        range(len(distinct)), key=lambda index: (buckets[index], codes[index] ^ (codes[index] >> 16))
    )
    return [distinct[index] for index in order]


def in_scala_hash_map_order(keys: Sequence[str]) -> list[str]:
    """Return distinct keys in the iteration order of Scala's immutable HashMap.

    Source: scala.util.hashing and scala.collection.immutable.HashMap (2.13): a trie with five bits per
    level of an improved hash.
    """
    return sorted(keys, key=_trie_path)


def _utf16_units(text: str) -> list[int]:
    # Lone surrogates cannot come from the wire, but a test may create them.
    encoded = utf16_order(text)
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def _by_bucket(keys: Sequence[str], codes: Sequence[int]) -> list[tuple[int, str]]:
    size = _SMALLEST_TABLE
    while len(keys) > size * _LOAD_FACTOR:
        size *= 2
    return [((code ^ (code >> 16)) & (size - 1), key) for key, code in zip(keys, codes, strict=True)]


def _trie_path(key: str) -> tuple[int, ...]:
    mixed = string_hash_code(key)
    mixed = (mixed + (~(mixed << 9) & _INT_MASK)) & _INT_MASK
    mixed ^= mixed >> 14
    mixed = (mixed + (mixed << 4)) & _INT_MASK
    mixed ^= mixed >> 10
    return tuple((mixed >> shift) & _TRIE_MASK for shift in range(0, _HASH_BITS, _TRIE_BITS))
